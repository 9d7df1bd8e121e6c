"""Structure detection: criteria, detectors, and structures that predict the next row."""

from sdmbtl.structure.additive import AdditiveStructure, FreeQualityStructure, MountainStructure
from sdmbtl.structure.base import (
    MOUNTAIN,
    NO_STRUCTURE,
    Criterion,
    CriterionResult,
    Detection,
    Detector,
)
from sdmbtl.structure.cells import cell_centres, target_cells
from sdmbtl.structure.completed import CompletedRows
from sdmbtl.structure.contest import PredictionContest, Verdict
from sdmbtl.structure.first_row import FirstRowStructure
from sdmbtl.structure.mountain import MountainDetector
from sdmbtl.structure.plateau import PlateauStructure
from sdmbtl.structure.predictive import FittedStructure, RowPrediction, Structure
from sdmbtl.structure.slope_criterion import SlopeCriterion
from sdmbtl.structure.slopes import SlopeMethod, Slopes, estimate_slopes
from sdmbtl.structure.small_variance import SmallVarianceCriterion
from sdmbtl.structure.unstructured import NoStructure

__all__ = [
    "MOUNTAIN",
    "NO_STRUCTURE",
    "AdditiveStructure",
    "CompletedRows",
    "Criterion",
    "CriterionResult",
    "Detection",
    "Detector",
    "FirstRowStructure",
    "FittedStructure",
    "FreeQualityStructure",
    "MountainDetector",
    "MountainStructure",
    "NoStructure",
    "PlateauStructure",
    "PredictionContest",
    "RowPrediction",
    "SlopeCriterion",
    "SlopeMethod",
    "Slopes",
    "SmallVarianceCriterion",
    "Structure",
    "Verdict",
    "cell_centres",
    "estimate_slopes",
    "target_cells",
]
