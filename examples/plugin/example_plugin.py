"""An environment family, a selector and a structure detector; keep what you need."""

import gymnasium
from scipy.stats.qmc import Halton

from sdmbtl.contexts import Range
from sdmbtl.environments import EnvironmentFamily
from sdmbtl.selectors import History, Proposal, Selector
from sdmbtl.transfer import ObservedRows
from sdmbtl.transfer.detection import NO_STRUCTURE, Detection, Detector


class Arm(EnvironmentFamily):
    """Gymnasium's pendulum with another gravity."""

    name, defaults, ranges = "Arm", {"g": 10.0}, {"planets": {"g": Range(3.0, 25.0, 6)}}

    def build(self, context: dict[str, float], render_mode: str | None) -> gymnasium.Env:
        """Make the environment of one context."""
        return gymnasium.make("Pendulum-v1", g=context["g"], render_mode=render_mode)


class HaltonSelector(Selector):
    """Spreads the sources evenly: the free target nearest to the next Halton point."""

    name = "halton"

    def propose(self, history: History) -> Proposal:
        """Choose the next source from the trials so far and the seed, and from nothing else."""
        points = Halton(history.space.n_units, rng=self.seed).random(len(history.trials) + 1)
        index = history.space.nearest_to_unit(points[-1], history.free_targets())
        return Proposal(history.space.source(index), self.name, "Next of an even spread.")


class SeparableDetector(Detector):
    """Detects that policies differ by a constant: rows minus their means are the same."""

    name, structures = "separable", ("separable", NO_STRUCTURE)

    def detect(self, rows: ObservedRows) -> Detection:
        """Compare the rows of all policies."""
        self.check_rows(rows)
        rest = rows.returns - rows.returns.mean(axis=1, keepdims=True)
        share = rest.std(axis=0).mean() / (rest.std() or 1.0)
        return Detection("separable" if share < 0.1 else NO_STRUCTURE, f"{share:.0%} varies")
