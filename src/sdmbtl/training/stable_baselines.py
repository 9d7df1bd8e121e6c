"""Training with Stable-Baselines3, for any Gymnasium environment."""

from __future__ import annotations

import math
import random
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from gymnasium.wrappers import TimeLimit
from numpy.typing import ArrayLike, NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger, TensorBoardOutputFormat
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecMonitor, VecNormalize

from sdmbtl.by_name import import_by_name
from sdmbtl.checks import check_bool, check_float, check_int, known_name, short_text
from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.errors import PolicyError, TrainerError, TrainingError
from sdmbtl.policies import Policy
from sdmbtl.policies.stable_baselines import StableBaselinesPolicy
from sdmbtl.policies.stable_baselines_names import (
    algorithm_class,
    classes_from_names,
    policy_class_of,
    trust_policy_class,
)
from sdmbtl.training.base import Evaluation, Training, TrainingJob
from sdmbtl.training.checkpoint import Checkpoint
from sdmbtl.training.environment_errors import name_context_in_errors
from sdmbtl.training.host import HostTrainer
from sdmbtl.training.progress import Progress, Report
from sdmbtl.training.stable_baselines_environments import BlankEnv, OneContextEachEpisode
from sdmbtl.training.stable_baselines_parents import start_from_parent
from sdmbtl.training.stable_baselines_settings import (
    argument_defaults,
    check_hyperparameters,
    common_names,
    copy_as_json,
    fitting_rollout,
    is_on_policy,
    learning_start,
    steps_between_updates,
)
from sdmbtl.wording import shown_context

#: Environments that are played side by side where rollouts are long.
NUM_ENVS = 8

#: The only actions of some algorithms; the others take all kinds.
_ACTIONS: dict[str, type[spaces.Space[Any]]] = {
    "SAC": spaces.Box,
    "TD3": spaces.Box,
    "DDPG": spaces.Box,
    "DQN": spaces.Discrete,
}

#: At most this many contexts of a job are evaluated during training, drawn once, and in at most
#: this many episodes: on regions, evaluations took longer than training.
MOST_EVALUATED = 64

#: How often a policy is evaluated in a training run, if nothing else is said.
EVALUATIONS = 10

#: How often progress is reported in a training run, besides at its end.
REPORTS = 100

#: It is reported after so many seconds in any case.
REPORT_EVERY = 1.0


