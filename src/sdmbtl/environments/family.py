"""A family of environments, one for each context."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import gymnasium

from sdmbtl.checks import check_float, check_return_range, did_you_mean, short_text
from sdmbtl.contexts import ContextSpace, Range, SpaceLike, read_space, space_from_ranges
from sdmbtl.environments.contextual import ContextualEnv
from sdmbtl.errors import ContextError, FamilyError

if TYPE_CHECKING:
    from sdmbtl.environments.functional import FunctionalEnvironment
    from sdmbtl.training.vector_env import VectorEnv

#: Modules of Gymnasium whose worlds keep traces of an episode over a reset.
_BOX2D = "gymnasium.envs.box2d."

#: What a built environment can be used for; see `EnvironmentFamily`.
BuiltFor = Literal["episode", "context", "space"]


class EnvironmentFamily(ABC):
    """Environments indexed by a context: the paper's contextual Markov decision process.

    A subclass sets the attributes and implements `build`; options of its own are arguments of
    its constructor and come back from `options`.

    Args:
        space: The space that `space()` gives; if left out, the first of `ranges`.
        return_range: Instead of the family's usual one.

    Attributes:
        name: Name in the registry.
        defaults: Every context feature and its usual value, in order.
        ranges: Named spaces over some of the features; the first is the default one.
        positive: Features that must be above 0.
        return_range: Lowest and highest return of an episode, for showing coverage as a share.
        training: Settings with which a trainer learns the family, by trainer name.
        twin: Where its pure functions are, as "module:class", imported when they are asked for.
        built_for: What one built environment can be used for. "episode": a single one, because
            its world keeps traces of it over a reset, as Box2D's does. "context" (the default):
            all episodes of its context. "space": all contexts, because it takes each of them
            itself, as `reset(options={"context": ...})`. An environment with an attribute
            `built_for` says so itself.
    """

    name: str
    defaults: Mapping[str, float]
    ranges: Mapping[str, Mapping[str, Range]] = {}
    positive: ClassVar[frozenset[str]] = frozenset()
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
        """What an environment that was built can be used for.

        Raises:
            FamilyError: If it, or the family, says something else than `built_for` may be.
        """
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
        """The same environment as pure functions of arrays, if there is one."""
        if self.twin is None:
            return None
        module, _, name = self.twin.partition(":")
        twin: FunctionalEnvironment = getattr(import_module(module), name)(**self.options())
        return twin

    def for_evaluation(self) -> EnvironmentFamily:
        """The same environments with the episodes that evaluation plays.

        A family whose episodes are drawn from data, such as years of weather, keeps some of them
        from training and gives them here; of all others it is the family itself.
        """
        return self

    def options(self) -> dict[str, Any]:
        """The arguments that a subclass adds to the constructor, as JSON data."""
        return {}

    def describe_feature(self, name: str) -> str:
        """What of the environment a feature is, in words."""
        return f"the feature {name!r} of {self.name}"

    def made_by(self) -> object:
        """The class or function whose code makes the environments."""
        return type(self)

    def data_fingerprints(self) -> dict[str, str]:
        """Files that the options name -> a hash of what was read from each.

        A study notices by them when such a file was edited.
        """
        return {}

    def settings(self) -> dict[str, Any]:
        """Describe the family as JSON data: `make_family(name, **options)` makes it again."""
        options = self.options()
        if self._space is not None:
            options["space"] = self._space.to_dict()
        if self.return_range is not None and "return_range" in vars(self):
            options["return_range"] = list(self.return_range)
        return {"name": self.name, "options": options}

    def space(self, name: str | None = None, levels: int | None = None) -> ContextSpace:
        """One of the family's context spaces.

        Args:
            name: One of `ranges`; if left out, the default space.
            levels: Number of values of every dimension, instead of the usual ones.

        Raises:
            FamilyError: If there is no such space.
        """
        if name is None and self._space is not None:
            if levels is not None:
                raise FamilyError(
                    f"The space of this {self.name} was given with its targets, so it has no "
                    "'levels' to choose. Name one of the family's spaces, or leave 'levels' out."
                )
            return self._space
        if name is None:
            if not self.ranges:
                raise FamilyError(
                    f"The family {self.name!r} has no space of its own. Give one: space=..."
                )
            name = next(iter(self.ranges))
        if name not in self.ranges:
            raise FamilyError(
                f"The family {self.name!r} has no space {name!r}; it has "
                f"{', '.join(self.ranges) or 'none by name'}.{did_you_mean(name, self.ranges)}"
            )
        return space_from_ranges(self.ranges[name], levels)

    def full_context(self, context: Mapping[str, float]) -> dict[str, float]:
        """Check a context and fill in the usual values of what it leaves out.

        Raises:
            ContextError: If a feature is unknown, not a finite number, or not positive where the
                physics needs it.
        """
        if not isinstance(context, Mapping):
            raise ContextError(
                f"A context of {self.name} is a mapping from {list(self.defaults)} to numbers. "
                f"Got {short_text(context)} instead."
            )
        self._check_features(context)
        full = dict(self.defaults)
        for name, value in context.items():
            full[name] = check_float(name, value, error=ContextError)
            if name in self.positive and full[name] <= 0:
                raise ContextError(
                    f"{name!r} of {self.name} must be above 0. Got {value!r} instead."
                )
        return full

    def make(
        self,
        context: Mapping[str, float] | None = None,
        *,
        observe_context: bool | str | ContextSpace = False,
        render_mode: str | None = None,
    ) -> ContextualEnv:
        """Make an environment whose context can be changed at every reset.

        Args:
            context: Features that differ from `defaults`.
            observe_context: Whether, or in which space, observations end with the context; see
                `ContextualEnv`.
            render_mode: As in Gymnasium.
        """
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
        refuse_places(self.name, extras)
        if "return_range" in extras:
            self.return_range = extras["return_range"]
        return space

    def _check_features(self, names: Mapping[str, float] | tuple[str, ...]) -> None:
        for name in names:
            if name not in self.defaults:
                raise ContextError(
                    f"Unknown context feature {name!r}; {self.name} has {list(self.defaults)}."
                    f"{did_you_mean(name, self.defaults)}"
                )


def refuse_places(name: str, extras: Mapping[str, Any]) -> None:
    """Refuse the file of a space that says what its dimensions are in an environment.

    Raises:
        ContextError: If it does.
    """
    for dimension in extras.get("dimensions", {}):
        raise ContextError(
            f"[dimensions.{dimension}] has a 'path' or 'factor', which are for the arguments and "
            f"attributes of 'gym:' environments. {name!r} knows by itself what a dimension is; "
            "drop them."
        )


def make_variant(
    registered: str,
    render_mode: str | None,
    entry_point: Callable[..., gymnasium.Env[Any, Any]] | None = None,
    **arguments: Any,
) -> gymnasium.Env[Any, Any]:
    """Make a registered Gymnasium environment, with its time limit, from another class.

    Args:
        registered: Name of the registered environment, for example "CartPole-v1".
        render_mode: As in Gymnasium.
        entry_point: What is called instead of the registered class.
        **arguments: Passed to the class.
    """
    spec = copy(gymnasium.spec(registered))
    if entry_point is not None:
        spec.entry_point = entry_point
    return gymnasium.make(spec, render_mode=render_mode, disable_env_checker=True, **arguments)
