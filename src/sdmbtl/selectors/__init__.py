"""Selectors: which context to train on next, by ask and tell."""

from sdmbtl.selectors.acquisition import best_target
from sdmbtl.selectors.base import Selector
from sdmbtl.selectors.generalist_first_selector import GeneralistFirstSelector
from sdmbtl.selectors.gp_selector import GPSelector
from sdmbtl.selectors.history import History
from sdmbtl.selectors.make import make_selector, selector_names
from sdmbtl.selectors.mountain_selector import MountainSelector
from sdmbtl.selectors.predictive_selector import PredictiveSelector
from sdmbtl.selectors.random_selector import IndependentTraining, RandomSelector
from sdmbtl.selectors.structure_detection_selector import MGPSelector, StructureDetectionSelector
from sdmbtl.selectors.trial import Proposal, TrainingRun, Trial

__all__ = [
    "GPSelector",
    "GeneralistFirstSelector",
    "History",
    "IndependentTraining",
    "MGPSelector",
    "MountainSelector",
    "PredictiveSelector",
    "Proposal",
    "RandomSelector",
    "Selector",
    "StructureDetectionSelector",
    "TrainingRun",
    "Trial",
    "best_target",
    "make_selector",
    "selector_names",
]
