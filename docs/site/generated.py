"""Text that replaces marks in pages: `<!-- NAME, inserted by make docs -->`.

A line after a mark that begins with `*See ` is for readers of the file, and is replaced too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import tables
from commands import command_pages

ROOT = Path(__file__).parents[2]
MARK = re.compile(r"<!-- ([\w.-]+), inserted by make docs -->(?:\n\*See .*\*)?")


def overview() -> str:
    """Return README.md with links as seen from docs/."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"\]\((?!docs/|http|#)", "](../", text)
    return text.replace("](docs/", "](")


#: Name in the mark -> maker of the text.
TEXTS: dict[str, Callable[[], str]] = {
    "README.md": overview,
    "commands": command_pages,
    "trainer-settings": tables.trainer_settings,
    "selector-settings": tables.selector_settings,
    "space-file": tables.space_file,
    "families": tables.families,
    "status-json": tables.status_json,
}


def fill(text: str) -> str:
    """Return a page with every mark replaced."""
    return MARK.sub(lambda found: TEXTS[found[1]](), text)
