"""The matrix factory: a policy for every target, on every target."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sdmbtl_lab.matrices.dataset import TransferDataset
from sdmbtl_lab.matrices.factory import Factory
from sdmbtl_lab.matrices.matrix_recipe import MatrixRecipe
from sdmbtl_lab.matrices.matrix_units import MatrixUnit, compute_matrix_unit, matrix_units
from sdmbtl_lab.matrices.transfer_matrices import TransferMatrices
from sdmbtl_lab.matrices.units import Computation, Rows


class MatrixFactory(Factory[MatrixRecipe, MatrixUnit, Rows, TransferDataset]):
    """Makes transfer matrices whose sources are the targets; see `Factory`."""

    rows_type = Rows

    def units(self, seed: int) -> list[MatrixUnit]:
        """The work of one seed."""
        return matrix_units(self.recipe, seed)

    @property
    def computation(self) -> Computation[MatrixUnit, Rows]:
        """Function that does a piece of work."""
        return partial(compute_matrix_unit, self.recipe)

    def assemble(self, each: Sequence[Sequence[tuple[MatrixUnit, Rows]]]) -> TransferDataset:
        """A data set of what was computed for each seed."""
        single = [[rows for unit, rows in seed if unit.multi_task is None] for seed in each]

        def stacked(attribute: str) -> NDArray[np.float64]:
            return np.stack([np.concatenate([getattr(r, attribute) for r in s]) for s in single])

        return TransferDataset(
            TransferMatrices(self.recipe.space, stacked("returns")),
            stacked("source_returns"),
            stacked("episode_variance"),
            {
                k: np.concatenate(
                    [rows.returns for seed in each for u, rows in seed if u.multi_task == k]
                )
                for k in self.recipe.multi_task
            },
            self.card(each),
        )
