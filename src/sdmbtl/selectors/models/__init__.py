"""Prediction: models of the next policy's row, and their mixture."""

from sdmbtl.selectors.models.linear_gap_model import LinearGapModel
from sdmbtl.selectors.models.mixture import ModelMixture
from sdmbtl.selectors.models.model import KnownRows, RowModel, Shape
from sdmbtl.selectors.models.plateau_model import PlateauModel

__all__ = ["KnownRows", "LinearGapModel", "ModelMixture", "PlateauModel", "RowModel", "Shape"]
