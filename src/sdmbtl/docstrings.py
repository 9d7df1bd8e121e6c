"""Descriptions of arguments, read from docstrings."""

from __future__ import annotations

import inspect
import re

_SECTION = re.compile(r"^(Args|Attributes):$")
_ENTRY = re.compile(r"^(\s+)\*{0,2}(\w+): +(.*)$")
_PARAM = re.compile(r"^:param (\w+): ?(.*)$")


def read_arguments(described: object) -> dict[str, str]:
    """Read the meaning of each argument or attribute, in one line.

    Args:
        described: A class or a function whose docstring is in the style of Google ("Args:",
            "Attributes:") or of Sphinx (":param name:").
    """
    text = inspect.getdoc(described) or ""
    lines = _sphinx_lines(text) if ":param " in text else _google_lines(text)
    return {name: " ".join(words.split()) for name, words in lines.items()}


def _google_lines(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    inside, indent, name = False, "", ""
    for line in text.splitlines():
        if line and not line[0].isspace():
            inside = _SECTION.match(line) is not None
            indent = ""
            continue
        entry = _ENTRY.match(line)
        if inside and entry is not None and entry[1] == (indent or entry[1]):
            indent, name = entry[1], entry[2]
            found[name] = entry[3]
        elif inside and found:
            found[name] += f" {line}"
    return found


def _sphinx_lines(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    for line in map(str.strip, text.splitlines()):
        entry = _PARAM.match(line)
        if entry is not None:
            name = entry[1]
            found[name] = entry[2]
        elif name and line and not line.startswith(":"):
            found[name] += f" {line}"
        else:
            name = ""
    return found
