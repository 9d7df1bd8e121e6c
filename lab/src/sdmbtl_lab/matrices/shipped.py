"""Transfer matrices of real training that ship with the package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from sdmbtl.checks import did_you_mean
from sdmbtl.errors import MatrixError
from sdmbtl_lab.matrices.dataset import TransferDataset
from sdmbtl_lab.matrices.region_dataset import RegionDataset

#: Beginning of the names of data sets of regions.
REGIONS = "regions-"


def folder() -> Path:
    """Return the directory of the data sets."""
    return Path(str(files("sdmbtl_lab.matrices"))) / "data"


def matrix_names() -> tuple[str, ...]:
    """Every name that `load_matrix` knows."""
    return tuple(name for name in _names() if not name.startswith(REGIONS))


def region_names() -> tuple[str, ...]:
    """Every name that `load_regions` knows."""
    return tuple(name for name in _names() if name.startswith(REGIONS))


def load_matrix(name: str | Path) -> TransferDataset:
    """Load a data set by one of the `matrix_names()`, or by the path of its file or directory."""
    return TransferDataset.load(_find(name, matrix_names()))


def load_regions(name: str | Path) -> RegionDataset:
    """Load a data set of regions by one of the `region_names()`, or by its path."""
    return RegionDataset.load(_find(name, region_names()))


def _names() -> list[str]:
    return sorted(path.stem for path in folder().glob("*.npz"))


def _find(name: str | Path, names: tuple[str, ...]) -> Path:
    """The file of a data set."""
    if name in names:
        return folder() / f"{name}.npz"
    path = Path(name)
    if path.is_dir():
        if not (path / "matrix.npz").is_file():
            raise MatrixError(
                f"The directory {str(name)!r} has no matrix.npz; 'sdmbtl lab matrix' writes it "
                "when all seeds are finished."
            )
        path = path / "matrix.npz"
    if not path.is_file():
        raise MatrixError(
            f"There is no matrix {str(name)!r}. With the package come: "
            f"{', '.join(names) or 'none'}; others are given by their path."
            f"{did_you_mean(str(name), names)}"
        )
    return path
