"""Training with Stable-Baselines3, for any Gymnasium environment."""

from __future__ import annotations

import inspect
import json
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecMonitor, VecNormalize

from sdmbtl.checks import finite_number, known_name, short_text, truth_value, whole_number
from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.errors import PolicyError, SdmbtlError, TrainerError, TrainingError
from sdmbtl.policies import Policy
from sdmbtl.policies.stable_baselines import (
    StableBaselinesPolicy,
    algorithm_class,
    classes_from_names,
    policy_class_of,
)
from sdmbtl.trainers.base import Progress, Trainer, Training, TrainingJob
from sdmbtl.trainers.checkpoint import Checkpoint
from sdmbtl.trainers.rollout import evaluate_in_gymnasium, name_context_in_errors

#: Arguments of an algorithm that are not hyperparameters: ours to give, for output, or classes.
_RESERVED = frozenset(
    {
        *("policy", "env", "seed", "_init_setup_model"),
        *("verbose", "tensorboard_log"),
        *("rollout_buffer_class", "replay_buffer_class"),
    }
)

#: Names of hyperparameters that all trainers share, and those of Stable-Baselines3.
COMMON_NAMES = {
    "learning_rate": "learning_rate",
    "num_steps": "n_steps",
    "minibatch_size": "batch_size",
    "update_epochs": "n_epochs",
    "gamma": "gamma",
    "gae_lambda": "gae_lambda",
    "clip_coef": "clip_range",
    "ent_coef": "ent_coef",
    "vf_coef": "vf_coef",
    "max_grad_norm": "max_grad_norm",
}

#: At most this many contexts of a job are evaluated during training, drawn once.
MOST_EVALUATED = 64

#: How often progress is reported in a training run, besides at its end.
REPORTS = 100


