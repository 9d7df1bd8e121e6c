"""Training in several processes: plain data goes there, plain data comes back."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from functools import partial

from sdmbtl.errors import TrainingError
from sdmbtl.parallel import computed
from sdmbtl.policies import policy_bytes, policy_from_bytes
from sdmbtl.trainers.base import Progress, Training, TrainingJob
from sdmbtl.trainers.spec import Failure, TrainerSpec, train

_Chunk = tuple[int, Sequence[TrainingJob]]
_Result = tuple[bytes, int, float, list[tuple[int, float]]] | Failure


def train_in_workers(
    spec: TrainerSpec,
    chunks: Sequence[Sequence[TrainingJob]],
    processes: int,
    progress: Progress | None = None,
) -> list[Training | Failure]:
    """Train chunks of jobs, each chunk in one of the processes.

    Args:
        spec: What is trained and how.
        chunks: The jobs.
        processes: Number of processes.
        progress: Called when a chunk is done.

    Returns:
        For each job a training, or what went wrong.

    Raises:
        TrainingError: If a process died.
    """
    work = partial(_train_chunk, json.dumps(spec.to_dict()))
    done: dict[int, list[Training | Failure]] = {}
    try:
        for (number, _), results in computed(work, list(enumerate(chunks)), processes):
            done[number] = [_received(result) for result in results]
            if progress is not None:
                trained = [t for each in done.values() for t in each if isinstance(t, Training)]
                steps = sum(t.steps for t in trained)
                latest = [t.source_return for t in done[number] if isinstance(t, Training)]
                mean = sum(latest) / len(latest) if latest else float("nan")
                progress(steps, round(steps * len(chunks) / len(done)), mean)
    except BrokenProcessPool as error:
        raise TrainingError(
            "A worker process died, perhaps for lack of memory. Use fewer 'processes'."
        ) from error
    return [result for number in range(len(chunks)) for result in done[number]]


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _train_chunk(spec: str, chunk: _Chunk) -> list[_Result]:
    results = train(TrainerSpec.from_dict(json.loads(spec)), chunk[1])
    return [r if isinstance(r, Failure) else _sent(r) for r in results]


def _sent(training: Training) -> _Result:
    policy = policy_bytes(training.policy)
    return policy, training.steps, training.source_return, training.curve


def _received(result: _Result) -> Training | Failure:
    return (
        result
        if isinstance(result, Failure)
        else Training(policy_from_bytes(result[0]), *result[1:])
    )
