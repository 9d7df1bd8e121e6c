"""The traffic light: when which road has green."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from sdmbtl.traffic.crossing import ENTRIES, MAIN_ROAD, STEP, Crossing

#: Seconds of amber after each green.
AMBER = 3.0


class RoadSignal(NamedTuple):
    """What one of the roads sees.

    Attributes:
        green: Whether it has green.
        amber: Whether it has amber.
        to_green: Seconds until its next green begins, 0 while it has green.
        to_red: Seconds until its green, the present or the next one, ends.
        to_next_green: Seconds until a green begins, after this one if it has green.
    """

    green: bool
    amber: bool
    to_green: float
    to_red: float
    to_next_green: float


@dataclass(frozen=True)
class SignalPlan:
    """A program of four phases that repeats: green and amber of the main road, then the other's.

    Attributes:
        green: Seconds of green on the main road, a whole number of steps.
        red: Seconds of red there: green and amber of the other road.
    """

    green: float
    red: float

    @classmethod
    def of(cls, crossing: Crossing) -> SignalPlan:
        """The plan of a crossing: SUMO switches between steps, so its times are rounded to them."""
        least = AMBER + STEP
        return cls(_round(crossing.green, STEP), _round(crossing.red, least))

    @property
    def cycle(self) -> float:
        """Seconds after which everything repeats."""
        return self.green + AMBER + self.red

    @property
    def durations(self) -> tuple[float, float, float, float]:
        """Seconds of each phase: main green, main amber, other green, other amber."""
        return self.green, AMBER, self.red - AMBER, AMBER

    def signals(self, time: float) -> tuple[RoadSignal, ...]:
        """What each of the entries sees at a time."""
        main, other = self.main_road(time), self.other_road(time)
        return tuple(main if entry in MAIN_ROAD else other for entry in ENTRIES)

    def main_road(self, time: float) -> RoadSignal:
        """What the main road sees at a time."""
        return _look(time % self.cycle, self.green, self.cycle)

    def other_road(self, time: float) -> RoadSignal:
        """What the other road sees at a time."""
        since = (time - self.green - AMBER) % self.cycle
        return _look(since, self.red - AMBER, self.cycle)


def _look(since: float, green: float, cycle: float) -> RoadSignal:
    """What is seen some seconds after a green began."""
    rest = cycle - since
    if since < green:
        return RoadSignal(True, False, 0.0, green - since, rest)
    return RoadSignal(False, since < green + AMBER, rest, rest + green, rest)


def _round(seconds: float, least: float) -> float:
    return max(round(seconds / STEP) * STEP, least)
