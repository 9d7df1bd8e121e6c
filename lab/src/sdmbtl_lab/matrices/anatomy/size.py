"""How much data there is."""

from __future__ import annotations

from dataclasses import dataclass

from sdmbtl.contexts import Levels
from sdmbtl_lab.matrices.dataset import TransferDataset


@dataclass(frozen=True)
class DimensionSize:
    """One dimension: its range, its scale and how many values it has (None for an interval)."""

    name: str
    low: float
    high: float
    scale: str
    levels: int | None


@dataclass(frozen=True)
class Size:
    """How much data there is; `lowest` and `highest` are returns as they were measured."""

    contexts: int
    dimensions: tuple[DimensionSize, ...]
    grid: bool
    seeds: int
    episodes: int | None
    lowest: float
    highest: float


def size_of(dataset: TransferDataset, low: float, high: float) -> Size:
    """The size of a data set whose returns lie between `low` and `high`."""
    episodes = dataset.card.get("recipe", {}).get("episodes")
    return Size(
        contexts=len(dataset.space),
        dimensions=tuple(
            DimensionSize(
                name, d.low, d.high, d.scale, len(d.values) if isinstance(d, Levels) else None
            )
            for name, d in dataset.space.dimensions.items()
        ),
        grid=dataset.space.is_grid,
        seeds=len(dataset.matrices),
        episodes=None if episodes is None else int(episodes),
        lowest=low + 0.0,  # -0.0 would be printed with its sign
        highest=high + 0.0,
    )
