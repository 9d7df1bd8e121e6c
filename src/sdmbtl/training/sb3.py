"""Training with any algorithm of stable-baselines3 and sb3-contrib."""

from __future__ import annotations

import inspect
import json
import math
import random
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from gymnasium.wrappers import TimeLimit
from numpy.typing import ArrayLike
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecMonitor, VecNormalize

from sdmbtl.checks import check_bool, check_int, known_name, short_text
from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.contextual import close_quietly
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.flattening import FlatObservations
from sdmbtl.errors import PolicyError, TrainerError, TrainingError, error_text
from sdmbtl.policies import Policy
from sdmbtl.policies.sb3 import (
    SB3Policy,
    algorithm_class,
    classes_from_names,
    policy_class_of,
    read_archive,
)
from sdmbtl.training.base import Trainer
from sdmbtl.training.best_policy import BestPolicy
from sdmbtl.training.checkpoint import Checkpoint
from sdmbtl.training.environment_errors import name_context_in_errors
from sdmbtl.training.job import Evaluation, Training, TrainingJob
from sdmbtl.training.progress import Progress, Report

#: Arguments of an algorithm that are not settings: ours to give, for output, or classes.
_RESERVED = {
    *("policy", "env", "seed", "device", "_init_setup_model", "verbose", "tensorboard_log"),
    *("rollout_buffer_class", "replay_buffer_class"),
}
#: CleanRL's names of hyperparameters, which the trainer "ppo" has too -> stable-baselines3's.
_CLEANRL_NAMES = {
    "num_steps": "n_steps",
    "minibatch_size": "batch_size",
    "update_epochs": "n_epochs",
    "clip_coef": "clip_range",
}
#: A rollout is short enough for at least this many updates.
LEAST_UPDATES = 25
#: Entries of a learning curve, and seconds between reports of progress.
CURVE_ENTRIES, REPORT_EVERY = 10, 0.2


