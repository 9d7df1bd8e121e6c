"""Transfer matrices: shipped ones, making them by real training, describing them."""

from sdmbtl_lab.matrices.dataset import TransferDataset, TransferMatrices
from sdmbtl_lab.matrices.region_dataset import RegionDataset
from sdmbtl_lab.matrices.shipped import load_matrix, load_regions, matrix_names, region_names

__all__ = [
    "RegionDataset",
    "TransferDataset",
    "TransferMatrices",
    "load_matrix",
    "load_regions",
    "matrix_names",
    "region_names",
]
