"""Environments of many contexts, for training code of others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.contextual import ContextualEnv
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.errors import ContextError


class DrawnContexts(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Draws one of several contexts for each episode.

    Args:
        env: An environment of a family.
        contexts: The contexts: a `ContextSpace` for all its targets, or any list of contexts.

    Raises:
        ContextError: If there is no context, or one is not usable.
    """

    def __init__(self, env: ContextualEnv, contexts: Iterable[Mapping[str, float]]) -> None:
        super().__init__(env)
        self.contexts = [env.family.full_context(context) for context in contexts]
        if not self.contexts:
            raise ContextError("There are no contexts to draw from. Give at least one.")
        self._rng = np.random.default_rng()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode on a drawn context, unless the options name one."""
        if seed is not None:
            self._rng = np.random.default_rng([seed, 1])
        drawn = self.contexts[int(self._rng.integers(len(self.contexts)))]
        return self.env.reset(seed=seed, options={"context": drawn, **(options or {})})


class ContextInDict(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Observes `{"obs": ..., "context": ...}`, as CARL does.

    Args:
        env: An environment of a family, also wrapped.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self._features = tuple(env.unwrapped.context)  # type: ignore[attr-defined]
        free = spaces.Box(-np.inf, np.inf, (len(self._features),), np.float32)
        self.observation_space = spaces.Dict({"obs": env.observation_space, "context": free})

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._with_context(observation, info), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take one step."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._with_context(observation, info), reward, terminated, truncated, info

    def _with_context(self, observation: Any, info: Mapping[str, Any]) -> dict[str, Any]:
        values = [info["context"][feature] for feature in self._features]
        return {"obs": observation, "context": np.array(values, np.float32)}


class ContextualVectorEnv(SyncVectorEnv[Any, Any]):
    """A vector environment of Gymnasium whose sub-environments keep their contexts.

    Without `num_envs`, each context has one sub-environment and stays there when episodes
    end. With it, every episode draws one of the contexts. `reset(options={"contexts": [...]})`
    gives each sub-environment another context, which it keeps until the next such reset.
    `infos["context"]` has the contexts in force.

    Args:
        family: The environments.
        contexts: The contexts: a `ContextSpace` for all its targets, or any list of contexts.
        num_envs: Number of sub-environments; one for each context if left out.
        observe_context: Context at the end of observations, see `ContextualEnv`; "dict" for
            observations as `ContextInDict` makes them.
        autoreset_mode: As in Gymnasium.

    Raises:
        ContextError: If there is no context, or one is not usable.

    Example:
        >>> from sdmbtl.environments import make_family
        >>> short, long = {"length": 0.1}, {"length": 3.0}
        >>> envs = ContextualVectorEnv(make_family("CartPole"), [short, long])
        >>> _, infos = envs.reset(seed=0)
        >>> infos["context"]["length"].tolist()
        [0.1, 3.0]
    """

    def __init__(
        self,
        family: EnvironmentFamily,
        contexts: Iterable[Mapping[str, float]],
        num_envs: int | None = None,
        *,
        observe_context: bool | ContextSpace | str = False,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    ) -> None:
        listed = list(contexts)
        if not listed:
            raise ContextError("There are no contexts to train on. Give at least one.")
        shared = [[one] for one in listed] if num_envs is None else [listed] * num_envs
        in_dict = observe_context == "dict"
        observed: Any = False if in_dict else observe_context
        self._family, self._drawn = family, list[DrawnContexts]()

        def make(contexts: list[Mapping[str, float]]) -> gymnasium.Env[Any, Any]:
            drawn = DrawnContexts(family.make(observe_context=observed), contexts)
            self._drawn.append(drawn)
            return ContextInDict(drawn) if in_dict else drawn

        super().__init__([partial(make, own) for own in shared], autoreset_mode=autoreset_mode)

    @property
    def contexts(self) -> list[dict[str, float]]:
        """Context in force in each sub-environment, with every feature."""
        return [env.unwrapped.context for env in self._drawn]  # type: ignore[attr-defined]

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode in each sub-environment; `options["contexts"]` has one context each.

        Raises:
            ContextError: If their number is wrong, or one is not usable.
        """
        passed_on = dict(options or {})
        contexts = passed_on.pop("contexts", None)
        if contexts is not None:
            if len(contexts) != self.num_envs:
                raise ContextError(
                    f"'contexts' must have one context for each of {self.num_envs} "
                    f"sub-environments. Got {len(contexts)} instead."
                )
            checked = [self._family.full_context(context) for context in contexts]
            for env, context in zip(self._drawn, checked, strict=True):
                env.contexts = [context]
        return super().reset(seed=seed, options=passed_on or None)
