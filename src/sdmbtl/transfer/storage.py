"""Arrays with their context space in one npz file: versioned, atomic, never pickled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.archives import DAMAGED, NUMBERS, ArrayArchive, ArrayHeader
from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import MatrixError
from sdmbtl.files import replaced_atomically
from sdmbtl.limits import naming
from sdmbtl.reading import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSION = 1

#: The shape of an array: a number, or a name for as many in all arrays. "targets" are those of the
#: space.
Shape = tuple[str | int, ...]


def save_arrays(
    path: str | Path, *, kind: str, space: ContextSpace, arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write arrays and their space; a reader sees the old file or the new one, never half."""
    path = Path(path)
    if any(array.dtype.hasobject for array in arrays.values()):
        raise MatrixError("Object arrays cannot be saved: they would be pickled.")
    header = json.dumps({"version": VERSION, "kind": kind, "space": space.to_dict()})
    with replaced_atomically(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, header=np.array(header), **arrays)  # type: ignore[arg-type]


def load_arrays(
    path: str | Path, *, kind: str, arrays: Mapping[str, Shape]
) -> tuple[ContextSpace, dict[str, NDArray[Any]]]:
    """Read these arrays and their space from a file written by `save_arrays`.

    What else the file has is not read, and nothing is before all shapes have been checked.

    Args:
        path: The file.
        kind: What it must hold.
        arrays: Names of the arrays and their shapes.

    Raises:
        MatrixError: If it is not such a file, damaged, of another kind or release.
        LimitError: If it is larger than is allowed.
        FileNotFoundError: If there is no file.
    """
    with _opened(path) as (header, archive):
        version, found_kind = header["version"], header["kind"]
        if version != VERSION:
            raise MatrixError(
                f"{path} has format version {version!r}; this release reads {VERSION}."
            )
        if found_kind != kind:
            raise MatrixError(f"{path} holds {found_kind}; {kind} were expected.")
        with _explained(path):
            space = ContextSpace.from_dict(header["space"])
            found = {name: archive.header(name) for name in arrays}
        try:
            _check_headers(found, arrays, {"targets": len(space)})
        except MatrixError as error:
            raise MatrixError(f"{path} is damaged ({error}).") from None
        with _explained(path):
            return space, archive.read(arrays)


def kind_of(path: str | Path) -> str:
    """What a file written by `save_arrays` holds.

    Raises:
        MatrixError: If it is not such a file, or damaged.
        LimitError: If it is larger than is allowed.
        FileNotFoundError: If there is no file.
    """
    with _opened(path) as (header, _):
        return str(header["kind"])


@contextmanager
def _opened(path: str | Path) -> Iterator[tuple[dict[str, Any], ArrayArchive]]:
    """The header of a file, with a version and a kind, and its arrays."""
    with Path(path).open("rb") as raw:
        with _explained(path):
            archive = ArrayArchive(raw, str(path))
        with archive:
            with _explained(path):
                header = parse_json(archive.text("header"), str(path))
                header = {**header, "version": header["version"], "kind": header["kind"]}
            yield header, archive


def _check_headers(
    found: Mapping[str, ArrayHeader], arrays: Mapping[str, Shape], sizes: dict[str, int]
) -> None:
    """Check that arrays are of numbers and have their shapes; a name's first size is its size."""
    for name, expected in arrays.items():
        shape, dtype = found[name]
        if len(shape) == len(expected):
            for size, said in zip(shape, expected, strict=True):
                if isinstance(said, str):
                    sizes.setdefault(said, size)
        known = [sizes.get(said, said) if isinstance(said, str) else said for said in expected]
        if list(shape) != known or dtype.kind not in NUMBERS:
            raise MatrixError(
                f"{name!r} must be numbers of shape ({', '.join(map(str, expected))}), here "
                f"({', '.join(map(str, known))}). Got {dtype} of shape {shape} instead"
            )


@contextmanager
def _explained(path: str | Path) -> Iterator[None]:
    try:
        with naming(path):
            yield
    except DAMAGED as error:
        raise MatrixError(
            f"{path} is not a file of sdmbtl, or it is damaged ({error}). "
            "Write such files with .save(path)."
        ) from None
