"""Specification of training as data, and training by it.

A specification can be written to a file or sent to another process or machine, where `train` and
`evaluate` give the same: the trainer is made from it there, once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from sdmbtl.contexts import ContextSpace
from sdmbtl.environments import EnvironmentFamily, make_family
from sdmbtl.errors import FamilyError, TrainerError, error_text
from sdmbtl.training.base import Trainer
from sdmbtl.training.checkpoint import Checkpoints
from sdmbtl.training.environment_errors import ENVIRONMENT_FAILURES
from sdmbtl.training.job import Failure, Training, TrainingJob
from sdmbtl.training.progress import Progress
from sdmbtl.training.registry import trainer_from_settings


@dataclass(frozen=True)
class TrainerSpec:
    """Everything that decides what training gives, as JSON data.

    Attributes:
        environment: Name and options of the environments, as `EnvironmentFamily.settings()` but
            without the space. With "importable": False, the environments are made by a function
            that only the process that has it can call.
        space: `ContextSpace.to_dict()`.
        trainer: Name of the trainer.
        settings: `Trainer.settings()`.
        live: The trainer of this process; made from the rest where it is missing.
    """

    environment: dict[str, Any]
    space: dict[str, Any]
    trainer: str
    settings: dict[str, Any]
    live: Trainer | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, trainer: Trainer) -> TrainerSpec:
        """The specification of a trainer, which is used itself in this process."""
        try:
            environment = trainer.family.settings()
            environment["options"].pop("space", None)
        except FamilyError:  # made by a function that has no name to import it by
            environment = {"name": trainer.family.name, "options": {}, "importable": False}
        parts = {
            "environment": environment,
            "space": trainer.space.to_dict(),
            "settings": trainer.settings(),
        }
        try:
            plain = json.loads(json.dumps(parts))  # as it will be read back: lists, not tuples
        except TypeError as error:
            raise TrainerError(
                f"The settings of the trainer {trainer.name!r} must be JSON data: numbers, texts, "
                f"lists. {error}."
            ) from None
        return cls(**plain, trainer=trainer.name, live=trainer)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel to another process without the trainer of this one."""
        return TrainerSpec, (self.environment, self.space, self.trainer, self.settings)

    def to_dict(self) -> dict[str, Any]:
        """The specification as JSON data."""
        names = ("environment", "space", "trainer", "settings")
        return {name: getattr(self, name) for name in names}

    def make_family(self) -> EnvironmentFamily:
        """The environments: made once in each process.

        Raises:
            FamilyError: If they cannot be made from data.
        """
        if self.live is not None:
            return self.live.family
        return _make_family(json.dumps(self.environment), json.dumps(self.space))

    def make_trainer(self) -> Trainer:
        """The trainer: made, and compiled, once in each process."""
        if self.live is not None:
            return self.live
        return _make_trainer(json.dumps(self.to_dict()))


def train(
    spec: TrainerSpec,
    jobs: Sequence[TrainingJob],
    progress: Progress | None = None,
    checkpoints: Checkpoints | None = None,
) -> list[Training | Failure]:
    """Train one policy for each job.

    Nothing is tried twice with other seeds: a retry is another job, and the caller's business.

    Args:
        spec: Environments, space, trainer and settings.
        jobs: The policies.
        progress: Called now and then; what it raises passes through.
        checkpoints: Files from which killed runs continue; see `delete_checkpoints`.

    Returns:
        For each job the training run, or why it failed. If several jobs that were trained together
        failed, each was tried alone, to find out which of them it was.

    Raises:
        TrainerError: If the set-up is wrong, so that no job could succeed.
    """
    try_chunk = partial(_try_jobs, spec, checkpoints)
    return spec.make_trainer().train_in_chunks(jobs, progress, try_chunk)


def delete_checkpoints(
    spec: TrainerSpec, jobs: Sequence[TrainingJob], checkpoints: Checkpoints
) -> None:
    """Delete the checkpoints of jobs that `train` was given, when their outcome is on record."""
    chunks = spec.make_trainer().chunks(jobs)
    # The jobs of a chunk that fails are tried alone.
    alone = [[number] for chunk in chunks if len(chunk) > 1 for number in chunk]
    for numbers in (*chunks, *alone):
        checkpoints.of(spec.to_dict(), [jobs[number] for number in numbers]).delete()


def _try_jobs(
    spec: TrainerSpec,
    checkpoints: Checkpoints | None,
    jobs: Sequence[TrainingJob],
    progress: Progress | None,
) -> list[Training | Failure]:
    checkpoint = None if checkpoints is None else checkpoints.of(spec.to_dict(), jobs)
    try:
        return [*spec.make_trainer().train_chunk(jobs, progress, checkpoint)]
    except TrainerError:
        raise
    except ENVIRONMENT_FAILURES as error:
        if len(jobs) == 1:
            return [Failure(error_text(error), jobs[0].attempt)]
    alone = partial(_try_jobs, spec, checkpoints)
    return [result for job in jobs for result in alone([job], progress)]


@lru_cache(maxsize=4)
def _make_family(environment: str, space: str) -> EnvironmentFamily:
    data = json.loads(environment)
    if not data.get("importable", True):
        raise FamilyError(
            f"The environments are made by the function {data['name']!r}, which cannot be imported "
            "by name. Only a process that has the function can use it."
        )
    return make_family(data["name"], **{**data["options"], "space": json.loads(space)})


@lru_cache(maxsize=4)
def _make_trainer(text: str) -> Trainer:
    spec = TrainerSpec(**json.loads(text))
    space = ContextSpace.from_dict(spec.space)
    return trainer_from_settings(spec.trainer, spec.make_family(), space, spec.settings)
