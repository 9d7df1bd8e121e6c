"""Evaluation of a policy, in as many processes as pay."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.checks import check_int
from sdmbtl.environments.registry import can_be_made_anywhere
from sdmbtl.errors import ContextError, TrainerError, TrainingError
from sdmbtl.parallel import Heartbeat, Workers
from sdmbtl.policies import Policy, policy_bytes, policy_from_bytes
from sdmbtl.training.base import Evaluation, Trainer
from sdmbtl.training.progress import EvaluationProgress, ProgressError
from sdmbtl.training.rollout import LANES
from sdmbtl.training.spec import TrainerSpec

_DIED = (
    "A worker process died in an evaluation, perhaps for lack of memory, or because the "
    "environment crashed. Nothing that was recorded is lost."
)

#: An evaluation that is shared has at least about so many parts.
FEWEST_PARTS = 8

#: Evaluates the contexts with these numbers.
_Play = Callable[[Sequence[int]], Evaluation]


def evaluate(
    spec: TrainerSpec,
    policy: Policy,
    contexts: ArrayLike,
    *,
    episodes: int,
    seed: int,
    only: Sequence[int] | None = None,
    progress: EvaluationProgress | None = None,
    workers: Workers | None = None,
) -> Evaluation:
    """Play a policy on contexts.

    A context on which an environment raises, an episode does not end or a return is not finite is
    NaN in the result, with its error; the others are not affected.

    Args:
        spec: With what it was trained.
        policy: See `Trainer.evaluate`, as for what follows.
        contexts: (n, D) contexts.
        episodes: Number of episodes on each.
        seed: The same seed gives the same episodes, in however many processes.
        only: Numbers of the contexts to evaluate.
        progress: Called now and then; what it raises passes through.
        workers: Processes that take a share where that pays; this process alone if left out.

    Raises:
        TrainerError: If the set-up is wrong, so that no evaluation could succeed.
        TrainingError: If a worker process died.
    """
    episodes = check_int("episodes", episodes, low=1, error=TrainerError)
    seed = check_int("seed", seed, low=0, error=TrainerError)
    trainer = spec.make_trainer()
    vectors = trainer.usable_contexts(contexts)
    numbers = range(len(vectors)) if only is None else only
    returns = np.full((len(vectors), episodes), np.nan)
    errors: dict[int, str] = {}
    done = 0

    def report(count: int, _: int) -> None:
        _report(progress, done + count, len(numbers))

    what = vectors, episodes, seed
    here = partial(_evaluate_part, trainer, policy, report, *what)
    elsewhere = partial(_evaluate_elsewhere, spec.to_dict(), policy_bytes(policy), *what)
    shared = workers if _can_be_shared(trainer) else None
    try:
        parts = _play_parts(numbers, episodes, here, elsewhere, shared, partial(report, 0, 0))
        for part, played in parts:
            returns[list(part)] = played.returns[list(part)]
            errors |= played.errors
            done += len(part)
            report(0, len(numbers))
    except ProgressError as error:
        raise error.cause from None
    except BrokenProcessPool as error:
        raise TrainingError(_DIED) from error
    return Evaluation(returns, dict(sorted(errors.items())))


def _report(progress: EvaluationProgress | None, done: int, total: int) -> None:
    """Call the callback; what it raises is not an error of the evaluation."""
    if progress is not None:
        try:
            progress(done, total)
        except Exception as error:
            raise ProgressError(error) from error


def _can_be_shared(trainer: Trainer) -> bool:
    return trainer.evaluates_on_host and can_be_made_anywhere(trainer.family)


def _play_parts(
    numbers: Sequence[int],
    episodes: int,
    play_here: _Play,
    play_elsewhere: _Play,
    workers: Workers | None,
    heartbeat: Heartbeat,
) -> Iterator[tuple[Sequence[int], Evaluation]]:
    """Evaluate contexts part by part; the first part shows whether processes are worth it."""
    # As many as are played side by side; fewer if there are few, of which each may take minutes.
    least = min(max(LANES // episodes, 1), math.ceil(len(numbers) / FEWEST_PARTS))
    if workers is not None and not workers.started and len(numbers) > least:
        first, numbers = numbers[:least], numbers[least:]
        begun = time.monotonic()
        yield first, play_here(first)
        seconds = (time.monotonic() - begun) * len(numbers) / len(first)
        if not workers.worth_starting(seconds):
            workers = None
    if workers is None or len(numbers) <= least:
        yield numbers, play_here(numbers)
        return
    parts = _split(numbers, least, workers.processes + 1)
    yield from workers.compute_all(play_elsewhere, parts, play_here, heartbeat)


def _split(numbers: Sequence[int], least: int, processes: int) -> Iterator[Sequence[int]]:
    """Parts that become smaller, so that all processes end at about the same time."""
    while len(numbers):
        size = least * math.ceil(len(numbers) / (2 * processes * least))  # no lane is left alone
        yield numbers[:size]
        numbers = numbers[size:]


def _evaluate_part(
    trainer: Trainer,
    policy: Policy,
    progress: EvaluationProgress | None,
    contexts: NDArray[np.float64],
    episodes: int,
    seed: int,
    only: Sequence[int],
) -> Evaluation:
    """Evaluate some of the contexts; whatever goes wrong is an error on a context."""
    try:
        played = trainer.evaluate(
            policy, contexts, episodes=episodes, seed=seed, only=only, progress=progress
        )
    except (TrainerError, ContextError):
        raise
    except Exception as error:  # noqa: BLE001 (whatever an environment may raise)
        nothing = np.full((len(contexts), episodes), np.nan)
        return Evaluation(nothing, dict.fromkeys(only, f"{type(error).__name__}: {error}"))
    returns, errors = played.returns.copy(), dict(played.errors)
    for number in only:
        bad = returns[number][~np.isfinite(returns[number])]
        if len(bad) and number not in errors:
            context = trainer.space.context(contexts[number])
            errors[number] = f"The policy's return is {bad[0]} in the context {context}."
            returns[number] = np.nan
    return Evaluation(returns, errors)


def _evaluate_elsewhere(
    spec: dict[str, Any],
    policy: bytes,
    contexts: NDArray[np.float64],
    episodes: int,
    seed: int,
    only: Sequence[int],
) -> Evaluation:
    """What a worker process does; it makes trainer and policy once."""
    trainer = TrainerSpec.from_dict(spec).make_trainer()
    return _evaluate_part(trainer, load_once(policy), None, contexts, episodes, seed, only)


@lru_cache(maxsize=1)
def load_once(content: bytes) -> Policy:
    """The policy in the bytes of a file; the last one is kept, as it is asked for again."""
    return policy_from_bytes(content)
