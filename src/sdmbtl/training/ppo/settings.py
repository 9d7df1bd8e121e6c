"""Settings of PPO, and what follows from an environment where a user leaves them out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from sdmbtl.checks import check_bool, check_float, check_int
from sdmbtl.environments.flattening import FlatObservations
from sdmbtl.errors import TrainerError

#: A training run should have at least this many updates, if its steps suffice,
ENOUGH_UPDATES = 25
#: and at most this many samples in each of them.
LARGEST_BATCH = 2048
#: Largest number of steps through which a recurrent policy learns.
LONGEST_SEQUENCE = 16
#: Entries of a learning curve, in addition to that after the first update.
CURVE_ENTRIES = 10
#: Observations need no normalisation if each entry is at least this wide, on either side of its
#: middle, and at most this large. Looser bounds tell little about observations: a robot's arm of
#: half a metre has bounds of 10.
NARROWEST, WIDEST = 0.5, 1.0

#: Settings with which usual Gymnasium environments are learned. `num_steps` is always left out: it
#: follows from the number of steps.
RECOMMENDED: Mapping[str, Mapping[str, Any]] = {
    "Acrobot-v1": {"update_epochs": 4, "gae_lambda": 0.94},
    "MountainCar-v0": {"num_envs": 16, "update_epochs": 4, "gae_lambda": 0.98},
    "Pendulum-v1": {"gamma": 0.9, "learning_rate": 1e-3},
    "LunarLander-v3": {
        "num_envs": 16,
        "update_epochs": 4,
        "gamma": 0.999,
        "gae_lambda": 0.98,
        "ent_coef": 0.01,
    },
    "BipedalWalker-v3": {"num_envs": 16, "gamma": 0.999},
    "Hopper-v5": {"gamma": 0.999, "gae_lambda": 0.99},
}


@dataclass(frozen=True)
class PPOSettings:
    """Hyperparameters, under the names that CleanRL gives them.

    Attributes:
        total_timesteps: Environment steps for each policy, rounded up to whole iterations.
        num_envs: Environments played side by side for each policy.
        num_steps: Steps of each environment in an iteration.
        minibatch_size: Samples for one step of the optimiser.
        update_epochs: Passes over the samples of an iteration.
        learning_rate: Step size of Adam.
        anneal_lr: Let the learning rate fall linearly to zero.
        gamma: Discount factor.
        gae_lambda: Lambda of generalised advantage estimation.
        clip_coef: Largest change of the probability ratio.
        ent_coef: Weight of the entropy bonus.
        vf_coef: Weight of the value loss.
        max_grad_norm: Largest norm of a gradient.
        hidden_sizes: Units of the hidden layers of actor and critic.
        recurrent: Give the policy a memory: a gated recurrent unit that sees the observation and
            its own last action. For environments that are stepped by Python.
        norm_obs: Normalise observations by their running mean and variance.
        reward_scale: Factor on rewards in training; returns are reported without it.
        eval_every: Iterations between two entries of the learning curve.
        eval_episodes: Episodes on the training contexts for each entry, and the best policy is
            kept. 0: no episode is played for the curve, which then has the returns of training,
            and the last policy is kept.
    """

    total_timesteps: int = 61_440
    num_envs: int = 8
    num_steps: int = 256
    minibatch_size: int = 64
    update_epochs: int = 10
    learning_rate: float = 3e-4
    anneal_lr: bool = False
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip_coef: float = 0.2
    ent_coef: float = 0.0
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    hidden_sizes: tuple[int, ...] = (64, 64)
    recurrent: bool = False
    norm_obs: bool = False
    reward_scale: float = 1.0
    eval_every: int = 5
    eval_episodes: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            name, value = field.name, getattr(self, field.name)
            if field.type == "int":
                check_int(name, value, low=int(name != "eval_episodes"), error=TrainerError)
            elif field.type == "float":
                lowest = -math.inf if name == "reward_scale" else 0.0
                check_float(name, value, low=lowest, error=TrainerError)
            elif field.type == "bool":
                check_bool(name, value, error=TrainerError)
        for name in ("gamma", "gae_lambda"):
            if getattr(self, name) > 1:
                raise TrainerError(
                    f"{name!r} must be at most 1. Got {getattr(self, name)!r} instead."
                )
        if not isinstance(self.hidden_sizes, list | tuple):
            raise TrainerError(
                "'hidden_sizes' must list the units of each layer. "
                f"Got {self.hidden_sizes!r} instead."
            )
        object.__setattr__(self, "hidden_sizes", tuple(self.hidden_sizes))
        for units in self.hidden_sizes:
            check_int("hidden_sizes", units, low=1, error=TrainerError)
        if self.batch_size % self.minibatch_size:
            raise TrainerError(
                f"'minibatch_size' must divide num_envs * num_steps = {self.batch_size}. "
                f"Got {self.minibatch_size} instead."
            )

    @property
    def batch_size(self) -> int:
        """Samples of one iteration."""
        return self.num_envs * self.num_steps

    @property
    def sequence_length(self) -> int:
        """Steps of the sequences that a recurrent policy learns from."""
        return math.gcd(self.num_steps, self.minibatch_size, LONGEST_SEQUENCE)

    def num_iterations(self, steps: int | None = None) -> int:
        """Iterations of a training run of this many steps; `total_timesteps` if left out."""
        return -(-(steps or self.total_timesteps) // self.batch_size)

    def to_dict(self) -> dict[str, Any]:
        """Settings as JSON data."""
        settings = {**asdict(self), "hidden_sizes": list(self.hidden_sizes)}
        if not self.recurrent:  # studies from before this setting do not name it
            del settings["recurrent"]
        return settings


def complete_settings(
    given: Mapping[str, Any], environment: str | None, observations: FlatObservations
) -> dict[str, Any]:
    """Fill in what a user left out, for environments that are stepped by Python.

    Args:
        given: Settings of `PPOSettings` and "norm_reward", from the user or the family.
        environment: Name of the environment in Gymnasium, if it has one.
        observations: The observations.
    """
    settings = {**RECOMMENDED.get(environment or "", {}), **given}
    settings.setdefault("norm_obs", not observations.is_within(NARROWEST, WIDEST))
    settings.setdefault("norm_reward", True)
    defaults = {field.name: field.default for field in fields(PPOSettings)}
    total, num_envs, minibatch_size = (
        check_int(name, settings.get(name, defaults[name]), low=1, error=TrainerError)
        for name in ("total_timesteps", "num_envs", "minibatch_size")
    )
    if "num_steps" not in settings:
        # The smallest number that minibatches divide, doubled as often as leaves enough updates.
        num_steps = math.lcm(num_envs, minibatch_size) // num_envs
        while 2 * num_steps * num_envs <= min(LARGEST_BATCH, total // ENOUGH_UPDATES):
            num_steps *= 2
        settings["num_steps"] = num_steps
    num_steps = check_int("num_steps", settings["num_steps"], low=1, error=TrainerError)
    iterations = math.ceil(total / (num_envs * num_steps))
    settings.setdefault("eval_every", math.ceil(iterations / CURVE_ENTRIES))
    return settings
