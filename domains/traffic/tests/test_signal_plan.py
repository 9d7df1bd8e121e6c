"""The lights' timetable against a walk through it, step by step."""

from hypothesis import given
from hypothesis import strategies as st

from sdmbtl_traffic.crossing import ENTRIES, MAIN_ROAD, STEP, Crossing
from sdmbtl_traffic.signal_plan import AMBER, SignalPlan

times = st.floats(0.5, 60.0)


def walk(crossing, steps):
    """(steps, 4) letters g, a, r of each entry, one step after another."""
    main, _, other, _ = SignalPlan([crossing]).durations[0]
    phases = [("g", "r", main), ("a", "r", AMBER), ("r", "g", other), ("r", "a", AMBER)]
    cycle = [(m, o) for m, o, seconds in phases for _ in range(round(seconds / STEP))]
    letters = [cycle[step % len(cycle)] for step in range(steps)]
    return [[m if entry in MAIN_ROAD else o for entry in ENTRIES] for m, o in letters]


@given(times, st.floats(4.0, 60.0))
def test_signals_are_those_of_a_walk_through_the_phases(green, red):
    crossing = Crossing(green=green, red=red)
    plan, steps = SignalPlan([crossing]), 600
    letters = walk(crossing, steps)
    for step in range(0, 200, 7):
        seen = plan.at(step * STEP)
        for entry in range(len(ENTRIES)):
            column = [letters[s][entry] for s in range(step, steps)]
            assert seen.green[entry] == (column[0] == "g")
            assert seen.amber[entry] == (column[0] == "a")
            green_from = next(i for i, letter in enumerate(column) if letter == "g")
            green_to = next(
                i for i, letter in enumerate(column) if i >= green_from and letter != "g"
            )
            assert seen.to_green[entry] == green_from * STEP
            assert seen.to_red[entry] == green_to * STEP
            starts = [i for i in range(1, len(column)) if column[i] == "g" and column[i - 1] != "g"]
            assert seen.to_next_green[entry] == starts[0] * STEP


def test_times_are_rounded_to_steps_and_never_vanish():
    assert SignalPlan([Crossing(green=13.37)]).durations[0] == (13.5, 3.0, 32.0, 3.0)
    assert SignalPlan([Crossing(green=0.01, red=0.01)]).durations[0] == (0.5, 3.0, 0.5, 3.0)
