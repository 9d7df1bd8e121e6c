"""Environments of other JAX packages, known by the shape of their functions.

`from_gymnax` and `from_brax` import neither package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import fields, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from sdmbtl.checks import check_int
from sdmbtl.environments.functional.base import FunctionalEnvironment
from sdmbtl.errors import FamilyError

#: Called with the parameters or the system and a dict of every feature; returns changed ones.
Change = Callable[[Any, dict[str, Any]], Any]

#: Time limit in the parameters of gymnax.
TIME_LIMIT = "max_steps_in_episode"


def from_gymnax(
    env: Any,
    params: Any,
    *,
    change: Change | None = None,
    features: Mapping[str, float] | None = None,
    max_steps: int | None = None,
) -> AdaptedEnvironment:
    """Adapt an environment with gymnax's functions; its contexts are fields of `params`.

    `reset(key, params)` returns observation and state, `step(key, state, action, params)`
    observation, state, reward, one or two flags of the end, and info. `reset_env` and `step_env`,
    which do not begin the next episode themselves, are used if they exist.

    Args:
        env: The environment.
        params: Its usual parameters, a dataclass.
        change: Returns the parameters of a context, if setting fields is not enough.
        features: Usual values of the context features; by default the fields that are floats.
        max_steps: Time limit of an episode; by default `params.max_steps_in_episode`.

    Raises:
        FamilyError: If there is no time limit.
    """
    reset, step = getattr(env, "reset_env", env.reset), getattr(env, "step_env", env.step)
    usual = {field.name: getattr(params, field.name) for field in fields(params)}
    if features is None:
        features = {name: float(v) for name, v in usual.items() if _is_float(v)}
    limit = usual.get(TIME_LIMIT) if max_steps is None else max_steps

    def of_context(context: dict[str, Any]) -> Any:
        if change is not None:
            return change(params, context)
        return replace(
            params, **{n: v.astype(jnp.result_type(usual[n])) for n, v in context.items()}
        )

    def begin(key: jax.Array, context: dict[str, Any]) -> tuple[Any, Any]:
        observation, state = reset(key, of_context(context))
        return state, observation

    def advance(key: jax.Array, state: Any, action: jax.Array, context: dict[str, Any]) -> _Next:
        observation, state, reward, ended, *_ = step(key, state, action, of_context(context))
        return state, observation, reward, ended

    theirs = env.action_space(params)
    actions: spaces.Discrete | spaces.Box
    if hasattr(theirs, "n"):
        actions = spaces.Discrete(int(theirs.n))
    else:
        low, high = (
            np.broadcast_to(np.asarray(bound, np.float32), tuple(theirs.shape))
            for bound in (theirs.low, theirs.high)
        )
        actions = spaces.Box(low, high)
    return AdaptedEnvironment(begin, advance, actions, features, limit)


def from_brax(
    env: Any,
    change: Change,
    features: Mapping[str, float],
    *,
    max_steps: int = 1000,
    system: str = "sys",
) -> AdaptedEnvironment:
    """Adapt an environment with brax's functions; `change` makes the system of a context.

    `reset(rng)` and `step(state, action)` return a state with `obs`, `reward` and `done`. Wrappers
    are left out: episodes are cut off and begun here.

    Args:
        env: The environment.
        change: Called with the system and a dict of the features; returns the changed system.
        features: Usual values of the context features.
        max_steps: Time limit of an episode.
        system: Attribute of the environment with the system; "_mjx_model" in MuJoCo Playground.
    """
    inner = getattr(env, "unwrapped", env)

    def of_context(context: dict[str, Any]) -> Any:
        changed = copy(inner)
        setattr(changed, system, change(getattr(inner, system), context))
        return changed

    def begin(key: jax.Array, context: dict[str, Any]) -> tuple[Any, Any]:
        state = of_context(context).reset(key)
        return state, state.obs

    def advance(key: jax.Array, state: Any, action: jax.Array, context: dict[str, Any]) -> _Next:
        del key  # brax keeps its own in the state
        state = of_context(context).step(state, action)
        return state, state.obs, state.reward, state.done

    actions = spaces.Box(-1.0, 1.0, (int(env.action_size),))
    return AdaptedEnvironment(begin, advance, actions, features, max_steps)


_Next = tuple[Any, Any, jax.Array, jax.Array]


class AdaptedState(NamedTuple):
    """State of the adapted environment, its observation, and the key of later random numbers."""

    inner: Any
    observation: Any
    key: jax.Array


class AdaptedEnvironment(FunctionalEnvironment):
    """An environment of another package; `from_gymnax` and `from_brax` make it.

    The state carries observation and key, so an episode follows from the key of its reset.

    Args:
        begin: Called with key and context; returns the first state and its observation.
        advance: Called with key, state, action and context; returns the next state, its
            observation, the reward, and the flag of the end.
        actions: The environment's own; a box becomes one axis, from -1 to 1 if its bounds differ.
        features: Usual values of the context features.
        max_steps: Time limit of an episode.
    """

    # Functions cannot be compared: an environment is equal to itself only.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __init__(
        self,
        begin: Callable[..., tuple[Any, Any]],
        advance: Callable[..., _Next],
        actions: spaces.Discrete | spaces.Box,
        features: Mapping[str, float],
        max_steps: object,
    ) -> None:
        self._begin, self._advance, self._inner_actions = begin, advance, actions
        self.actions = actions
        if isinstance(actions, spaces.Box):
            low, high = float(actions.low.flat[0]), float(actions.high.flat[0])
            if (actions.low != low).any() or (actions.high != high).any():
                low, high = -1.0, 1.0
            self.actions = spaces.Box(low, high, (actions.low.size,))
        if max_steps is None:
            raise FamilyError("The environment has no time limit. Pass max_steps=...")
        self.max_steps = check_int("max_steps", int(max_steps), low=1, error=FamilyError)  # type: ignore[call-overload]
        self.defaults = dict(features)
        parameters = jnp.array(list(self.defaults.values()), jnp.float32)
        seen = jax.eval_shape(
            lambda key: self.observe(self.reset(key, parameters), parameters), jax.random.PRNGKey(0)
        )
        self.observation_size = seen.size

    def reset(self, key: jax.Array, parameters: jax.Array) -> AdaptedState:
        """Begin an episode."""
        key, reset_key = jax.random.split(key)
        return AdaptedState(*self._begin(reset_key, self._context(parameters)), key)

    def step(
        self, state: AdaptedState, action: jax.Array, parameters: jax.Array
    ) -> tuple[AdaptedState, jax.Array, jax.Array]:
        """Take a step with a new key."""
        key, step_key = jax.random.split(state.key)
        inner, ours = self._inner_actions, self.actions
        if isinstance(inner, spaces.Box) and isinstance(ours, spaces.Box):
            action = jnp.clip(action, ours.low, ours.high).reshape(inner.shape)
            if (inner.low != ours.low[0]).any() or (inner.high != ours.high[0]).any():
                action = jnp.asarray(inner.low) + (action + 1) / 2 * (inner.high - inner.low)
        new, observation, reward, ended = self._advance(
            step_key, state.inner, action, self._context(parameters)
        )
        return (
            AdaptedState(new, observation, key),
            jnp.asarray(reward, jnp.float32).reshape(()),
            jnp.asarray(ended).astype(bool).reshape(()),
        )

    def observe(self, state: AdaptedState, parameters: jax.Array) -> jax.Array:
        """Return the observation as one vector."""
        del parameters
        leaves = jax.tree.leaves(state.observation)
        return jnp.concatenate([jnp.ravel(leaf).astype(jnp.float32) for leaf in leaves])

    def _context(self, parameters: jax.Array) -> dict[str, Any]:
        return dict(zip(self.defaults, parameters, strict=True))


def _is_float(value: Any) -> bool:
    if not isinstance(value, float | np.ndarray | jax.Array) or np.ndim(value):
        return False
    return bool(jnp.issubdtype(jnp.result_type(value), jnp.floating))
