"""Reads zip and npz archives that someone else may have written, only what is asked for."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterable
from types import TracebackType
from typing import IO, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import short_text
from sdmbtl.limits import check_limit

#: What numpy, zipfile and zlib raise, between them, for a file that is damaged or another's.
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    EOFError,
    RuntimeError,  # NotImplementedError too: a flag that zipfile does not know
    SyntaxError,  # of a header that is not a Python literal
    OSError,
)

#: The kinds of NumPy's types that are numbers.
NUMBERS = "biuf"
#: Each number counts as one of 64 bits, which arrays become when they are used.
_NUMBER_BYTES = 8


class ArrayHeader(NamedTuple):
    """What an array is, before it is read.

    Attributes:
        shape: Its shape.
        dtype: Its type.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class ArrayArchive:
    """The arrays of an npz file; each is read when it is asked for, once its size was checked.

    Args:
        file: The file, opened to read bytes.
        source: Where it is from, for messages.

    Raises:
        LimitError: If it has too many entries.
        zipfile.BadZipFile: If it is not an archive; or another one of `DAMAGED`.
    """

    def __init__(self, file: IO[bytes], source: str) -> None:
        self._source = source
        self._archive = open_archive(file, source)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._archive.close()

    @property
    def names(self) -> list[str]:
        """Names of the arrays."""
        return [name.removesuffix(".npy") for name in self._archive.namelist()]

    def header(self, name: str) -> ArrayHeader:
        """Shape and type of an array, which fit the size that the archive says it has.

        Raises:
            ValueError: If they do not, or objects are inside; or another one of `DAMAGED`.
        """
        if f"{name}.npy" not in self._archive.NameToInfo:
            raise KeyError(name)
        info = _plain_entry(self._archive, f"{name}.npy")
        with self._archive.open(info) as member:
            major, _ = np.lib.format.read_magic(member)
            read = {
                1: np.lib.format.read_array_header_1_0,
                2: np.lib.format.read_array_header_2_0,
            }[major]
            shape, _, dtype = read(member)
            begin = member.tell()
        if dtype.hasobject:
            raise ValueError("Object arrays cannot be loaded: they would be unpickled")
        if any(size < 0 for size in shape):
            raise ValueError(f"{name!r} has the shape {short_text(shape)}")
        if begin + math.prod(shape) * dtype.itemsize != info.file_size:
            raise ValueError(f"{name!r} has another size than its shape {short_text(shape)}")
        return ArrayHeader(shape, dtype)

    def read(self, names: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Arrays of numbers, by name.

        Raises:
            LimitError: If they would take too much memory together.
            ValueError: If one does not hold numbers; or another one of `DAMAGED`.
        """
        found = {name: self.header(name) for name in names}
        total = 0
        for name, (shape, dtype) in found.items():
            if dtype.kind not in NUMBERS:
                raise ValueError(f"{name!r} does not hold numbers but {dtype}")
            # An axis of length 0 takes no memory, but those beside it may be endless.
            total += math.prod(size or 1 for size in shape) * max(dtype.itemsize, _NUMBER_BYTES)
        what = f"{self._source} is too large. The bytes that its arrays take in memory are"
        check_limit("array_bytes", total, what)
        return {name: self._read(name) for name in found}

    def text(self, name: str) -> str:
        """A text that is kept as an array without axes.

        Raises:
            LimitError: If it is too long.
            ValueError: If it is not a text; or another one of `DAMAGED`.
        """
        shape, dtype = self.header(name)
        if shape or dtype.kind != "U":
            raise ValueError(f"{name!r} is not a text but {dtype} of shape {shape}")
        what = f"{self._source} is too large. The bytes of its text {name!r} are"
        check_limit("text_bytes", dtype.itemsize, what)
        return str(self._read(name))

    def _read(self, name: str) -> NDArray[Any]:
        with self._archive.open(f"{name}.npy") as member:
            array = np.lib.format.read_array(member, allow_pickle=False)
        return np.asarray(array)


def open_archive(file: IO[bytes], source: str) -> zipfile.ZipFile:
    """An archive to be read.

    Raises:
        LimitError: If it has too many entries.
        zipfile.BadZipFile: If it is not an archive; or another one of `DAMAGED`.
    """
    archive = zipfile.ZipFile(file)
    check_limit("entries", len(archive.infolist()), f"{source} is too large. Its entries are")
    return archive


def read_entry(archive: zipfile.ZipFile, name: str, source: str) -> bytes:
    """The content of one entry of an archive.

    Raises:
        LimitError: If it is too large.
        KeyError: If there is none; or another one of `DAMAGED`.
    """
    info = _plain_entry(archive, name)
    what = f"{source} is too large. The bytes of its entry {name!r} are"
    check_limit("array_bytes", info.file_size, what)
    return archive.read(info)


def _plain_entry(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    info = archive.getinfo(name)
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{name!r} is compressed in a way that is not read here")
    return info
