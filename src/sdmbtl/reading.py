"""Reads texts that someone else may have written: size, depth and numbers are checked."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterable
from itertools import chain
from os import fstat
from pathlib import Path
from typing import Any

from sdmbtl.limits import check_limit, current_limits

#: Digits of a whole number that no float can hold.
_LONG_NUMBER = re.compile(r"\d{309}")
_LARGEST_BITS = 1023
_TOO_LONG = "it has a whole number of more than 308 digits"


def read_bytes(path: str | Path, limit: str = "array_bytes") -> bytes:
    """The content of a file that is not too large.

    Args:
        path: The file.
        limit: Which limit holds for its size.

    Raises:
        LimitError: If it is larger.
        OSError: If it cannot be read.
    """
    allowed = getattr(current_limits(), limit)
    with Path(path).open("rb") as file:
        about = fstat(file.fileno())
        # A pipe or a device has no size: it is read up to the limit.
        size = about.st_size if stat.S_ISREG(about.st_mode) else allowed
        check_limit(limit, size, f"{path} is too large. Its size in bytes is")
        content = file.read(size + 1)
    check_limit(limit, len(content), f"{path} is too large. Its size in bytes is at least")
    return content


def read_text(path: str | Path, limit: str = "text_bytes") -> str:
    """The text of a file in UTF-8.

    Raises:
        LimitError: If it is too large.
        OSError: If it cannot be read.
        UnicodeDecodeError: If it is not such a text.
    """
    return read_bytes(path, limit).decode("utf-8")


def read_json(path: str | Path) -> Any:
    """The JSON data in a file.

    Raises:
        LimitError: If it is larger, or nested deeper, than is allowed.
        OSError: If it cannot be read.
        ValueError: If it is not JSON.
    """
    return parse_json(read_text(path), str(path))


def parse_json(text: object, source: str = "A JSON text") -> Any:
    """JSON data from a text.

    NaN and Infinity are read, as Python writes them.

    Args:
        text: The text.
        source: Where it is from, for messages.

    Raises:
        LimitError: If it is larger, or nested deeper, than is allowed.
        ValueError: If it is not JSON, or has whole numbers that no float can hold.
    """
    if not isinstance(text, str):
        raise ValueError(f"JSON is a text, not {type(text).__name__}")
    check_limit("text_bytes", len(text), f"{source} is too long. Its length is")
    values = text.count(",") + text.count("[") + text.count("{") + 1
    check_limit("values", values, f"{source} has too many values. There may be")
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply to be read") from None
    except json.JSONDecodeError:
        raise
    except ValueError:  # of Python, for a number of thousands of digits
        raise ValueError(_TOO_LONG) from None
    check_data(data, source)
    if _LONG_NUMBER.search(text):
        _check_numbers(data)
    return data


def check_data(data: Any, source: str) -> None:
    """Refuse JSON data that are nested so deeply that working with them would fail.

    Raises:
        LimitError: If they are.
    """
    depth, level = 0, _containers([data])
    while level:
        depth += 1
        check_limit("nesting", depth, f"{source} is nested too deeply. The depth is at least")
        level = _containers(_inner(level))


def _check_numbers(data: Any) -> None:
    level = [data]
    while level:
        for value in level:
            if type(value) is int and value.bit_length() > _LARGEST_BITS:
                raise ValueError(_TOO_LONG)
        level = list(_inner(_containers(level)))


def _containers(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if isinstance(value, dict | list)]


def _inner(containers: Iterable[Any]) -> Iterable[Any]:
    return chain.from_iterable(c.values() if isinstance(c, dict) else c for c in containers)
