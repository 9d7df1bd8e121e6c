"""Settings of the documentation site: `make docs`.

The source folder is the root of the repository, so that links between pages lead to the same places
here as on the repository's web page.
"""

from __future__ import annotations

import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from generated import fill  # noqa: E402 (a file of this folder)

project = "sdmbtl"
release = installed_version("sdmbtl")
copyright = "the authors of sdmbtl"  # noqa: A001 (Sphinx's name)
language = "en"
# Options begin with two dashes, which must stay two.
smartquotes = False

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
root_doc = "docs/index"
include_patterns = [
    *("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "docs/**/*.md"),
]
exclude_patterns = [".venv", "build", "runs", "src", "lab", "domains", "tests", "results"]

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
# Docstrings name code in single backquotes, as Markdown does.
default_role = "code"

autodoc_default_options = {"members": True, "member-order": "bysource", "show-inheritance": True}
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
# Otherwise it is written out, in ten lines.
autodoc_type_aliases = {"ArrayLike": "ArrayLike"}
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = "sdmbtl"
html_static_path = ["static"]
html_css_files = ["site.css"]
# A reader who opens the folder gets to the first page.
html_extra_path = ["root"]
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}


def insert(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Put generated text where a page has a mark for it."""
    source[0] = fill(source[0])


def setup(app: Sphinx) -> None:
    """Connect to Sphinx, which calls this."""
    app.connect("source-read", insert)
