"""The documentation site has every page, every command and every package."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sdmbtl

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PACKAGES = Path(sdmbtl.__file__).parent


def listed(page):
    """The pages that the toctrees of a page name, as paths."""
    trees = re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), flags=re.DOTALL)
    lines = [line for tree in trees for line in tree.splitlines() if line and line[0] != ":"]
    names = [re.sub(r".*<(.*)>", r"\1", line) for line in lines]
    return [(page.parent / f"{name}.md").resolve() for name in names]


def headings(page):
    """The anchors of a page, as the repository's web page and the site make them."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    found = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.fixture(scope="module")
def commands():
    """The module that makes the page of all commands; it needs no Sphinx."""
    path = DOCS / "site" / "commands.py"
    spec = importlib.util.spec_from_file_location("site_commands", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_the_contents_once():
    pages = listed(DOCS / "index.md") + listed(DOCS / "api" / "index.md")
    assert len(pages) == len(set(pages))
    missing = {path for path in pages if not path.is_file()}
    assert missing == set()
    there = {path.resolve() for path in (*DOCS.glob("*.md"), *DOCS.glob("api/*.md"))}
    assert there - set(pages) == {(DOCS / "index.md").resolve()}


def test_every_package_with_public_names_has_a_page():
    pages = "".join(path.read_text() for path in DOCS.glob("api/*.md"))
    described = set(re.findall(r"automodule:: (\S+)", pages))
    public = {
        f"sdmbtl.{path.parent.name}"
        for path in PACKAGES.glob("*/__init__.py")
        if "__all__" in path.read_text()
    }
    assert public <= described
    assert all(importlib.util.find_spec(name) for name in described)


def test_anchors_lead_to_headings():
    pages = [*ROOT.glob("*.md"), *DOCS.glob("*.md"), *DOCS.glob("api/*.md")]
    for page in pages:
        for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text()):
            other = (page.parent / target) if target else page
            assert anchor in headings(other), f"{page.name}: {target}#{anchor}"


def test_every_command_is_described_with_its_options(commands):
    text = commands.command_pages()
    for name in ("run", "ask", "report", "lab bench synthetic"):
        assert f"\n### sdmbtl {name}\n" in text
    assert "| `--min-gain " in text
    assert "| `--space NAME\\|FILE.toml` |" in text  # a bar does not end the cell
    assert text.count("### sdmbtl ") == text.count("```text\nsdmbtl ")
    assert "\n## None" not in text
    assert commands.MARK in (DOCS / "commands.md").read_text()


def test_what_the_tutorial_prints_was_printed():
    kept = json.loads((ROOT / "results" / "tutorial.json").read_text())
    page = (DOCS / "tutorial.md").read_text()
    assert f"\n{kept['command']}\n" in page
    printed = ["\n".join(lines) for lines in kept["printed"].values()]
    shown = re.findall(r"```text\n(.*?)\n```", page, flags=re.DOTALL)
    assert len(shown) == 5
    for block in shown:
        assert any(block in text for text in printed), block


@pytest.mark.slow
def test_the_site_is_built_without_warnings_and_loads_nothing_from_elsewhere(tmp_path):
    for needed in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(needed, reason="the extra 'docs' is not installed")
    made = subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "-q"),
            *("-d", tmp_path / "doctrees", "-c", DOCS / "site", ROOT, tmp_path / "site"),
        ],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        text = page.read_text()
        loaded = re.findall(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"([^\"]*)\"", text)
        loaded += re.findall(r"<link\b[^>]*\bstylesheet\b[^>]*\bhref=\"([^\"]*)\"", text)
        assert [address for address in loaded if "//" in address] == [], page.name
    styles = "".join(path.read_text() for path in (tmp_path / "site").rglob("*.css"))
    assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", styles)
    assert "sdmbtl lab bench synthetic" in (tmp_path / "site/docs/commands.html").read_text()
    assert "ContextSpace" in (tmp_path / "site/docs/api/contexts.html").read_text()