class StableBaselinesTrainer(HostTrainer):
    """Any algorithm of Stable-Baselines3, on any environment.

    During training the policy is evaluated on its contexts from time to time, for the first time
    after the first update, always on the same episodes. The best one is kept with the statistics
    of that moment; of equals the later.

    Args:
        family: The environments.
        space: The context space.
        observe_context: Whether policies see their context at the end of each observation.
        algorithm: "PPO", "A2C", "SAC", "TD3", "DDPG" or "DQN"; with sb3-contrib also "TRPO",
            "TQC", "CrossQ", "QRDQN" or "ARS".
        policy: Stable-Baselines3's short name of the policy, or "module:Class" for a subclass of
            your own.
        total_timesteps: Environment steps for each policy, rounded up to whole rollouts.
        num_envs: Environments that are played side by side; if left out, 8 for algorithms that
            learn from rollouts (PPO, A2C, TRPO), 1 for others.
        norm_obs: Whether observations are normalised by running statistics, which travel with
            the policy; if left out, they are for algorithms that learn from rollouts, unless
            they are images.
        norm_reward: Whether rewards are normalised by running statistics in training; if left
            out, they are for algorithms that learn from rollouts.
        eval_every: Steps between two evaluations; a tenth of the steps if left out.
        eval_episodes: Episodes on each context in an evaluation; fewer, at least one, if that
            would be more than 64 in all.
        max_episode_steps: A time limit: an episode is cut off after so many steps, beside the
            limit that the environments have themselves.
        endless_after: An episode of an evaluation that goes on for so many steps is taken to
            never end, which is an error.
        processes: Worker processes for several jobs. A family that cannot be made again by name
            is trained in this process.
        callbacks: Names "module:function" of what makes a callback of Stable-Baselines3; called
            without arguments for each training run. A class of callbacks is such a function.
        tensorboard_log: Directory for TensorBoard, with a folder for each training run.
        hyperparameters: Other arguments of the algorithm as JSON data, under their own names. In
            "policy_kwargs", classes are given by name, for example
            {"activation_fn": "torch.nn.ReLU"}; "action_noise" is the standard deviation of normal
            noise.
        **common: Hyperparameters that the algorithm has under a name of `COMMON_NAMES`. Without
            "num_steps" and "minibatch_size", rollouts are so short that there are at least 25
            updates in `total_timesteps`, and minibatches divide them.

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
        observe_context: bool = False,
        algorithm: str = "PPO",
        policy: str = "MlpPolicy",
        total_timesteps: int = 100_000,
        num_envs: int | None = None,
        norm_obs: bool | None = None,
        norm_reward: bool | None = None,
        eval_every: int | None = None,
        eval_episodes: int = 5,
        max_episode_steps: int | None = None,
        endless_after: int = 100_000,
        processes: int = 1,
        callbacks: Sequence[str] = (),
        tensorboard_log: str | None = None,
        hyperparameters: Mapping[str, Any] | None = None,
        **common: Any,
    ) -> None:
        super().__init__(
            family,
            space,
            observe_context=observe_context,
            max_episode_steps=max_episode_steps,
            endless_after=endless_after,
        )
        self._check_names(algorithm, policy)
        self.algorithm, self.policy = algorithm, policy
        for name, wanted in (("norm_obs", norm_obs), ("norm_reward", norm_reward)):
            if wanted is not None:
                check_bool(name, wanted, error=TrainerError)
        self.norm_obs, self.norm_reward = norm_obs, norm_reward
        if num_envs is None:
            num_envs = NUM_ENVS if is_on_policy(algorithm) else 1
        count = partial(check_int, low=1, error=TrainerError)
        self.total_timesteps = count("total_timesteps", total_timesteps)
        self.num_envs = count("num_envs", num_envs)
        self.eval_every = None if eval_every is None else count("eval_every", eval_every)
        self.eval_episodes = count("eval_episodes", eval_episodes)
        self.processes = count("processes", processes)
        self.common = self._check_common(common)
        self.hyperparameters = check_hyperparameters(algorithm, hyperparameters or {})
        self.callbacks, self._make_callbacks = _import_callbacks(callbacks)
        self.tensorboard_log = _check_log(tensorboard_log)
        self.algorithm_arguments()  # which notices that nothing would be learned

    @staticmethod
    def _check_names(algorithm: str, policy: str) -> None:
        try:
            if ":" in policy:
                trust_policy_class(policy)
            policy_class_of(algorithm, policy)
        except PolicyError as error:
            raise TrainerError(str(error)) from None

    def settings(self) -> dict[str, Any]:
        """Every setting that changes the outcome, or what is written, as JSON data."""
        return {**super().settings(), **self.common}

    def algorithm_arguments(self, steps: int | None = None) -> dict[str, Any]:
        """All hyperparameters under the names that the algorithm has for them.

        Args:
            steps: Of the training run; `total_timesteps` if left out.

        Raises:
            TrainerError: If nothing would be learned in so few steps.
        """
        names = common_names(self.algorithm)
        given = {**{names[name]: v for name, v in self.common.items()}, **self.hyperparameters}
        # Shorter training runs have the same rollouts, so that they can be compared.
        rollout = fitting_rollout(self.algorithm, given, self.num_envs, self.total_timesteps)
        start = learning_start(self.algorithm, given, steps or self.total_timesteps)
        return {**rollout, **start, **given}

    def _check_common(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The hyperparameters of `COMMON_NAMES` as JSON data."""
        names = common_names(self.algorithm)
        known = (*names, *self.own_settings())
        has = f"{self.name!r} with {self.algorithm} has"
        for name, value in given.items():
            if name not in known and name in argument_defaults(self.algorithm):
                ours = {theirs: name for name, theirs in names.items()}
                way = f"{ours[name]!r}" if name in ours else f"'hyperparameters.{name}'"
                raise TrainerError(f"{self.algorithm}'s {name!r} is given as {way}.")
            known_name("option", name, known, has=has, error=TrainerError)
            if not (name == "ent_coef" and isinstance(value, str)):  # SAC's may be "auto"
                check_float(name, value, low=0.0, error=TrainerError)
        return copy_as_json(given)

    def check_spaces(self, observations: spaces.Space[Any], actions: spaces.Space[Any]) -> None:
        """Refuse what the algorithm does not take: its model is made, on environments of no use.

        Raises:
            TrainerError: If no training run could succeed.
        """
        super().check_spaces(observations, actions)
        if observations.shape is None:
            raise TrainerError(
                f"{self.name!r} needs observations that are one array. {self.family.name} has "
                f"{short_text(observations)}. Wrap it in gymnasium.wrappers.FlattenObservation, in "
                "a function of your own (module:function)."
            )
        kind = _ACTIONS.get(self.algorithm)
        if kind is not None and not isinstance(actions, kind):
            raise TrainerError(
                f"{self.algorithm} needs actions that are a {kind.__name__}. {self.family.name} "
                f"has {short_text(actions)}. Choose another algorithm, such as PPO."
            )
        blank = partial(BlankEnv, observations, actions)
        with warnings.catch_warnings(), _contain_randomness(seed=0):
            warnings.simplefilter("ignore")  # training says the same again
            self._model(DummyVecEnv([blank] * self.num_envs), 0, self.total_timesteps)

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

    def play(
        self, family: EnvironmentFamily, policy: Policy, contexts: ArrayLike, **how: Any
    ) -> Evaluation:
        """Play a policy in a family's environments; see `HostTrainer.play`."""
        with _use_one_thread():
            return super().play(family, policy, contexts, **how)

    # -- one training run --------------------------------------------------------------------

    def steps_of(self, job: TrainingJob) -> int:
        """Steps that a job takes: whole rollouts, if their length is known before."""
        steps = self.total_timesteps if job.steps is None else job.steps
        rollout = self._rollout(steps)
        return steps if rollout is None else -(-steps // rollout) * rollout

    def _rollout(self, steps: int) -> int | None:
        arguments = self.algorithm_arguments(steps)
        return steps_between_updates(self.algorithm, arguments, self.num_envs)

    def _train_one(self, job: TrainingJob, progress: Progress | None) -> Training:
        total = self.steps_of(job)

        self.usable_contexts(job.contexts)
        self._warn_of_few_updates(job, total)
        # One seed for each purpose: equal ones would make these depend on each other.
        for_training, for_contexts, for_evaluation = (
            int(seed) for seed in np.random.SeedSequence(job.seed).generate_state(3)
        )
        with _use_one_thread(), _contain_randomness(for_training):
            environments = self._environments(job, for_contexts)
            try:
                model = self._model(environments, for_training, total)
                model.set_logger(self._logger(job))
                if job.parent is not None:
                    start_from_parent(model, job.parent, self.total_timesteps)
                watcher = _Watcher(self, job, for_evaluation, progress)
                self._learn(model, watcher, job)
                model.logger.close()
            finally:
                environments.close()
        taken = model.num_timesteps
        watcher.report(taken, watcher.best_return)
        return Training(watcher.best_policy, taken, watcher.best_return, watcher.curve)

    def _warn_of_few_updates(self, job: TrainingJob, steps: int) -> None:
        rollout = self._rollout(steps)
        if is_on_policy(self.algorithm) and rollout is not None and job.parent is None:
            self.warn_of_few_updates(steps // rollout, steps)

    def _learn(self, model: BaseAlgorithm, watcher: _Watcher, job: TrainingJob) -> None:
        try:
            callbacks = [watcher, *(make() for make in self._make_callbacks)]
            model.learn(self.steps_of(job), callback=callbacks)
            watcher.evaluate()
            model.logger.dump(model.num_timesteps)
        except (TrainerError, TrainingError):
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
            episodes = OneContextEachEpisode(env, self.space, job.contexts, generator)
            limit = self.max_episode_steps
            return episodes if limit is None else TimeLimit(episodes, limit)

        generators = np.random.default_rng(seed).spawn(self.num_envs)
        environments: VecEnv = VecMonitor(DummyVecEnv([partial(make, g) for g in generators]))
        helps = is_on_policy(self.algorithm)
        norm_obs, norm_reward = self.norm_obs, self.norm_reward
        if norm_obs is None:
            norm_obs = helps and _are_numbers(environments.observation_space)
        if norm_reward is None:
            norm_reward = helps
        if norm_obs or norm_reward:
            gamma = self.common.get("gamma", argument_defaults(self.algorithm).get("gamma", 0.99))
            environments = VecNormalize(
                environments, norm_obs=norm_obs, norm_reward=norm_reward, gamma=float(gamma)
            )
        return environments

    def _model(self, environments: VecEnv, seed: int, steps: int) -> BaseAlgorithm:
        device = argument_defaults(self.algorithm)["device"]
        arguments: dict[str, Any] = {"device": device, **self.algorithm_arguments(steps)}
        if "policy_kwargs" in arguments:
            arguments["policy_kwargs"] = classes_from_names(arguments["policy_kwargs"] or {})
        if isinstance(arguments.get("train_freq"), list):  # JSON has no tuples
            arguments["train_freq"] = tuple(arguments["train_freq"])
        if arguments.get("action_noise") is not None:
            arguments["action_noise"] = _make_noise(arguments["action_noise"], environments)
        policy_class = policy_class_of(self.algorithm, self.policy)
        try:
            return algorithm_class(self.algorithm)(
                policy_class, environments, seed=seed, **arguments
            )
        except (AssertionError, TypeError, ValueError) as error:
            raise TrainerError(
                f"{self.algorithm} cannot be used on {self.family.name} with the hyperparameters "
                f"{short_text(self.algorithm_arguments(steps))}: {error}"
            ) from error

    def _logger(self, job: TrainingJob) -> Logger:
        # Without a logger of ours, every training run would leave a folder for temporary files.
        if self.tensorboard_log is None:
            return Logger(folder=None, output_formats=[])
        trained_on = f"{len(job.contexts)} contexts"
        if len(job.contexts) == 1:
            trained_on = shown_context(self.space.context(job.contexts[0]))
        name = f"{self.algorithm} {trained_on} seed={job.seed}".replace("/", "_")
        folder = str(Path(self.tensorboard_log) / name)
        return Logger(folder, [TensorBoardOutputFormat(folder)])


class _Watcher(BaseCallback):
    """Evaluates the policy during training and keeps the best one."""

    best_policy: StableBaselinesPolicy

    def __init__(
        self,
        trainer: StableBaselinesTrainer,
        job: TrainingJob,
        seed: int,
        progress: Progress | None,
    ) -> None:
        super().__init__()
        self.best_return = -math.inf
        self.curve: list[tuple[int, float]] = []
        self._trainer, self._job, self._progress = trainer, job, progress
        self._seed = seed
        self._contexts = _choose_evaluated(job.contexts, seed)
        self._episodes = max(1, min(trainer.eval_episodes, MOST_EVALUATED // len(self._contexts)))
        self._total = trainer.steps_of(job)
        self._eval_every = trainer.eval_every or max(1, self._total // EVALUATIONS)
        self._next_evaluation = 0
        self._next_report = self._reported = 0.0
        self._reported_evaluations = 0

    def evaluate(self) -> None:
        """Play the policy as it is now, and keep it if it is the best.

        Raises:
            TrainingError: If its weights or its returns are not finite.
        """
        policy = StableBaselinesPolicy.from_model(self.model)
        if not all(np.isfinite(array).all() for array in policy.arrays().values()):
            raise self._failed("weights are not finite")
        trainer = self._trainer
        evaluation = trainer.play(
            trainer.family, policy, self._contexts, episodes=self._episodes, seed=self._seed
        )
        mean = float(evaluation.complete().mean())
        if not math.isfinite(mean):
            raise self._failed(f"the mean return is {mean}")
        self.curve.append((self.num_timesteps, mean))
        self.logger.record("eval/mean_return", mean)
        if mean >= self.best_return:
            self.best_policy, self.best_return = policy, mean

    def _failed(self, what: str) -> TrainingError:
        return self._trainer.failed(self._job, f"{what} after {self.num_timesteps} steps")

    def _on_training_start(self) -> None:
        if self._job.parent is not None:
            self.evaluate()  # nothing worse than the parent is returned

    def _on_rollout_start(self) -> None:
        # A rollout starts after the update from the one before.
        if self.model._n_updates and self.num_timesteps >= self._next_evaluation:
            self.evaluate()
            self._next_evaluation = (self.num_timesteps // self._eval_every + 1) * self._eval_every

    def _on_step(self) -> bool:
        waited = time.monotonic() - self._reported
        if self.num_timesteps >= self._next_report or waited >= REPORT_EVERY:
            self._reported = time.monotonic()
            self._next_report = self.num_timesteps + self._total / REPORTS
            self.report(self._total, self._latest_return())
        return True

    def report(self, total: int, mean_return: float) -> None:
        """Say how far the run is, with the evaluations that were not reported yet."""
        new = self.curve[self._reported_evaluations :]
        self._reported_evaluations = len(self.curve)
        if self._progress is not None:
            metrics = {"mean_return": self._latest_return()}
            steps = min(self.num_timesteps, total)
            self._progress(
                Report(steps, total, mean_return, evaluations=tuple(new), metrics=metrics)
            )

    def _latest_return(self) -> float:
        """Mean return of the latest episodes of training, NaN before the first has ended."""
        returns = [episode["r"] for episode in self.model.ep_info_buffer or ()]
        return float(np.mean(returns)) if returns else math.nan


def _import_callbacks(
    names: Sequence[str],
) -> tuple[list[str], list[Callable[[], BaseCallback]]]:
    """The names of what makes callbacks, and what they stand for."""
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TrainerError(
            "'callbacks' lists names as 'module:function', for settings are JSON data. "
            f"Got {short_text(names)} instead."
        )
    example = "my_callbacks:make_logger"
    found = [import_by_name(n, "callback", example=example, error=TrainerError) for n in names]
    return list(names), [partial(_make_callback, n, f) for n, f in zip(names, found, strict=True)]


def _make_callback(name: str, make: Callable[[], BaseCallback]) -> BaseCallback:
    made: object = make()
    if not isinstance(made, BaseCallback):
        raise TrainerError(
            f"The callback {name!r} must give a BaseCallback of Stable-Baselines3. "
            f"Got {short_text(made)} instead."
        )
    return made


def _check_log(directory: object) -> str | None:
    if directory is None or (isinstance(directory, str) and find_spec("tensorboard")):
        return directory
    if not isinstance(directory, str):
        raise TrainerError(
            f"'tensorboard_log' is the path of a directory. Got {short_text(directory)} instead."
        )
    raise TrainerError(
        "'tensorboard_log' needs tensorboard, which is not installed. Install it with: "
        "pip install 'sdmbtl[tensorboard]'"
    )


def _are_numbers(space: gymnasium.Space[Any]) -> bool:
    """Whether observations are an array of numbers that can be normalised."""
    return isinstance(space, spaces.Box) and not is_image_space(space)


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
