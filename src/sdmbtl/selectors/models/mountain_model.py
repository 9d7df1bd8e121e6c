"""Mountain: performance falls with the distance to the source."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdmbtl.selectors.models.linear_gap_model import LinearGapModel
from sdmbtl.transfer.detection.detector import MOUNTAIN


class MountainModel(LinearGapModel):
    """The same slope on both sides of the source, no policy better than another."""

    name = MOUNTAIN
    words = "performance falls with the distance from the source, equally on both sides"

    def basis(self, dimensions: int) -> NDArray[np.float64]:
        """One slope for each dimension, with opposite signs on its two sides."""
        return np.vstack([-np.eye(dimensions), np.eye(dimensions)])
