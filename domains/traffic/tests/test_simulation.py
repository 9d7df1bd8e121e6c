"""Real SUMO, in this process: the physics has the right direction, and episodes are their own."""

import numpy as np
import pytest

from sdmbtl_traffic.crossing import ENTRIES, STEP, Crossing
from sdmbtl_traffic.simulation import DRIVERS, PHASES, Rules, Simulation

pytest.importorskip("libsumo")

RULES = Rules(horizon=300.0, warm_up=10, max_vehicles=40, emission_class="HBEFA3/PC_G_EU4")


@pytest.fixture(scope="module")
def sumo():
    """A process has one simulation only."""
    return Simulation(RULES)


def play(sumo, crossings, seeds, driver="policy", acceleration=2.6, steps=None):
    """Play episodes to their end; the agents of every step."""
    agents = sumo.reset(crossings, seeds, driver)
    seen = [agents]
    while not sumo.is_over and len(seen) != steps:
        taken = np.full(len(agents.slots), acceleration, np.float32)
        _, agents = sumo.step(taken)
        seen.append(agents)
    return seen


def mean_speed(sumo, driver="idm", **context):
    play(sumo, [Crossing(**context)] * 12, range(12), driver)
    return sumo.measures()["speed"].mean()


@pytest.mark.slow
def test_mean_speed_rises_with_green_and_falls_with_inflow(sumo):
    # If the links of the lights were in another order, it would be the other way round.
    by_green = [mean_speed(sumo, green=green) for green in (8.0, 14.0, 24.0)]
    assert by_green == sorted(by_green)
    by_inflow = [mean_speed(sumo, inflow=inflow) for inflow in (100.0, 300.0, 600.0)]
    assert by_inflow == sorted(by_inflow, reverse=True)
    assert mean_speed(sumo, red=60.0) < mean_speed(sumo, red=20.0)
    assert mean_speed(sumo, speed_limit=8.0) < 8.0 < mean_speed(sumo, speed_limit=14.0)


@pytest.mark.parametrize(
    "driver",
    [pytest.param(d, marks=[] if d == "policy" else [pytest.mark.slow]) for d in DRIVERS],
)
def test_an_episode_does_not_depend_on_those_beside_it(sumo, driver):
    crossings = [Crossing(), Crossing(inflow=300.0, green=12.0), Crossing(penetration=0.9)]
    together = play(sumo, crossings, [3, 4, 5], driver)
    measures = sumo.measures()
    for number, crossing in enumerate(crossings):
        alone = play(sumo, [crossing], [3 + number], driver)
        for one, many in zip(alone, together, strict=True):
            own = many.slots // RULES.max_vehicles == number
            np.testing.assert_array_equal(one.slots, many.slots[own] % RULES.max_vehicles)
            np.testing.assert_array_equal(one.obs, many.obs[own])
        for name, values in sumo.measures().items():
            assert values[0] == measures[name][number]


def test_the_lights_are_those_of_the_plan(sumo):
    sumo.reset([Crossing(green=13.3), Crossing(green=20.0, red=30.0)], [0, 1])
    while not sumo.is_over:
        # SUMO shows what was in force in the step that has ended; drivers see what comes next.
        signals = sumo._plan.at(sumo._time - STEP)
        for number in range(2):
            shown = sumo._sumo.trafficlight.getRedYellowGreenState(str(number))
            north, _, _, west = shown
            assert shown in PHASES
            letters = {"G": (True, False), "y": (False, True), "r": (False, False)}
            at = number * len(ENTRIES)
            assert letters[west] == (signals.green[at], signals.amber[at])
            assert letters[north] == (signals.green[at + 2], signals.amber[at + 2])
        sumo.step(np.zeros(len(sumo._agents), np.float32))


def test_distances_are_sumos_own(sumo):
    agents = sumo.reset([Crossing(), Crossing(lane_length=300.0, speed_limit=9.0)], [0, 1])
    rng = np.random.default_rng(0)
    for _ in range(300):
        _, agents = sumo.step(rng.normal(1.0, 2.0, len(agents.slots)).astype(np.float32))
        lengths = np.where(sumo._queue < len(ENTRIES), 250.0, 300.0)
        travelled = [sumo._vehicle.getDistance(name) for name in sumo._names]
        np.testing.assert_allclose(lengths - sumo._to_light, travelled, atol=1e-9)


