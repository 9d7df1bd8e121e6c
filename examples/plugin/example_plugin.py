"""An environment family, a selector and a structure detector; keep what you need."""

import gymnasium
import numpy as np
from scipy.stats.qmc import Halton
from sdmbtl.contexts import Range
from sdmbtl.environments import EnvironmentFamily
from sdmbtl.selectors import Proposal, Selector
from sdmbtl.transfer.detection import NO_STRUCTURE, Detection, Detector


class Arm(EnvironmentFamily):
    """Gymnasium's pendulum with another gravity."""

    name, defaults, ranges = "Arm", {"g": 10.0}, {"planets": {"g": Range(3.0, 25.0, 6)}}

    def build(self, context, render_mode):
        return gymnasium.make("Pendulum-v1", g=context["g"], render_mode=render_mode)


class HaltonSelector(Selector):
    """Spreads the sources evenly: the free target nearest to the next Halton point."""

    name = "halton"

    def propose(self, history):
        point = Halton(history.space.n_dimensions, rng=self.seed).random(len(history.trials) + 1)[
            -1
        ]
        index = history.space.nearest_to_unit(point, history.free_targets())
        return Proposal(history.space.source(index), self.name, "Next of an even spread.")


class SeparableDetector(Detector):
    """Detects that policies differ by a constant: rows minus their means are the same."""

    name, structures = "separable", ("separable", NO_STRUCTURE)

    def detect(self, rows):
        self.check_rows(rows)
        rest = rows.returns - rows.returns.mean(axis=1, keepdims=True)
        share = rest.std(axis=0).mean() / (rest.std() or 1.0)
        return Detection("separable" if share < 0.1 else NO_STRUCTURE, f"{share:.0%} varies")
