"""Additive: difficulty of the target plus a slope for each side of the source."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdmbtl.selectors.models.linear_gap_model import LinearGapModel


class AdditiveModel(LinearGapModel):
    """A slope for each side; a policy quality that is linear in x is in the slopes already."""

    name = "additive"
    words = "a policy's return changes steadily with the distance from its source"

    def basis(self, dimensions: int) -> NDArray[np.float64]:
        """Two slopes for each dimension."""
        return np.eye(2 * dimensions)
