"""Trainers: they train policies on contexts and evaluate them on others."""

from sdmbtl.training.base import Trainer
from sdmbtl.training.checkpoint import Checkpoints
from sdmbtl.training.evaluation import evaluate
from sdmbtl.training.job import Evaluation, Failure, Training, TrainingJob
from sdmbtl.training.progress import Progress, Report
from sdmbtl.training.registry import make_trainer, trainer_names
from sdmbtl.training.spec import TrainerSpec, delete_checkpoints, train

__all__ = [
    "Checkpoints",
    "Evaluation",
    "Failure",
    "Progress",
    "Report",
    "Trainer",
    "TrainerSpec",
    "Training",
    "TrainingJob",
    "delete_checkpoints",
    "evaluate",
    "make_trainer",
    "train",
    "trainer_names",
]
