"""Baselines that look at no return: random selection, and a policy for every target."""

from __future__ import annotations

from typing import Any, ClassVar, get_args

import numpy as np

from sdmbtl.checks import known_name
from sdmbtl.contexts import ContextSpace, Source
from sdmbtl.errors import SelectorError
from sdmbtl.selectors.acquisition import Sources
from sdmbtl.selectors.base import Selector
from sdmbtl.selectors.history import History
from sdmbtl.selectors.trial import Proposal


class RandomSelector(Selector):
    """Chooses at random, by the weights of the targets, never the same context twice.

    Args:
        space: The context space.
        seed: Seed of the choices.
        sources: "targets", or "box" for any point of the box around them.
    """

    name: ClassVar[str] = "random"

    def __init__(self, space: ContextSpace, *, seed: int = 0, sources: Sources = "targets") -> None:
        super().__init__(space, seed=seed)
        known_name("sources", sources, get_args(Sources), error=SelectorError)
        self.sources = sources

    def settings(self) -> dict[str, Any]:
        """Every setting that changes the choices."""
        return {"sources": self.sources}

    def propose(self, history: History) -> Proposal:
        """Draw the next source."""
        rng = history.rng(self.name)
        if self.sources == "box":
            if all(d.low == d.high for d in history.space.dimensions.values()):
                history.free_targets()  # the box is a single point
            point = history.space.snap(rng.random(history.space.n_units))
            return Proposal(Source.at(point), self.name, "A random point of the box.")
        everything = history.whole  # a sample would offer fewer
        free = np.flatnonzero(everything.free_targets())
        weights = everything.space.weights
        shares = None if weights is None else weights[free] / weights[free].sum()
        source = everything.space.source(int(rng.choice(free, p=shares)))
        return Proposal(source, self.name, f"A random one of {len(free)} targets left.")


class IndependentTraining(Selector):
    """Trains on every target, in their order.

    As a baseline its policies are used on their own target only, the mean of J(pi_y, y);
    `performance` is, as for every selector, that of the best policy for each target.
    """

    name: ClassVar[str] = "independent"

    def propose(self, history: History) -> Proposal:
        """Take the first target without a policy."""
        index = int(np.argmax(history.free_targets()))
        reason = f"Target {index + 1} of {len(history.space)}: each target gets its own policy."
        return Proposal(history.space.source(index), self.name, reason)
