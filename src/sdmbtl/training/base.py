"""What every trainer does: train policies on contexts, evaluate a policy on contexts."""

from __future__ import annotations

import inspect
import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from sdmbtl.checks import check_bool, check_int, short_text
from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.checks import check_spaces_are_the_same_in_all_contexts
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.errors import TrainerError, TrainingError
from sdmbtl.policies import Policy
from sdmbtl.training.checkpoint import Checkpoint
from sdmbtl.training.environment_errors import name_context_in_errors
from sdmbtl.training.progress import EvaluationProgress, JointProgress, Progress, ProgressError
from sdmbtl.wording import counted

#: With fewer updates than this, a training run from scratch is probably too short.
FEW_UPDATES = 10

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """One policy to be trained.

    Attributes:
        contexts: (M, D) contexts it is trained on, in the order of the space's dimensions: one
            for a point, some in a region, all targets for the multi-task baseline. Every episode
            takes one of them at random.
        seed: Root of every random number of this run.
        attempt: How often this policy was tried before, for whoever retries.
        parent: The policy to start from; None for a start from scratch.
        steps: Environment steps; None for as many as the trainer is set to.

    Raises:
        TrainerError: If there is no context, the contexts are not an array of numbers, or another
            value is not usable.
    """

    contexts: NDArray[np.float64]
    seed: int
    attempt: int = 0
    parent: Policy | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        contexts = context_array(self.contexts)
        if not len(contexts):
            raise TrainerError("A training run needs at least one context. Got none.")
        contexts.setflags(write=False)
        object.__setattr__(self, "contexts", contexts)
        for name in ("seed", "attempt"):
            number = check_int(name, getattr(self, name), low=0, error=TrainerError)
            object.__setattr__(self, name, number)
        if self.steps is not None:
            number = check_int("steps", self.steps, low=1, error=TrainerError)
            object.__setattr__(self, "steps", number)
        given: object = self.parent
        if given is not None and not isinstance(given, Policy):
            raise TrainerError(
                "The 'parent' of a training run is a Policy, or None for a start from scratch; "
                f"load_policy(path) reads one. Got {short_text(given)} instead."
            )

    @property
    def shape(self) -> tuple[int, int | None, bool]:
        """What jobs that are trained side by side have in common: contexts, steps, a parent."""
        return len(self.contexts), self.steps, self.parent is not None


