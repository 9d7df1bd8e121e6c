"""What a dimension of the context is in an environment of somebody else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdmbtl.checks import short_text
from sdmbtl.environments.attribute_path import AttributePath
from sdmbtl.errors import FamilyError


@dataclass(frozen=True)
class Feature:
    """An argument of the constructor, or an attribute, and which values it takes.

    Attributes:
        place: The name of the argument, or the path of the attribute.
        before: Its usual value.
        factor: Whether values of the dimension are multiplied with the usual one.
        annotation: The type of an argument, as the constructor has it.

    Raises:
        FamilyError: If it is not a number; of an array with `factor`, numbers.
    """

    place: str | AttributePath
    before: Any
    factor: bool = False
    annotation: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.before, np.ndarray) and self.before.size and self.factor:
            return
        if isinstance(self.before, np.ndarray | list | tuple):
            raise FamilyError(
                f"It has {np.size(self.before)} values, {short_text(self.before)}: give the index "
                "of one ([0]), or multiply all values of an array (factor = true)."
            )
        if not isinstance(self.before, int | float | np.number | np.bool_):
            raise FamilyError(f"It is not a number but {short_text(self.before)}.")

    @property
    def usual(self) -> float:
        """The usual value of the dimension."""
        return 1.0 if self.factor else float(self.before)

    def converted(self, value: float) -> Any:
        """What the environment gets for a value of the dimension, of the type it has there.

        Raises:
            FamilyError: If a fraction is given for what is whole.
        """
        number = np.asarray(self.before * value if self.factor else value)
        kind = np.asarray(self.before).dtype
        if self.must_be_whole and not np.array_equal(number, number.astype(kind)):
            values = "true or false" if kind == np.bool_ else "whole numbers"
            raise FamilyError(
                f"Values of {self.in_words()} are {values}; the usual one is "
                f"{short_text(self.before)}. Got {short_text(number.tolist())}. List those that it "
                "may have."
            )
        if np.issubdtype(kind, np.integer) and not np.array_equal(number, np.round(number)):
            return number.item()  # written `g=10` in a constructor, which takes fractions as well
        if isinstance(self.before, np.ndarray):
            return number.astype(kind)
        return type(self.before)(number.item())

    def to_dict(self) -> dict[str, Any]:
        """The place as JSON data, as the dimension of a TOML file has it."""
        return {"path": str(self.place), **({"factor": True} if self.factor else {})}

    def in_words(self) -> str:
        """The place as a short text."""
        kind = "attribute" if isinstance(self.place, AttributePath) else "argument"
        return f"{'a factor on ' if self.factor else ''}the {kind} {str(self.place)!r}"

    @property
    def must_be_whole(self) -> bool:
        """Whether there is nothing between two of its values."""
        kind = np.asarray(self.before).dtype
        if isinstance(self.place, AttributePath) or kind == np.bool_:
            return kind == np.bool_ or np.issubdtype(kind, np.integer)
        words = set(re.findall(r"\w+", self.annotation))
        return "int" in words and "float" not in words
