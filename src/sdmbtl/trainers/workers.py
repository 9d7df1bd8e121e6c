"""Training in several processes: plain data goes there, plain data comes back."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache, partial
from typing import Any

from sdmbtl.contexts import ContextSpace
from sdmbtl.environments import make_family
from sdmbtl.errors import TrainingError
from sdmbtl.parallel import computed
from sdmbtl.policies import policy_bytes, policy_from_bytes
from sdmbtl.trainers.base import Progress, Trainer, Training, TrainingJob
from sdmbtl.trainers.registry import trainer_from_settings

_Group = tuple[int, list[tuple[list[dict[str, float]], int]]]
_Results = list[tuple[bytes, int, float, list[tuple[int, float]]]]


def train_in_workers(
    trainer: Trainer,
    groups: Sequence[Sequence[TrainingJob]],
    processes: int,
    progress: Progress | None = None,
) -> list[Training]:
    """Train groups of jobs, each group at once in one of the processes.

    Args:
        trainer: Made again in each process, from its settings.
        groups: The jobs.
        processes: Number of processes.
        progress: Called when a group is done.

    Raises:
        TrainingError: If a training went wrong, or a process died.
    """
    recipe = json.dumps(
        {
            "trainer": trainer.name,
            "settings": trainer.settings(),
            "family": trainer.family.settings(),
            "space": trainer.space.to_dict(),
        }
    )
    items: list[_Group] = [
        (number, [([dict(c) for c in job.contexts], job.seed) for job in group])
        for number, group in enumerate(groups)
    ]
    done: dict[int, list[Training]] = {}
    try:
        for (number, _), results in computed(partial(_train_group, recipe), items, processes):
            done[number] = [Training(policy_from_bytes(r[0]), *r[1:]) for r in results]
            if progress is not None:
                share = len(done) / len(groups)
                steps = sum(t.steps for trainings in done.values() for t in trainings)
                mean = sum(t.source_return for t in done[number]) / len(done[number])
                progress(steps, round(steps / share), mean)
    except BrokenProcessPool as error:
        raise TrainingError(
            "A worker process died, perhaps for lack of memory. Use fewer 'processes'."
        ) from error
    return [training for number in range(len(groups)) for training in done[number]]


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _train_group(recipe: str, group: _Group) -> _Results:
    trainings = _made(recipe).train([TrainingJob(tuple(c), seed) for c, seed in group[1]])
    return [(policy_bytes(t.policy), t.steps, t.source_return, t.curve) for t in trainings]


@lru_cache(maxsize=1)
def _made(recipe: str) -> Trainer:
    """The trainer of this process: made, and compiled, once."""
    data: dict[str, Any] = json.loads(recipe)
    family = make_family(data["family"]["name"], **data["family"]["options"])
    space = ContextSpace.from_dict(data["space"])
    return trainer_from_settings(data["trainer"], family, space, data["settings"])
