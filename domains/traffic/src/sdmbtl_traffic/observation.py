"""Observations and rewards of drivers, as arrays over vehicles."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdmbtl_traffic.crossing import VEHICLE_LENGTH
from sdmbtl_traffic.signal_plan import Signals

#: Entries of an observation, in order. Speeds are shares of the limit, distances of 250 m, gaps of
#: 50 m and at most 2, times of a minute. A vehicle that has passed the light sees green. With the
#: speed for the next green it reaches the light when it is green: this follows from the entries
#: before it, and is hard to find for a network.
NAMES = (
    "speed",
    "distance to the light",
    "has passed the light",
    "green",
    "amber",
    "time to green",
    "time to red",
    "speed for the next green",
    "has a leader",
    "gap to the leader",
    "speed of the leader",
    "has a follower",
    "gap to the follower",
    "speed of the follower",
)
SIZE = len(NAMES)
DISTANCE, GAP, MOST_GAP, MINUTE = 250.0, 50.0, 2.0, 60.0

#: Grams of CO2 a second, of (k,) speeds in m/s and accelerations in m/s².
EmissionModel = Callable[[NDArray[np.float32], NDArray[np.float32]], NDArray[np.float32]]


class Traffic(NamedTuple):
    """All vehicles, one queue after another, each from its first vehicle to its last.

    Attributes:
        speed: (n,) in m/s.
        to_light: (n,) metres to the stop line, negative behind it.
        queue: (n,) number of the queue: crossing and entry.
    """

    speed: NDArray[np.float64]
    to_light: NDArray[np.float64]
    queue: NDArray[np.int64]


def observe(
    traffic: Traffic,
    who: NDArray[np.intp],
    limits: NDArray[np.float64],
    signals: Signals,
) -> NDArray[np.float32]:
    """Return the observations of some of the vehicles, (k, SIZE).

    Args:
        traffic: All vehicles.
        who: (k,) their positions.
        limits: (Q,) speed limit of each queue.
        signals: The light of each of the Q queues.
    """
    seen = np.zeros((len(who), SIZE), np.float32)
    queue = traffic.queue[who]
    limit = limits[queue]
    to_light = traffic.to_light[who]
    passed = to_light < 0
    seen[:, 0] = traffic.speed[who] / limit
    seen[:, 1] = np.where(passed, 0.0, to_light) / DISTANCE
    seen[:, 2] = passed
    green, to_red = signals.green[queue], signals.to_red[queue]
    seen[:, 3] = passed | green
    seen[:, 4] = ~passed & signals.amber[queue]
    seen[:, 5] = np.where(passed, 0.0, signals.to_green[queue]) / MINUTE
    seen[:, 6] = np.where(passed, MINUTE, to_red) / MINUTE
    passes = passed | (green & (to_light <= limit * to_red))
    slower = to_light / signals.to_next_green[queue] / limit
    seen[:, 7] = np.where(passes, 1.0, np.minimum(slower, 1.0))
    _see_neighbour(seen[:, 8:11], traffic, who, -1, limit)
    _see_neighbour(seen[:, 11:14], traffic, who, 1, limit)
    return seen


def _see_neighbour(
    seen: NDArray[np.float32],
    traffic: Traffic,
    who: NDArray[np.intp],
    offset: int,
    limit: NDArray[np.float64],
) -> None:
    """Write (k, 3) presence, gap and speed of the vehicle before (-1) or behind (1) each."""
    last = len(traffic.queue) - 1
    other = np.clip(who + offset, 0, last)
    exists = (other != who) & (traffic.queue[other] == traffic.queue[who])
    gap = np.abs(traffic.to_light[other] - traffic.to_light[who]) - VEHICLE_LENGTH
    seen[:, 0] = exists
    seen[:, 1] = np.where(exists, np.clip(gap / GAP, 0.0, MOST_GAP), MOST_GAP)
    seen[:, 2] = np.where(exists, traffic.speed[other] / limit, 1.0)


def reward(
    speed: NDArray[np.float32], grams: NDArray[np.float32], present: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """Return the (k,) rewards of a step: speed minus standing minus emissions; 0 after leaving.

    Over a whole trip speeds add up to its length: what can be gained is less CO2 and less standing.

    Args:
        speed: (k,) in m/s.
        grams: (k,) of CO2 in this step.
        present: (k,) true for vehicles that are still there.
    """
    gained = (speed - 35.0 * np.maximum(0.0, 1.0 - speed) - 3.0 * grams) / 15.0
    return np.where(present, gained, 0.0).astype(np.float32)
