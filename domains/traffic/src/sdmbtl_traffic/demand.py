"""Poisson arrivals of vehicles at the four entries."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdmbtl_traffic.crossing import ENTRIES, MAIN_SHARE, Crossing


class Demand(NamedTuple):
    """The vehicles of an episode, in the order in which they come.

    Attributes:
        time: (V,) seconds at which each wants to enter.
        entry: (V,) numbers of `ENTRIES`.
        controlled: (V,) true where a policy drives the vehicle.
    """

    time: NDArray[np.float64]
    entry: NDArray[np.int64]
    controlled: NDArray[np.bool_]


def draw_demand(crossing: Crossing, seed: int, horizon: float, warm_up: float = 0.0) -> Demand:
    """Draw the vehicles of an episode.

    The same seed has the same random numbers in all contexts: with more inflow the same vehicles
    come sooner, with more penetration more of the same vehicles are controlled. A vehicle that
    comes in the warm-up is never controlled, as it may be about to stop when control begins. At
    least one vehicle comes and is controlled: otherwise there would be nothing to measure.

    Args:
        crossing: Inflow and penetration.
        seed: Seed of the episode.
        horizon: Seconds of the episode.
        warm_up: Seconds at its beginning in which SUMO drives everybody.
    """
    times, entries = [], []
    for number in range(len(ENTRIES)):
        share = MAIN_SHARE if number == 0 else (1 - MAIN_SHARE) / (len(ENTRIES) - 1)
        rng = np.random.default_rng([seed, number])
        expected = crossing.inflow * share * horizon / 3600
        # More than will ever be needed: the number must not depend on what is drawn.
        gaps = rng.standard_exponential(math.ceil(expected + 10 * math.sqrt(expected) + 20))
        arrivals = np.cumsum(gaps) * (horizon / expected)
        times.append(arrivals[arrivals < horizon])
        entries.append(np.full(len(times[-1]), number))
    time, entry = np.concatenate(times), np.concatenate(entries)
    if not (time >= warm_up).any():
        time, entry = np.append(time, (warm_up + horizon) / 2), np.append(entry, 0)
    order = np.argsort(time, kind="stable")
    time, entry = time[order], entry[order]
    # The n-th vehicle of an entry has the same number in all contexts.
    drawn = np.zeros(len(entry))
    for number in range(len(ENTRIES)):
        own = np.flatnonzero(entry == number)
        drawn[own] = np.random.default_rng([seed, number, 1]).random(len(own))
    drawn[time < warm_up] = np.inf
    controlled = drawn < crossing.penetration
    if not controlled.any():
        controlled[np.argmin(drawn)] = True
    return Demand(time, entry, controlled)
