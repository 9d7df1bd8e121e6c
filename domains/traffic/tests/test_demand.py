"""Arrivals: Poisson, the same random numbers in all contexts, never nobody."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdmbtl_traffic.crossing import Crossing
from sdmbtl_traffic.demand import draw_demand

seeds = st.integers(0, 2**31 - 1)


def test_as_many_come_as_the_inflow_says_nine_of_ten_from_the_west():
    drawn = [draw_demand(Crossing(inflow=300.0), seed, 1000.0) for seed in range(200)]
    numbers = np.array([len(demand.time) for demand in drawn])
    expected = 300 * 1000 / 3600
    # Of a Poisson distribution mean and variance are the same.
    assert numbers.mean() == pytest.approx(expected, abs=4 * np.sqrt(expected / 200))
    assert numbers.var() == pytest.approx(expected, rel=0.5)
    entries = np.concatenate([demand.entry for demand in drawn])
    assert (entries == 0).mean() == pytest.approx(0.9, abs=0.01)
    assert set(entries.tolist()) == {0, 1, 2, 3}
    controlled = np.concatenate([demand.controlled for demand in drawn])
    assert controlled.mean() == pytest.approx(0.5, abs=0.02)


@given(seeds, st.floats(20.0, 300.0), st.floats(1.0, 3.0))
def test_with_more_inflow_the_same_vehicles_come_sooner(seed, inflow, factor):
    few, many = (draw_demand(Crossing(inflow=x), seed, 1000.0) for x in (inflow, inflow * factor))
    for entry in range(4):
        before, after = few.time[few.entry == entry], many.time[many.entry == entry]
        if len(few.time) > 1:  # otherwise it may be the one that is always put there
            np.testing.assert_allclose(after[: len(before)], before / factor, rtol=1e-9)


@given(seeds, st.floats(0.05, 0.5), st.floats(0.0, 0.5))
def test_with_more_penetration_more_of_the_same_are_controlled(seed, penetration, more):
    fewer = draw_demand(Crossing(penetration=penetration), seed, 1000.0).controlled
    others = draw_demand(Crossing(penetration=penetration + more), seed, 1000.0).controlled
    assert (others | ~fewer).all()


@given(seeds, st.floats(1e-6, 500.0), st.floats(1e-6, 1.0))
def test_somebody_is_always_controlled_but_never_in_the_warm_up(seed, inflow, penetration):
    demand = draw_demand(Crossing(inflow=inflow, penetration=penetration), seed, 100.0, 25.0)
    assert demand.controlled.any()
    assert (demand.time[demand.controlled] >= 25.0).all()
    assert (np.diff(demand.time) >= 0).all()
    assert ((demand.time >= 0) & (demand.time < 100.0)).all()