@dataclass(frozen=True)
class Training:
    """A trained policy and how it came about.

    Attributes:
        policy: The best policy seen, by its mean return on the training contexts.
        steps: Environment steps that were really taken.
        source_return: Mean return of the policy on its training contexts, in the evaluation by
            which it was found the best: a little too high, because the best of several noisy
            means is chosen.
        curve: (steps, mean return on the training contexts) during training.
    """

    policy: Policy
    steps: int
    source_return: float
    curve: list[tuple[int, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Evaluation:
    """What a policy did on contexts.

    Attributes:
        returns: (n, episodes) returns; NaN on contexts whose evaluation failed, or that were not
            to be evaluated.
        errors: What went wrong, by the number of the context.
    """

    returns: NDArray[np.float64]
    errors: dict[int, str] = field(default_factory=dict)

    def complete(self) -> NDArray[np.float64]:
        """(n, episodes) returns, for who needs all of them.

        Raises:
            TrainingError: If the evaluation failed on a context.
        """
        if self.errors:
            raise TrainingError(self.describe_errors())
        return self.returns

    def describe_errors(self) -> str:
        """On how many contexts the evaluation failed, and how on the first of them."""
        first = self.errors[min(self.errors)]
        if len(self.returns) == 1:
            return first
        count = f"{len(self.errors)} of {len(self.returns)} contexts"
        return f"The evaluation failed on {count}. The first error: {first}"


class Trainer(ABC):
    """Trains and evaluates policies in one family of environments, in this process.

    `sdmbtl.training.train` uses it, in several processes if `processes` says so.

    Args:
        family: The environments.
        space: The context space: which features vary, and between which values.
        observe_context: Whether policies see the context (its coordinates in the space) at the
            end of each observation. Off by default: a policy that is trained on one context never
            sees it change, so that its untrained weights on it only add noise on other contexts.
            The multi-task baseline needs it.
        max_episode_steps: A time limit: an episode is cut off after so many steps, in training and
            in evaluations, beside the limit that the environments have themselves. What would have
            followed counts as it does at any time limit: it is estimated, not taken to be 0.
        endless_after: An episode of an evaluation that goes on for so many steps is taken to never
            end, which is an error.

    Attributes:
        starts_from_parent: Whether a policy can start from another one.
        evaluates_on_host: Whether evaluations play Gymnasium environments, in which several
            processes can share.
        settings_class: Dataclass of the settings that the constructor takes besides its own
            keywords, if there is one; their meanings are in its docstring.
        chunk: Number of jobs that are trained together.
        processes: Number of processes for several chunks.
    """

    name: ClassVar[str]
    starts_from_parent: ClassVar[bool] = False
    evaluates_on_host: bool = False
    settings_class: ClassVar[type[Any] | None] = None
    chunk: int = 1
    processes: int = 1

    def __init__(
        self,
        family: EnvironmentFamily,
        space: ContextSpace,
        *,
        observe_context: bool = False,
        max_episode_steps: int | None = None,
        endless_after: int = 100_000,
    ) -> None:
        self.family = family
        self.space = space
        count = partial(check_int, low=1, error=TrainerError)
        self.max_episode_steps = (
            None if max_episode_steps is None else count("max_episode_steps", max_episode_steps)
        )
        self.endless_after = count("endless_after", endless_after)
        self.observe_context = check_bool("observe_context", observe_context, error=TrainerError)
        self._usable: set[bytes] = set()
        self._warned: set[tuple[int, int]] = set()

    # -- what a trainer of your own implements -------------------------------------------------

    @abstractmethod
    def train_chunk(
        self,
        jobs: Sequence[TrainingJob],
        progress: Progress | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> list[Training]:
        """Train one policy for each of at most `chunk` jobs. The same jobs give the same policies.

        The jobs have the same number of contexts and of steps, and all have a parent or none.

        Args:
            jobs: The policies.
            progress: Called now and then.
            checkpoint: From what a run that was killed continues, to the same policies. A trainer
                that cannot continue begins anew.

        Raises:
            TrainingError: If a training run failed.
            TrainerError: If the set-up is wrong, so that no run could succeed.
        """

    @abstractmethod
    def evaluate(
        self,
        policy: Policy,
        contexts: ArrayLike,
        *,
        episodes: int,
        seed: int,
        only: Sequence[int] | None = None,
        progress: EvaluationProgress | None = None,
    ) -> Evaluation:
        """Play a policy on contexts. `sdmbtl.training.evaluate` does so in several processes.

        Args:
            policy: The policy.
            contexts: (n, D) contexts in the order of the space's dimensions.
            episodes: Number of episodes on each.
            seed: The same seed, the same returns; those on one context do not depend on which
                others are evaluated.
            only: Numbers of the contexts to evaluate; all of them if left out.
            progress: Called now and then.
        """

    def check_spaces(self, observations: spaces.Space[Any], actions: spaces.Space[Any]) -> None:
        """Refuse observations or actions that this trainer can do nothing with.

        Raises:
            TrainerError: If no training run could succeed.
        """
        del actions
        if not observations.is_np_flattenable:
            raise TrainerError(
                f"Observations of {self.family.name} cannot be made an array of numbers: "
                f"{short_text(observations)}. Turn them into a Box, or a Dict of Boxes."
            )

    # -- what they share -----------------------------------------------------------------------

    def check_environment(self) -> None:
        """Refuse what can never work: called before anything is written or trained.

        Raises:
            FamilyError: If an environment cannot be made, or contexts differ in their spaces.
            TrainingError: If it fails at its first reset.
            TrainerError: If it is nothing for this trainer.
        """
        check_spaces_are_the_same_in_all_contexts(self.family, self.space)
        context = self.space.middle()
        env = self.family.make(
            context, observe_context=self.space if self.observe_context else False
        )
        with name_context_in_errors(context):
            env.reset(seed=0)
        env.close()
        self.check_spaces(env.observation_space, env.action_space)

    def settings(self) -> dict[str, Any]:
        """Every setting that changes the outcome, as JSON data.

        These are the keyword arguments of the constructor, which are kept under their names;
        `processes` changes nothing.
        """
        return {n: getattr(self, n) for n in self.own_settings() if n != "processes"}

    @classmethod
    def recommended_settings(cls, family: EnvironmentFamily) -> dict[str, Any]:
        """Settings for a family that come before the defaults: those that it has itself."""
        return dict(family.training.get(cls.name, {}))

    @classmethod
    def own_settings(cls) -> tuple[str, ...]:
        """Names of the keyword arguments of the constructor."""
        arguments = inspect.signature(cls).parameters.values()
        return tuple(a.name for a in arguments if a.kind is a.KEYWORD_ONLY)

    def train(
        self, jobs: Sequence[TrainingJob], progress: Progress | None = None
    ) -> list[Training]:
        """Train one policy for each job, one chunk after another.

        Raises:
            TrainingError: If a training run failed.
        """
        trained: dict[int, Training] = {}
        joint = JointProgress(progress, len(jobs))
        for numbers in self.chunks(jobs):
            part = joint.part(len(numbers))
            try:
                runs = self.train_chunk([jobs[number] for number in numbers], part)
            except ProgressError as error:
                raise error.cause from None
            trained |= zip(numbers, runs, strict=True)
        return [trained[number] for number in range(len(jobs))]

    def chunks(self, jobs: Sequence[TrainingJob]) -> list[list[int]]:
        """Numbers of the jobs that are trained together: those of the same shape, in order.

        Raises:
            TrainerError: If a job has a parent and this trainer cannot start from one.
        """
        alike: dict[tuple[int, int | None, bool], list[int]] = {}
        for number, job in enumerate(jobs):
            if job.parent is not None and not self.starts_from_parent:
                raise TrainerError(
                    f"The trainer {self.name!r} cannot start from another policy. Train from "
                    "scratch (init='scratch', --init scratch), or use the trainer 'ppo'."
                )
            alike.setdefault(job.shape, []).append(number)
        return [
            numbers[i : i + self.chunk]
            for numbers in alike.values()
            for i in range(0, len(numbers), self.chunk)
        ]

    def warn_of_few_updates(self, updates: int, steps: int) -> None:
        """Say, once, if a training run from scratch is too short to learn anything.

        Args:
            updates: How often the policy is updated.
            steps: In how many environment steps.
        """
        if updates < FEW_UPDATES and (updates, steps) not in self._warned:
            self._warned.add((updates, steps))
            _log.warning(
                "%s in %s steps: a policy learns little from so few. Give more steps (--steps, "
                "total_timesteps), or shorter rollouts (--set num_steps=..., --set num_envs=...).",
                counted(updates, "update"),
                f"{steps:,}",
            )

    def shown(self, job: TrainingJob) -> str:
        """The contexts of a job, for a message."""
        if len(job.contexts) == 1:
            return f"the context {self.space.context(job.contexts[0])}"
        return f"{len(job.contexts)} contexts"

    def usable_contexts(self, contexts: ArrayLike) -> NDArray[np.float64]:
        """(n, D) contexts, each checked by the family; the same array is checked once.

        Raises:
            TrainerError: If they are not an (n, D) array.
            ContextError: If the physics makes no sense in one of them.
        """
        array = context_array(contexts)
        if len(array) and array.shape[1] != self.space.n_dimensions:
            raise TrainerError(
                f"Contexts have {self.space.n_dimensions} values, in the order "
                f"{list(self.space.names)}. Got an array of shape {array.shape} instead."
            )
        if array.tobytes() not in self._usable:
            for vector in array:
                self.family.full_context(self.space.context(vector))
            self._usable.add(array.tobytes())
        return array


def context_array(contexts: ArrayLike) -> NDArray[np.float64]:
    """(n, D) contexts as an array of their own.

    Raises:
        TrainerError: If they are something else.
    """
    try:
        array = np.array(contexts, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if array.size == 0:
        return array.reshape(0, 0)
    if array.ndim != 2:
        raise TrainerError(
            "Contexts are an array with one row for each, in the order of the space's dimensions; "
            f"space.vector(context) makes one of a dict. Got {short_text(contexts)} instead."
        )
    return array
