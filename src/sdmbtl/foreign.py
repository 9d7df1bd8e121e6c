"""Files that somebody else may have written: read as data, up to a size, and never executed."""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Iterable
from os import fstat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.errors import LimitError

#: Bytes that are read of one file with arrays, and that its arrays may take in memory.
MAX_BYTES = 2 * 2**30
#: Bytes of one text: JSON, TOML, a record in the database of a study.
MAX_TEXT = 128 * 2**20
#: Lists and tables inside one another, in JSON and TOML.
MAX_DEPTH = 100

#: Errors of NumPy, zipfile, zlib and Gymnasium for data that is damaged or of another kind.
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    EOFError,
    RuntimeError,  # NotImplementedError too: a flag that zipfile does not know
    SyntaxError,  # of a header that is not a Python literal
    OSError,
)

#: A whole number that no float can hold.
_LONG_NUMBER = re.compile(r"\d{309}")
#: Arrays become numbers of 64 bits when they are used.
_NUMBER_BYTES = 8


def check_size(what: object, size: int, most: int) -> None:
    """Refuse something that is too large to be read."""
    if size > most:
        raise LimitError(f"{what} is too large: {size:,} bytes. At most {most:,} bytes are read.")


def read_bytes(path: str | Path, most: int = MAX_BYTES) -> bytes:
    """Read a file that is not too large; a pipe or a device is read up to the limit."""
    content = bytearray()
    with Path(path).open("rb") as file:
        check_size(path, fstat(file.fileno()).st_size, most)
        # In pieces: read(n) takes n bytes of memory at once, however short the file is.
        while len(content) <= most and (piece := file.read(2**20)):
            content += piece
    check_size(path, len(content), most)
    return bytes(content)


def read_text(path: str | Path, most: int = MAX_TEXT) -> str:
    """Read a text in UTF-8."""
    return read_bytes(path, most).decode("utf-8")


def read_json(path: str | Path) -> Any:
    """Read the JSON data in a file."""
    return parse_json(read_text(path), str(path))


def parse_json(text: object, source: str = "A JSON text") -> Any:
    """Read JSON data from a text; NaN and Infinity are read as Python writes them.

    Raises:
        LimitError: If it is too large.
        ValueError: If it is not JSON, is nested too deeply, or has a number of hundreds of digits.
    """
    if not isinstance(text, str):
        raise ValueError(f"JSON is a text, not {type(text).__name__}")
    check_size(source, len(text), MAX_TEXT)
    if _LONG_NUMBER.search(text):
        raise ValueError("it has a number of more than 308 digits")
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    check_depth(data)
    return data


def check_depth(data: Any) -> None:
    """Refuse JSON or TOML data that are nested so deeply that working with them would fail."""
    level, depth = [data], 0
    while containers := [value for value in level if isinstance(value, dict | list)]:
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError("it is nested too deeply")
        level = [v for c in containers for v in (c.values() if isinstance(c, dict) else c)]


def read_npz(path: str | Path, names: Iterable[str] | None = None) -> dict[str, NDArray[Any]]:
    """Read arrays of an npz file, none of which is unpickled.

    Args:
        path: The file.
        names: The arrays to read; all if left out.

    Raises:
        LimitError: If the file, or its arrays in memory, are too large.
        FileNotFoundError: If there is no file.
        Exception: One of `DAMAGED`, if it is not such a file or damaged.
    """
    path = Path(path)
    check_size(path, path.stat().st_size, MAX_BYTES)
    with zipfile.ZipFile(path) as archive:
        check_size(path, sum(entry.file_size for entry in archive.infolist()), MAX_BYTES)
    arrays: dict[str, NDArray[Any]] = {}
    try:
        with np.load(path, allow_pickle=False) as packed:
            for name in packed.files if names is None else names:
                arrays[name] = packed[name]
                check_size(path, sum(_NUMBER_BYTES * a.size for a in arrays.values()), MAX_BYTES)
    except MemoryError as error:
        if isinstance(error, LimitError):
            raise
        raise ValueError(f"an array is larger than its data: {error}") from None
    return arrays
