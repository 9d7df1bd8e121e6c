"""Trainers: they train policies on contexts and evaluate them on others."""

from sdmbtl.trainers.base import Progress, Trainer, Training, TrainingJob
from sdmbtl.trainers.registry import make_trainer, trainer_names

__all__ = ["Progress", "Trainer", "Training", "TrainingJob", "make_trainer", "trainer_names"]
