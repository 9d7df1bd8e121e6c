"""Environments of other packages, made for a context; see foreign_learning.py for the packages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium.wrappers import TimeLimit

from sdmbtl.environments.functional import FunctionalEnvironment, from_gymnax

Env = gymnasium.Env[Any, Any]


def make_crossing(context: Mapping[str, Any]) -> Env:
    """Cross walls or lava through gaps to reach a goal, seeing 7 x 7 fields ahead."""
    from minigrid.core.world_object import Lava, Wall
    from minigrid.envs.crossing import CrossingEnv
    from minigrid.wrappers import ImgObsWrapper

    wrapper: Any = ImgObsWrapper  # without types, where the package is installed
    env: Env = wrapper(
        CrossingEnv(
            size=int(context["size"]),
            num_crossings=int(context["rivers"]),
            obstacle_type=Lava if context["lava"] else Wall,
        )
    )
    return env


def make_flappy_bird(context: Mapping[str, Any]) -> Env:
    """Fly between pipes, by numbers."""
    import flappy_bird_gymnasium  # noqa: F401

    made: Env = gymnasium.make(
        "FlappyBird-v0",
        use_lidar=False,
        pipe_gap=int(context["pipe_gap"]),
        screen_size=(288, int(context["screen_height"])),
    )
    return TimeLimit(made, 500)


def make_reacher() -> FunctionalEnvironment:
    """Move the hand of an arm to a point; contexts change its torque and the time step."""
    import gymnax

    return from_gymnax(*gymnax.make("Reacher-misc"))
