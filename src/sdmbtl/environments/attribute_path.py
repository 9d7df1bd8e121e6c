"""Attributes of an environment by path, such as `unwrapped.model.opt.gravity[2]`.

A path is read by a small grammar of its own and never evaluated as code: names that do not begin
with an underscore, dots, and whole numbers in brackets.
"""

from __future__ import annotations

import re
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import gymnasium
import numpy as np

from sdmbtl.checks import did_you_mean, short_text
from sdmbtl.errors import FamilyError

_NAME = r"[A-Za-z][A-Za-z0-9_]*"
_PATH = re.compile(rf"{_NAME}(?:\.{_NAME}|\[-?[0-9]+\])*")
_STEP = re.compile(rf"({_NAME})|\[(-?[0-9]+)\]")

#: Where paths begin: the environment inside all wrappers.
START = "unwrapped"


@dataclass(frozen=True)
class AttributePath:
    """The way from an environment to one of its attributes.

    Attributes:
        steps: Names of attributes and indices, from the environment inside all wrappers on.

    Example:
        >>> path = AttributePath.parse("unwrapped.model.opt.gravity[2]")
        >>> path.steps
        ('model', 'opt', 'gravity', 2)
        >>> AttributePath.parse("model.body_mass[-1]")
        AttributePath('unwrapped.model.body_mass[-1]')
    """

    steps: tuple[str | int, ...]

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read a path; `unwrapped.` at its beginning may be left out.

        Raises:
            FamilyError: If it is not a path.
        """
        if not isinstance(text, str) or not _PATH.fullmatch(text) or text == START:
            raise FamilyError(
                f"A path is names, dots and indices, as {START}.model.opt.gravity[2]; names do not "
                f"begin with an underscore. Got {short_text(text)} instead."
            )
        found = _STEP.findall(text)
        steps = tuple(name or int(index) for name, index in found)
        return cls(steps[1:] if steps[0] == START else steps)

    def read(self, env: gymnasium.Env[Any, Any]) -> Any:
        """The value of an environment.

        Raises:
            FamilyError: If there is no such attribute; it names the step and what there is.
        """
        value: Any = env.unwrapped
        for number, step in enumerate(self.steps):
            try:
                value = _get(value, step)
            except (AttributeError, IndexError, KeyError, TypeError):
                raise self._missing(value, number) from None
        return value

    def assign(self, env: gymnasium.Env[Any, Any], value: Any) -> None:
        """Set the value of an environment.

        Lists, tuples and arrays on the way are replaced by changed copies: they may belong to the
        class, that is, to other environments too.

        Raises:
            FamilyError: If the value cannot be set.
        """
        try:
            _assign(env.unwrapped, self.steps, value)
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            raise FamilyError(f"{self} cannot be set to {short_text(value)}: {error}.") from error
        now = self.read(env)
        if not np.array_equal(now, value):
            raise FamilyError(
                f"{self} cannot be set: it is {short_text(now)} after it was set to "
                f"{short_text(value)}. Set the value that it is computed from."
            )

    def __str__(self) -> str:
        return START + _shown(self.steps)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def _missing(self, owner: object, number: int) -> FamilyError:
        """The error for a step that leads nowhere."""
        step, before = self.steps[number], START + _shown(self.steps[:number])
        if isinstance(step, str):
            known = [name for name in dir(owner) if not name.startswith("_")]
            return FamilyError(
                f"There is no {str(self)!r}: {before} (a {type(owner).__name__}) has no {step!r}."
                f"{did_you_mean(step, known)}"
            )
        size = f"{len(owner)} entries" if hasattr(owner, "__len__") else "no entries"
        return FamilyError(
            f"There is no {str(self)!r}: {before} (a {type(owner).__name__}) has {size}."
        )


def _get(owner: Any, step: str | int) -> Any:
    return getattr(owner, step) if isinstance(step, str) else owner[step]


def _assign(owner: Any, steps: tuple[str | int, ...], value: Any) -> Any:
    """Set a value; returns the owner, or of a container the changed copy."""
    step, rest = steps[0], steps[1:]
    if rest:
        inner = _get(owner, step)
        value = _assign(inner, rest, value)
        if value is inner:  # an object: it was changed itself
            return owner
    if isinstance(step, str):
        setattr(owner, step, value)
        return owner
    changed = list(owner) if isinstance(owner, tuple) else copy(owner)
    changed[step] = value
    return tuple(changed) if isinstance(owner, tuple) else changed


def _shown(steps: tuple[str | int, ...]) -> str:
    return "".join(f".{step}" if isinstance(step, str) else f"[{step}]" for step in steps)
