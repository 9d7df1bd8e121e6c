"""CartPole with other poles, carts, forces and gravity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import gymnasium

from sdmbtl.contexts import Range, SpaceLike
from sdmbtl.environments.family import EnvironmentFamily, make_variant
from sdmbtl.errors import FamilyError

Physics = Literal["physical", "carl"]


class CartPole(EnvironmentFamily):
    """Gymnasium's CartPole-v1; `length` is half the length of the pole.

    Spaces: "wide" is what no single policy balances. "paper" has 0.4 to 2 times the usual length
    and 0.2 to 2 times the usual masses. "forces" varies the cart's push and gravity,
    "everything" all five features.

    Args:
        physics: Gymnasium computes the total mass and the pole's moment once, from the usual
            masses and length. "physical" computes them again from the context's. "carl" leaves
            them, as carl-bench 1.1.1 does, so that `masscart` does nothing; for comparisons.
        space: The default space, instead of "wide".
        return_range: As for every family.

    Raises:
        FamilyError: If the physics is unknown.
    """

    name = "CartPole"
    twin = "sdmbtl.environments.functional.cartpole:FunctionalCartPole"
    defaults: Mapping[str, float] = {
        "length": 0.5,
        "masscart": 1.0,
        "masspole": 0.1,
        "force_mag": 10.0,
        "gravity": 9.8,
    }
    ranges: Mapping[str, Mapping[str, Range]] = {
        "wide": {
            "length": Range(0.05, 5.0, 8, "log"),
            "masscart": Range(0.1, 10.0, 8, "log"),
            "masspole": Range(0.01, 5.0, 8, "log"),
        },
        "paper": {
            "length": Range(0.2, 1.0, 9),
            "masscart": Range(0.2, 2.0, 10),
            "masspole": Range(0.02, 0.2, 10),
        },
        "forces": {
            "length": Range(0.05, 5.0, 8, "log"),
            "force_mag": Range(1.0, 50.0, 8, "log"),
            "gravity": Range(1.0, 50.0, 8, "log"),
        },
        "everything": {
            "length": Range(0.1, 2.0, 4, "log"),
            "masscart": Range(0.1, 10.0, 4, "log"),
            "masspole": Range(0.01, 2.0, 4, "log"),
            "force_mag": Range(3.0, 30.0, 4, "log"),
            "gravity": Range(3.0, 30.0, 4, "log"),
        },
    }
    positive = frozenset({"length", "masscart", "masspole"})
    return_range = (0.0, 500.0)
    training: Mapping[str, Mapping[str, Any]] = {
        "sb3": {
            "total_timesteps": 100_000,
            "num_envs": 8,
            "norm_obs": False,
            "norm_reward": False,
            "num_steps": 32,
            "minibatch_size": 256,
            "update_epochs": 20,
            "gamma": 0.98,
            "gae_lambda": 0.8,
            "learning_rate": 0.001,
        },
    }

    def __init__(
        self,
        physics: Physics = "physical",
        *,
        space: SpaceLike | None = None,
        return_range: tuple[float, float] | None = None,
    ) -> None:
        super().__init__(space=space, return_range=return_range)
        if physics not in get_args(Physics):
            raise FamilyError(
                f"'physics' of CartPole is one of {', '.join(map(repr, get_args(Physics)))}. "
                f"Got {physics!r} instead."
            )
        self.physics = physics

    def build(self, context: dict[str, float], render_mode: str | None) -> gymnasium.Env[Any, Any]:
        """Make CartPole-v1 with the context's values."""
        env = make_variant("CartPole-v1", render_mode)
        inner: Any = env.unwrapped
        for feature, value in context.items():
            setattr(inner, feature, value)
        if self.physics == "physical":
            inner.total_mass = inner.masspole + inner.masscart
            inner.polemass_length = inner.masspole * inner.length
        return env

    def options(self) -> dict[str, Any]:
        """Return the physics."""
        return {"physics": self.physics}