class StableBaselinesTrainer(Trainer):
    """Any algorithm of Stable-Baselines3, on any environment.

    During training the policy is evaluated on its contexts from time to time, always on the same
    episodes, and the best one is kept with the statistics of that moment; of equals the later.

    Args:
        family: The environments.
        space: The context space.
        observe_context: Whether policies see their context; see `Trainer`.
        algorithm: "PPO", "A2C", "SAC", "TD3", "DDPG" or "DQN".
        policy: Stable-Baselines3's short name of the policy.
        total_timesteps: Environment steps for each policy; the algorithm rounds up to whole
            rollouts.
        num_envs: Environments that are played side by side.
        norm_obs: Whether observations are normalised by running statistics, which travel with
            the policy.
        norm_reward: Whether rewards are normalised by running statistics in training.
        eval_every: Steps between two evaluations.
        eval_episodes: Episodes on each context in an evaluation.
        processes: Worker processes for several jobs. They are spawned, so a script needs its
            `if __name__ == "__main__":`. A family that cannot be made again by name is trained
            in this process.
        hyperparameters: Other arguments of the algorithm as JSON data, under their own names. In
            "policy_kwargs", classes are given by name, for example
            {"activation_fn": "torch.nn.ReLU"}; "action_noise" is the standard deviation of normal
            noise.
        **common: Hyperparameters that the algorithm has under a name of `COMMON_NAMES`.

    Raises:
        TrainerError: If a setting is unknown or unusable.
    """

    name = "sb3"

    def __init__(
        self,
        family: EnvironmentFamily,
        space: ContextSpace,
        *,
        observe_context: bool = False,
        algorithm: str = "PPO",
        policy: str = "MlpPolicy",
        total_timesteps: int = 100_000,
        num_envs: int = 8,
        norm_obs: bool = False,
        norm_reward: bool = False,
        eval_every: int = 10_000,
        eval_episodes: int = 5,
        processes: int = 1,
        hyperparameters: Mapping[str, Any] | None = None,
        **common: Any,
    ) -> None:
        super().__init__(family, space, observe_context=observe_context)
        try:
            policy_class_of(algorithm, policy)
        except PolicyError as error:
            raise TrainerError(str(error)) from None
        self.algorithm, self.policy = algorithm, policy
        self.norm_obs = truth_value("norm_obs", norm_obs, error=TrainerError)
        self.norm_reward = truth_value("norm_reward", norm_reward, error=TrainerError)
        count = partial(whole_number, low=1, error=TrainerError)
        self.total_timesteps = count("total_timesteps", total_timesteps)
        self.num_envs = count("num_envs", num_envs)
        self.eval_every = count("eval_every", eval_every)
        self.eval_episodes = count("eval_episodes", eval_episodes)
        self.processes = count("processes", processes)
        self.common = self._check_common(common)
        self.hyperparameters = _check_hyperparameters(algorithm, hyperparameters or {})

    def settings(self) -> dict[str, Any]:
        """Every setting that changes the outcome, as JSON data."""
        return {**super().settings(), **self.common}

    def algorithm_arguments(self) -> dict[str, Any]:
        """All hyperparameters under the names that the algorithm has for them."""
        names = _common_names(self.algorithm)
        return {**{names[name]: v for name, v in self.common.items()}, **self.hyperparameters}

    def _check_common(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The hyperparameters of `COMMON_NAMES` as JSON data."""
        names = _common_names(self.algorithm)
        known = (*names, *self.own_settings())
        has = f"{self.name!r} with {self.algorithm} has"
        for name, value in given.items():
            if name not in known and name in _argument_names(self.algorithm):
                ours = {theirs: name for name, theirs in names.items()}
                way = f"{ours[name]!r}" if name in ours else f"'hyperparameters.{name}'"
                raise TrainerError(f"{self.algorithm}'s {name!r} is given as {way}.")
            known_name("option", name, known, has=has, error=TrainerError)
            if not (name == "ent_coef" and isinstance(value, str)):  # SAC's may be "auto"
                finite_number(name, value, low=0.0, error=TrainerError)
        return _copy_as_json(given)

    def train_chunk(
        self,
        jobs: Sequence[TrainingJob],
        progress: Progress | None = None,
        checkpoint: Checkpoint | None = None,  # noqa: ARG002
    ) -> list[Training]:
        """Train one policy for each job; a chunk is a single one. The same job, the same policy.

        There are no checkpoints: what Stable-Baselines3 keeps in its buffers, schedules and
        environments cannot be restored exactly, so a run that was killed begins anew.

        Raises:
            TrainingError: If a training run failed; the message has the context and the cause.
            TrainerError: If the algorithm does not take the settings or the environment.
            ContextError: If a context is not usable.
        """
        return [self._train_one(job, progress) for job in jobs]

    def evaluate(
        self, policy: Policy, contexts: ArrayLike, *, episodes: int, seed: int
    ) -> NDArray[np.float64]:
        """(n, episodes) returns of a policy on (n, D) contexts. The same seed, the same returns."""
        with _use_one_thread():
            return evaluate_in_gymnasium(
                policy,
                self.family,
                self.space,
                self.usable_contexts(contexts),
                observe_context=self.observe_context,
                episodes=episodes,
                seed=seed,
            )

    # -- one training run --------------------------------------------------------------------

    def _train_one(self, job: TrainingJob, progress: Progress | None) -> Training:
        total = self.steps_of(job)

        def report(steps: int, mean_return: float) -> None:
            if progress is not None:
                progress(min(steps, total), total, mean_return)

        self.usable_contexts(job.contexts)
        # One seed for each purpose: equal ones would make these depend on each other.
        for_training, for_contexts, for_evaluation = (
            int(seed) for seed in np.random.SeedSequence(job.seed).generate_state(3)
        )
        with _use_one_thread(), _contain_randomness(for_training):
            environments = self._environments(job, for_contexts)
            try:
                model = self._model(environments, for_training)
                watcher = _Watcher(self, job, for_evaluation, report)
                self._learn(model, watcher, job)
            finally:
                environments.close()
        report(total, watcher.best_return)
        return Training(
            watcher.best_policy, model.num_timesteps, watcher.best_return, watcher.curve
        )

    def steps_of(self, job: TrainingJob) -> int:
        """Steps that a job takes, before they are rounded up."""
        return self.total_timesteps if job.steps is None else job.steps

    def _learn(self, model: BaseAlgorithm, watcher: _Watcher, job: TrainingJob) -> None:
        try:
            model.learn(self.steps_of(job), callback=watcher)
            watcher.evaluate()
        except TrainingError:
            raise
        except Exception as error:
            raise self.failed(job, f"{type(error).__name__}: {error}") from error

    def failed(self, job: TrainingJob, cause: str) -> TrainingError:
        """The error for a training run that failed."""
        return TrainingError(
            f"The training run on {self.shown(job)} with seed {job.seed} failed: {cause}."
        )

    def _environments(self, job: TrainingJob, seed: int) -> VecEnv:
        observed = self.space if self.observe_context else False
        first = self.space.context(job.contexts[0])

        def make(generator: np.random.Generator) -> gymnasium.Env[Any, Any]:
            with name_context_in_errors(first):
                env = self.family.make(first, observe_context=observed)
            return _OneContextEachEpisode(env, self.space, job.contexts, generator)

        generators = np.random.default_rng(seed).spawn(self.num_envs)
        environments: VecEnv = VecMonitor(DummyVecEnv([partial(make, g) for g in generators]))
        if self.norm_obs or self.norm_reward:
            environments = VecNormalize(
                environments,
                norm_obs=self.norm_obs,
                norm_reward=self.norm_reward,
                gamma=self._gamma(),
            )
        return environments

    def _gamma(self) -> float:
        usual = inspect.signature(algorithm_class(self.algorithm)).parameters["gamma"].default
        return float(self.common.get("gamma", usual))

    def _model(self, environments: VecEnv, seed: int) -> BaseAlgorithm:
        arguments: dict[str, Any] = {"device": "cpu", **self.algorithm_arguments()}
        if "policy_kwargs" in arguments:
            arguments["policy_kwargs"] = classes_from_names(arguments["policy_kwargs"] or {})
        if isinstance(arguments.get("train_freq"), list):  # JSON has no tuples
            arguments["train_freq"] = tuple(arguments["train_freq"])
        if arguments.get("action_noise") is not None:
            arguments["action_noise"] = _make_noise(arguments["action_noise"], environments)
        try:
            model = algorithm_class(self.algorithm)(
                self.policy, environments, seed=seed, **arguments
            )
        except (AssertionError, TypeError, ValueError) as error:
            raise TrainerError(
                f"{self.algorithm} cannot be used on {self.family.name} with the hyperparameters "
                f"{short_text(self.algorithm_arguments())}: {error}"
            ) from error
        # Without a logger of ours, every training run would leave a folder for temporary files.
        model.set_logger(Logger(folder=None, output_formats=[]))
        return model


class _Watcher(BaseCallback):
    """Evaluates the policy during training and keeps the best one."""

    best_policy: StableBaselinesPolicy

    def __init__(
        self,
        trainer: StableBaselinesTrainer,
        job: TrainingJob,
        seed: int,
        report: Callable[[int, float], None],
    ) -> None:
        super().__init__()
        self.best_return = -math.inf
        self.curve: list[tuple[int, float]] = []
        self._trainer, self._job, self._report = trainer, job, report
        self._seed = seed
        self._contexts = _choose_evaluated(job.contexts, seed)
        self._total = trainer.steps_of(job)
        self._next_evaluation = trainer.eval_every
        self._next_report = 0.0

    def evaluate(self) -> None:
        """Play the policy as it is now, and keep it if it is the best.

        Raises:
            TrainingError: If its weights or its returns are not finite.
        """
        policy = StableBaselinesPolicy.from_model(self.model)
        if not all(np.isfinite(array).all() for array in policy.arrays().values()):
            raise self._failed("weights are not finite")
        returns = self._trainer.evaluate(
            policy, self._contexts, episodes=self._trainer.eval_episodes, seed=self._seed
        )
        mean = float(returns.mean())
        if not math.isfinite(mean):
            raise self._failed(f"the mean return is {mean}")
        self.curve.append((self.num_timesteps, mean))
        if mean >= self.best_return:
            self.best_policy, self.best_return = policy, mean

    def _failed(self, what: str) -> TrainingError:
        return self._trainer.failed(self._job, f"{what} after {self.num_timesteps} steps")

    def _on_step(self) -> bool:
        # When all steps are taken, one more update follows, and the evaluation of the end.
        if self._next_evaluation <= self.num_timesteps < self._total:
            self.evaluate()
            self._next_evaluation = self.num_timesteps + self._trainer.eval_every
        if self.num_timesteps >= self._next_report:
            self._next_report = self.num_timesteps + self._total / REPORTS
            self._report(self.num_timesteps, self._latest_return())
        return True

    def _latest_return(self) -> float:
        """Mean return of the latest episodes of training, NaN before the first has ended."""
        returns = [episode["r"] for episode in self.model.ep_info_buffer or ()]
        return float(np.mean(returns)) if returns else math.nan


class _OneContextEachEpisode(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Takes one of several contexts at random for each episode."""

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        space: ContextSpace,
        contexts: NDArray[np.float64],
        generator: np.random.Generator,
    ) -> None:
        super().__init__(env)
        self._contexts = contexts
        self._space = space
        self._generator = generator
        self._context = space.context(contexts[0])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode on another context."""
        number = int(self._generator.integers(len(self._contexts)))
        self._context = self._space.context(self._contexts[number])
        with name_context_in_errors(self._context):
            return self.env.reset(seed=seed, options={**(options or {}), "context": self._context})

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take one step."""
        with name_context_in_errors(self._context):
            return self.env.step(action)


