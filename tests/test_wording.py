"""Numbers, contexts, times and gains in words; and the words of everything that people read."""

import ast
import re
import tokenize
from pathlib import Path

import pytest

from sdmbtl.wording import chosen_by


@pytest.mark.parametrize(
    ("strategy", "structure", "model", "text"),
    [
        ("improvement", None, "plateau", "plateau"),
        ("improvement", None, None, "first policy"),
        ("random", None, "none", "random (none)"),
        ("m-mbtl", "mountain", None, "m-mbtl (mountain)"),
        ("m-mbtl", None, "plateau", "m-mbtl (plateau)"),
        ("reported", None, None, "reported"),
    ],
)
def test_what_chose_a_context(strategy, structure, model, text):
    assert chosen_by(strategy, structure, model) == text


# -- phrases to avoid ------------------------------------------------------------------------

ROOT = Path(__file__).parent.parent
#: Phrase -> how often it may occur in everything that people read: a tenth of a former count.
CEILINGS = {
    r"\b(say|says|said)\b": 35,
    r"\bof (its|your) own\b": 10,
    r"\bbeside\b": 8,
    r"\bso (many|often|long)\b": 7,
    r"\b(what|that) came\b": 4,
    r"\banew\b": 2,
}
#: Docstrings may begin with a headless clause this often.
HEADLESS, HEADLESS_CEILING = r"(What|Whether|How|Where|Which|Why)\b", 49


def sources():
    """Return the Python files whose text people read: not the tests."""
    folders = ("src", "lab/src", "lab/experiments", "domains", "docs/site", "examples")
    found = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return [path for path in found if "tests" not in path.parts]


def strings(path):
    """Return the comments, docstrings and other strings of a Python file."""
    kinds = (tokenize.COMMENT, tokenize.STRING)
    with path.open("rb") as file:
        tokens = tokenize.tokenize(file.readline)
        return "\n".join(token.string for token in tokens if token.type in kinds)


@pytest.fixture(scope="module")
def texts():
    """The text of every page, and of every Python file, by path."""
    pages = (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
    read = {path: path.read_text(encoding="utf-8") for path in pages}
    return read | {path: strings(path) for path in sources()}


@pytest.mark.parametrize("phrase", CEILINGS)
def test_phrases_are_rare(phrase, texts):
    found = [
        f"{path.relative_to(ROOT)}: {text[max(0, hit.start() - 30) : hit.end() + 30]!r}"
        for path, text in texts.items()
        for hit in re.finditer(phrase, text, flags=re.IGNORECASE)
    ]
    assert len(found) <= CEILINGS[phrase], "\n".join(found)


def test_docstrings_begin_with_a_verb_or_a_noun():
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [
        f"{path.relative_to(ROOT)}: {text.partition(chr(10))[0]}"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, kinds) and re.match(HEADLESS, text := ast.get_docstring(node) or "")
    ]
    assert len(found) <= HEADLESS_CEILING, "\n".join(found)
