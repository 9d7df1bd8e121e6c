"""Arrays with their context space in one npz file: versioned, atomic, never pickled."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import MatrixError

VERSION = 1


def save_arrays(
    path: str | Path, *, kind: str, space: ContextSpace, arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write arrays and their space; a reader sees the old file or the new one, never half."""
    path = Path(path)
    header = json.dumps({"version": VERSION, "kind": kind, "space": space.to_dict()})
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            np.savez_compressed(file, header=np.array(header), **dict(arrays))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def load_arrays(path: str | Path, *, kind: str) -> tuple[ContextSpace, dict[str, NDArray[Any]]]:
    """Read arrays and their space from a file written by `save_arrays`.

    Raises:
        MatrixError: If the file is no such file, damaged, of another kind or release.
        FileNotFoundError: If there is no file.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(str(arrays.pop("header")))
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError, AttributeError) as error:
        raise MatrixError(
            f"{path} is not a file of sdmbtl, or it is damaged ({error}). "
            "Write such files with .save(path)."
        ) from None
    if header["version"] != VERSION:
        raise MatrixError(
            f"{path} has format version {header['version']}; this release reads {VERSION}."
        )
    if header["kind"] != kind:
        raise MatrixError(f"{path} holds {header['kind']}; {kind} were expected.")
    return ContextSpace.from_dict(header["space"]), arrays
