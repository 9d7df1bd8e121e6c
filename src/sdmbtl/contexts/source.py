"""What a policy is trained on, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.errors import ContextError


@dataclass(frozen=True)
class Source:
    """What a policy is trained on: one context, a point of the box.

    Selectors, studies and files pass a source on as a value and turn it into arrays only where
    it is used, so that it can become more than a point: a region, a policy to start from.

    Attributes:
        center: The context, in the order of the space's dimensions.

    Example:
        >>> Source.at([0.5, 2]).to_dict()
        {'center': [0.5, 2.0]}
    """

    center: tuple[float, ...]

    @classmethod
    def at(cls, vector: ArrayLike) -> Source:
        """The source at a (D,) context."""
        return cls(tuple(np.asarray(vector, dtype=np.float64).tolist()))

    @property
    def vector(self) -> NDArray[np.float64]:
        """(D,) the context."""
        return np.array(self.center)

    def to_dict(self) -> dict[str, Any]:
        """The source as JSON data."""
        return {"center": list(self.center)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Source:
        """Read it back.

        Raises:
            ContextError: If it does not describe a source.
        """
        try:
            return cls.at([float(value) for value in data["center"]])
        except (KeyError, TypeError, ValueError) as error:
            raise ContextError(f"This does not describe a source: {error!r}.") from None
