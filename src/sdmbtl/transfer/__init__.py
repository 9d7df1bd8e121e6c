"""Transfer data: rows J(pi_x, ·) as observed, full matrices, their decomposition."""

from sdmbtl.transfer.dataset import TransferDataset
from sdmbtl.transfer.decomposition import Decomposition, SobolHoeffding
from sdmbtl.transfer.gap import SeparableGap
from sdmbtl.transfer.matrix import TransferMatrices
from sdmbtl.transfer.rows import ObservedRows, as_row

__all__ = [
    "Decomposition",
    "ObservedRows",
    "SeparableGap",
    "SobolHoeffding",
    "TransferDataset",
    "TransferMatrices",
    "as_row",
]
