"""How good a model's predictions were so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: After so many further predictions, what came of one counts half.
HALF_LIFE = 2.0
#: Shares that came are averaged as this power: 1 would be their mean, close to 0 the geometric one,
#: which is 0 as soon as one of them is.
POWER = 1 / 3
#: A share that came counts as at most this: next to nothing may have been expected.
LARGEST_SHARE = 10.0


@dataclass(frozen=True)
class Outcome:
    """What became of one prediction.

    Attributes:
        rows: Number of rows that were known then, failed runs not counted.
        score: How well the improvements were predicted, 0 to 1.
        error: Mean squared error of the returns.
        variance: Variance of the returns that was expected.
        expected: Mean improvement that was expected.
        gain: Mean improvement that came, on the best of the training runs that did not fail.
        above: Where more was expected than the largest return so far, on which share of the
            targets it came; None if nowhere.
    """

    rows: int
    score: float
    error: float
    variance: float
    expected: float
    gain: float
    above: float | None


@dataclass(frozen=True)
class TrackRecord:
    """How one model has done so far.

    Attributes:
        outcomes: What became of each of its predictions.
    """

    outcomes: tuple[Outcome, ...] = ()

    def added(self, outcome: Outcome) -> TrackRecord:
        """The record with one more outcome."""
        return TrackRecord((*self.outcomes, outcome))

    @property
    def score(self) -> float | None:
        """Mean of the scores; None before the first."""
        return float(np.mean([o.score for o in self.outcomes])) if self.outcomes else None

    @property
    def typical_error(self) -> float:
        """Geometric mean of the errors: one early failure must not dominate."""
        logarithms = [np.log(max(o.error, 1e-300)) for o in self.outcomes]
        return float(np.exp(0.5 * np.mean(logarithms)))

    @property
    def calibration(self) -> float | None:
        """How many times larger the squared errors were than expected; None before the first."""
        if not self.outcomes:
            return None
        errors = sum(o.error for o in self.outcomes)
        return errors / sum(o.variance for o in self.outcomes)

    @property
    def share_that_came(self) -> float:
        """Which share of the gains it expects is to be counted on, by the shares that came so far.

        Shares fall: early gains are large and easy to foresee, later ones are neither. So recent
        ones count more, and each of them as a share, whatever the size of the gain. They come in
        jumps, so their typical size is taken, a power mean. Before the first one, everything is
        supposed to have come once; that is forgotten like the rest.
        """
        came = [o.gain / o.expected for o in self.outcomes if o.expected > 0]
        roots = np.minimum([1.0, *came], LARGEST_SHARE) ** POWER
        ages = np.arange(len(roots))[::-1]
        return float(np.average(roots, weights=0.5 ** (ages / HALF_LIFE)) ** (1 / POWER))

    def ceiling(self, mean: NDArray[np.floating], seen: float) -> NDArray[np.floating]:
        """(m, n) the highest return to count on.

        It is the largest one seen, and more where more is expected, as long as such expectations
        were met: in a saturated environment they never are.

        Args:
            mean: (m, n) expected returns.
            seen: The largest return so far.
        """
        kept = [o.above for o in self.outcomes if o.above is not None]
        trust = (1 + sum(kept)) / (1 + len(kept))
        above = mean - seen
        np.maximum(above, 0.0, out=above)
        above *= trust
        above += seen
        return above
