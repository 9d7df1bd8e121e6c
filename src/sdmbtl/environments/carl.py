"""Environments of CARL, the benchmark library for contextual reinforcement learning.

carl-bench 1.1.1 asks for Gymnasium before 1.0. Beside a later one it is installed without what
it asks for: `pip install --no-deps carl-bench==1.1.1 ConfigSpace more-itertools`.
"""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Mapping
from typing import Any

import gymnasium

from sdmbtl.checks import did_you_mean
from sdmbtl.environments.family import EnvironmentFamily, SpaceLike, make_variant
from sdmbtl.environments.ranges import Range, space_from_ranges
from sdmbtl.errors import FamilyError

#: How CARL is installed beside Gymnasium 1.0 and later.
INSTALL = "pip install --no-deps carl-bench==1.1.1 ConfigSpace more-itertools"


def carl_family(
    environment: str | type,
    *,
    ranges: Mapping[str, Range] | None = None,
    space: SpaceLike | None = None,
    return_range: tuple[float, float] | None = None,
) -> EnvironmentFamily:
    """A CARL environment as a family, with CARL's features, defaults and physics.

    Each context has an environment of its own, and observations are CARL's "obs" without the
    context. Some of CARL's features do nothing, as `masscart` of CARLCartPole, and its
    environments of Box2D share module globals: `check_contextual_env` tells which.

    Args:
        environment: Name or class, for example "CARLCartPole".
        ranges: The context space as ranges of features ...
        space: ... or as a `ContextSpace` or the path of a TOML file.
        return_range: Lowest and highest return of an episode, if they are known.

    Raises:
        FamilyError: If CARL is not installed, has no such environment, or there is no space.
    """
    if (ranges is None) == (space is None):
        raise FamilyError(
            "A CARL environment needs its context space: either ranges={'length': Range(...)} or "
            "space=..., a ContextSpace or the path of a TOML file."
        )
    return _CarlFamily(
        _class(environment) if isinstance(environment, str) else environment,
        space=space if ranges is None else space_from_ranges(ranges),
        return_range=return_range,
    )


class _CarlFamily(EnvironmentFamily):
    """The environments of one CARL class."""

    name = "CARL"

    def __init__(self, environment: Any, **arguments: Any) -> None:
        self._class = environment
        self.defaults = {
            name: float(feature.default_value)
            for name, feature in self._class.get_context_features().items()
            if isinstance(feature.default_value, int | float)
        }
        super().__init__(**arguments)

    def build(self, context: dict[str, float], render_mode: str | None) -> gymnasium.Env[Any, Any]:
        """The class with one context, observing no more than the environment itself does.

        Raises:
            FamilyError: If the class wants an environment that Gymnasium has no more.
        """
        features = self._class.get_context_features()
        values = {n: _like(features[n].default_value, value) for n, value in context.items()}
        # CARL would make every environment with a drawing surface; other suites it makes itself.
        registered = getattr(self._class, "env_name", None)
        env = make_variant(registered, render_mode) if registered in gymnasium.registry else None
        try:
            return _Observation(self._class(env=env, contexts={0: values}))
        except gymnasium.error.Error as error:
            raise FamilyError(
                f"{self._class.__name__} does not work with Gymnasium {gymnasium.__version__}: "
                f"{error}"
            ) from error

    def options(self) -> dict[str, Any]:
        """The class, by name."""
        return {"environment": self._class.__name__}


class _Observation(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Leaves of CARL's {"obs", "context"} the observation."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.observation_space = env.base_observation_space
        self.metadata = env.unwrapped.metadata  # CARL's own has keys of an older Gymnasium

    @property
    def render_mode(self) -> str | None:  # type: ignore[override]
        """The environment's own; CARL says "rgb_array" of each."""
        return self.env.unwrapped.render_mode

    def observation(self, observation: Any) -> Any:
        """The environment's own observation."""
        return observation["obs"]


def _like(default: object, value: float) -> float:
    """Whole numbers where CARL has whole numbers."""
    return round(value) if isinstance(default, int) and math.isfinite(value) else value


def _class(name: str) -> Any:
    try:
        # CARL warns of every suite that is not installed, whatever the filters are.
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("ignore")
            module = importlib.import_module("carl.envs")
    except ImportError as error:
        raise FamilyError(
            f"CARL cannot be imported: {error}. Install it with: {INSTALL}"
        ) from error
    known = [n for n in module.__all__ if n.startswith("CARL")]
    if name not in known:
        raise FamilyError(
            f"CARL has no environment {name!r}; installed: {', '.join(known)}."
            f"{did_you_mean(name, known)}"
        )
    return getattr(module, name)
