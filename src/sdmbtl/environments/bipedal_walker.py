"""BipedalWalker with other friction, size and gravity."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import gymnasium

from sdmbtl.contexts import Range
from sdmbtl.environments.family import EnvironmentFamily, make_variant
from sdmbtl.environments.lean_walker import LeanWalker, SelfContainedWalker
from sdmbtl.environments.registered import load_creator
from sdmbtl.errors import FamilyError

#: The installed module, whose globals are the parameters of every walker in the process.
MODULE = "gymnasium.envs.box2d.bipedal_walker"

#: Copies kept, one for each friction and scale; they are made again when needed.
COPIES = 256


class BipedalWalker(EnvironmentFamily):
    """Gymnasium's BipedalWalker-v3.

    `scale` is Gymnasium's SCALE: pixels per metre. Everything drawn, the walker and the ground,
    is smaller in metres if it is larger, and weighs and costs its motors less. carl-bench 1.1.1
    changes the hull and the reward, but neither legs nor ground.

    The world and its digits are Gymnasium's, with less Python around it (see `LeanWalker`). An
    episode depends on its seed and actions alone, so environments can be used again and again.

    Spaces: "moderate" is around the usual walker. "paper" has 0.2 to 1.6 times the usual values and
    is as wide as the physics bears; the largest walker there weighs 25 times as much, with the same
    motors.

    There is no range of returns that fits all contexts: falling costs 100, motors up to 179 more,
    and the full track is worth 364 at the usual scale, where 300 is called solved, but
    364 * (30 / scale)² at others.
    """

    name = "BipedalWalker"
    defaults: Mapping[str, float] = {"friction": 2.5, "scale": 30.0, "gravity": 10.0}
    ranges: Mapping[str, Mapping[str, Range]] = {
        "moderate": {
            "friction": Range(1.0, 4.0, 3),
            "scale": Range(25.0, 35.0, 3),
            "gravity": Range(6.0, 14.0, 3),
        },
        "paper": {
            "friction": Range(0.5, 4.0, 8),
            "scale": Range(6.0, 48.0, 8),
            "gravity": Range(2.0, 16.0, 8),
        },
    }
    positive = frozenset({"friction", "scale"})
    # As many steps as in the paper, which otherwise has the defaults of Stable-Baselines3 and
    # chooses the best policy by 10 episodes; these settings are usual for the walker.
    training: Mapping[str, Mapping[str, Any]] = {
        "ppo": {"total_timesteps": 5_000_000},
        "sb3": {
            "total_timesteps": 5_000_000,
            "num_envs": 32,
            "eval_every": 100_000,
            "num_steps": 2048,
            "gamma": 0.999,
            "clip_coef": 0.18,
        },
    }

    def build(self, context: dict[str, float], render_mode: str | None) -> gymnasium.Env[Any, Any]:
        """Make BipedalWalker-v3 with the context's values."""
        walker = make_walker_class(
            context["friction"], context["scale"], drawn=render_mode is not None
        )
        env = make_variant("BipedalWalker-v3", render_mode, walker)
        inner: Any = env.unwrapped
        inner.world.gravity = (0.0, -context["gravity"])  # new worlds take it over
        return env


@lru_cache(maxsize=2 * COPIES)
def make_walker_class(
    friction: float, scale: float, *, drawn: bool
) -> type[gymnasium.Env[Any, Any]]:
    """Derive Gymnasium's class with these values, `drawn` if it can be rendered."""
    module = copy_walker_module(friction, scale)
    ours = SelfContainedWalker if drawn else LeanWalker
    return type(ours.__name__, (ours, module.BipedalWalker), {"module": module})


@lru_cache(maxsize=COPIES)
def copy_walker_module(friction: float, scale: float) -> ModuleType:
    """Copy Gymnasium's module with these values.

    The module reads its globals when a walker is made, reset and moved, and computes others from
    them when it is imported. A copy for each pair of values, executed from its first line, has
    all of them right, and no two contexts share any.
    """
    path, code = compile_walker_module()
    module = ModuleType(f"{MODULE}[{friction=:g}, {scale=:g}]")
    module.__file__ = str(path)
    vars(module).update(FRICTION=friction, SCALE=scale)
    exec(code, vars(module))  # noqa: S102 - installed code
    # Called for every contact in every step: the methods of Box2D's class take longer.
    module.ContactDetector.PreSolve = module.ContactDetector.PostSolve = lambda *_: None
    return module


@cache
def compile_walker_module() -> tuple[Path, CodeType]:
    """Find Gymnasium's module and compile it without its assignments to FRICTION and SCALE.

    Raises:
        FamilyError: If Box2D is missing, or the module assigns no such values.
    """
    load_creator(gymnasium.spec("BipedalWalker-v3"))
    path = Path(str(sys.modules[MODULE].__file__))
    text, found = re.subn(r"(?m)^(FRICTION|SCALE) = .*", "", path.read_text(encoding="utf-8"))
    if found != 2:
        raise FamilyError(
            f"Gymnasium {gymnasium.__version__} does not set FRICTION and SCALE once each in "
            f"{path}, so its walker cannot be changed. Install Gymnasium 1.0 to 1.4."
        )
    return path, compile(text, str(path), "exec")
