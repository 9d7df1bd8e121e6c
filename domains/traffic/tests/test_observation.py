"""Observations of drivers, against a loop over vehicles; rewards by hand."""

import numpy as np
import pytest

from sdmbtl_traffic.crossing import ENTRIES, Crossing
from sdmbtl_traffic.observation import NAMES, Traffic, observe, reward
from sdmbtl_traffic.signal_plan import SignalPlan


def a_moment(seed, vehicles=23):
    """Vehicles of two crossings in order, the lights and the limits."""
    rng = np.random.default_rng(seed)
    queue = np.sort(rng.integers(0, 2 * len(ENTRIES), vehicles))
    to_light = rng.uniform(-240, 250, vehicles)
    for number in set(queue.tolist()):
        to_light[queue == number] = np.sort(to_light[queue == number])
    crossings = [Crossing(), Crossing(green=12.0, speed_limit=10.0)]
    limits = np.repeat([c.speed_limit for c in crossings], len(ENTRIES))
    speed = rng.uniform(0, 10, vehicles)
    return Traffic(speed, to_light, queue), limits, SignalPlan(crossings).at(seed * 0.5)


def look(traffic, at, limits, signals):
    """Return the observation of the vehicle at a position, by name."""
    queue = traffic.queue[at]
    limit, to_light = limits[queue], traffic.to_light[at]
    passed = to_light < 0
    seen = dict.fromkeys(NAMES, 0.0)
    seen["speed"] = traffic.speed[at] / limit
    seen["distance to the light"] = 0.0 if passed else to_light / 250
    seen["has passed the light"] = float(passed)
    green, amber, to_green, to_red, next_green = (float(part[queue]) for part in signals)
    seen["green"], seen["amber"] = (1.0, 0.0) if passed else (green, amber)
    seen["time to green"] = 0.0 if passed else to_green / 60
    seen["time to red"] = 1.0 if passed else to_red / 60
    makes_it = passed or (green and to_light / limit <= to_red)
    seen["speed for the next green"] = 1.0 if makes_it else min(to_light / next_green / limit, 1)
    others = [i for i in range(len(traffic.queue)) if traffic.queue[i] == queue]
    place = others.index(at)
    for name, other in (("leader", place - 1), ("follower", place + 1)):
        exists = 0 <= other < len(others)
        seen[f"has a {name}"] = float(exists)
        seen[f"gap to the {name}"], seen[f"speed of the {name}"] = 2.0, 1.0
        if exists:
            gap = abs(traffic.to_light[others[other]] - to_light) - 5
            seen[f"gap to the {name}"] = min(max(gap / 50, 0), 2)
            seen[f"speed of the {name}"] = traffic.speed[others[other]] / limit
    return list(seen.values())


@pytest.mark.parametrize("seed", range(6))
def test_observations_are_those_of_a_loop_over_vehicles(seed):
    traffic, limits, signals = a_moment(seed)
    who = np.random.default_rng(seed).permutation(len(traffic.queue))[:9]
    expected = [look(traffic, at, limits, signals) for at in who]
    np.testing.assert_allclose(observe(traffic, who, limits, signals), expected, rtol=1e-6)


def test_rewards_by_hand():
    speed = np.array([14.0, 0.0, 0.5, 14.0], np.float32)
    grams = np.array([1.5, 0.4, 0.4, 1.5], np.float32)
    there = np.array([True, True, True, False])
    expected = [(14 - 4.5) / 15, (-35 - 1.2) / 15, (0.5 - 17.5 - 1.2) / 15, 0.0]
    np.testing.assert_allclose(reward(speed, grams, there), expected, rtol=1e-6)
