"""PPO for any Gymnasium environment: Python steps the environments, JAX compiles the learning."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np

from sdmbtl.checks import check_bool, known_options
from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.contextual import close_quietly
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.flattening import FlatObservations, with_categories
from sdmbtl.errors import PolicyError, TrainerError
from sdmbtl.policies import MlpPolicy, Policy, policy_bytes, policy_from_bytes
from sdmbtl.policies.action_code import ActionCode
from sdmbtl.policies.distilled import DistilledPolicy
from sdmbtl.policies.mlp import ReturnStatistics
from sdmbtl.training.base import Trainer
from sdmbtl.training.best_policy import BestPolicy
from sdmbtl.training.checkpoint import Checkpoint, Snapshot
from sdmbtl.training.environment_errors import name_context_in_errors
from sdmbtl.training.job import Training, TrainingJob
from sdmbtl.training.ppo.distributions import Gaussian, MultiCategorical
from sdmbtl.training.ppo.env_slots import (
    EnvSlots,
    EnvState,
    EpisodePlan,
    EpisodeReturns,
    GymnasiumSlots,
    RolloutArrays,
)
from sdmbtl.training.ppo.exploration import ExploringActor, collect_rollout
from sdmbtl.training.ppo.networks import arrays_of, from_arrays, start_backend
from sdmbtl.training.ppo.policy_form import PolicyForm
from sdmbtl.training.ppo.rollout_learner import LearnerState, compile_learner
from sdmbtl.training.ppo.settings import RECOMMENDED, PPOSettings, complete_settings
from sdmbtl.training.progress import Progress, Report
from sdmbtl.training.vector_env import VectorEnv

#: Observations by which images of categories are recognised.
LOOKED_AT = 4
#: Keeps the noise of actions apart from other random numbers of a seed.
ACTING = 0xAC7


class GymnasiumPPO(Trainer):
    """PPO with small networks, for every environment: JAX compiles the learning.

    The settings that are left out follow from the environment and the number of steps; see
    `complete_settings`.

    Args:
        family: Any environments; their actions are Box, Discrete, MultiDiscrete or MultiBinary,
            their observations these too, or a Dict or Tuple of them. A family with a vector
            environment is trained in that.
        space: The context space.
        num_steps: Steps of each environment in an iteration; if left out, at least 25 iterations
            of at most 2048 steps in all environments.
        norm_obs: Normalise observations by their running mean and variance; if left out, unless
            their bounds suit a network.
        norm_reward: Divide rewards by the standard deviation of the discounted return in training;
            on if left out.
        eval_every: Iterations between two entries of the learning curve; about ten entries if
            left out.
        **settings: Of `PPOSettings` and `Trainer`.

    Raises:
        TrainerError: If a setting, or a space of the environments, is unusable.
    """

    name = "ppo"
    starts_from_parent = True
    adds_context = True
    settings_class = PPOSettings
    #: The vector environment that was used last, with its family.
    _vector_env: tuple[EnvironmentFamily, VectorEnv | None] | None = None

    def __init__(
        self,
        family: EnvironmentFamily,
        space: ContextSpace,
        *,
        total_timesteps: int = 100_000,
        num_steps: int | None = None,
        norm_obs: bool | None = None,
        norm_reward: bool | None = None,
        eval_every: int | None = None,
        max_episode_steps: int | None = None,
        endless_after: int = 100_000,
        **settings: Any,
    ) -> None:
        super().__init__(
            family, space, max_episode_steps=max_episode_steps, endless_after=endless_after
        )
        known = [f.name for f in fields(PPOSettings)]
        known_options(self.name, settings, [*known, *self.own_settings()], error=TrainerError)
        registered = self._read_spaces()
        given = {
            **settings,
            "total_timesteps": total_timesteps,
            "num_steps": num_steps,
            "norm_obs": norm_obs,
            "norm_reward": norm_reward,
            "eval_every": eval_every,
        }
        complete = complete_settings(
            {name: value for name, value in given.items() if value is not None},
            registered,
            self._observations,
        )
        chosen = complete.pop("norm_reward")
        self.norm_reward = check_bool("norm_reward", chosen, error=TrainerError)
        self.ppo_settings = PPOSettings(**complete)
        if self.ppo_settings.recurrent and self.vector_env(family) is not None:
            raise TrainerError(
                f"'recurrent' is for environments with one agent, and {family.name} has several. "
                "Leave it out."
            )
        self.form = PolicyForm.of_spaces(
            self._observations, self._code, space.n_units, self.ppo_settings
        )
        start_backend()
        sizes = self._code.sizes
        self._learner = compile_learner(
            self.ppo_settings,
            Gaussian(self._code.size) if sizes is None else MultiCategorical(sizes),
            norm_reward=self.norm_reward,
            has_empty_slots=self.vector_env(family) is not None,
        )

    def _read_spaces(self) -> str | None:
        """Look at the spaces of the environment; returns its name in Gymnasium, if it has one."""
        vector_env, name = self.vector_env(self.family), None
        env: Any = vector_env or self.family.build(dict(self.family.defaults), None)
        try:
            self._observations = FlatObservations(env.observation_space)
            if vector_env is None and self._observations.has_images:
                with name_context_in_errors(self.family.defaults, env):
                    first = [env.reset(seed=seed)[0] for seed in range(LOOKED_AT)]
                self._observations = FlatObservations(with_categories(env.observation_space, first))
            self._code = ActionCode(env.action_space)
            self._agents = 1 if vector_env is None else vector_env.max_agents
            name = _registered_name(env)
        except PolicyError as error:
            raise TrainerError(
                f"The trainer 'ppo' cannot be used on {self.family.name}. {error}"
            ) from None
        finally:
            if vector_env is None:
                close_quietly(env)
        return name

    @classmethod
    def recommended_settings(cls, family: EnvironmentFamily) -> dict[str, Any]:
        """Settings for the registered environment, then those that the family has itself."""
        env = family.build(dict(family.defaults), None)
        name = _registered_name(env)
        close_quietly(env)
        return {**RECOMMENDED.get(name or "", {}), **super().recommended_settings(family)}

    def settings(self) -> dict[str, Any]:
        """Every setting that changes the outcome, as JSON data."""
        names = ("norm_reward", "max_episode_steps", "endless_after")
        own = {name: getattr(self, name) for name in names}
        return {**own, **self.ppo_settings.to_dict()}

    def vector_env(self, family: EnvironmentFamily) -> VectorEnv | None:
        """Return the vector environment of a family; None if it has none."""
        if self._vector_env is None or self._vector_env[0] is not family:
            if self._vector_env is not None and self._vector_env[1] is not None:
                self._vector_env[1].close()
            self._vector_env = family, family.make_vector_env()
        return self._vector_env[1]

    def check_environment(self) -> None:
        """Refuse what can never work; a vector environment was examined when it was made."""
        if self.vector_env(self.family) is None:
            super().check_environment()

    def check_start(self, policy: Policy) -> None:
        """Refuse a policy with another network."""
        self.form.check_policy(policy, "starts from")

    # -- one training run --------------------------------------------------------------------

    def train_chunk(
        self,
        jobs: Sequence[TrainingJob],
        progress: Progress | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> list[Training]:
        """Train one policy for each job; a chunk is a single one. The same job, the same policy.

        With evaluations, the parent of a policy is the first candidate for the best one.
        """
        return [self._train_one(job, progress, checkpoint) for job in jobs]

    def _train_one(
        self, job: TrainingJob, progress: Progress | None, checkpoint: Checkpoint | None
    ) -> Training:
        settings = self.ppo_settings
        total = settings.num_iterations(job.steps)
        steps = total * settings.batch_size
        self.usable_contexts(job.contexts)
        if progress is not None and not self._learner.is_compiled:
            progress(Report(0, steps, stage="compiling"))
        state = self.begin(job)

        def report(stage: Literal["continued", "training"] = "training") -> None:
            if progress is not None:
                done, best = state.iteration * settings.batch_size, state.best
                latest, new = best.curve[-1][1], best.take_new_evaluations()
                progress(Report(done, steps, latest, stage, new))

        saved = None if checkpoint is None else checkpoint.load()
        if saved is not None:
            state.restore(saved)
            report("continued")
        elif job.parent is not None and settings.eval_episodes:
            self._add_to_curve(state, job)
        slots = self.open_slots(job)
        try:
            slots.start(state.env_states)
            if settings.recurrent:  # it sees the last action of each episode that is continued
                for slot, env in enumerate(state.env_states):
                    last = self._code(env.actions[-1][0]) if env.actions else 0.0
                    slots.arrays.obs[0, slot, -self._code.size :] = last
            while state.iteration < total:
                self.iterate(state, slots, job, total)
                done = state.iteration
                if done in (1, total) or done % settings.eval_every == 0:
                    self._add_to_curve(state, job)
                with (
                    nullcontext()
                    if checkpoint is None
                    else checkpoint.kept(lambda: state.take_snapshot(slots.states()))
                ):
                    report()
        finally:
            slots.close()
        best = state.best
        assert best.policy is not None  # noqa: S101 (the last iteration is an entry)
        return Training(best.policy, steps, best.mean_return, best.curve, best.evaluation_steps)

    def begin(self, job: TrainingJob) -> GymnasiumTrainState:
        """Return the state of a training run before its first step.

        Raises:
            TrainerError: If the job's parent does not fit.
        """
        weights, obs_stats = self.form.begin(job)
        parent = job.parent.head if isinstance(job.parent, DistilledPolicy) else job.parent
        returns = parent.return_statistics if isinstance(parent, MlpPolicy) else None
        num_envs = self.ppo_settings.num_envs
        slots = num_envs * self._agents
        return GymnasiumTrainState(
            self._learner.start(weights, obs_stats, returns, slots),
            [EnvState() for _ in range(num_envs)],
            EpisodeReturns(np.zeros(slots)),
        )

    def open_slots(self, job: TrainingJob) -> EnvSlots:
        """Make the environments of a training run; the caller starts and closes them."""
        settings = self.ppo_settings
        plan = EpisodePlan(
            self.family,
            self.space,
            job.contexts,
            job.seed,
            self._observations,
            job.sees_context,
            self.max_episode_steps,
        )
        arrays = RolloutArrays.allocate(
            settings.num_steps,
            settings.num_envs * self._agents,
            self.form.n_inputs(job.sees_context),
            self._code,
        )
        vector_env = self.family.make_vector_env()
        if vector_env is not None:
            return vector_env.env_slots(plan, arrays, settings.num_envs)
        return GymnasiumSlots(plan, arrays, settings.num_envs)

    def iterate(
        self, state: GymnasiumTrainState, slots: EnvSlots, job: TrainingJob, total: int
    ) -> None:
        """Play, then learn from what was seen; the state is changed."""
        learner = state.learner
        actor = ExploringActor(
            learner.optimiser.weights,
            learner.obs_stats if self.ppo_settings.norm_obs else None,
            self._code.sizes,
            learner.hidden,
        )
        # A generator for each iteration: none has to be kept in a checkpoint.
        rng = np.random.default_rng([job.seed, ACTING, state.iteration])
        noise = actor.draw_noise(rng, slots.arrays.reward.shape)
        collect_rollout(slots, actor, self._code, noise)
        state.returns.add(slots.arrays)
        state.learner = self._learner.update(learner, slots.arrays, state.iteration, total)
        slots.arrays.carry_over()
        state.iteration += 1

    def _add_to_curve(self, state: GymnasiumTrainState, job: TrainingJob) -> None:
        """Add an entry to the learning curve; keep the policy if it is the best so far."""
        learner, settings, best = state.learner, self.ppo_settings, state.best
        mean, var, count = learner.return_stats
        statistics = ReturnStatistics(float(mean[0]), float(var[0]), float(count))
        policy = self.form.make_policy(
            learner.optimiser.weights, learner.obs_stats, statistics if self.norm_reward else None
        )
        best.consider(
            self,
            job,
            policy,
            state.iteration * settings.batch_size,
            training_return=state.returns.take_mean(best.curve[-1][1] if best.curve else None),
            episodes=settings.eval_episodes,
            seed=job.seed,
        )


@dataclass
class GymnasiumTrainState:
    """Everything a training run needs to continue; `iteration` counts those that are done."""

    learner: LearnerState
    env_states: Sequence[EnvState]
    returns: EpisodeReturns
    iteration: int = 0
    best: BestPolicy = field(default_factory=BestPolicy)

    def take_snapshot(self, env_states: Sequence[EnvState]) -> Snapshot:
        """Return the state as data, with the environments as they are now."""
        arrays = arrays_of(self.learner, "learner")
        arrays |= {f"env-{n}": np.array(env.actions) for n, env in enumerate(env_states)}
        arrays["running"] = self.returns.running
        if self.best.policy is not None:
            arrays["best"] = np.frombuffer(policy_bytes(self.best.policy), dtype=np.uint8)
        data = {
            "iteration": self.iteration,
            "best_return": self.best.mean_return,
            "curve": self.best.curve,
            "evaluation_steps": self.best.evaluation_steps,
            "episodes": [env.episode for env in env_states],
            "ended": [self.returns.total, self.returns.number],
        }
        return Snapshot(data, arrays)

    def restore(self, saved: Snapshot) -> None:
        """Go to where a snapshot was taken, of a run with the same settings."""
        data, arrays = saved
        self.learner = from_arrays(self.learner, "learner", arrays)
        self.env_states = [
            EnvState(episode, list(arrays[f"env-{n}"]))
            for n, episode in enumerate(data["episodes"])
        ]
        self.returns = EpisodeReturns(arrays["running"].copy(), *data["ended"])
        self.iteration = data["iteration"]
        best = policy_from_bytes(arrays["best"].tobytes()) if "best" in arrays else None
        curve = [(steps, value) for steps, value in data["curve"]]
        self.best = BestPolicy(best, data["best_return"], curve, data["evaluation_steps"])


def _registered_name(env: object) -> str | None:
    """Return the name of an environment in Gymnasium, if it has one."""
    spec = getattr(env, "spec", None)
    return None if spec is None else str(spec.id)
