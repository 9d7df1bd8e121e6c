"""Source: the contexts, the start and the length of a training run, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.checks import check_float, check_int
from sdmbtl.errors import ContextError


@dataclass(frozen=True)
class Source:
    """A region to train on, the policy to start from, and a number of steps.

    Selectors, studies and files pass a source on as a value and turn it into arrays only where
    it is used: `ContextSpace.region`, `.targets_in` and `.draw`. The paper's sources are points
    from scratch: a width of 0, no parent, the usual number of steps.

    Attributes:
        center: The centre of the region, in the order of the space's dimensions; of a point the
            context itself.
        width: Side of the region, as a share of each dimension's range in unit coordinates: 0 is
            a point, 1 with the centre in the middle the whole space. What lies outside of the
            space does not count.
        parent: Id of the trial whose policy is the start; None for a start from scratch.
        steps: Environment steps; None for as many as the trainer is set to.
        sees_context: True if the policy sees the context it acts in.

    Example:
        >>> Source.at([0.5, 2]).to_dict()
        {'center': [0.5, 2.0]}
        >>> Source.at([0.5, 2], width=0.25, parent=0).to_dict()
        {'center': [0.5, 2.0], 'width': 0.25, 'parent': 0}
    """

    center: tuple[float, ...]
    width: float = 0.0
    parent: int | None = None
    steps: int | None = None
    sees_context: bool = False

    def __post_init__(self) -> None:
        width = check_float("width", self.width, low=0.0, error=ContextError)
        if width > 1:
            raise ContextError(
                f"'width' must be from 0 (a point) to 1 (the whole space). Got {width} instead."
            )
        object.__setattr__(self, "width", width)
        for name, low in (("parent", 0), ("steps", 1)):
            if (given := getattr(self, name)) is not None:
                object.__setattr__(self, name, check_int(name, given, low=low, error=ContextError))

    @classmethod
    def at(
        cls,
        vector: ArrayLike,
        width: float = 0.0,
        parent: int | None = None,
        steps: int | None = None,
        sees_context: bool = False,
    ) -> Source:
        """The source around a (D,) context."""
        center = tuple(np.asarray(vector, dtype=np.float64).tolist())
        return cls(center, width, parent, steps, sees_context)

    @cached_property
    def vector(self) -> NDArray[np.float64]:
        """(D,) the centre."""
        vector = np.array(self.center)
        vector.setflags(write=False)
        return vector

    @property
    def is_point(self) -> bool:
        """True for a single context."""
        return self.width == 0

    @property
    def where(self) -> Source:
        """The same region, whatever the start and the steps."""
        return replace(self, parent=None, steps=None)

    def to_dict(self) -> dict[str, Any]:
        """The source as JSON data; what is as usual is left out."""
        set_ = {f.name: getattr(self, f.name) for f in fields(self)[1:]}
        usual = {f.name: f.default for f in fields(self)}
        return {"center": list(self.center)} | {n: v for n, v in set_.items() if v != usual[n]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Source:
        """Read it back."""
        try:
            return cls(**{**data, "center": tuple(float(value) for value in data["center"])})
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ContextError(f"This does not describe a source: {error}.") from None
