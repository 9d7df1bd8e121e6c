"""The tables and the figure of coverage against total steps, on results made by hand."""

import numpy as np
import pytest
import scipy

from generalists import comparison
from generalists.comparison import OURS, Comparison, Estimate
from generalists.figure import coverage_figure, limits

MARKS = [1, 2, 4, 8, 12]


def measured(**methods):
    """Of each method, for each mark the values of the seeds."""
    found = {}
    for name, marks in methods.items():
        seeds = len(next(iter(marks.values())))
        found[name] = {
            str(seed): {
                quantity: {str(mark): values[seed] - less for mark, values in marks.items()}
                for quantity, less in (("coverage", 0), ("worst_tenth", 0.5), ("near_best", 0.1))
            }
            for seed in range(seeds)
        }
    return {"targets": 512, "methods": found}


FIRST = measured(
    **{
        OURS: {2: [0.90, 0.92], 4: [0.95, 0.97], 8: [0.96, 0.96], 12: [0.96, 0.98]},
        "generalist": {m: [0.8 + m / 100, 0.84 + m / 100] for m in MARKS},
        "multi-task": {4: [0.7, 0.7], 12: [0.93, 0.97]},
    }
)
SECOND = measured(
    **{
        OURS: {1: [0.1, 0.1], 2: [0.2, 0.2], 4: [0.2, 0.2], 8: [0.2, 0.2], 12: [0.2, 0.2]},
        "generalist": {m: [0.1 + m / 50] * 2 for m in MARKS},
    }
)


def compared(**data):
    return Comparison({"marks": MARKS, "data": data})


BOTH = compared(first=FIRST, second=SECOND)


def test_the_lead_is_over_the_best_baseline_at_that_mark():
    assert BOTH.best_baseline("first", 4) == "generalist"
    assert BOTH.best_baseline("first", 12) == "multi-task"
    ours, cover = [0.96, 0.98], [0.93, 0.97]
    test = scipy.stats.ttest_ind(ours, cover, equal_var=False).confidence_interval(0.95)
    lead = BOTH.lead("first", 12)
    assert lead.mean == pytest.approx(0.02)
    assert lead.mean + lead.half_width == pytest.approx(test.high)
    assert BOTH.lead("first", 1) is None, "ours was not measured there"
    assert BOTH.lead("second", 12) == Estimate(pytest.approx(-0.14), 0.0)


def test_baselines_that_keep_their_best_policy_never_fall():
    falling = measured(
        **{
            OURS: {2: [0.8, 0.9], 4: [0.7, 0.9]},
            "generalist": {2: [0.6, 0.7], 4: [0.5, 0.9]},
        }
    )
    found = compared(first=falling).keep_best()
    assert found.values("first", "generalist", 4) == [0.6, 0.9]
    assert found.values("first", OURS, 4) == [0.7, 0.9], "a study chooses by its own evaluations"
    assert found.lead("first", 4).mean == pytest.approx(0.05)


def test_units_needed_for_what_the_best_baseline_has_in_the_end():
    assert BOTH.units_needed("first") == 4
    assert BOTH.units_needed("second") is None


def test_the_first_table_shows_data_sets_side_by_side():
    found = compared(**{"CartPole forces": SECOND, "Drone": FIRST, "Pendulum": FIRST})
    lines = comparison.first_table(found).splitlines()
    end = found.marks[-1]
    heads = "| Coverage in %, same number of steps | Drone | Pendulum | CartPole forces |"
    assert lines[0] == heads
    ours = found.estimate("Pendulum", comparison.OURS, end)
    assert f"{100 * ours.mean:.1f} ± {100 * ours.half_width:.1f}" in lines[2]
    assert len(lines) == 2 + len(comparison.FIRST_TITLES)


def test_tables():
    lines = comparison.data_tables(BOTH).splitlines()
    assert lines[0] == "| first: coverage in %, 512 targets, 2 seeds, units: | 1 | 2 | 4 | 8 | 12 |"
    assert lines[2].startswith("| **`generalist-first`** (default) | – | **91.0 ± 12.7** |")
    assert lines[4].startswith("| multi-task: the same, sees the context | – | – | 70.0")
    assert sum("**" in cell for cell in lines[3].split("|")[2:]) == 1, "best at 1 unit only"
    lead = comparison.lead_table(BOTH).splitlines()
    assert lead[2].endswith("| multi-task: 95.0 ± 25.4 | 4 of 12 |")
    assert lead[3].split("|")[2:6] == [
        " **+6.0 ± 0.0** ",
        " **+2.0 ± 0.0** ",
        " **-6.0 ± 0.0** ",
        " **-14.0 ± 0.0** ",
    ]
    assert lead[3].endswith("| generalist: 34.0 ± 0.0 | not reached |")


def test_the_figure_has_a_panel_for_each_data_set_and_ours_stands_out():
    figure = coverage_figure(BOTH)
    shown = [axes for axes in figure.axes if axes.axison]
    assert [axes.get_title(loc="left") for axes in shown] == ["first", "second"]
    lines = {line.get_label(): line for line in shown[0].lines}
    assert set(lines) == {OURS, "generalist", "multi-task"}
    np.testing.assert_allclose(lines[OURS].get_ydata(), [0.91, 0.96, 0.96, 0.97])
    assert lines[OURS].get_linewidth() > max(
        line.get_linewidth() for name, line in lines.items() if name != OURS
    )
    low, high = limits(BOTH, "first")
    assert low < 0.83, "the generalist is seen from the beginning"
    assert 0.97 < high < 1
