"""Transfer matrices of real training that ship with the package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from sdmbtl.checks import did_you_mean
from sdmbtl.errors import MatrixError
from sdmbtl.matrices.dataset import TransferDataset


def folder() -> Path:
    """Where the data sets are."""
    return Path(str(files("sdmbtl.matrices"))) / "data"


def matrix_names() -> tuple[str, ...]:
    """Every name that `load_matrix` knows."""
    return tuple(sorted(path.stem for path in folder().glob("*.npz")))


def load_matrix(name: str | Path) -> TransferDataset:
    """Load a data set that ships with the package, or one made with `sdmbtl matrix`.

    Args:
        name: One of `matrix_names()`, or the path of an npz file or of its directory.

    Raises:
        MatrixError: If there is no such data set, or the file is damaged or another's.
    """
    if name in matrix_names():
        return TransferDataset.load(folder() / f"{name}.npz")
    path = Path(name)
    if path.is_dir():
        if not (path / "matrix.npz").is_file():
            raise MatrixError(
                f"The directory {str(name)!r} has no matrix.npz; 'sdmbtl matrix' writes it when "
                "all seeds are finished."
            )
        path = path / "matrix.npz"
    if not path.is_file():
        known = ", ".join(matrix_names()) or "none"
        raise MatrixError(
            f"There is no matrix {str(name)!r}. With the package come: {known}; others are given "
            f"by their path.{did_you_mean(str(name), matrix_names())}"
        )
    return TransferDataset.load(path)
