"""Prediction: models of the next policy's row, and which of them predicted best so far."""

from sdmbtl.selectors.models.additive_model import AdditiveModel
from sdmbtl.selectors.models.additive_quality_model import AdditiveQualityModel
from sdmbtl.selectors.models.calibrated_model import CalibratedModel
from sdmbtl.selectors.models.cells import cell_centres, target_cells
from sdmbtl.selectors.models.comparison import ModelChoice, ModelComparison
from sdmbtl.selectors.models.completed_rows import CompletedRows
from sdmbtl.selectors.models.first_row_model import FirstRowModel
from sdmbtl.selectors.models.model import FittedModel, RowModel, RowPrediction
from sdmbtl.selectors.models.mountain_model import MountainModel
from sdmbtl.selectors.models.plateau_model import PlateauModel
from sdmbtl.selectors.models.registry import ModelLike, default_models, make_models
from sdmbtl.selectors.models.track_record import Outcome, TrackRecord
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
