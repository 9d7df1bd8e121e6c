"""The programs of the traffic lights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdmbtl_traffic.crossing import ENTRIES, MAIN_ROAD, STEP, Crossing

#: Seconds of amber after each green.
AMBER = 3.0


class Signals(NamedTuple):
    """The lights at a moment; each attribute is an array over entries.

    Attributes:
        green: True where it is green.
        amber: True where it is amber.
        to_green: Seconds until its next green begins, 0 while it has green.
        to_red: Seconds until its green, the present or the next one, ends.
        to_next_green: Seconds until a green begins, after this one if it has green.
    """

    green: NDArray[np.bool_]
    amber: NDArray[np.bool_]
    to_green: NDArray[np.float64]
    to_red: NDArray[np.float64]
    to_next_green: NDArray[np.float64]


class SignalPlan:
    """The programs of some crossings: green and amber of the main road, then the other's.

    SUMO switches between steps, so all times are rounded to them.

    Args:
        crossings: The crossings.

    Attributes:
        durations: Seconds of the phases of each crossing: main green, main amber, other green,
            other amber.
    """

    def __init__(self, crossings: Sequence[Crossing]) -> None:
        def rounded(seconds: float, least: float) -> float:
            return max(round(seconds / STEP) * STEP, least)

        self.durations = [
            (rounded(c.green, STEP), AMBER, rounded(c.red, AMBER + STEP) - AMBER, AMBER)
            for c in crossings
        ]
        is_main = np.tile([entry in MAIN_ROAD for entry in ENTRIES], len(crossings))
        main, amber, other, last = np.repeat(self.durations, len(ENTRIES), axis=0).T
        self._cycle = main + amber + other + last
        self._green = np.where(is_main, main, other)
        self._begins = np.where(is_main, 0.0, main + amber)

    def at(self, time: float) -> Signals:
        """Return the lights of all entries, those of the first crossing first."""
        since = (time - self._begins) % self._cycle
        rest = self._cycle - since
        green = since < self._green
        amber = ~green & (since < self._green + AMBER)
        to_red = np.where(green, self._green - since, rest + self._green)
        return Signals(green, amber, np.where(green, 0.0, rest), to_red, rest)
