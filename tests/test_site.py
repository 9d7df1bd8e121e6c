"""The documentation site has every page, every command and every package."""

import importlib
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
    lines.remove("Overview <self>") if page == DOCS / "index.md" else None
    names = [re.sub(r".*<(.*)>", r"\1", line) for line in lines]
    return [(page.parent / f"{name}.md").resolve() for name in names]


def headings(page):
    """The anchors of a page, as the repository's web page and the site make them."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    found = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.fixture(scope="module")
def generated():
    """The module that replaces marks by generated text; it needs no Sphinx."""
    sys.path.insert(0, str(DOCS / "site"))
    yield importlib.import_module("generated")
    sys.path.remove(str(DOCS / "site"))


def test_every_page_is_in_the_contents_once():
    trees = (DOCS / "index.md", DOCS / "reference/api/index.md", DOCS / "research/data/index.md")
    pages = [page for tree in trees for page in listed(tree)]
    assert len(pages) == len(set(pages))
    missing = {path for path in pages if not path.is_file()}
    assert missing == set()
    there = {path.resolve() for path in DOCS.rglob("*.md")}
    assert there - set(pages) == {(DOCS / "index.md").resolve()}


def test_every_package_with_public_names_has_a_page():
    pages = "".join(path.read_text() for path in DOCS.glob("reference/api/*.md"))
    described = set(re.findall(r"automodule:: (\S+)", pages))
    public = {
        f"sdmbtl.{path.parent.name}"
        for path in PACKAGES.glob("*/__init__.py")
        if "__all__" in path.read_text()
    }
    assert public <= described
    assert all(importlib.util.find_spec(name) for name in described)


def test_anchors_lead_to_headings():
    for page in (*ROOT.glob("*.md"), *DOCS.rglob("*.md")):
        for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text()):
            other = (page.parent / target) if target else page
            assert anchor in headings(other), f"{page.name}: {target}#{anchor}"


def test_pages_are_short():
    """Outside the reference, with tables and without code."""
    for page in DOCS.rglob("*.md"):
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        words = sum(any(map(str.isalnum, word)) for word in text.split())
        assert words <= 1500 or page.is_relative_to(DOCS / "reference"), (page, words)


def test_no_table_stands_twice():
    pages = {page: page.read_text() for page in (ROOT / "README.md", *DOCS.rglob("*.md"))}
    made = [name for text in pages.values() for name in re.findall(r"<!-- (\S+) table, made", text)]
    assert len(made) == len(set(made))
    found = {}
    for page, text in pages.items():
        for row in set(re.findall(r"^\| .{30,} \|$", text, flags=re.MULTILINE)):
            assert found.setdefault(row, page) == page or set(row) <= set("|-: "), (row, page)


def test_every_mark_is_filled(generated):
    marks = [m for page in DOCS.rglob("*.md") for m in generated.MARK.findall(page.read_text())]
    assert sorted(marks) == sorted(generated.TEXTS)
    assert generated.MARK.search(generated.fill((DOCS / "index.md").read_text())) is None


def test_the_overview_has_links_as_seen_from_its_folder(generated):
    text = generated.fill((DOCS / "index.md").read_text())
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    assert len(links) > 10
    assert all((DOCS / link).exists() for link in links)


def test_every_command_is_described_with_its_options(generated):
    text = generated.TEXTS["commands"]()
    for name in ("run", "ask", "report", "lab bench synthetic"):
        assert f"\n### sdmbtl {name}\n" in text
    assert "| `--min-gain " in text
    assert "| `--space NAME\\|FILE.toml` |" in text  # a bar does not end the cell
    assert text.count("### sdmbtl ") == text.count("```text\nsdmbtl ")
    assert "\n## None" not in text


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("trainer-settings", ("| `learning_rate` | `0.0003` | `0.0003` | ", "### `sb3`")),
        ("selector-settings", ("| `width` | `0.25` | ", "### `m/gp-mbtl`", "`gp+random`")),
        ("space-file", ("| `levels` | integer, at least 1 | ", "| `density` | table | ")),
        ("families", ("### CropPlanning", "| `gravity` | 9.8 | – | – | 1 to 50, 8 values (log) |")),
        ("status-json", ("| `extensions` | ", "| `probably_failed` | ", "| `near_best` | ")),
    ],
)
def test_reference_tables_are_made_from_the_code(generated, name, rows):
    text = generated.TEXTS[name]()
    for row in rows:
        assert row in text, text
    cells = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")]
    assert all(cell.strip("| ") for line in cells for cell in line), "an empty cell"


def test_what_the_tutorial_prints_was_printed():
    kept = json.loads((ROOT / "results" / "tutorial.json").read_text())
    page = (DOCS / "start" / "quickstart.md").read_text()
    assert f"\n{kept['command']}\n" in page
    printed = ["\n".join(lines) for lines in kept["printed"].values()]
    shown = re.findall(r"```text\n(.*?)\n```", page, flags=re.DOTALL)
    assert len(shown) == 5
    for block in shown:
        assert any(block in text for text in printed), block
    covered = re.search("[0-9.]+ %", kept["printed"]["evaluate everywhere"][0])[0]
    assert f"512 drones to {covered} in new episodes" in (ROOT / "README.md").read_text()


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
    assert "sdmbtl lab bench synthetic" in (tmp_path / "site/docs/reference/cli.html").read_text()
    assert "ContextSpace" in (tmp_path / "site/docs/reference/api/contexts.html").read_text()
