"""Descriptions of arguments, read from docstrings."""

from __future__ import annotations

import inspect
import re

_SECTION = re.compile(r"^(Args|Attributes):$")
_GOOGLE = re.compile(r"^( {4})\*{0,2}(\w+): +(.*)$")
_SPHINX = re.compile(r"^(:param )(\w+): ?(.*)$")


def read_arguments(described: object) -> dict[str, str]:
    """Read the meaning of each argument or attribute, in one line.

    Args:
        described: A class or a function whose docstring is in the style of Google ("Args:",
            "Attributes:") or of Sphinx (":param name:").
    """
    found: dict[str, str] = {}
    inside, name = False, ""
    for line in (inspect.getdoc(described) or "").splitlines():
        entry = _SPHINX.match(line) or (_GOOGLE.match(line) if inside else None)
        if entry is not None:
            name = entry[2]
            found[name] = entry[3]
        elif line and not line[0].isspace():
            inside, name = _SECTION.match(line) is not None, ""
        elif name:
            found[name] += f" {line}"
    return {name: " ".join(words.split()) for name, words in found.items()}
