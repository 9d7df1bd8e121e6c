"""Transfer matrices: shipped ones, making them by real training, describing them."""

from sdmbtl.matrices.dataset import TransferDataset
from sdmbtl.matrices.region_dataset import RegionDataset
from sdmbtl.matrices.shipped import load_matrix, load_regions, matrix_names, region_names
from sdmbtl.matrices.transfer_matrices import TransferMatrices

__all__ = [
    "RegionDataset",
    "TransferDataset",
    "TransferMatrices",
    "load_matrix",
    "load_regions",
    "matrix_names",
    "region_names",
]