class SB3Trainer(Trainer):
    """Any algorithm of stable-baselines3, on any environment.

    Buffers, schedules and environments of stable-baselines3 cannot be restored exactly, so there
    are no checkpoints within a run: a killed run starts over, to the same policy.

    Args:
        family: The environments.
        space: The context space.
        algorithm: "PPO", "A2C", "SAC", "TD3", "DDPG" or "DQN"; with sb3-contrib also "TRPO",
            "TQC", "CrossQ", "QRDQN" or "ARS".
        policy: Short name of the policy.
        total_timesteps: Environment steps for each policy, rounded up to whole rollouts.
        num_envs: Environments that are played side by side; if left out, 8 for algorithms that
            learn from rollouts (PPO, A2C, TRPO), 1 for others.
        norm_obs: Normalise observations by running statistics, which travel with the policy; if
            left out, for algorithms that learn from rollouts, unless observations are images.
        norm_reward: Normalise rewards by running statistics in training; if left out, for
            algorithms that learn from rollouts.
        eval_every: Steps between two entries of the learning curve; a tenth of the steps if left
            out.
        eval_episodes: Episodes on the training contexts for each entry, and the best policy is
            kept. 0: the curve has the returns of training, and the last policy is kept.
        **hyperparameters: Arguments of the algorithm as JSON data, under stable-baselines3's names
            or CleanRL's. In "policy_kwargs", classes are given by name, for example
            {"activation_fn": "torch.nn.ReLU"}; "action_noise" is the standard deviation of normal
            noise. Without "num_steps" and "minibatch_size", rollouts are short enough for at
            least 25 updates in `total_timesteps`, and minibatches divide them.

    Raises:
        TrainerError: If a setting is unknown or unusable.
    """

    name = "sb3"
    starts_from_parent = True

    def __init__(
        self,
        family: EnvironmentFamily,
        space: ContextSpace,
        *,
        algorithm: str = "PPO",
        policy: str = "MlpPolicy",
        total_timesteps: int = 100_000,
        num_envs: int | None = None,
        norm_obs: bool | None = None,
        norm_reward: bool | None = None,
        eval_every: int | None = None,
        eval_episodes: int = 0,
        max_episode_steps: int | None = None,
        endless_after: int = 100_000,
        **hyperparameters: Any,
    ) -> None:
        super().__init__(
            family, space, max_episode_steps=max_episode_steps, endless_after=endless_after
        )
        try:
            policy_class_of(algorithm, policy)
            copied = json.loads(json.dumps(hyperparameters, allow_nan=False))
            classes_from_names(copied.get("policy_kwargs") or {})
        except PolicyError as error:
            raise TrainerError(str(error)) from None
        except (TypeError, ValueError) as error:
            raise TrainerError(
                f"Hyperparameters must be JSON data, classes given by name. Got "
                f"{short_text(hyperparameters)}: {error}"
            ) from None
        self.algorithm, self.policy = algorithm, policy
        self.is_on_policy = issubclass(algorithm_class(algorithm), OnPolicyAlgorithm)
        self.total_timesteps, self.eval_every = total_timesteps, eval_every
        self.num_envs = (8 if self.is_on_policy else 1) if num_envs is None else num_envs
        self.norm_obs, self.norm_reward = norm_obs, norm_reward
        self.eval_episodes = eval_episodes
        counts = {"total_timesteps": 1, "num_envs": 1, "eval_every": 1, "eval_episodes": 0}
        for name, low in counts.items():
            if getattr(self, name) is not None:
                check_int(name, getattr(self, name), low=low, error=TrainerError)
        for name in ("norm_obs", "norm_reward"):
            if getattr(self, name) is not None:
                check_bool(name, getattr(self, name), error=TrainerError)
        self._names = cleanrl_names(algorithm)
        known = (*self._names, *hyperparameter_defaults(algorithm), *self.own_settings())
        for name in hyperparameters:
            has = f"{self.name!r} with {algorithm} has"
            known_name("option", name, known, has=has, error=TrainerError)
        self.hyperparameters = {self._names.get(name, name): v for name, v in copied.items()}

    def settings(self) -> dict[str, Any]:
        """Every setting that changes the outcome, as JSON data."""
        names = {theirs: ours for ours, theirs in self._names.items()}
        given = {names.get(name, name): value for name, value in self.hyperparameters.items()}
        return {**super().settings(), **given}

    def algorithm_arguments(self) -> dict[str, Any]:
        """Return the hyperparameters, with those that follow from the number of steps."""
        given, defaults = self.hyperparameters, hyperparameter_defaults(self.algorithm)
        if not self.is_on_policy or "batch_size" not in defaults:
            return dict(given)
        # Shorter training runs have the same rollouts, so that they can be compared: as long
        # as the algorithm's own of one environment, or shorter, for enough updates.
        longest = min(self.total_timesteps // LEAST_UPDATES, defaults["n_steps"])
        power = 1 << (max(longest // self.num_envs, 1).bit_length() - 1)
        # A rollout holds a minibatch; advantages are normalised, which takes two samples.
        shortest = -(-given.get("batch_size", 2) // self.num_envs)
        n_steps = given.get("n_steps", max(power if longest >= self.num_envs else 0, shortest))
        sizes = range(1, defaults["batch_size"] + 1)
        batch_size = max(size for size in sizes if self.num_envs * n_steps % size == 0)
        return {"n_steps": n_steps, "batch_size": batch_size, **given}

    def check_environment(self) -> None:
        """Refuse what can never work, or what the algorithm does not take: its model is made."""
        super().check_environment()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # training gives the same warnings
            with self._untrained():
                pass

    def play(
        self, family: EnvironmentFamily, policy: Policy, contexts: ArrayLike, **how: Any
    ) -> Evaluation:
        """Play a policy in a family's environments; see `Trainer.play`."""
        with _isolated(seed=0):
            return super().play(family, policy, contexts, **how)

    # -- one training run --------------------------------------------------------------------

    def train_chunk(
        self,
        jobs: Sequence[TrainingJob],
        progress: Progress | None = None,
        checkpoint: Checkpoint | None = None,  # noqa: ARG002
    ) -> list[Training]:
        """Train one policy: `chunk` is 1. The same job gives the same policy."""
        (job,) = jobs
        total = job.steps or self.total_timesteps
        if self.is_on_policy:
            taken = {**hyperparameter_defaults(self.algorithm), **self.algorithm_arguments()}
            rollout = self.num_envs * taken["n_steps"]
            total = -(-total // rollout) * rollout
        self.usable_contexts(job.contexts)
        # One seed for each purpose: equal ones would make these depend on each other.
        for_training, for_contexts, for_evaluation = (
            int(seed) for seed in np.random.SeedSequence(job.seed).generate_state(3)
        )
        watcher = _Watcher(self, job, total, for_evaluation, progress)
        with _isolated(for_training):
            environments = self._environments(job, for_contexts)
            try:
                model = self._model(environments, for_training)
                if job.parent is not None:
                    self._start_from_parent(model, job.parent)
                model.learn(total, callback=watcher)
                watcher.evaluate()
            except (TrainerError, TrainingError):
                raise
            except Exception as error:
                raise self.failed(job, error_text(error)) from error
            finally:
                close_quietly(environments)
        best = watcher.best
        watcher.report(best.mean_return)
        assert best.policy is not None  # noqa: S101 (the last policy is evaluated)
        outcome = model.num_timesteps, best.mean_return, best.curve, best.evaluation_steps
        return [Training(best.policy, *outcome)]

    def policy_of(self, model: BaseAlgorithm, sees_context: bool) -> SB3Policy:
        """Copy the policy of a model of this trainer as it is now."""
        arguments = self.hyperparameters.get("policy_kwargs")
        return SB3Policy.from_model(model, self.policy, arguments, sees_context=sees_context)

    def _environments(self, job: TrainingJob, seed: int) -> VecEnv:
        contexts = [self.space.context(vector) for vector in job.contexts]

        def make(generator: np.random.Generator) -> gymnasium.Env[Any, Any]:
            observed = self.space if job.sees_context else False
            with name_context_in_errors(contexts[0]):
                env = self.family.make(contexts[0], observe_context=observed)
            if job.sees_context and not FlatObservations(env.inner.observation_space).is_plain:
                raise TrainerError(
                    "With 'sb3', policies see the context after a vector of floats. "
                    f"{self.family.name} has {short_text(env.inner.observation_space)}. Use 'ppo'."
                )
            episodes = OneContextEachEpisode(env, contexts, generator)
            limit = self.max_episode_steps
            return episodes if limit is None else TimeLimit(episodes, limit)

        generators = np.random.default_rng(seed).spawn(self.num_envs)
        environments: VecEnv = VecMonitor(DummyVecEnv([partial(make, g) for g in generators]))
        seen, usual = environments.observation_space, self.is_on_policy
        is_plain = isinstance(seen, spaces.Box) and not is_image_space(seen)
        norm_obs = usual and is_plain if self.norm_obs is None else self.norm_obs
        norm_reward = usual if self.norm_reward is None else self.norm_reward
        if not norm_obs and not norm_reward:
            return environments
        gamma = self.hyperparameters.get("gamma", 0.99)
        return VecNormalize(environments, norm_obs=norm_obs, norm_reward=norm_reward, gamma=gamma)

    def _model(self, environments: VecEnv, seed: int) -> BaseAlgorithm:
        if environments.observation_space.shape is None:
            raise TrainerError(
                f"{self.name!r} needs observations that are one array. {self.family.name} has "
                f"{short_text(environments.observation_space)}. Wrap it in gymnasium.wrappers."
                "FlattenObservation, in a function of your own (module:function)."
            )
        arguments = self.algorithm_arguments()
        arguments["policy_kwargs"] = classes_from_names(arguments.get("policy_kwargs") or {})
        if isinstance(arguments.get("train_freq"), list):  # JSON has no tuples
            arguments["train_freq"] = tuple(arguments["train_freq"])
        if arguments.get("action_noise") is not None:
            zeros = np.zeros(environments.action_space.shape or ())
            arguments["action_noise"] = NormalActionNoise(zeros, zeros + arguments["action_noise"])
        policy_class = policy_class_of(self.algorithm, self.policy)
        make: Any = algorithm_class(self.algorithm)
        try:
            # Small networks are faster on a CPU, and always the same.
            model: BaseAlgorithm = make(
                policy_class, environments, seed=seed, device="cpu", **arguments
            )
        except (AssertionError, TypeError, ValueError) as error:
            raise TrainerError(
                f"{self.algorithm} cannot be used on {self.family.name} with the hyperparameters "
                f"{short_text(arguments)}: {error}"
            ) from error
        # Without a logger of ours, every run would leave a folder for temporary files.
        model.set_logger(Logger(folder=None, output_formats=[]))
        return model

    # -- starting from another policy ----------------------------------------------------------

    def read_start(self, path: Path) -> Policy:
        """Read a policy file, or the weights in an archive that stable-baselines3 has saved.

        The archive's pickled settings are not read: those of this trainer have to fit.
        """
        if path.suffix != ".zip":
            return super().read_start(path)
        weights = read_archive(path)
        with self._untrained() as model:
            fresh = self.policy_of(model, sees_context=False)
        if fresh.normalization is not None:
            raise TrainerError(
                f"{str(path)!r} has no statistics of observations. Set norm_obs=false to start "
                "from it."
            )
        made = fresh.algorithm, fresh.policy, fresh.policy_kwargs
        try:
            return SB3Policy(*made, fresh.observation_space, fresh.action_space, weights)
        except PolicyError as error:
            raise PolicyError(
                f"{error} Give the settings of the archive, for example --set algorithm=SAC, "
                "--set use_sde=false or --set 'policy_kwargs={\"net_arch\": [64]}'."
            ) from None

    def check_start(self, policy: Policy) -> None:
        """Refuse a policy of another algorithm, network or environment."""
        with self._untrained() as model:
            self._start_from_parent(model, policy)

    @contextmanager
    def _untrained(self) -> Iterator[BaseAlgorithm]:
        """Make a model as a training run begins with, for as long as it is looked at."""
        with _isolated(0):
            environments = self._environments(TrainingJob(self.space.targets[:1], 0), 0)
            try:
                yield self._model(environments, 0)
            finally:
                close_quietly(environments)

    def _start_from_parent(self, model: BaseAlgorithm, parent: Policy) -> None:
        """Give a new model the weights and the statistics of a parent.

        It explores as one from scratch: the noise of actions, the weight of SAC's entropy and
        DQN's share of random actions begin as always, and so do optimisers and the replay buffer.
        """
        if not isinstance(parent, SB3Policy):
            raise TrainerError(
                "The trainer 'sb3' starts from its own policies. "
                f"Got {short_text(parent)} instead. Start from scratch, or use the trainer 'ppo'."
            )
        fresh = self.policy_of(model, parent.sees_context)
        theirs, ours = parent.description(), fresh.description()
        other = [name for name in ours if theirs[name] != ours[name]]
        if other:
            raise TrainerError(
                f"Training cannot start from a policy with another {other[0]}: "
                f"{short_text(theirs[other[0]])}. Make the trainer with the settings of that "
                "policy, or start from scratch."
            )
        noise = {name: w for name, w in fresh.weights().items() if name.endswith("log_std")}
        model.policy.load_state_dict({**parent.weights(), **noise})
        if hasattr(model, "weights"):  # ARS searches around a vector
            model.weights = torch.nn.utils.parameters_to_vector(model.policy.parameters()).detach()
        normalizing: Any = model.get_vec_normalize_env()
        if parent.normalization is not None:
            mean, variance, _, _, seen = parent.normalization
            moments = normalizing.obs_rms
            moments.mean, moments.var, moments.count = mean.copy(), variance.copy(), seen
        if parent.returns is not None and normalizing is not None and normalizing.norm_reward:
            moments = normalizing.ret_rms
            mean_return, spread, moments.count = parent.returns
            moments.mean, moments.var = np.array(mean_return), np.array(spread)


class OneContextEachEpisode(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Takes one of several contexts at random for each episode."""

    def __init__(
        self, env: Any, contexts: list[dict[str, Any]], generator: np.random.Generator
    ) -> None:
        super().__init__(env)
        self._contexts, self._generator = contexts, generator
        self._context = contexts[0]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode on another context."""
        self._context = self._contexts[int(self._generator.integers(len(self._contexts)))]
        with name_context_in_errors(self._context):
            return self.env.reset(seed=seed, options={**(options or {}), "context": self._context})

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take one step."""
        with name_context_in_errors(self._context):
            return self.env.step(action)


class _Watcher(BaseCallback):
    """Evaluates the policy during training, and reports progress."""

    def __init__(
        self, trainer: SB3Trainer, job: TrainingJob, total: int, seed: int, progress: Any
    ) -> None:
        super().__init__()
        self.best = BestPolicy()
        self._trainer, self._job, self._progress = trainer, job, progress
        self._total, self._seed = total, seed
        self._eval_every = trainer.eval_every or max(1, total // CURVE_ENTRIES)
        self._next_evaluation, self._next_report = 0, 0.0

    def evaluate(self) -> None:
        """Add the policy as it is now to the learning curve, and keep it if it is the best."""
        trainer, job, episodes = self._trainer, self._job, self._trainer.eval_episodes
        mean = self._latest_return()
        if math.isnan(mean):  # no episode has ended yet
            environments: Any = self.training_env
            mean = float(np.mean(environments.episode_returns))
        if self.model.ep_info_buffer is not None and not episodes:
            self.model.ep_info_buffer.clear()
        policy = trainer.policy_of(self.model, job.sees_context)
        now = (trainer, job, policy, self.num_timesteps)
        self.best.consider(*now, training_return=mean, episodes=episodes, seed=self._seed)

    def report(self, mean_return: float) -> None:
        """Report progress, with the evaluations that were not reported yet."""
        if self._progress is not None:
            # Some algorithms finish an episode or a population after the last step.
            total = max(self._total, self.num_timesteps)
            new, metrics = self.best.take_new_evaluations(), {"mean_return": self._latest_return()}
            self._progress(
                Report(self.num_timesteps, total, mean_return, evaluations=new, metrics=metrics)
            )

    def _on_training_start(self) -> None:
        if self._job.parent is not None and self._trainer.eval_episodes:
            self.evaluate()  # nothing worse than the parent is returned

    def _on_rollout_start(self) -> None:
        # A rollout starts after the update from the one before.
        if self.model._n_updates and self.num_timesteps >= self._next_evaluation:
            self.evaluate()
            self._next_evaluation = (self.num_timesteps // self._eval_every + 1) * self._eval_every

    def _on_step(self) -> bool:
        if time.monotonic() >= self._next_report:
            self._next_report = time.monotonic() + REPORT_EVERY
            self.report(self._latest_return())
        return True

    def _latest_return(self) -> float:
        """Mean return of at most 100 episodes of training, NaN before the first has ended."""
        returns = [episode["r"] for episode in self.model.ep_info_buffer or ()]
        latest = self.best.curve[-1][1] if self.best.curve else math.nan
        return float(np.mean(returns)) if returns else latest


def hyperparameter_defaults(algorithm: str) -> dict[str, Any]:
    """Return the hyperparameters of an algorithm with their defaults."""
    arguments = inspect.signature(algorithm_class(algorithm)).parameters
    return {name: a.default for name, a in arguments.items() if name not in _RESERVED}


def cleanrl_names(algorithm: str) -> dict[str, str]:
    """Return CleanRL's names of an algorithm's hyperparameters, and stable-baselines3's."""
    known = hyperparameter_defaults(algorithm)
    names = {ours: theirs for ours, theirs in _CLEANRL_NAMES.items() if theirs in known}
    if not issubclass(algorithm_class(algorithm), OnPolicyAlgorithm):
        names.pop("num_steps", None)  # there "n_steps" is that of n-step returns
    return names


@contextmanager
def _isolated(seed: int) -> Iterator[None]:
    """Seed the global generators, which stable-baselines3 uses, and put them back afterwards.

    PyTorch takes one thread: small networks are faster so, and sums always the same.
    """
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    threads = torch.get_num_threads()
    try:
        with torch.random.fork_rng(devices=[]):
            torch.set_num_threads(1)
            random.seed(seed)
            np.random.seed(seed)  # noqa: NPY002
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads)
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
