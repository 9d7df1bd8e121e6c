"""How many more policies a coverage takes: a forecast with an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

#: Forecasts for so many policies, and for twice as many, say how gains fall.
STEP = 3
#: As many policies are looked ahead; what is not reached then counts as never.
HORIZON = 100
#: Before the first forecast is tested, one is supposed to have been off by this factor.
SUPPOSED_SPREAD = 4.0
#: A forecast counts as off by at most this factor: what came may be nothing.
LARGEST_SPREAD = 8.0


@dataclass(frozen=True)
class GainCurve:
    """What further policies add together, if each adds a fixed share of what the last one added.

    Attributes:
        first: What the first three add.
        decay: The gain of each policy as a share of the gain of the one before, 0 to 1.
    """

    first: float
    decay: float

    @classmethod
    def through(cls, three: float, six: float) -> GainCurve:
        """The curve through the forecasts for three and for six policies."""
        if three <= 0:
            return cls(0.0, 0.0)
        ratio = min(max(six / three - 1.0, 0.0), 1.0)
        return cls(three, ratio ** (1 / STEP))

    def after(self, policies: int) -> float:
        """What so many policies add."""
        if self.decay == 1.0:
            return self.first * policies / STEP
        return self.first * (1 - self.decay**policies) / (1 - self.decay**STEP)

    def policies_for(self, gain: float, most: int) -> int | None:
        """After how many policies, at most so many, a gain is reached; None if never."""
        return next((n for n in range(most + 1) if self.after(n) >= gain), None)


@dataclass(frozen=True)
class Reach:
    """When a coverage will be reached, as forecast.

    Attributes:
        wanted: The coverage.
        policies: Smallest and largest number of further policies; None instead of the largest if
            it may never be reached. None if it is not predicted to be reached.
        steps: The same in environment steps; None if they are not known.
        levels_off_at: The coverage that forecasts lead to in the long run.
        levels_off_between: The same if gains are as much lower, and as much higher, than forecast
            as they were.
    """

    wanted: float
    policies: tuple[int, int | None] | None
    steps: tuple[int, int | None] | None
    levels_off_at: float
    levels_off_between: tuple[float, float]

    def to_dict(self) -> dict[str, Any]:
        """As JSON data."""
        return {
            "coverage": self.wanted,
            "reached": self.policies == (0, 0),
            "policies": None if self.policies is None else list(self.policies),
            "steps": None if self.steps is None else list(self.steps),
            "levels_off_at": self.levels_off_at,
            "levels_off_between": list(self.levels_off_between),
        }


def reach_of(
    wanted: float,
    coverage: float,
    curve: GainCurve,
    spread: float,
    *,
    most: int = HORIZON,
    steps_per_policy: float | None = None,
) -> Reach:
    """When a coverage will be reached.

    Args:
        wanted: The coverage to be reached.
        coverage: The coverage now.
        curve: What further policies are expected to add to it.
        spread: By what factor forecasts were off so far, either way.
        most: Number of policies that are looked ahead.
        steps_per_policy: Mean environment steps of a policy, if known.
    """
    missing = wanted - coverage
    earliest, expected, latest = (
        curve.policies_for(missing / factor, most) for factor in (spread, 1.0, 1 / spread)
    )
    policies = None if earliest is None or expected is None else (earliest, latest)
    steps = None
    if policies is not None and steps_per_policy:
        first, last = policies
        most_steps = None if last is None else round(last * steps_per_policy)
        steps = (round(first * steps_per_policy), most_steps)
    low, middle, high = (
        min(coverage + factor * curve.after(most), max(1.0, coverage))
        for factor in (1 / spread, 1.0, spread)
    )
    return Reach(wanted, policies, steps, middle, (low, high))


def spread_of(expected: Sequence[float], came: Sequence[float]) -> float:
    """By what factor forecasts of three policies together were off: root mean square of logarithms.

    Args:
        expected: The gain that was expected of each policy, in order.
        came: The gain that came.
    """
    factors = [SUPPOSED_SPREAD]
    for start in range(len(expected) - STEP + 1):
        forecast, gain = (sum(values[start : start + STEP]) for values in (expected, came))
        if forecast > 0:
            factors.append(min(max(gain / forecast, 1 / LARGEST_SPREAD), LARGEST_SPREAD))
    squares = [math.log(factor) ** 2 for factor in factors]
    return math.exp(math.sqrt(sum(squares) / len(squares)))
