"""Transfer matrices: shipped ones, making them by real training, describing them."""

from sdmbtl.matrices.dataset import TransferDataset
from sdmbtl.matrices.shipped import load_matrix, matrix_names
from sdmbtl.matrices.transfer_matrices import TransferMatrices

__all__ = ["TransferDataset", "TransferMatrices", "load_matrix", "matrix_names"]
