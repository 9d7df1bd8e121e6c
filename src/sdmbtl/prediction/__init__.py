"""Prediction: models of the next policy's row, and which of them predicted best so far."""

from sdmbtl.prediction.additive_model import AdditiveModel
from sdmbtl.prediction.additive_quality_model import AdditiveQualityModel
from sdmbtl.prediction.calibrated_model import CalibratedModel
from sdmbtl.prediction.cells import cell_centres, target_cells
from sdmbtl.prediction.completed_rows import CompletedRows
from sdmbtl.prediction.contest import PredictionContest, Verdict
from sdmbtl.prediction.first_row_model import FirstRowModel
from sdmbtl.prediction.model import FittedModel, RowModel, RowPrediction
from sdmbtl.prediction.mountain_model import MountainModel
from sdmbtl.prediction.plateau_model import PlateauModel
from sdmbtl.prediction.registry import ModelLike, default_models, make_models
from sdmbtl.prediction.track_record import Outcome, TrackRecord
from sdmbtl.prediction.unstructured_model import UnstructuredModel

__all__ = [
    "AdditiveModel",
    "AdditiveQualityModel",
    "CalibratedModel",
    "CompletedRows",
    "FirstRowModel",
    "FittedModel",
    "ModelLike",
    "MountainModel",
    "Outcome",
    "PlateauModel",
    "PredictionContest",
    "RowModel",
    "RowPrediction",
    "TrackRecord",
    "UnstructuredModel",
    "Verdict",
    "cell_centres",
    "default_models",
    "make_models",
    "target_cells",
]
