"""Training and evaluation as tasks: functions that an executor can call in any process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.execution import report
from sdmbtl.training.checkpoint import Checkpoints
from sdmbtl.training.evaluation import EvaluationHelpers, evaluate, load_once, play_random_actions
from sdmbtl.training.job import Evaluation, Failure, Training, TrainingJob
from sdmbtl.training.progress import Report
from sdmbtl.training.spec import TrainerSpec, train


def train_task(
    spec: TrainerSpec, jobs: Sequence[TrainingJob], checkpoints: Checkpoints | None = None
) -> list[Training | Failure]:
    """Train policies together; see `train`.

    A machine without the study's directory keeps no checkpoints: nobody would delete them.
    """
    if checkpoints is not None and not checkpoints.folder.parent.is_dir():
        checkpoints = None
    evaluations: list[tuple[int, float]] = []

    def tell(progress: Report) -> None:
        # Not every report arrives, so each has all evaluations so far.
        evaluations.extend(progress.evaluations)
        report(asdict(replace(progress, evaluations=tuple(evaluations))))

    return train(spec, jobs, tell, checkpoints)


def evaluate_task(
    spec: TrainerSpec,
    policy: bytes,
    contexts: NDArray[np.float64],
    numbers: Sequence[int],
    episodes: int,
    seed: int,
    helpers: EvaluationHelpers | None = None,
) -> dict[str, Any]:
    """Evaluate a policy, given as bytes of its file, on the contexts with these numbers.

    Returns:
        "returns", (len(numbers), episodes), "errors" by the number of the context, and "steps"
        that were played.
    """
    how: dict[str, Any] = {"episodes": episodes, "seed": seed, "only": numbers, "helpers": helpers}
    how["progress"] = lambda done, _: report({"done": done})
    played = evaluate(spec, load_once(policy), contexts, **how)
    returns = played.returns[list(numbers)]
    return {"returns": returns, "errors": dict(played.errors), "steps": played.steps}


def random_actions_task(
    spec: TrainerSpec, contexts: NDArray[np.float64], episodes: int, most_steps: int, seed: int
) -> Evaluation:
    """Take random actions where policies are evaluated; see `play_random_actions`."""
    trainer = spec.make_trainer()
    return play_random_actions(
        trainer.family.for_evaluation(),
        trainer.space,
        contexts,
        episodes=episodes,
        most_steps=most_steps,
        max_episode_steps=trainer.max_episode_steps,
        seed=seed,
    )
