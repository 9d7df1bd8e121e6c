"""The settings of PPO."""

from __future__ import annotations

from dataclasses import dataclass

from sdmbtl.checks import check_bool, check_float, check_int
from sdmbtl.errors import TrainerError


@dataclass(frozen=True)
class PPOSettings:
    """Hyperparameters, under the names that CleanRL and others give them.

    Attributes:
        total_timesteps: Environment steps for each policy, rounded up to whole iterations.
        num_envs: Environments played side by side for each policy.
        num_steps: Steps of each environment in an iteration.
        minibatch_size: Samples for one step of the optimiser.
        update_epochs: Passes over the samples of an iteration.
        learning_rate: Step size of Adam.
        anneal_lr: Whether the learning rate falls linearly to zero.
        gamma: Discount factor.
        gae_lambda: Lambda of generalised advantage estimation.
        clip_coef: Largest change of the probability ratio.
        ent_coef: Weight of the entropy bonus.
        vf_coef: Weight of the value loss.
        max_grad_norm: Largest norm of a gradient.
        hidden_sizes: Units of the hidden layers of actor and critic.
        norm_obs: Whether observations are normalised by their running mean and variance.
        reward_scale: Factor on rewards in training; returns are reported without it.
        eval_every: Iterations between two evaluations on the training contexts.
        eval_episodes: Episodes of such an evaluation; the best policy is kept.
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
    norm_obs: bool = False
    reward_scale: float = 1.0
    eval_every: int = 5
    eval_episodes: int = 10

    def __post_init__(self) -> None:
        counts = ("total_timesteps", "num_envs", "num_steps", "minibatch_size", "update_epochs")
        for name in (*counts, "eval_every", "eval_episodes"):
            check_int(name, getattr(self, name), low=1, error=TrainerError)
        shares = ("gamma", "gae_lambda")
        weights = ("learning_rate", "clip_coef", "ent_coef", "vf_coef", "max_grad_norm")
        for name in (*shares, *weights):
            number = check_float(name, getattr(self, name), low=0.0, error=TrainerError)
            if name in shares and number > 1:
                raise TrainerError(f"{name!r} must be at most 1. Got {number!r} instead.")
        check_float("reward_scale", self.reward_scale, error=TrainerError)
        for name in ("anneal_lr", "norm_obs"):
            check_bool(name, getattr(self, name), error=TrainerError)
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

    def num_iterations(self, steps: int | None = None) -> int:
        """Iterations of a training run of so many steps; of `total_timesteps` if left out."""
        return -(-(steps or self.total_timesteps) // self.batch_size)
