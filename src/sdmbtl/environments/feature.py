"""A dimension of the context in an environment of somebody else: an argument or an attribute."""

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

#: Paths begin at the environment inside all wrappers.
START = "unwrapped"


@dataclass(frozen=True)
class AttributePath:
    """The way from an environment to one of its attributes, as `unwrapped.model.opt.gravity[2]`.

    A path is read by a small grammar and never evaluated as code: names that do not begin with an
    underscore, dots, and whole numbers in brackets.

    Attributes:
        steps: Names of attributes and indices, from the environment inside all wrappers on.

    Example:
        >>> AttributePath.parse("unwrapped.model.opt.gravity[2]").steps
        ('model', 'opt', 'gravity', 2)
        >>> str(AttributePath.parse("model.body_mass[-1]"))
        'unwrapped.model.body_mass[-1]'
    """

    steps: tuple[str | int, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a path; `unwrapped.` at its beginning may be left out.

        Raises:
            FamilyError: If it is not a path.
        """
        if not _PATH.fullmatch(text) or text == START:
            raise FamilyError(
                f"A path is names, dots and indices, as {START}.model.opt.gravity[2]; names do not "
                f"begin with an underscore. Got {short_text(text)} instead."
            )
        steps = tuple(name or int(index) for name, index in _STEP.findall(text))
        return cls(steps[1:] if steps[0] == START else steps)

    def read(self, env: gymnasium.Env[Any, Any]) -> Any:
        """Return the value of an environment; an error names the step that leads nowhere."""
        value: Any = env.unwrapped
        for step in self.steps:
            try:
                value = getattr(value, step) if isinstance(step, str) else value[step]
            except (AttributeError, IndexError, KeyError, TypeError):
                hint = did_you_mean(step, [name for name in dir(value) if name[0] != "_"])
                raise FamilyError(
                    f"There is no {str(self)!r}: a {type(value).__name__} has no {step!r}.{hint}"
                ) from None
        return value

    def assign(self, env: gymnasium.Env[Any, Any], value: Any) -> None:
        """Set the value of an environment.

        Lists, tuples and arrays on the way are replaced by changed copies: they may belong to the
        class, that is, to other environments too.
        """
        owners: list[Any] = [env.unwrapped]
        try:
            for step in self.steps[:-1]:
                owner = owners[-1]
                owners.append(getattr(owner, step) if isinstance(step, str) else owner[step])
            for owner, step in zip(reversed(owners), reversed(self.steps), strict=True):
                if isinstance(step, str):
                    setattr(owner, step, value)
                    return  # an object: it was changed itself
                changed = list(owner) if isinstance(owner, tuple) else copy(owner)
                changed[step] = value
                value = tuple(changed) if isinstance(owner, tuple) else changed
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            raise FamilyError(f"{self} cannot be set to {short_text(value)}: {error}.") from error

    def __str__(self) -> str:
        steps = (f".{step}" if isinstance(step, str) else f"[{step}]" for step in self.steps)
        return START + "".join(steps)


@dataclass(frozen=True)
class Feature:
    """An argument of the constructor, or the path of an attribute, and the values that it takes.

    Attributes:
        before: Its usual value.
        factor: True if values of the dimension are multiplied with the usual one.
        annotation: The type of an argument, as the constructor has it.

    Raises:
        FamilyError: If it is not a number; of an array with `factor`, numbers.
    """

    place: str | AttributePath
    before: Any
    factor: bool = False
    annotation: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.before, np.ndarray | list | tuple):
            if self.factor and isinstance(self.before, np.ndarray) and self.before.size:
                return
            raise FamilyError(
                f"It has {np.size(self.before)} values, {short_text(self.before)}: give the index "
                "of one ([0]), or multiply all values of an array (factor = true)."
            )
        if not isinstance(self.before, int | float | np.number | np.bool_ | str):
            raise FamilyError(f"It is not a number but {short_text(self.before)}.")

    @property
    def usual(self) -> Any:
        """The usual value of the dimension."""
        if isinstance(self.before, str):
            return self.before
        return 1.0 if self.factor else float(self.before)

    @property
    def must_be_whole(self) -> bool:
        """True if there is nothing between two of its values."""
        kind = np.asarray(self.before).dtype
        if isinstance(self.before, str):
            return False
        if isinstance(self.place, AttributePath) or kind == np.bool_:
            return kind == np.bool_ or np.issubdtype(kind, np.integer)
        words = set(re.findall(r"\w+", self.annotation))
        return "int" in words and "float" not in words

    def converted(self, value: Any) -> Any:
        """Convert a value of the dimension to the type that it has in the environment."""
        if isinstance(self.before, str) != isinstance(value, str):
            values = "texts" if isinstance(self.before, str) else "numbers"
            raise FamilyError(
                f"Values of {self.describe()} are {values}; the usual one is "
                f"{short_text(self.before)}. Got {short_text(value)}."
            )
        if isinstance(value, str):
            return value
        number = np.asarray(self.before * value if self.factor else value)
        kind = np.asarray(self.before).dtype
        if self.must_be_whole and not np.array_equal(number, number.astype(kind)):
            values = "true or false" if kind == np.bool_ else "whole numbers"
            raise FamilyError(
                f"Values of {self.describe()} are {values}; the usual one is "
                f"{short_text(self.before)}. Got {short_text(number.tolist())}. List those that it "
                "may have."
            )
        if np.issubdtype(kind, np.integer) and not np.array_equal(number, np.round(number)):
            return number.item()  # written `g=10` in a constructor, which takes fractions as well
        if isinstance(self.before, np.ndarray):
            return number.astype(kind)
        return type(self.before)(number.item())

    def describe(self) -> str:
        """Describe the place in a few words."""
        kind = "attribute" if isinstance(self.place, AttributePath) else "argument"
        return f"{'a factor on ' if self.factor else ''}the {kind} {str(self.place)!r}"
