"""One's own environments, from a function of the context."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import gymnasium

from sdmbtl.by_name import import_by_name
from sdmbtl.checks import short_text
from sdmbtl.contexts import SpaceLike, read_space
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.errors import FamilyError, describe_failure

if TYPE_CHECKING:
    from sdmbtl.environments.functional import FunctionalEnvironment

EnvironmentFactory = Callable[..., gymnasium.Env[Any, Any]]


class FactoryFamily(EnvironmentFamily):
    """The environments that a function makes: `factory(context) -> gymnasium.Env`.

    A function without arguments returns a `FunctionalEnvironment` instead: pure functions of JAX
    for all contexts, with which "ppo" trains many policies at once.

    The function is called with a dict of every dimension of the space and returns a new
    environment for that context, with its time limit. If it has a parameter `render_mode`, that
    is passed too. All contexts need the same observation and action spaces;
    `check_contextual_env` tests what else is needed.

    Args:
        factory: The function, or "module:function", importable also from the current directory.
        space: The contexts: a `ContextSpace` or the path of a TOML file.
        return_range: Lowest and highest return of an episode, if they are known.

    Raises:
        FamilyError: If there is no such function.

    Example:
        >>> import gymnasium
        >>> from sdmbtl import ContextSpace
        >>> def heavy_pendulum(context):
        ...     return gymnasium.make("Pendulum-v1", g=context["gravity"])
        >>> family = FactoryFamily(heavy_pendulum, ContextSpace(gravity=[5.0, 10.0, 15.0]))
        >>> family.make({"gravity": 15.0}).context
        {'gravity': 15.0}
    """

    def __init__(
        self,
        factory: str | EnvironmentFactory,
        space: SpaceLike,
        *,
        return_range: tuple[float, float] | None = None,
    ) -> None:
        self.factory: EnvironmentFactory
        if isinstance(factory, str):
            self.name = factory
            self.factory = import_by_name(
                factory, "factory", example="my_envs:make", error=FamilyError
            )
        else:
            self.name, self.factory = _importable_name(factory), factory
        try:
            parameters = inspect.signature(self.factory).parameters
            if parameters:
                inspect.signature(self.factory).bind({})
        except (TypeError, ValueError) as error:
            raise FamilyError(
                "A factory takes one argument, the context as a dict: def make(context). "
                f"{self.name!r} does not: {error}."
            ) from None
        self._takes_render_mode = "render_mode" in parameters
        self._functions = None if parameters else _make_functions(self.factory, self.name)
        if self._functions is not None:
            self.defaults = self._functions.defaults
        else:
            contexts, _ = read_space(space)
            self.defaults = contexts.middle()
        super().__init__(space=space, return_range=return_range)

    def build(self, context: dict[str, float], render_mode: str | None) -> gymnasium.Env[Any, Any]:
        """Call the factory; a `FamilyError` if it raises, or returns no environment."""
        if render_mode is not None and not self._takes_render_mode:
            raise FamilyError(
                f"{self.name!r} cannot be filmed: it has no parameter 'render_mode'. Write it as "
                "def make(context, render_mode=None), and pass that on to the environment."
            )
        if self._functions is not None:
            from sdmbtl.environments.functional.gymnasium_view import GymnasiumView

            return GymnasiumView(self._functions, context)
        arguments = {"render_mode": render_mode} if self._takes_render_mode else {}
        try:
            env: Any = self.factory(context, **arguments)
        except Exception as error:
            raise FamilyError(
                f"{self.name!r} failed for the context {context}: {describe_failure(error)}"
            ) from error
        if not isinstance(env, gymnasium.Env):
            raise FamilyError(
                f"{self.name!r} must return a gymnasium.Env. Got {short_text(env)} instead."
            )
        return env

    def functional(self) -> FunctionalEnvironment | None:
        """Return the functions of a factory without arguments."""
        return self._functions

    def settings(self) -> dict[str, Any]:
        """Describe the family as JSON data, if the factory can be imported by name."""
        if ":" not in self.name:
            raise FamilyError(
                f"The factory {self.name} cannot be found again by name. Write it as a function "
                "at the top of a module and pass it as 'module:function'."
            )
        return super().settings()


@cache
def _make_functions(factory: EnvironmentFactory, name: str) -> FunctionalEnvironment:
    """Call a factory of JAX functions, once: what is compiled for them serves all families."""
    try:
        made: Any = factory()
    except Exception as error:
        raise FamilyError(f"{name!r} failed: {describe_failure(error)}") from error
    from sdmbtl.environments.functional import FunctionalEnvironment

    if not isinstance(made, FunctionalEnvironment):
        raise FamilyError(
            f"{name!r} takes no context, so it must return a FunctionalEnvironment, for example of "
            f"from_gymnax. Got {short_text(made)} instead. Or write it as def make(context)."
        )
    return made


def _importable_name(factory: object) -> str:
    """Return the "module:function" that leads back to a callable, or a name without ":"."""
    module = getattr(factory, "__module__", "")
    name = getattr(factory, "__qualname__", type(factory).__name__)
    value = getattr(sys.modules.get(module), name, None)
    is_plain = inspect.isfunction(factory) or isinstance(factory, type)
    found = value is factory and is_plain and module != "__main__"
    return f"{module}:{name}" if found else str(name)
