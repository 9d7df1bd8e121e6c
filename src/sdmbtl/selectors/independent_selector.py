"""Independent training: a policy for every target. The canonical baseline."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sdmbtl.selectors.base import Selector
from sdmbtl.selectors.history import History
from sdmbtl.selectors.proposal import Proposal


class IndependentTraining(Selector):
    """Trains on every target, in their order.

    As a baseline its policies are used on their own target only, the mean of J(pi_y, y);
    `performance` is, as for every selector, that of the best policy for each target.
    """

    name: ClassVar[str] = "independent"

    def propose(self, history: History) -> Proposal:
        """Take the first target without a policy of its own."""
        index = int(np.argmax(history.free_targets()))
        return Proposal(
            history.space.source(index),
            self.name,
            f"Target {index + 1} of {len(history.space)}: each target gets its own policy.",
        )
