"""Prediction: models of the next policy's row, and which of them predicted best so far."""

from sdmbtl.selectors.models.cells import cell_centres, target_cells
from sdmbtl.selectors.models.comparison import ModelChoice, ModelComparison
from sdmbtl.selectors.models.completed_rows import CompletedRows
from sdmbtl.selectors.models.first_row_model import FirstRowModel
from sdmbtl.selectors.models.linear_gap_model import (
    AdditiveModel,
    AdditiveQualityModel,
    MountainModel,
)
from sdmbtl.selectors.models.make import ModelLike, default_models, make_models
from sdmbtl.selectors.models.model import FittedModel, RowModel, RowPrediction
from sdmbtl.selectors.models.plateau_model import PlateauModel
from sdmbtl.selectors.models.track_record import CalibratedModel, Outcome, TrackRecord
from sdmbtl.selectors.models.unstructured_model import UnstructuredModel

__all__ = [
    "AdditiveModel",
    "AdditiveQualityModel",
    "CalibratedModel",
    "CompletedRows",
    "FirstRowModel",
    "FittedModel",
    "ModelChoice",
    "ModelComparison",
    "ModelLike",
    "MountainModel",
    "Outcome",
    "PlateauModel",
    "RowModel",
    "RowPrediction",
    "TrackRecord",
    "UnstructuredModel",
    "cell_centres",
    "default_models",
    "make_models",
    "target_cells",
]
