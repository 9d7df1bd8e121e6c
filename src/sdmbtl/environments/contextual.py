"""One environment for all contexts of a family."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium import spaces

from sdmbtl.contexts import ContextSpace
from sdmbtl.contexts.observation import append_context
from sdmbtl.environments.flattening import FlatObservations
from sdmbtl.errors import FamilyError

if TYPE_CHECKING:
    from sdmbtl.environments.family import EnvironmentFamily

#: Seeds of inner environments are drawn below this.
SEEDS = 2**31


class ContextualEnv(gymnasium.Env[Any, Any]):
    """A family's environment, whose context is switched by `reset`.

    `reset(options={"context": {...}})` changes to that context, which stays until another one is
    given; features left out have their usual values. Other options are passed on. The context
    in force is `env.context`, and `info["context"]` after every reset and step.

    The environment of a context is built again when the context changes, so nothing is carried
    over, unless it takes contexts itself (`built_for` of the family). One seed at the beginning
    reproduces everything that follows: without a seed, a newly built environment is
    seeded from this one's generator.

    Args:
        family: Builds the environment of each context.
        context: The first context; the usual one if left out.
        observe_context: Appends to the observation the unit coordinates of the context in a
            space: the family's default space (True), or a `ContextSpace`. The default is not to:
            a policy trained on ONE context never sees that input change, so its random initial
            weights on it only add noise when the policy is transferred. It is meant for policies
            trained on many contexts. Observations that are not vectors of floats are flattened
            first; see `FlatObservations`.
        render_mode: As in Gymnasium.

    Raises:
        ContextError: If the context is not usable.
        PolicyError: If the observations cannot be flattened, to append the context.
    """

    def __init__(
        self,
        family: EnvironmentFamily,
        context: Mapping[str, float] | None = None,
        *,
        observe_context: bool | ContextSpace = False,
        render_mode: str | None = None,
    ) -> None:
        self.family = family
        self._context = family.full_context({} if context is None else context)
        self._env = family.build(dict(self._context), render_mode)
        self._is_new = True
        self._asked_mode = render_mode
        self.metadata = self._env.metadata
        self.render_mode = self._env.render_mode
        self.action_space = self._env.action_space
        self.observation_space = self._env.observation_space
        self._observed: ContextSpace | None = None
        self._flatten: FlatObservations | None = None
        if observe_context is not False:
            self._observed = family.space() if observe_context is True else observe_context
            family.full_context(self._observed.middle())  # refuses dimensions that it has not
            self.observation_space = self._extended_space(self._observed.n_units)

    @property
    def context(self) -> dict[str, float]:
        """The context in force, with every feature."""
        return dict(self._context)

    @property
    def inner(self) -> gymnasium.Env[Any, Any]:
        """The environment of the context in force, as the family has built it."""
        return self._env

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode; `options["context"]` switches the context first.

        Raises:
            ContextError: If the context is not usable; the one in force stays.
        """
        super().reset(seed=seed)
        passed_on = dict(options or {})
        context = passed_on.pop("context", None)
        context = self._context if context is None else self.family.full_context(context)
        use = self.family.use_of(self._env)
        if use == "space":
            self._context = context
            passed_on["context"] = self.context
        elif context != self._context or (use == "episode" and not self._is_new):
            self._put(context)
        if seed is None and self._is_new:
            seed = int(self.np_random.integers(SEEDS))
        self._is_new = False
        observation, info = self._env.reset(seed=seed, options=passed_on or None)
        if self._observed is not None:
            seen = [self._context[name] for name in self._observed.names]
            self._units = self._observed.to_unit(self._observed.vector(seen))
            observation = self._extended(observation)
        return observation, {**info, "context": self.context}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one step in the context in force."""
        observation, reward, terminated, truncated, info = self._env.step(action)
        info = {**info, "context": self._context.copy()}
        if self._observed is not None:
            observation = self._extended(observation)
        # Some of Gymnasium's rewards are NumPy's float32, which is not a float to trainers.
        return observation, float(reward), terminated, truncated, info

    def render(self) -> Any:
        """Draw the environment in force."""
        return self._env.render()

    def close(self) -> None:
        """Close the environment in force."""
        self._env.close()

    def _put(self, context: dict[str, float]) -> None:
        """Put a new environment of a context in place; nothing changes if that fails."""
        env = self.family.build(dict(context), self._asked_mode)
        for kind in ("observation_space", "action_space"):
            before, after = getattr(self._env, kind), getattr(env, kind)
            if before != after:
                close_quietly(env)
                raise FamilyError(
                    f"All contexts of a family need the same {kind}. {self.family.name!r} has "
                    f"{before} and {after}, the latter for {context}."
                )
        close_quietly(self._env)
        self._env, self._context, self._is_new = env, context, True

    # -- the context in the observation --------------------------------------------------

    def _extended_space(self, n_coordinates: int) -> spaces.Box:
        """Return the observation space with coordinates of the context at its end."""
        inner: Any = self._env.observation_space
        flat = FlatObservations(inner)
        if not flat.is_plain:
            self._flatten = flat
            return spaces.Box(-np.inf, np.inf, (flat.size + n_coordinates,), np.float32)
        # Contexts may lie outside the space, so their coordinates have no bounds.
        free = np.full(n_coordinates, np.inf)
        return spaces.Box(
            np.concatenate([inner.low, -free]).astype(inner.low.dtype),
            np.concatenate([inner.high, free]).astype(inner.low.dtype),
            dtype=inner.low.dtype.type,
        )

    def _extended(self, observation: Any) -> Any:
        if self._flatten is not None:
            observation = self._flatten(observation)
        observation = np.asarray(observation, self.observation_space.dtype)
        return append_context(observation, self._units)


def close_quietly(env: Any) -> None:
    """Close an environment that has been used: an error of its `close` changes no result."""
    with suppress(Exception, SystemExit):
        env.close()