def test_nobody_is_faster_than_the_limit_and_braking_is_obeyed(sumo):
    agents = sumo.reset([Crossing(speed_limit=9.0)], [0])
    for _ in range(200):
        moved, agents = sumo.step(np.full(len(agents.slots), 2.6, np.float32))
        assert (moved.speed <= 9.0 + 1e-6).all()
    stopped = play(sumo, [Crossing()], [0], acceleration=-2.6, steps=200)[-1]
    assert len(stopped.slots) > 0
    assert (stopped.obs[:, 0] == 0).all()


def test_a_vehicle_keeps_its_slot_until_it_leaves(sumo):
    agents = sumo.reset([Crossing(inflow=600.0, penetration=1.0)] * 2, [0, 1])
    slot_of = dict(zip(sumo._agents.tolist(), agents.slots.tolist(), strict=True))
    while not sumo.is_over:
        before = sumo._agents
        moved, agents = sumo.step(np.full(len(agents.slots), 2.6, np.float32))
        left = set(before[moved.gone].tolist())
        now = dict(zip(sumo._agents.tolist(), agents.slots.tolist(), strict=True))
        assert {n: s for n, s in slot_of.items() if n not in left} == {
            n: s for n, s in now.items() if n in slot_of
        }
        assert len(set(now.values())) == len(now)
        assert not left & now.keys()
        slot_of = now


def test_no_more_are_controlled_than_there_are_places(sumo):
    few = Rules(300.0, 10, 3, RULES.emission_class)
    sumo.rules, before = few, sumo.rules
    try:
        seen = play(sumo, [Crossing(inflow=600.0, penetration=1.0)] * 2, [0, 1])
    finally:
        sumo.rules = before
    at_once = [np.bincount(agents.slots // 3, minlength=2) for agents in seen]
    assert np.max(at_once) == 3
    arrived = {n for n in np.flatnonzero(sumo._has_arrived).tolist() if sumo._slot[n] >= 0}
    assert len(arrived) > 6  # places are given again


@pytest.mark.slow
def test_full_acceleration_is_about_what_idm_does_and_advice_saves(sumo):
    found = {}
    for driver in DRIVERS:
        play(sumo, [Crossing(penetration=1.0)] * 12, range(12), driver)
        found[driver] = {name: values.mean() for name, values in sumo.measures().items()}
    assert found["policy"]["co2"] == pytest.approx(found["idm"]["co2"], rel=0.01)
    assert found["advisory"]["co2"] < 0.98 * found["idm"]["co2"]
    assert found["advisory"]["standing"] < 0.5 * found["idm"]["standing"]
    assert found["advisory"]["arrived"] >= found["idm"]["arrived"] - 0.5


def test_measures_are_sums_over_those_who_have_arrived(sumo):
    sumo.reset([Crossing(inflow=200.0)], [2], "idm")
    co2, standing, trips = {}, {}, {}
    while not sumo.is_over:
        sumo.step(np.zeros(len(sumo._agents), np.float32))
        for name in sumo._vehicle.getIDList():
            grams = sumo._vehicle.getCO2Emission(name) * STEP / 1000
            co2[name] = co2.get(name, 0.0) + grams
            stands = sumo._vehicle.getSpeed(name) < 0.1
            standing[name] = standing.get(name, 0.0) + STEP * stands
            trips[name] = trips.get(name, 0.0) + STEP
    arrived = [str(n) for n in np.flatnonzero(sumo._has_arrived)]
    measures = sumo.measures()
    assert measures["arrived"][0] == len(arrived) > 3
    late = [n for n in arrived if float(sumo._co2[int(n)]) == pytest.approx(co2[n])]
    assert len(late) >= len(arrived) - 3  # all but those who came in the warm-up
    np.testing.assert_allclose(
        measures["co2"][0], np.mean([sumo._co2[int(n)] for n in arrived]), rtol=1e-9
    )
    assert sum(sumo._standing[int(n)] for n in late) == pytest.approx(
        sum(standing[n] for n in late)
    )