def _common_names(algorithm: str) -> dict[str, str]:
    """Our names of an algorithm's hyperparameters, and its own."""
    arguments = _argument_names(algorithm)
    names = {ours: theirs for ours, theirs in COMMON_NAMES.items() if theirs in arguments}
    if not issubclass(algorithm_class(algorithm), OnPolicyAlgorithm):
        names.pop("num_steps", None)  # there "n_steps" is something else: that of n-step returns
    return names


def _argument_names(algorithm: str) -> list[str]:
    """The hyperparameters of an algorithm, as Stable-Baselines3 calls them."""
    arguments = inspect.signature(algorithm_class(algorithm)).parameters
    return [name for name in arguments if name not in _RESERVED]


def _check_hyperparameters(algorithm: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that only this algorithm has, as JSON data."""
    common = {theirs: ours for ours, theirs in _common_names(algorithm).items()}
    known = _argument_names(algorithm)
    for name in given:
        known_name("hyperparameter", name, known, has=f"{algorithm} has", error=TrainerError)
        if name in common:
            raise TrainerError(
                f"{algorithm}'s {name!r} is given as {common[name]!r}, not in 'hyperparameters'."
            )
    copied = _copy_as_json(given)
    try:
        classes_from_names(copied.get("policy_kwargs") or {})
    except SdmbtlError as error:
        raise TrainerError(
            f"Hyperparameters must be JSON data. Got {short_text(dict(given))}: {error}"
        ) from None
    if copied.get("action_noise") is not None:
        finite_number("action_noise", copied["action_noise"], low=0.0, error=TrainerError)
    return copied


def _copy_as_json(given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        copied: dict[str, Any] = json.loads(json.dumps(dict(given), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise TrainerError(
            f"Hyperparameters must be JSON data. Got {short_text(dict(given))}: {error}. "
            "Give classes by name."
        ) from None
    return copied


def _make_noise(deviation: float, environments: VecEnv) -> NormalActionNoise:
    zeros = np.zeros(environments.action_space.shape or ())
    return NormalActionNoise(zeros, zeros + deviation)


def _choose_evaluated(contexts: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """All of (M, D) contexts, or as many of them as an evaluation can play."""
    if len(contexts) <= MOST_EVALUATED:
        return contexts
    chosen = np.random.default_rng(seed).choice(len(contexts), MOST_EVALUATED, replace=False)
    return contexts[np.sort(chosen)]


@contextmanager
def _use_one_thread() -> Iterator[None]:
    """One thread of PyTorch: small networks are faster so, and sums always the same."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _contain_randomness(seed: int) -> Iterator[None]:
    """Give what draws from the global generators this seed, and put them back afterwards."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        with torch.random.fork_rng(devices=[]):
            random.seed(seed)
            np.random.seed(seed)  # noqa: NPY002
            torch.manual_seed(seed)
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
