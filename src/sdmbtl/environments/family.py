"""A family of environments, one for each context."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import gymnasium
import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_float, check_return_range, known_name, short_text
from sdmbtl.contexts import (
    Categories,
    ContextSpace,
    Range,
    SpaceLike,
    read_space,
    space_from_ranges,
)
from sdmbtl.environments.contextual import ContextualEnv
from sdmbtl.errors import ContextError, FamilyError

if TYPE_CHECKING:
    from sdmbtl.environments.functional import FunctionalEnvironment
    from sdmbtl.training.vector_env import VectorEnv

#: Modules of Gymnasium whose worlds keep traces of an episode over a reset.
_BOX2D = "gymnasium.envs.box2d."

#: Uses of a built environment; see `EnvironmentFamily`.
BuiltFor = Literal["episode", "context", "space"]


class EnvironmentFamily(ABC):
    """Environments indexed by a context: the paper's contextual Markov decision process.

    A subclass sets the attributes and implements `build`; further options are arguments of
    its constructor and come back from `options`.

    Args:
        space: The space that `space()` gives; if left out, the first of `ranges`.
        return_range: Instead of the family's usual one.

    Attributes:
        name: Name in the registry.
        defaults: Every context feature and its usual value, in order.
        ranges: Named spaces over some of the features; the first is the default one.
        positive: Features that must be above 0.
        highest: Highest values of features that have one.
        return_range: Lowest and highest return of an episode, for showing coverage as a share.
        training: Settings with which a trainer learns the family, by trainer name.
        twin: The class of its pure functions, as "module:class", imported when needed.
        built_for: Use of one built environment. "episode": a single one, because its world
            keeps traces of it over a reset, as Box2D's does. "context" (the default):
            all episodes of its context. "space": all contexts, because it takes each of them
            itself, as `reset(options={"context": ...})`. An environment with an attribute
            `built_for` says so itself.
    """

    name: str
    defaults: Mapping[str, float]
    ranges: Mapping[str, Mapping[str, Range]] = {}
    positive: ClassVar[frozenset[str]] = frozenset()
    highest: ClassVar[Mapping[str, float]] = {}
    return_range: tuple[float, float] | None = None
    training: Mapping[str, Mapping[str, Any]] = {}
    twin: ClassVar[str | None] = None
    built_for: BuiltFor = "context"

    _space: ContextSpace | None = None

    def __init__(
        self,
        *,
        space: SpaceLike | None = None,
        return_range: tuple[float, float] | None = None,
    ) -> None:
        if space is not None:
            self._space = self._read_space(space)
        if return_range is not None:
            self.return_range = check_return_range(return_range, error=ContextError)

    @abstractmethod
    def build(self, context: dict[str, float], render_mode: str | None) -> gymnasium.Env[Any, Any]:
        """Make ONE environment, its time limit included, from a full context."""

    def make_vector_env(self) -> VectorEnv | None:
        """Make environments that one simulation steps together, if the family has that.

        The trainer "ppo", random actions and films then use it instead of `build`.
        """
        return None

    def use_of(self, env: object) -> BuiltFor:
        """Return the use of an environment that was built: see `built_for`."""
        inner = env.unwrapped if isinstance(env, gymnasium.Env) else env
        is_box2d = any(kind.__module__.startswith(_BOX2D) for kind in type(inner).__mro__)
        usual = "episode" if is_box2d else self.built_for
        use: BuiltFor = getattr(inner, "built_for", usual)
        if use not in get_args(BuiltFor):
            raise FamilyError(
                f"'built_for' of {self.name!r} must be one of {', '.join(get_args(BuiltFor))}. "
                f"Got {use!r} instead."
            )
        return use

    def functional(self) -> FunctionalEnvironment | None:
        """Return the same environment as pure functions of arrays, if there is one."""
        if self.twin is None:
            return None
        module, _, name = self.twin.partition(":")
        twin: FunctionalEnvironment = getattr(import_module(module), name)(**self.options())
        return twin

    def for_evaluation(self) -> EnvironmentFamily:
        """Return the same environments with the episodes that evaluation plays.

        A family whose episodes are drawn from data, such as years of weather, keeps some of them
        from training and gives them here; of all others it is the family itself.
        """
        return self

    def options(self) -> dict[str, Any]:
        """Return the arguments that a subclass adds to the constructor, as JSON data."""
        return {}

    def describe_feature(self, name: str) -> str:
        """Describe the part of the environment that a feature is."""
        return f"the feature {name!r} of {self.name}"

    def settings(self) -> dict[str, Any]:
        """Describe the family as JSON data: `make_family(name, **options)` makes it again."""
        options = self.options()
        if self._space is not None:
            options["space"] = self._space.to_dict()
        if self.return_range is not None and "return_range" in vars(self):
            options["return_range"] = list(self.return_range)
        return {"name": self.name, "options": options}

    def space(self, name: str | None = None, levels: int | None = None) -> ContextSpace:
        """Return the space of `ranges` with a name, or the default one.

        Args:
            name: Name of the space.
            levels: Number of values of every dimension, instead of the usual ones.
        """
        if name is None and self._space is not None:
            if levels is not None:
                raise FamilyError(f"The space of this {self.name} has its targets; drop 'levels'.")
            return self._space
        if name is None and not self.ranges:
            raise FamilyError(f"The family {self.name!r} has no space of its own. Pass space=...")
        name = next(iter(self.ranges)) if name is None else name
        known_name("space", name, self.ranges, has=f"{self.name!r} has", error=FamilyError)
        return space_from_ranges(self.ranges[name], levels)

    def full_context(self, context: Mapping[str, float]) -> dict[str, float]:
        """Check a context and fill in the usual values of the features that it leaves out.

        Raises:
            ContextError: If a feature is unknown, or its value makes no sense in the physics.
        """
        if not isinstance(context, Mapping):
            raise ContextError(
                f"A context of {self.name} is a mapping from {list(self.defaults)} to numbers. "
                f"Got {short_text(context)} instead."
            )
        self._check_features(context)
        return {**self.defaults, **{n: self._check_value(n, v) for n, v in context.items()}}

    def check_contexts(self, names: Sequence[str], contexts: NDArray[np.float64]) -> None:
        """Check (n, D) values of the D features with these names, as `full_context` does."""
        self._check_features(names)
        for name, column in zip(names, contexts.T, strict=True):
            for value in (column.min(), column.max()) if len(column) else ():
                self._check_value(name, value)

    def make(
        self,
        context: Mapping[str, float] | None = None,
        *,
        observe_context: bool | ContextSpace = False,
        render_mode: str | None = None,
    ) -> ContextualEnv:
        """Make an environment whose context can be changed at every reset; see `ContextualEnv`."""
        return ContextualEnv(
            self, context, observe_context=observe_context, render_mode=render_mode
        )

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.options().items())
        return f"{type(self).__name__}({options})"

    def _read_space(self, given: SpaceLike) -> ContextSpace:
        if isinstance(given, str) and not given.endswith(".toml"):
            return self.space(given)
        space, extras = read_space(given)
        self._check_features(space.names)
        for dimension in extras.get("dimensions", {}):
            raise ContextError(
                f"[dimensions.{dimension}] has a 'path' or 'factor', which are for the arguments "
                f"and attributes of 'gym:' environments. {self.name!r} knows by itself what a "
                "dimension is; drop them."
            )
        if "return_range" in extras:
            self.return_range = extras["return_range"]
        return space

    def _check_value(self, name: str, value: object) -> Any:
        dimension = self._space.dimensions.get(name) if self._space is not None else None
        if isinstance(dimension, Categories) and isinstance(value, str):
            return dimension.show(dimension.read(value))
        number, most = check_float(name, value, error=ContextError), self.highest.get(name)
        if name in self.positive and number <= 0:
            raise ContextError(f"{name!r} of {self.name} must be above 0. Got {value!r} instead.")
        if most is not None and number > most:
            raise ContextError(
                f"{name!r} of {self.name} must be at most {most:g}. Got {value!r} instead."
            )
        return number

    def _check_features(self, names: Iterable[str]) -> None:
        for name in names:
            known_name(
                "context feature", name, self.defaults, has=f"{self.name} has", error=ContextError
            )


def make_variant(
    registered: str,
    render_mode: str | None,
    entry_point: Callable[..., gymnasium.Env[Any, Any]] | None = None,
    **arguments: Any,
) -> gymnasium.Env[Any, Any]:
    """Make a registered Gymnasium environment, with its time limit, from another class."""
    spec = copy(gymnasium.spec(registered))
    if entry_point is not None:
        spec.entry_point = entry_point
    return gymnasium.make(spec, render_mode=render_mode, disable_env_checker=True, **arguments)
