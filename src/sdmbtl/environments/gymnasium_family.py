"""Environments that are registered with Gymnasium, one for each context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np

from sdmbtl.checks import check_bool, did_you_mean, known_name, known_options, short_text
from sdmbtl.contexts import ContextSpace, Levels, SpaceLike, read_space
from sdmbtl.environments.contextual import close_quietly
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.feature import AttributePath, Feature
from sdmbtl.environments.registered import (
    constructor_arguments,
    find_registered,
    is_registered_everywhere,
    make_registered,
    update_constants_of_mujoco,
)
from sdmbtl.errors import FamilyError, describe_failure

PREFIX = "gym:"


class GymnasiumFamily(EnvironmentFamily):
    """A registered environment whose arguments or attributes are the dimensions.

    A dimension is the keyword argument of its name, if the environment's constructor takes it,
    otherwise the attribute of its name. Where it is called something else, `dimensions` has its
    path: an argument (`g`), or an attribute with dots and indices
    (`unwrapped.model.opt.gravity[2]`). Attributes are set when the environment has been made.

    Args:
        environment: Name of the environment, with or without "gym:" before it; see
            `find_registered`.
        space: The contexts: a `ContextSpace` or the path of a TOML file, which may have the paths
            too.
        dimensions: For dimensions that are called something else: the path; or
            `{"path": path, "factor": True}` if the values are multiplied with the usual value.
        return_range: Lowest and highest return of an episode, if they are known.
        **arguments: Arguments of the constructor that are the same in all contexts; and
            `max_episode_steps`.

    Raises:
        FamilyError: If the environment, an argument or a path is unknown, or `reset` undoes what
            was set.

    Example:
        >>> from sdmbtl import ContextSpace
        >>> space = ContextSpace(gravity=[5.0, 10.0], mass=[0.5, 1.0, 2.0])
        >>> family = GymnasiumFamily("Pendulum-v1", space, dimensions={"gravity": "g", "mass": "m"})
        >>> family.describe_feature("gravity"), family.describe_feature("mass")
        ("the argument 'g'", "the attribute 'unwrapped.m'")
        >>> dict(family.defaults)
        {'gravity': 10.0, 'mass': 1.0}
    """

    def __init__(
        self,
        environment: str,
        space: SpaceLike,
        /,
        *,
        dimensions: Mapping[str, Any] | None = None,
        return_range: tuple[float, float] | None = None,
        **arguments: Any,
    ) -> None:
        given = environment.removeprefix(PREFIX)
        self._spec = find_registered(given)
        module = given.rpartition(":")[0]
        self.name = PREFIX + (f"{module}:" if module else "") + self._spec.id
        self._parameters, others = constructor_arguments(self._spec)
        if not others:
            known_options(self.name, arguments, self._parameters, error=FamilyError)
        self._arguments = arguments
        contexts, extras = read_space(space)
        self._features = self._find_features(
            contexts, {**extras.get("dimensions", {}), **(dimensions or {})}
        )
        contexts = self._mark_discrete(contexts)
        self._paths = {
            name: feature.place
            for name, feature in self._features.items()
            if isinstance(feature.place, AttributePath)
        }
        self.defaults = {name: feature.usual for name, feature in self._features.items()}
        super().__init__(space=contexts, return_range=return_range or extras.get("return_range"))
        self._check_reset_keeps(contexts)

    def build(self, context: dict[str, float], render_mode: str | None) -> gymnasium.Env[Any, Any]:
        """Make the environment with the context's arguments, then set its attributes."""
        values = {name: self._features[name].converted(value) for name, value in context.items()}
        env = self._make(
            {str(f.place): values[n] for n, f in self._features.items() if n not in self._paths},
            render_mode,
        )
        for name, path in self._paths.items():
            path.assign(env, values[name])
        if self._paths:
            update_constants_of_mujoco(env)
        return env

    def options(self) -> dict[str, Any]:
        """Return the arguments of the constructor, and what the dimensions are."""
        places = {
            name: {"path": str(f.place), **({"factor": True} if f.factor else {})}
            for name, f in self._features.items()
        }
        return {**self._arguments, "dimensions": places}

    def describe_feature(self, name: str) -> str:
        """Describe the part of the environment that a dimension is."""
        return self._features[name].describe()

    @property
    def is_known_everywhere(self) -> bool:
        """True if other processes find it by its name, and not only the one that registered it."""
        has_module = ":" in self.name.removeprefix(PREFIX)
        return has_module or is_registered_everywhere(self._spec)

    # -- inside ------------------------------------------------------------------------------

    def _make(
        self, arguments: Mapping[str, Any], render_mode: str | None = None
    ) -> gymnasium.Env[Any, Any]:
        given = {**self._arguments, **arguments}
        try:
            return make_registered(self._spec, render_mode, given)
        except Exception as error:
            raise FamilyError(
                f"{self.name!r} cannot be made with {given}: {describe_failure(error)}"
            ) from error

    def _find_features(self, space: ContextSpace, places: Mapping[str, Any]) -> dict[str, Feature]:
        """Find the argument or the attribute of each dimension, by its path or its name."""
        for name in places:
            known_name("dimension", name, space.names, has="the space has", error=FamilyError)
        given = {name: _read_place(name, places.get(name)) for name in space.names}
        middle = space.middle()
        found: dict[str, Feature] = {}
        for name, (path, factor) in given.items():
            if path in self._parameters:
                with self._explaining(name, path):
                    if path in self._arguments:
                        raise FamilyError("It is given as an option too: drop one of them.")
                    parameter = self._parameters[path]
                    usual = parameter.default
                    if usual is None or usual is parameter.empty:
                        usual = middle[name]
                    found[name] = Feature(path, usual, factor, str(parameter.annotation))
        env = self._make({str(f.place): f.converted(middle[n]) for n, f in found.items()})
        for name, (path, factor) in given.items():
            if path not in self._parameters:
                with self._explaining(name, path):
                    place = AttributePath.parse(path)
                    found[name] = Feature(place, deepcopy(place.read(env)), factor)
        close_quietly(env)
        return {name: found[name] for name in space.names}

    @contextmanager
    def _explaining(self, name: str, path: str) -> Iterator[None]:
        """Add the dimension to an error, and the arguments that could be meant."""
        try:
            yield
        except FamilyError as error:
            kind = "argument" if path in self._parameters else "attribute"
            message = (
                f"The dimension {name!r} cannot be the {kind} {path!r} of {self.name}. {error}"
            )
            if path.isidentifier() and kind == "attribute":  # an argument may have been meant
                message += f" The constructor takes {', '.join(self._parameters)}."
                message += did_you_mean(path, self._parameters)
            raise FamilyError(message) from None

    def _mark_discrete(self, space: ContextSpace) -> ContextSpace:
        """Mark dimensions of whole numbers, and of true and false, as discrete."""
        data = space.to_dict()
        for described, (name, dimension) in zip(
            data["dimensions"], space.dimensions.items(), strict=True
        ):
            feature = self._features[name]
            if isinstance(dimension, Levels):
                for value in dimension.knots.tolist():
                    feature.converted(dimension.show(value))
                if feature.must_be_whole:
                    described["discrete"] = True
            elif feature.must_be_whole:
                raise FamilyError(
                    f"The dimension {name!r} is {feature.describe()} of {self.name}, which has "
                    f"nothing between its values. Got {dimension!r}. List those that it may have."
                )
        return ContextSpace.from_dict(data)

    def _check_reset_keeps(self, space: ContextSpace) -> None:
        """Refuse attributes that are set again by `reset`, so that their values would be lost."""
        for context in (space.target(0), space.target(-1)):
            env = self.build(self.full_context(context), None)
            try:
                env.reset(seed=0)
            except Exception as error:
                raise FamilyError(
                    f"{self.name!r} failed in the context {context}: {describe_failure(error)}"
                ) from error
            for name, path in self._paths.items():
                wanted, now = self._features[name].converted(context[name]), path.read(env)
                if not np.array_equal(wanted, now):
                    raise FamilyError(
                        f"The dimension {name!r} of {self.name} is lost at every reset: {path} was "
                        f"set to {short_text(wanted)} and is {short_text(now)} afterwards. Use an "
                        "argument of the constructor, or the attribute that it is computed from; "
                        "or write a function (module:function)."
                    )
            close_quietly(env)


def _read_place(name: str, given: object) -> tuple[str, bool]:
    """Read the path of a dimension, and whether its values are factors."""
    data = given if isinstance(given, Mapping) else {"path": given or name}
    known_options(f"dimensions.{name}", data, ("path", "factor"), error=FamilyError)
    path, factor = data.get("path", name), data.get("factor", False)
    if not isinstance(path, str):
        raise FamilyError(f"The path of {name!r} must be a text. Got {short_text(path)} instead.")
    return path, check_bool("factor", factor, error=FamilyError)
