"""The factory of matrices whose sources are regions."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl_lab.matrices.factory import Factory
from sdmbtl_lab.matrices.region_dataset import RegionDataset
from sdmbtl_lab.matrices.region_recipe import RegionRecipe
from sdmbtl_lab.matrices.region_units import (
    RegionRows,
    RegionUnit,
    compute_region_unit,
    policy_path,
    region_units,
)
from sdmbtl_lab.matrices.units import Computation


class RegionFactory(Factory[RegionRecipe, RegionUnit, RegionRows, RegionDataset]):
    """Makes generalists and specialists, each on every target; see `Factory`."""

    rows_type = RegionRows

    def units(self, seed: int) -> list[RegionUnit]:
        """The work of one seed."""
        return region_units(self.recipe, seed)

    @property
    def computation(self) -> Computation[RegionUnit, RegionRows]:
        """Function that does a piece of work."""
        return partial(compute_region_unit, self.recipe, self.out)

    def is_done(self, unit: RegionUnit) -> bool:
        """Return if the rows are there, and the policies that others have yet to start from."""
        if not super().is_done(unit):
            return False
        missing = {n for n in unit.parents if not policy_path(self.out, unit.seed, n).exists()}
        return not missing or all(map(self.is_done, self._children(unit.seed, missing)))

    def _children(self, seed: int, parents: AbstractSet[int]) -> list[RegionUnit]:
        """The work of a seed that starts from the policies of these sources."""
        sources = self.recipe.sources
        return [u for u in self.units(seed) if any(sources[n].parent in parents for n in u.sources)]

    def assemble(self, each: Sequence[Sequence[tuple[RegionUnit, RegionRows]]]) -> RegionDataset:
        """A data set of what was computed for each seed."""

        def stacked(attribute: str) -> NDArray[np.float64]:
            return np.stack([_in_order(seed, attribute) for seed in each])

        curves = stacked("curves")
        return RegionDataset(
            self.recipe.space,
            self.recipe.sources,
            stacked("returns"),
            stacked("source_returns"),
            stacked("episode_variance"),
            curves[0, :, :, 0],
            curves[..., 1],
            self.card(each),
        )


def _in_order(seed: Sequence[tuple[RegionUnit, RegionRows]], attribute: str) -> NDArray[np.float64]:
    """(S, ...) one row for each source; curves that are shorter are filled up with NaN."""
    by_number: dict[int, Any] = {}
    for unit, rows in seed:
        by_number |= zip(unit.sources, getattr(rows, attribute), strict=True)
    ordered = [np.asarray(by_number[number]) for number in range(len(by_number))]
    longest = max((len(row) for row in ordered if row.ndim == 2), default=0)
    return np.stack(
        [
            np.pad(row, ((0, longest - len(row)), (0, 0)), constant_values=np.nan)
            if row.ndim == 2
            else row
            for row in ordered
        ]
    )
