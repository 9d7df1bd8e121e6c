"""Trainers: they train policies on contexts and evaluate them on others."""

from sdmbtl.trainers.base import Evaluation, Trainer, Training, TrainingJob
from sdmbtl.trainers.checkpoint import Checkpoints
from sdmbtl.trainers.evaluation import evaluate
from sdmbtl.trainers.progress import Progress, Report
from sdmbtl.trainers.registry import make_trainer, trainer_names
from sdmbtl.trainers.spec import Failure, TrainerSpec, delete_checkpoints, train

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
