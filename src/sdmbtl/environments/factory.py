"""One's own environments, from a function of the context."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import gymnasium

from sdmbtl.checks import did_you_mean, short_text
from sdmbtl.contexts import SpaceLike, read_space
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.parallel import is_parallel_env
from sdmbtl.errors import FamilyError

EnvironmentFactory = Callable[..., gymnasium.Env[Any, Any]]


class FactoryFamily(EnvironmentFamily):
    """The environments that a function makes: `factory(context) -> gymnasium.Env`.

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
        self._factory = _import_factory(factory) if isinstance(factory, str) else factory
        self.name = factory if isinstance(factory, str) else _name(factory)
        if not callable(self._factory):
            raise FamilyError(
                f"A factory must be callable, as factory(context) -> gymnasium.Env. "
                f"{self.name!r} is {short_text(self._factory)}."
            )
        self._takes_render_mode = "render_mode" in _parameters(self._factory)
        contexts, extras = read_space(space)
        self.defaults = contexts.context(contexts.from_unit([0.5] * contexts.n_dimensions))
        super().__init__(space=contexts, return_range=return_range or extras.get("return_range"))

    def build(self, context: dict[str, float], render_mode: str | None) -> gymnasium.Env[Any, Any]:
        """Call the factory.

        Raises:
            FamilyError: If it raises, or returns no environment.
        """
        if render_mode is not None and not self._takes_render_mode:
            raise FamilyError(
                f"{self.name!r} cannot render: it has no parameter 'render_mode'. Write it as "
                "factory(context, render_mode=None)."
            )
        arguments = {"render_mode": render_mode} if self._takes_render_mode else {}
        try:
            env: Any = self._factory(context, **arguments)
        except Exception as error:
            raise FamilyError(
                f"{self.name!r} failed for the context {context}: {type(error).__name__}: {error}"
            ) from error
        if not isinstance(env, gymnasium.Env) and not is_parallel_env(env):
            raise FamilyError(
                f"{self.name!r} must return a gymnasium.Env. Got {short_text(env)} instead."
            )
        return cast("gymnasium.Env[Any, Any]", env)

    def settings(self) -> dict[str, Any]:
        """Describe the family as JSON data.

        Raises:
            FamilyError: If the factory cannot be imported by name, to make the family again.
        """
        if ":" not in self.name:
            raise FamilyError(
                f"The factory {self.name} cannot be found again by name. Write it as a function "
                "at the top of a module and pass it as 'module:function'."
            )
        return super().settings()


def _import_factory(name: str) -> Any:
    """What "module:function" stands for."""
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise FamilyError(
            f"A factory is given as 'module:function', for example 'my_envs:make'. Got {name!r}."
        )
    try:
        with _search_current_directory():
            value = importlib.import_module(module_name)
    except Exception as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{module_name}.".startswith(f"{missing}."):
            raise FamilyError(
                f"There is no module {missing!r}, needed for the factory {name!r}. Modules are "
                f"looked for where Python looks for them and in {str(Path.cwd())!r}."
            ) from None
        raise FamilyError(
            f"The module of the factory {name!r} cannot be imported: "
            f"{type(error).__name__}: {error}"
        ) from error
    for part in attribute.split("."):
        known = [n for n in dir(value) if not n.startswith("_")]
        if not hasattr(value, part):
            raise FamilyError(
                f"{module_name!r} has no {attribute!r}, needed for the factory {name!r}."
                f"{did_you_mean(part, known)}"
            )
        value = getattr(value, part)
    return value


@contextmanager
def _search_current_directory() -> Iterator[None]:
    """Let imports find modules of the current directory, as `python script.py` would."""
    directory = str(Path.cwd())
    sys.path.insert(0, directory)
    try:
        # Written a moment ago, a module may be missing in what Python remembers of the folder.
        importlib.invalidate_caches()
        yield
    finally:
        sys.path.remove(directory)


def _name(factory: object) -> str:
    """The "module:function" that leads back to a callable, or a name without ":" if none does."""
    module = getattr(factory, "__module__", "")
    name = getattr(factory, "__qualname__", type(factory).__name__)
    value: object = sys.modules.get(module)
    for part in name.split("."):
        value = getattr(value, part, None)
    return f"{module}:{name}" if value is factory and module != "__main__" else str(name)


def _parameters(factory: EnvironmentFactory) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(factory).parameters
    except (TypeError, ValueError):  # some built-in callables have no signature
        return {}
