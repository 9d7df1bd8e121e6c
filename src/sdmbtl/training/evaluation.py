"""Evaluation of a policy, in as many processes as pay; returns of random actions to compare."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.checks import check_int
from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.registry import can_be_made_anywhere
from sdmbtl.errors import ContextError, TrainerError, WorkerLostError, error_text
from sdmbtl.execution import ProcessExecutor
from sdmbtl.policies import Policy, policy_bytes, policy_from_bytes
from sdmbtl.seeds import derived_seed, episode_seed
from sdmbtl.training.base import Trainer
from sdmbtl.training.environment_errors import name_context_in_errors
from sdmbtl.training.job import Evaluation
from sdmbtl.training.progress import EvaluationProgress, ProgressError
from sdmbtl.training.rollout import ENV_SLOTS
from sdmbtl.training.spec import TrainerSpec
from sdmbtl.transfer.rows import LARGEST_RETURN

#: An evaluation that is shared has at least about this many parts.
FEWEST_PARTS = 8

#: Seconds between two calls of the progress callback while helpers work.
REPORT_EVERY = 0.2


class EvaluationHelpers(ProcessExecutor):
    """Processes that share evaluations with this one; started once that pays.

    As a context manager it ends them at once: what they still do is of no use.
    """

    #: Evaluations of this many seconds pay for the start of processes, which import all they need.
    start_seconds = 3.0
    _seconds_alone = 0.0

    def pay(self, seconds: float) -> bool:
        """Tell whether helpers pay for this many seconds of work; small work adds up."""
        self._seconds_alone += seconds
        return self._seconds_alone > self.start_seconds

    def __exit__(self, *_: object) -> None:
        self.shutdown(wait=False, cancel_futures=True)


def evaluate(
    spec: TrainerSpec,
    policy: Policy,
    contexts: ArrayLike,
    *,
    episodes: int,
    seed: int,
    only: Sequence[int] | None = None,
    progress: EvaluationProgress | None = None,
    helpers: EvaluationHelpers | None = None,
) -> Evaluation:
    """Play a policy on contexts.

    A context on which an environment raises, an episode does not end, a return is not finite or
    two helpers die is NaN in the result, with its error; the others are not affected.

    Args as of `Trainer.evaluate`, and `helpers`: processes that take a share where that pays. The
    same seed gives the same episodes, in any number of processes. What `progress` raises passes.

    Raises:
        TrainerError: If the set-up is wrong, so that no evaluation could succeed.
    """
    episodes = check_int("episodes", episodes, low=1, error=TrainerError)
    seed = check_int("seed", seed, low=0, error=TrainerError)
    trainer = spec.make_trainer()
    vectors = trainer.usable_contexts(contexts)
    numbers = range(len(vectors)) if only is None else only
    returns, errors = np.full((len(vectors), episodes), np.nan), dict[int, str]()
    done = steps = 0

    def report(count: int = 0, _: int = 0) -> None:
        if progress is not None:
            try:
                progress(done + count, len(numbers))
            except Exception as error:  # which is not one of the evaluation
                raise ProgressError(error) from error

    if not trainer.evaluates_on_host or not can_be_made_anywhere(trainer.family):
        helpers = None
    shared = spec, policy_bytes(policy), vectors, episodes, seed
    play = partial(_play_part, trainer, policy, vectors, episodes, seed, progress=report)
    try:
        for part, played in _play_parts(numbers, episodes, play, helpers, shared, report):
            returns[list(part)] = played.returns[list(part)]
            errors.update(played.errors)
            steps += played.steps
            done += len(part)
            report()
    except ProgressError as error:
        raise error.cause from None
    return Evaluation(returns, dict(sorted(errors.items())), steps)


def _play_parts(
    numbers: Sequence[int],
    episodes: int,
    play: Callable[[Sequence[int]], Evaluation],
    helpers: EvaluationHelpers | None,
    shared: tuple[Any, ...],
    report: Callable[[], None],
) -> Iterator[tuple[Sequence[int], Evaluation]]:
    """Evaluate contexts part by part; the first part shows whether processes are worth it."""
    # As many as are played at once; fewer if there are few, of which each may take minutes.
    least = min(max(ENV_SLOTS // episodes, 1), math.ceil(len(numbers) / FEWEST_PARTS))
    if helpers is not None and not helpers.pay(0.0) and len(numbers) > least:
        first, numbers = numbers[:least], numbers[least:]
        begun = time.monotonic()
        yield first, play(first)
        seconds = (time.monotonic() - begun) * len(numbers) / len(first)
        if not helpers.pay(seconds):
            helpers = None
    if helpers is None or len(numbers) <= least:
        yield numbers, play(numbers)
        return
    todo, waiting = deque[Sequence[int]](), dict[Future[Any], Sequence[int]]()
    lost = set[int]()
    while len(numbers):  # in parts that become smaller, so that all processes end together
        size = least * math.ceil(len(numbers) / (2 * (helpers.workers + 1) * least))
        todo.append(numbers[:size])
        numbers = numbers[size:]
    while todo or waiting:
        # A few ahead of the helpers; this process does its share meanwhile.
        while todo and len(waiting) < 2 * helpers.workers:
            part = todo.popleft()
            waiting[helpers.submit(_play_elsewhere, *shared, part)] = part
        if todo:
            part = todo.popleft()
            yield part, play(part)
        else:
            wait(waiting, REPORT_EVERY, return_when=FIRST_COMPLETED)
            report()
        for future in [future for future in waiting if future.done()]:
            part, error = waiting.pop(future), future.exception()
            if not isinstance(error, WorkerLostError):
                yield part, future.result()
            elif len(part) == 1 and part[0] in lost:
                nothing = np.full((len(shared[2]), episodes), np.nan)
                yield part, Evaluation(nothing, {part[0]: f"WorkerLostError: {error}"})
            else:  # whichever context it was: the others are not to suffer, nor is this process
                lost.update(part)
                for half in filter(len, (part[: len(part) // 2], part[len(part) // 2 :])):
                    waiting[helpers.submit(_play_elsewhere, *shared, half)] = half


def _play_part(
    trainer: Trainer,
    policy: Policy,
    contexts: NDArray[np.float64],
    episodes: int,
    seed: int,
    only: Sequence[int],
    progress: EvaluationProgress | None = None,
) -> Evaluation:
    """Evaluate some of the contexts; whatever goes wrong is an error on a context."""
    try:
        played = trainer.evaluate(
            policy, contexts, episodes=episodes, seed=seed, only=only, progress=progress
        )
    except (TrainerError, ContextError):
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever an environment may raise)
        nothing = np.full((len(contexts), episodes), np.nan)
        return Evaluation(nothing, dict.fromkeys(only, error_text(error)))
    returns, errors = played.returns.copy(), dict(played.errors)
    for number in only:
        bad = returns[number][~(np.abs(returns[number]) <= LARGEST_RETURN)]
        if len(bad) and number not in errors:
            context = trainer.space.context(contexts[number])
            errors[number] = f"The policy's return is {bad[0]} in the context {context}."
            returns[number] = np.nan
    return Evaluation(returns, errors, played.steps)


def _play_elsewhere(spec: TrainerSpec, policy: bytes, *how: Any) -> Evaluation:
    """Evaluate in a helper, which makes trainer and policy once."""
    return _play_part(spec.make_trainer(), load_once(policy), *how)


@lru_cache(maxsize=1)
def load_once(content: bytes) -> Policy:
    """Return the policy in the bytes of a file; the last one is kept."""
    return policy_from_bytes(content)


def play_random_actions(
    family: EnvironmentFamily,
    space: ContextSpace,
    contexts: NDArray[np.float64],
    *,
    episodes: int,
    most_steps: int,
    max_episode_steps: int | None,
    seed: int,
) -> Evaluation:
    """Take uniformly random actions, the first episode on every context, then the second.

    After `most_steps` in all no more is played: random actions may never end.

    Returns:
        (n, episodes) returns, NaN where the steps did not suffice, and the steps taken.

    Raises:
        TrainingError: If an environment fails; the message names the context.
    """
    vector_env = family.make_vector_env()
    if vector_env is not None:
        with closing(vector_env):
            limits = {"most_steps": most_steps, "max_episode_steps": max_episode_steps}
            how = {"episodes": episodes, "seed": seed, **limits}
            return vector_env.play_random_actions(space, contexts, **how)
    returns = np.full((len(contexts), episodes), np.nan)
    left, time_limit = most_steps, max_episode_steps or math.inf
    for episode, number in product(range(episodes), range(len(contexts))):
        context, own_seed = space.context(contexts[number]), episode_seed(seed, number, episode)
        with name_context_in_errors(context), closing(family.make(context)) as env:
            # Actions have a seed of their own: the environment draws its start from the same kind
            # of generator.
            env.action_space.seed(derived_seed(own_seed, "random actions"))
            env.reset(seed=own_seed)
            total, steps, done = 0.0, 0, False
            while not done and steps < left:
                _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
                total, steps = total + float(reward), steps + 1
                done = terminated or truncated or steps >= time_limit
        if done:
            returns[number, episode] = total
        left -= steps
        if left <= 0:
            break
    return Evaluation(returns, steps=most_steps - left)
