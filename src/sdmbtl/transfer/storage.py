"""Arrays with their context space in one npz file: versioned, atomic, never pickled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import MatrixError
from sdmbtl.files import replaced_atomically
from sdmbtl.foreign import DAMAGED, parse_json, read_npz

VERSION = 1

#: The shape of an array: a number, or a name for a size that is the same in all arrays. "targets"
#: is the number of targets of the space.
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

    Args:
        path: The file.
        kind: The kind of arrays that it must hold.
        arrays: Names of the arrays and their shapes.

    Raises:
        MatrixError: If it is not such a file, damaged, of another kind or release.
        LimitError: If it is too large.
        FileNotFoundError: If there is no file.
    """
    try:
        text = read_npz(path, ["header"])["header"]
        header = parse_json(text.item() if text.ndim == 0 else None, str(path))
        header = {**header, "version": header["version"], "kind": header["kind"]}
    except FileNotFoundError:
        raise
    except DAMAGED as error:
        raise _damaged(path, error) from None
    if header["version"] != VERSION:
        raise MatrixError(
            f"{path} has format version {header['version']!r}; this release reads {VERSION}."
        )
    if header["kind"] != kind:
        raise MatrixError(f"{path} holds {header['kind']}; {kind} were expected.")
    try:
        space = ContextSpace.from_dict(header["space"])
        found = read_npz(path, arrays)
        _check_shapes(found, arrays, {"targets": len(space)})
    except DAMAGED as error:
        raise _damaged(path, error) from None
    return space, found


def _check_shapes(
    found: Mapping[str, NDArray[Any]], arrays: Mapping[str, Shape], sizes: dict[str, int]
) -> None:
    """Check that arrays are of numbers and have their shapes; a name's first size is its size."""
    for name, expected in arrays.items():
        array = found[name]
        if array.ndim == len(expected):
            for size, said in zip(array.shape, expected, strict=True):
                if isinstance(said, str):
                    sizes.setdefault(said, size)
        known = [sizes.get(said, said) if isinstance(said, str) else said for said in expected]
        if list(array.shape) != known or array.dtype.kind not in "biuf":
            raise MatrixError(
                f"{name!r} must be numbers of shape ({', '.join(map(str, expected))}), here "
                f"({', '.join(map(str, known))}). Got {array.dtype} of shape {array.shape} instead"
            )


def _damaged(path: str | Path, error: Exception) -> MatrixError:
    return MatrixError(
        f"{path} is not a file of sdmbtl, or it is damaged ({error}). "
        "Write such files with .save(path)."
    )
