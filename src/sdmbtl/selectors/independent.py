"""Independent training: a policy for every target. The canonical baseline."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sdmbtl.selectors.base import Proposal, Selector
from sdmbtl.selectors.choice import free_targets
from sdmbtl.selectors.history import History


class IndependentTraining(Selector):
    """Trains on every target, in their order. Its policies are used on their own target only."""

    name: ClassVar[str] = "independent"

    def propose(self, history: History) -> Proposal:
        """Take the first target without a policy of its own."""
        index = int(np.argmax(free_targets(history)))
        return Proposal(
            history.space.targets[index],
            self.name,
            f"target {index + 1} of {len(history.space)}: each target gets its own policy",
        )
