"""Policies trained on regions, from scratch and from others, as a data set of several seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace, Source
from sdmbtl.errors import MatrixError
from sdmbtl.transfer.storage import Shape
from sdmbtl_lab.matrices.storage import Dataset, ReturnCode, check_by_policy

KIND = "region data set"

_ARRAYS: dict[str, Shape] = {
    "centers": ("sources", "dimensions"),
    "widths": ("sources",),
    "parents": ("sources",),
    "steps": ("sources",),
    "returns": ("seeds", "sources", "targets"),
    "code": (2,),
    "source_returns": ("seeds", "sources"),
    "episode_variance": ("seeds", "sources"),
    "curve_steps": ("sources", "times"),
    "curves": ("seeds", "sources", "times"),
}
#: Stored where a source has no parent, or a curve no further steps.
_NONE = -1


@dataclass(frozen=True)
class RegionDataset(Dataset):
    """W seeds of S policies, each trained on a source, on N targets.

    Attributes:
        space: The targets.
        sources: Source of each policy, with its steps. A parent is the number of an
            earlier source: the policy of the same seed is the start.
        returns: (W, S, N) mean returns: seed, source, target.
        source_returns: (W, S) mean return of each policy on its training contexts, in the
            evaluation by which training found it the best.
        episode_variance: (W, S) variance between the episodes of one policy on one target, mean
            over the targets: divided by the number of episodes it is the evaluation's noise.
        curve_steps: (S, T) steps after which a policy was evaluated in training, NaN where its
            training was over.
        curves: (W, S, T) mean returns on its training contexts then.
        card: Provenance of the data, as JSON.
    """

    kind: ClassVar[str] = KIND
    shapes: ClassVar[Mapping[str, Shape]] = _ARRAYS

    space: ContextSpace
    sources: tuple[Source, ...]
    returns: NDArray[np.float64]
    source_returns: NDArray[np.float64]
    episode_variance: NDArray[np.float64]
    curve_steps: NDArray[np.float64]
    curves: NDArray[np.float64]
    card: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        seeds, sources = len(self.returns) if self.returns.ndim else 0, len(self.sources)
        check_by_policy({"returns": self.returns}, (max(seeds, 1), sources, len(self.space)))
        noise = {"source_returns": self.source_returns, "episode_variance": self.episode_variance}
        check_by_policy(noise, (seeds, sources))
        shape = self.curve_steps.shape
        if self.curves.shape != (seeds, *shape) or shape[0] != sources:
            raise MatrixError(
                f"'curves' of {seeds} seeds and {sources} sources must have a number for each "
                f"seed and each of the 'curve_steps', which have shape {shape}. "
                f"Got shape {self.curves.shape} instead."
            )
        for number, source in enumerate(self.sources):
            if source.steps is None or (source.parent is not None and source.parent >= number):
                raise MatrixError(
                    "A source of a data set has 'steps', and as 'parent' the number of an earlier "
                    f"one. Got {source!r} as number {number} instead."
                )

    @property
    def seeds(self) -> int:
        """W, the number of seeds."""
        return len(self.returns)

    @property
    def unit(self) -> int:
        """Environment steps of a policy that is trained as usual."""
        return int(self.card["recipe"]["training"]["total_timesteps"])

    @cached_property
    def steps(self) -> NDArray[np.int64]:
        """(S,) environment steps of each source alone."""
        return np.array([source.steps for source in self.sources], dtype=np.int64)

    @cached_property
    def total_steps(self) -> NDArray[np.int64]:
        """(S,) environment steps of each source and of all that it starts from."""
        total = self.steps.copy()
        for number, source in enumerate(self.sources):
            if source.parent is not None:
                total[number] += total[source.parent]
        return total

    @cached_property
    def is_generalist(self) -> NDArray[np.bool_]:
        """(S,) which of the sources are the whole space."""
        return np.array([self.space.is_whole(source) for source in self.sources], dtype=np.bool_)

    def curve(self, seed: int, number: int) -> tuple[tuple[int, float], ...]:
        """(steps, mean return on the training contexts) during the training of a policy."""
        steps = self.curve_steps[number]
        there = ~np.isnan(steps)
        values = self.curves[seed, number, there].tolist()
        return tuple(zip(steps[there].astype(int).tolist(), values, strict=True))

    def content(self) -> tuple[ContextSpace, dict[str, NDArray[Any]]]:
        """The space and the arrays to be written."""
        code = ReturnCode.of(self.returns, self.card)
        parents = [_NONE if s.parent is None else s.parent for s in self.sources]
        return self.space, {
            "centers": np.array([source.center for source in self.sources]),
            "widths": np.array([source.width for source in self.sources]),
            "parents": np.array(parents, dtype=np.int32),
            "steps": self.steps,
            "returns": code.encoded(self.returns),
            "code": np.array([code.low, code.step]),
            "source_returns": self.source_returns.astype(np.float32),
            "episode_variance": self.episode_variance.astype(np.float32),
            "curve_steps": np.nan_to_num(self.curve_steps, nan=_NONE).astype(np.int32),
            "curves": self.curves.astype(np.float32),
        }

    @classmethod
    def from_content(
        cls, space: ContextSpace, arrays: Mapping[str, NDArray[Any]], card: Mapping[str, Any]
    ) -> Self:
        """Make it again from what `content` gave."""
        each = (arrays[name].tolist() for name in ("centers", "widths", "parents", "steps"))
        sources = [
            Source.at(center, width, None if parent == _NONE else parent, steps)
            for center, width, parent, steps in zip(*each, strict=True)
        ]
        curve_steps = arrays["curve_steps"].astype(np.float64)
        return cls(
            space,
            tuple(sources),
            ReturnCode(*arrays["code"].tolist()).decoded(arrays["returns"]),
            arrays["source_returns"].astype(np.float64),
            arrays["episode_variance"].astype(np.float64),
            np.where(curve_steps < 0, np.nan, curve_steps),
            arrays["curves"].astype(np.float64),
            card,
        )


def ancestors(sources: Sequence[Source], number: int) -> list[int]:
    """The sources that one starts from, the nearest first."""
    found = []
    parent = sources[number].parent
    while parent is not None:
        found.append(parent)
        parent = sources[parent].parent
    return found
