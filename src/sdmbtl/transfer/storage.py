"""Arrays with their context space in one npz file: versioned, atomic, never pickled."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import MatrixError
from sdmbtl.files import replaced_atomically

VERSION = 1

#: What numpy, zipfile and zlib raise, between them, for a file that is damaged or another's.
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    EOFError,
    RuntimeError,  # NotImplementedError too: a flag that zipfile does not know
    OSError,
)


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
    path: str | Path, *, kind: str, arrays: Iterable[str]
) -> tuple[ContextSpace, dict[str, NDArray[Any]]]:
    """Read these arrays and their space from a file written by `save_arrays`.

    Raises:
        MatrixError: If it is not such a file, damaged, of another kind or release.
        FileNotFoundError: If there is no file.
    """
    header, found = _read(path)
    version, found_kind = header["version"], header["kind"]
    if version != VERSION:
        raise MatrixError(f"{path} has format version {version}; this release reads {VERSION}.")
    if found_kind != kind:
        raise MatrixError(f"{path} holds {found_kind}; {kind} were expected.")
    try:
        return ContextSpace.from_dict(header["space"]), {name: found[name] for name in arrays}
    except _DAMAGED as error:
        raise _damaged(path, error) from None


def kind_of(path: str | Path) -> str:
    """What a file written by `save_arrays` holds.

    Raises:
        MatrixError: If it is not such a file, or damaged.
        FileNotFoundError: If there is no file.
    """
    return str(_read(path)[0]["kind"])


def _read(path: str | Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header of a file, with a version and a kind, and its arrays."""
    with Path(path).open("rb") as raw:  # np.load would leave it open when it fails
        try:
            with np.load(raw, allow_pickle=False) as file:
                found = {name: file[name] for name in file.files}
            header = json.loads(str(found.pop("header")))
            return {**header, "version": header["version"], "kind": header["kind"]}, found
        except _DAMAGED as error:
            raise _damaged(path, error) from None


def _damaged(path: str | Path, error: Exception) -> MatrixError:
    # NumPy takes a file that is not an archive for a pickle, and advises to load it unsafely.
    reason = "it is not an npz archive" if "pickled data" in str(error) else error
    return MatrixError(
        f"{path} is not a file of sdmbtl, or it is damaged ({reason}). "
        "Write such files with .save(path)."
    )
