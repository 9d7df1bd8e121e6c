"""PPO for any Gymnasium environment, and for PettingZoo-style parallel ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_bool, check_int, known_options
from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.batched_world import BatchedWorld
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.registry import can_be_made_anywhere
from sdmbtl.errors import TrainerError, TrainingError
from sdmbtl.policies import MlpPolicy
from sdmbtl.policies.mlp import ReturnStatistics
from sdmbtl.training.base import Evaluation, Training, TrainingJob
from sdmbtl.training.checkpoint import Checkpoint
from sdmbtl.training.host import HostTrainer
from sdmbtl.training.parallel_rollout import evaluate_parallel
from sdmbtl.training.ppo.backend import start_backend
from sdmbtl.training.ppo.host_environment import examine, registered_name
from sdmbtl.training.ppo.host_lanes import HostLanes, open_lanes
from sdmbtl.training.ppo.host_learner import compile_learner
from sdmbtl.training.ppo.host_rollout import ActionScale, Actor, carry_over, collect
from sdmbtl.training.ppo.host_settings import complete_settings
from sdmbtl.training.ppo.host_state import HostTrainState
from sdmbtl.training.ppo.lanes import Episodes, LaneState
from sdmbtl.training.ppo.recommended import RECOMMENDED
from sdmbtl.training.ppo.rollout_arrays import allocate_arrays
from sdmbtl.training.ppo.settings import PPOSettings
from sdmbtl.training.ppo.world_lanes import WorldLanes
from sdmbtl.training.progress import Progress, Report
from sdmbtl.training.world_rollout import evaluate_in_world

#: Keeps the noise of actions apart from other random numbers of a seed.
ACTING = 0xAC7
#: At most this many training contexts are evaluated during training, always the same ones.
MOST_EVALUATED = 16


class HostPPOTrainer(HostTrainer):
    """PPO with small networks: environments are stepped by Python, learning is compiled by JAX.

    The settings that are left out follow from the environment and the number of steps; see
    `complete_settings`.

    Args:
        family: Any environments; their actions are Box, Discrete, MultiDiscrete or MultiBinary,
            their observations these too, or a Dict or Tuple of them. In parallel environments all
            agents share one policy, and the return of an episode is the mean over its agents of
            their sums of rewards.
        space: The context space.
        observe_context: Whether policies see their context; see `Trainer`.
        processes: Worker processes for several jobs. A family that cannot be made again by name
            is trained in this process.
        env_processes: Processes in which the environments of one job are stepped. The outcome
            does not depend on it.
        max_agents: Agents at once in a parallel environment; as many as are possible if left out.
        total_timesteps: Environment steps for each policy, rounded up to whole iterations.
        num_steps: Steps of each environment in an iteration; if left out, so many that there are
            at least 25 iterations, of at most 2048 steps in all environments.
        norm_obs: Whether observations are normalised by their running mean and variance; if left
            out, they are, unless their bounds are fit for a network.
        norm_reward: Whether rewards are divided by the standard deviation of the discounted
            return in training; if left out, they are.
        eval_every: Iterations between two evaluations on the training contexts; if left out, so
            many that there are about ten.
        eval_episodes: Episodes of such an evaluation; the best policy is kept.
        max_episode_steps: A time limit: an episode is cut off after so many steps, beside the
            limit that the environments have themselves.
        endless_after: An episode of an evaluation that goes on for so many steps is taken to
            never end, which is an error.
        **settings: Of `PPOSettings`.

    Raises:
        TrainerError: If a setting, or a space of the environments, is unusable.
    """

    name = "ppo"
    starts_from_parent = True
    settings_class = PPOSettings
    #: In which policies are evaluated, if the family has worlds; and that family.
    _world: BatchedWorld | None = None
    _played: EnvironmentFamily | None = None

    def __init__(
        self,
        family: EnvironmentFamily,
        space: ContextSpace,
        *,
        observe_context: bool = False,
        processes: int = 1,
        env_processes: int = 1,
        max_agents: int | None = None,
        total_timesteps: int = 100_000,
        num_steps: int | None = None,
        norm_obs: bool | None = None,
        norm_reward: bool | None = None,
        eval_every: int | None = None,
        eval_episodes: int = 5,
        max_episode_steps: int | None = None,
        endless_after: int = 100_000,
        **settings: Any,
    ) -> None:
        super().__init__(
            family,
            space,
            observe_context=observe_context,
            max_episode_steps=max_episode_steps,
            endless_after=endless_after,
        )
        known = [f.name for f in fields(PPOSettings)]
        known_options(self.name, settings, [*known, *self.own_settings()], error=TrainerError)
        self.processes = check_int("processes", processes, low=1, error=TrainerError)
        self.env_processes = check_int("env_processes", env_processes, low=1, error=TrainerError)
        self.environment = examine(family, max_agents)
        self.max_agents = max_agents
        self._check_observed_context()
        given = {
            **settings,
            "total_timesteps": total_timesteps,
            "num_steps": num_steps,
            "norm_obs": norm_obs,
            "norm_reward": norm_reward,
            "eval_every": eval_every,
            "eval_episodes": eval_episodes,
        }
        complete = complete_settings(
            {name: value for name, value in given.items() if value is not None},
            self.environment.registered,
            self.environment.observations,
        )
        chosen = complete.pop("norm_reward")
        self.norm_reward = check_bool("norm_reward", chosen, error=TrainerError)
        self.ppo_settings = PPOSettings(**complete)
        self._scale = ActionScale(self.environment.actions)
        observed = space.n_dimensions if self.observe_context else 0
        self.form = self.environment.policy_form(self.ppo_settings, observed)
        start_backend()
        self._learner = compile_learner(
            self.ppo_settings,
            self.environment.distribution,
            self.norm_reward,
            self.environment.is_parallel,
        )

    def _check_observed_context(self) -> None:
        if self.observe_context and not self.environment.observations.is_plain:
            raise TrainerError(
                "The context can be appended to observations that are vectors of floats. "
                f"{self.family.name!r} has {self.environment.observations.space}. Flatten them in "
                "'build', or use observe_context=False."
            )

    @classmethod
    def recommended_settings(cls, family: EnvironmentFamily) -> dict[str, Any]:
        """Those of the registered environment, then those that the family has itself."""
        usual = RECOMMENDED.get(registered_name(family) or "", {})
        return {**usual, **super().recommended_settings(family)}

    def settings(self) -> dict[str, Any]:
        """Every setting that changes the outcome, and what other processes need, as JSON data."""
        names = ("observe_context", "env_processes", "max_agents", "norm_reward")
        limits = ("max_episode_steps", "endless_after")
        own = {name: getattr(self, name) for name in (*names, *limits)}
        settings = {**own, **asdict(self.ppo_settings)}
        return {**settings, "hidden_sizes": list(self.ppo_settings.hidden_sizes)}

    def train_chunk(
        self,
        jobs: Sequence[TrainingJob],
        progress: Progress | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> list[Training]:
        """Train one policy for each job; a chunk is a single one. The same job, the same policy.

        A policy that starts from a parent has its weights, its critic and its statistics, but
        explores as one from scratch. The parent itself is the first candidate for the best policy:
        nothing worse is returned, by the evaluations during training.
        """
        return [self._train_one(job, progress, checkpoint) for job in jobs]

    def player(self, family: EnvironmentFamily) -> Callable[..., Evaluation]:
        """What plays episodes of a family's environments: of one agent, of several, of worlds."""
        if self._played is not family:
            if self._world is not None:
                self._world.close()
            self._world, self._played = family.build_world(), family
        if self._world is not None:
            return partial(evaluate_in_world, world=self._world)
        return evaluate_parallel if self.environment.is_parallel else super().player(family)

    def check_environment(self) -> None:
        """Refuse what can never work; of environments of several agents the first is examined."""
        if not self.environment.is_parallel:
            super().check_environment()

    # -- one training run --------------------------------------------------------------------

    def begin(self, job: TrainingJob) -> HostTrainState:
        """The state of a training run before its first step.

        Raises:
            TrainerError: If the job's parent does not fit.
        """
        weights, scaling = self.form.begin(job.seed, job.parent)
        returns = job.parent.return_statistics if isinstance(job.parent, MlpPolicy) else None
        slots = self.ppo_settings.num_envs * self.environment.agents
        return HostTrainState(
            self._learner.start(weights, scaling, returns, slots),
            [LaneState() for _ in range(self.ppo_settings.num_envs)],
        )

    def _train_one(
        self, job: TrainingJob, progress: Progress | None, checkpoint: Checkpoint | None
    ) -> Training:
        settings = self.ppo_settings
        total = settings.num_iterations(job.steps)
        if job.parent is None:
            self.warn_of_few_updates(total, total * settings.batch_size)
        self.usable_contexts(job.contexts)
        if progress is not None and not self._learner.is_compiled:
            progress(Report(0, total * settings.batch_size, stage="compiling"))
        state = self.begin(job)
        saved = None if checkpoint is None else checkpoint.load()
        if saved is not None:
            state.restore(saved)
            self._report(progress, state, total, is_continued=True)
        elif job.parent is not None:
            self._evaluate_progress(state, job)
        lanes = self.open_lanes(job)
        try:
            lanes.start(state.lanes)
            while state.iteration < total:
                self.iterate(state, lanes, job, total)
                if self._is_evaluated(state.iteration, total):
                    self._evaluate_progress(state, job)
                with (
                    nullcontext()
                    if checkpoint is None
                    else checkpoint.kept(lambda: state.take_snapshot(lanes.states()))
                ):
                    self._report(progress, state, total)
        finally:
            lanes.close()
        assert state.best is not None  # noqa: S101 (the last iteration is evaluated)
        return Training(state.best, total * settings.batch_size, state.best_return, state.curve)

    def _report(
        self,
        progress: Progress | None,
        state: HostTrainState,
        total: int,
        *,
        is_continued: bool = False,
    ) -> None:
        """Say how far a run is, with the evaluations that were not reported yet."""
        new, state.reported = state.curve[state.reported :], len(state.curve)
        if progress is not None:
            progress(
                Report(
                    state.iteration * self.ppo_settings.batch_size,
                    total * self.ppo_settings.batch_size,
                    state.curve[-1][1],
                    "continued" if is_continued else "training",
                    tuple(new),
                )
            )

    def iterate(
        self, state: HostTrainState, lanes: HostLanes, job: TrainingJob, total: int
    ) -> None:
        """Play, then learn from what was seen.

        Args:
            state: Of the training run; it is changed.
            lanes: Its environments.
            job: What is trained.
            total: Iterations of the whole run.
        """
        settings, learner = self.ppo_settings, state.learner
        actor = Actor(
            learner.optimiser.weights,
            learner.scaling if settings.norm_obs else None,
            self.environment.actions.sizes,
        )
        # Its own generator for each iteration: nothing of it has to be kept.
        rng = np.random.default_rng([job.seed, ACTING, state.iteration])
        noise = actor.draw_noise(rng, lanes.arrays.reward.shape)
        collect(lanes, actor, self._scale, noise)
        state.learner = self._learner.update(learner, lanes.arrays, state.iteration, total)
        carry_over(lanes)
        state.iteration += 1

    def _is_evaluated(self, iteration: int, total: int) -> bool:
        """After the first update, then regularly, and at the end."""
        return iteration in (1, total) or iteration % self.ppo_settings.eval_every == 0

    def _evaluate_progress(self, state: HostTrainState, job: TrainingJob) -> None:
        """Play the policy on its training contexts; keep it if it is the best so far."""
        learner, contexts = state.learner, self._evaluated_contexts(job.contexts)
        returns = learner.returns
        statistics = ReturnStatistics(
            float(returns.mean[0]), float(returns.variance[0]), float(returns.number)
        )
        policy = self.form.make_policy(
            learner.optimiser.weights, learner.scaling, statistics if self.norm_reward else None
        )
        steps = state.iteration * self.ppo_settings.batch_size
        if not all(np.isfinite(array).all() for array in policy.arrays().values()):
            raise self._failed(job, f"weights are not finite after {steps} steps")
        # The same episodes each time: otherwise these, and not the policy, would decide which
        # one is the best.
        episodes = -(-self.ppo_settings.eval_episodes // len(contexts))
        played = self.play(self.family, policy, contexts, episodes=episodes, seed=job.seed)
        mean = float(played.complete().mean())
        if not math.isfinite(mean):
            raise self._failed(job, f"the mean return is {mean} after {steps} steps")
        state.curve.append((steps, mean))
        if mean >= state.best_return:  # of equally good ones the one trained longer
            state.best, state.best_return = policy, mean

    def _evaluated_contexts(self, contexts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Some of (M, D) contexts, evenly among all."""
        number = min(len(contexts), MOST_EVALUATED)
        return contexts[np.linspace(0, len(contexts) - 1, number).astype(np.intp)]

    def open_lanes(self, job: TrainingJob) -> HostLanes:
        """The environments of a training run, which are then started and, at the end, closed."""
        environment, settings = self.environment, self.ppo_settings
        episodes = Episodes(
            self.family,
            self.space,
            job.contexts,
            job.seed,
            self.observe_context,
            environment.agents,
            self.max_episode_steps,
        )
        shape = environment.rollout_shape(settings, self.form.n_inputs)
        world = self.family.build_world()
        if world is not None:
            return WorldLanes(world, episodes, allocate_arrays(shape), settings.num_envs)
        return open_lanes(
            episodes,
            shape,
            settings.num_envs,
            self.env_processes if can_be_made_anywhere(self.family) else 1,
            parallel=environment.is_parallel,
        )

    def _failed(self, job: TrainingJob, cause: str) -> TrainingError:
        return TrainingError(
            f"The training run on {self.shown(job)} with seed {job.seed} failed: {cause}. A "
            "smaller learning_rate may help."
        )
