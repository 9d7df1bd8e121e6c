"""Training and evaluation as tasks: functions of data that any process can be sent.

What goes in and comes out are numbers, texts, bytes, arrays, and lists and dicts of these. Only
within one process a specification may be given as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.execution import report
from sdmbtl.policies import policy_bytes, policy_from_bytes
from sdmbtl.training.checkpoint import Checkpoints
from sdmbtl.training.evaluation import EvaluationHelpers, evaluate, load_once
from sdmbtl.training.job import Failure, Training, TrainingJob
from sdmbtl.training.progress import Report
from sdmbtl.training.random_actions import play_as_trained
from sdmbtl.training.spec import TrainerSpec, train

#: A specification, or the same as data.
Spec = TrainerSpec | dict[str, Any]


def train_task(
    spec: Spec, jobs: Sequence[Mapping[str, Any]], checkpoints: tuple[str, float] | None = None
) -> list[dict[str, Any]]:
    """Train policies together; see `train`.

    Args:
        spec: What is trained and how.
        jobs: Each as `job_to_data` gives it.
        checkpoints: Folder, in a study's directory, and seconds of the checkpoints; None for none.
            A machine on which that directory is not keeps none: nobody would delete them.

    Returns:
        For each job data for `training_from_data`.
    """
    kept = None
    if checkpoints is not None and Path(checkpoints[0]).parent.is_dir():
        kept = Checkpoints(Path(checkpoints[0]), checkpoints[1])
    evaluations: list[tuple[int, float]] = []

    def tell(progress: Report) -> None:
        # Not every report arrives, so each has all evaluations so far.
        evaluations.extend(progress.evaluations)
        report(asdict(replace(progress, evaluations=tuple(evaluations))))

    results = train(_as_spec(spec), [_job_from_data(job) for job in jobs], tell, kept)
    return [_training_to_data(result) for result in results]


def evaluate_task(
    spec: Spec,
    policy: bytes,
    contexts: NDArray[np.float64],
    numbers: Sequence[int],
    episodes: int,
    seed: int,
    helpers: EvaluationHelpers | None = None,
) -> dict[str, Any]:
    """Evaluate a policy on some contexts; see `evaluate`.

    Args:
        spec: What it was trained with.
        policy: Bytes of a policy file.
        contexts: (n, D) all contexts. The episodes on a context follow from its number among them.
        numbers: Numbers of those to evaluate.
        episodes: Number of episodes on each.
        seed: As for `evaluate`.
        helpers: Processes that take a share, if this is not one of them.

    Returns:
        "returns", (len(numbers), episodes), and "errors" by the number of the context.
    """
    played = evaluate(
        _as_spec(spec),
        load_once(policy),
        contexts,
        episodes=episodes,
        seed=seed,
        only=numbers,
        progress=lambda done, _: report({"done": done}),
        helpers=helpers,
    )
    return {"returns": played.returns[list(numbers)], "errors": dict(played.errors)}


def random_actions_task(
    spec: Spec, contexts: NDArray[np.float64], episodes: int, most_steps: int, seed: int
) -> NDArray[np.float64]:
    """Take random actions; see `play_as_trained`."""
    return play_as_trained(_as_spec(spec).make_trainer(), contexts, episodes, most_steps, seed)


def job_to_data(job: TrainingJob) -> dict[str, Any]:
    """Return a job as data."""
    return {
        "contexts": np.array(job.contexts),
        "seed": job.seed,
        "attempt": job.attempt,
        "parent": None if job.parent is None else policy_bytes(job.parent),
        "steps": job.steps,
    }


def training_from_data(data: Mapping[str, Any]) -> Training | Failure:
    """Read what `train_task` returned for a job."""
    if "error" in data:
        return Failure(**data)
    curve = [(int(steps), float(value)) for steps, value in data["curve"]]
    return Training(**{**data, "policy": policy_from_bytes(data["policy"]), "curve": curve})


def _as_spec(spec: Spec) -> TrainerSpec:
    return TrainerSpec.from_dict(spec) if isinstance(spec, dict) else spec


def _job_from_data(data: Mapping[str, Any]) -> TrainingJob:
    parent = data["parent"]
    return TrainingJob(**{**data, "parent": None if parent is None else policy_from_bytes(parent)})


def _training_to_data(result: Training | Failure) -> dict[str, Any]:
    if isinstance(result, Failure):
        return {"error": result.error, "attempt": result.attempt}
    return {
        "policy": policy_bytes(result.policy),
        "steps": int(result.steps),
        "source_return": float(result.source_return),
        "curve": [(int(steps), float(value)) for steps, value in result.curve],
    }
