"""Prediction: models of the next policy's row, and which of them predicted best so far."""

from sdmbtl.prediction.additive_model import AdditiveModel, AdditiveQualityModel, MountainModel
from sdmbtl.prediction.cells import cell_centres, target_cells
from sdmbtl.prediction.completed_rows import CompletedRows
from sdmbtl.prediction.contest import PredictionContest, Verdict
from sdmbtl.prediction.first_row_model import FirstRowModel
from sdmbtl.prediction.model import FittedModel, RowModel, RowPrediction
from sdmbtl.prediction.plateau_model import PlateauModel
from sdmbtl.prediction.unstructured_model import UnstructuredModel

__all__ = [
    "AdditiveModel",
    "AdditiveQualityModel",
    "CompletedRows",
    "FirstRowModel",
    "FittedModel",
    "MountainModel",
    "PlateauModel",
    "PredictionContest",
    "RowModel",
    "RowPrediction",
    "UnstructuredModel",
    "Verdict",
    "cell_centres",
    "target_cells",
]
