"""Base class of trainers: they train policies on contexts, and evaluate them on others."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.checks import check_int, short_text
from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.checks import check_spaces_are_constant
from sdmbtl.environments.contextual import close_quietly
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.errors import TrainerError, TrainingError
from sdmbtl.policies import Policy, load_policy
from sdmbtl.training.checkpoint import Checkpoint
from sdmbtl.training.environment_errors import check_step, name_context_in_errors
from sdmbtl.training.job import Evaluation, Training, TrainingJob, context_array
from sdmbtl.training.progress import EvaluationProgress, Progress, ProgressError, Report
from sdmbtl.training.rollout import evaluate_in_gymnasium
from sdmbtl.training.vector_env import VectorEnv

Result = TypeVar("Result")


class Trainer(ABC):
    """Trains and evaluates policies in one family of environments, in this process.

    Args:
        family: The environments.
        space: The context space: which features vary, and between which values.
        max_episode_steps: Time limit of an episode, in training and in evaluations, in addition to
            the environment's own. At a time limit the value of what would have followed is
            estimated, not taken to be 0.
        endless_after: Steps after which an episode of an evaluation is taken to never end, which
            is an error.

    Attributes:
        starts_from_parent: True if a policy can start from another one.
        adds_context: True if a policy that sees its context can start from one that does not.
        evaluates_on_host: True if evaluations play Gymnasium environments, in which several
            processes can share.
        settings_class: Dataclass of the settings that the constructor takes in addition to its
            own keywords, if there is one; their meanings are in its docstring.
        chunk: Number of jobs that are trained together.
    """

    name: ClassVar[str]
    starts_from_parent: ClassVar[bool] = False
    adds_context: ClassVar[bool] = False
    evaluates_on_host: bool = True
    settings_class: ClassVar[type[Any] | None] = None
    chunk: int = 1

    def __init__(
        self,
        family: EnvironmentFamily,
        space: ContextSpace,
        *,
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

    # -- for your own trainer -----------------------------------------------------------------

    @abstractmethod
    def train_chunk(
        self,
        jobs: Sequence[TrainingJob],
        progress: Progress | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> list[Training]:
        """Train one policy for each of at most `chunk` jobs. The same jobs give the same policies.

        The jobs have the same number of contexts and of steps, all or none have a parent, and all
        or none see the context.

        Args:
            jobs: The policies.
            progress: Called now and then.
            checkpoint: File from which a killed run continues, to the same policies. A trainer
                that cannot continue ignores it.

        Raises:
            TrainingError: If a training run failed.
            TrainerError: If the set-up is wrong, so that no run could succeed.
        """

    def read_start(self, path: Path) -> Policy:
        """Read a policy that was trained elsewhere, and from which training can start.

        Raises:
            TrainerError: If training cannot start from it.
            PolicyError: If it is damaged.
            FileNotFoundError: If it is not there.
        """
        if path.suffix == ".zip" and path.exists():
            raise TrainerError(
                f"{str(path)!r} is an archive, as stable-baselines3 writes it, and the trainer "
                f"{self.name!r} starts from policy files of sdmbtl. Use the trainer 'sb3'."
            )
        policy = load_policy(path)
        self.check_start(policy)
        return policy

    def check_start(self, policy: Policy) -> None:
        """Refuse a policy that training cannot start from, with a `TrainerError`."""
        raise TrainerError(f"The trainer {self.name!r} cannot start from {policy!r}.")

    # -- shared --------------------------------------------------------------------------------

    def check_environment(self) -> None:
        """Refuse what can never work: called before anything is written or trained.

        Raises:
            FamilyError: If an environment cannot be made, or contexts differ in their spaces.
            TrainingError: If it fails at its first reset or step.
            TrainerError: If this trainer cannot learn it.
        """
        check_spaces_are_constant(self.family, self.space)
        context = self.space.middle()
        env = self.family.make(context)
        with name_context_in_errors(context, env.inner):
            env.reset(seed=0)
            env.action_space.seed(0)
            check_step(env.inner, env.inner.step(env.action_space.sample()))
        close_quietly(env)
        if not env.observation_space.is_np_flattenable:
            raise TrainerError(
                f"Observations of {self.family.name} cannot be made an array of numbers: "
                f"{short_text(env.observation_space)}. Turn them into a Box, or a Dict of Boxes."
            )

    # -- evaluation ----------------------------------------------------------------------------

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
        how = {"episodes": episodes, "seed": seed, "only": only, "progress": progress}
        return self.play(self.family.for_evaluation(), policy, contexts, **how)

    def play(
        self, family: EnvironmentFamily, policy: Policy, contexts: ArrayLike, **how: Any
    ) -> Evaluation:
        """Play a policy as `evaluate` does, in a family with the spaces of this trainer's."""
        vector_env = self.vector_env(family)
        play = partial(evaluate_in_gymnasium, family) if vector_env is None else vector_env.evaluate
        return play(
            policy,
            self.space,
            self.usable_contexts(contexts),
            max_episode_steps=self.max_episode_steps,
            endless_after=self.endless_after,
            **how,
        )

    def vector_env(self, family: EnvironmentFamily) -> VectorEnv | None:
        """Return the vector environment of a family, if this trainer uses one."""
        del family
        return None

    def settings(self) -> dict[str, Any]:
        """Every setting that changes the outcome, as JSON data.

        These are the keyword arguments of the constructor, which are kept under their names.
        """
        return {name: getattr(self, name) for name in self.own_settings()}

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
        """Train one policy for each job, one chunk after another; see `train_chunk`."""
        return self.train_in_chunks(jobs, progress, self.train_chunk)

    def train_in_chunks(
        self,
        jobs: Sequence[TrainingJob],
        progress: Progress | None,
        train_chunk: Callable[[Sequence[TrainingJob], Progress | None], Sequence[Result]],
    ) -> list[Result]:
        """Give each chunk to a function, one after another; what `progress` raises passes."""
        results: dict[int, Result] = {}
        size, left, done, latest = 1, len(jobs), 0, 0

        def report(own: Report) -> None:
            """Turn the progress of a chunk into that of all jobs."""
            nonlocal latest
            latest = own.total_steps
            joint = replace(
                own,
                steps=done + own.steps,
                # Jobs to come are taken to be as long as those of this chunk.
                total_steps=done + latest + left * (latest // size),
                evaluations=own.evaluations if len(jobs) == 1 else (),
            )
            try:
                progress(joint)  # type: ignore[misc]
            except Exception as error:
                raise ProgressError(error) from error

        for numbers in self.chunks(jobs):
            chunk = [jobs[number] for number in numbers]
            size, left, done = len(chunk), left - len(chunk), done + latest
            try:
                trained = train_chunk(chunk, None if progress is None else report)
                results |= zip(numbers, trained, strict=True)
            except ProgressError as error:
                raise error.cause from None
        return [results[number] for number in range(len(jobs))]

    def chunks(self, jobs: Sequence[TrainingJob]) -> list[list[int]]:
        """Numbers of the jobs that are trained together: those of the same shape, in order."""
        alike: dict[tuple[int, int | None, bool, bool], list[int]] = {}
        for number, job in enumerate(jobs):
            if job.parent is not None and not self.starts_from_parent:
                raise TrainerError(
                    f"The trainer {self.name!r} cannot start from another policy. Train from "
                    "scratch, or use the trainer 'ppo'."
                )
            shape = len(job.contexts), job.steps, job.parent is not None, job.sees_context
            alike.setdefault(shape, []).append(number)
        return [
            numbers[i : i + self.chunk]
            for numbers in alike.values()
            for i in range(0, len(numbers), self.chunk)
        ]

    def failed(self, job: TrainingJob, cause: str) -> TrainingError:
        """Return the error for a training run that failed."""
        where = f"{len(job.contexts)} contexts"
        if len(job.contexts) == 1:
            where = f"the context {self.space.context(job.contexts[0])}"
        return TrainingError(
            f"The training run on {where} with seed {job.seed} failed: {cause}. A smaller "
            "learning_rate may help."
        )

    def usable_contexts(self, contexts: ArrayLike) -> NDArray[np.float64]:
        """Return (n, D) contexts that the family has checked.

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
        self.family.check_contexts(self.space.names, array)
        return array
