"""Files of data sets: returns in two bytes each, and a card next to them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import short_text
from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import MatrixError
from sdmbtl.files import write_atomically
from sdmbtl.foreign import read_json
from sdmbtl.transfer.storage import Shape, load_arrays, save_arrays
from sdmbtl.wording import printable

#: Returns are kept as whole multiples of a step, from 0 to this.
LARGEST_CODE = 2**16 - 1
#: Numbers below this have digits enough for their neighbours to be distinct.
_EXACT_BELOW = 2.0**52


@dataclass(frozen=True)
class ReturnCode:
    """Returns as whole numbers: low + step * number."""

    low: float
    step: float

    @classmethod
    def of(cls, returns: NDArray[np.floating], card: Mapping[str, Any]) -> Self:
        """The code of some returns, exact if they are means of whole numbers."""
        episodes = int(card.get("recipe", {}).get("episodes", 1))
        low, high = float(returns.min()), float(returns.max())
        if max(abs(low), abs(high)) * episodes < _EXACT_BELOW:
            exact = cls(round(low * episodes) / episodes, 1 / episodes)
            if np.array_equal(exact.decoded(exact.encoded(returns)), returns):
                return exact
        return cls(low, (high - low) / LARGEST_CODE or 1.0)

    def encoded(self, returns: NDArray[np.floating]) -> NDArray[np.uint16]:
        """Returns as whole numbers."""
        numbers = np.rint((returns - self.low) / self.step)
        codes: NDArray[np.uint16] = np.clip(numbers, 0, LARGEST_CODE).astype(np.uint16)
        return codes

    def decoded(self, numbers: NDArray[np.uint16]) -> NDArray[np.float64]:
        """Whole numbers as returns."""
        values = self.low + self.step * numbers.astype(np.float64)
        # Multiples of one over a whole number, such as means of whole returns: the quotient of
        # whole numbers is the mean itself, to the last digit.
        parts = round(1 / self.step) if self.step > 1 / LARGEST_CODE else 0
        if parts and self.step == 1 / parts and self.low == round(self.low * parts) / parts:
            values = np.rint(values * parts) / parts
        return values


class Dataset(ABC):
    """Returns of several seeds in an npz file, and a card next to it with their provenance.

    Attributes:
        kind: Content of the file by its header.
        shapes: The arrays that it has, with their shapes.
        card: Provenance of the data, as JSON.
    """

    kind: ClassVar[str]
    shapes: ClassVar[Mapping[str, Shape]]
    card: Mapping[str, Any]

    @abstractmethod
    def content(self) -> tuple[ContextSpace, dict[str, NDArray[Any]]]:
        """The space and the arrays to be written; the first axis of "returns" is the seeds."""

    @classmethod
    @abstractmethod
    def from_content(
        cls, space: ContextSpace, arrays: Mapping[str, NDArray[Any]], card: Mapping[str, Any]
    ) -> Self:
        """Make it again from what `content` gave."""

    @property
    def name(self) -> str:
        """Name of the data set."""
        return printable(str(self.card.get("name", "matrix")))  # it is drawn into figures too

    def save(self, path: str | Path) -> None:
        """Write `path` (npz) and next to it the card (json).

        The same returns give the same bytes of the npz file. Returns that are multiples of one
        over the number of episodes, as of environments with whole rewards, are kept exactly;
        others are rounded to the nearest of 65536 values from the lowest to the highest. Other
        numbers are kept with 32 bits.
        """
        path = Path(path)
        space, arrays = self.content()
        save_arrays(path, kind=self.kind, space=space, arrays=arrays)
        write_atomically(card_path(path), (json.dumps(dict(self.card), indent=1) + "\n").encode())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` has written."""
        path = Path(path)
        space, arrays = load_arrays(path, kind=cls.kind, arrays=cls.shapes)
        card = _load_card(path)
        try:
            dataset = cls.from_content(space, arrays, card)
        except (TypeError, ValueError, LookupError, ArithmeticError) as error:
            raise MatrixError(f"{path} is damaged ({error}).") from None
        seeds = len(arrays["returns"])
        if card.get("seeds", seeds) != seeds:
            raise MatrixError(
                f"{card_path(path)} is the card of {card['seeds']} seeds, but {path} has "
                f"{seeds}: one of them is of an earlier time. Write both again."
            )
        return dataset


def check_by_policy(arrays: Mapping[str, NDArray[np.float64]], shape: tuple[int, ...]) -> None:
    """Check arrays, by name, that have a number for each seed and something else."""
    for name, array in arrays.items():
        if array.shape != shape or not np.isfinite(array).all():
            raise MatrixError(
                f"{name!r} must be finite numbers of shape (seeds, ...), here {shape}. "
                f"Got {short_text(array.tolist())} instead."
            )


def card_path(path: Path) -> Path:
    """Return the path of a data set's card."""
    return path.with_suffix(".json")


def _load_card(path: Path) -> dict[str, Any]:
    card = card_path(path)
    try:
        return dict(read_json(card))
    except FileNotFoundError:
        raise MatrixError(
            f"The card of {path} is missing: {card.name}, which says how the data were made, "
            "belongs next to it. Copy both."
        ) from None
    except (TypeError, ValueError) as error:
        raise MatrixError(f"{card} is damaged ({error}).") from None
