"""The goals' arithmetic, on results made by hand."""

import pytest

from scoreboard import real_scores
from scoreboard.cost_benchmark import Cost, CostResult
from scoreboard.goals import Goal, goal_table, goals
from sdmbtl_lab.benchmarks import BenchmarkResult
from sdmbtl_lab.benchmarks.result import Aggregate, ProblemResult, SelectorResult, Statistics

NAMES = ("auto", "m/gp-mbtl", "random", "myopic-oracle")
#: Performance of each selector for each kind of f.
FINALS = {
    "quadratic": {"auto": 0.75, "m/gp-mbtl": 0.6, "random": 0.5, "myopic-oracle": 0.8},
    "smooth": {"auto": 0.9, "m/gp-mbtl": 0.5, "random": 0.5, "myopic-oracle": 0.9},
    "random": {"auto": 0.1, "m/gp-mbtl": 0.1, "random": 0.5, "myopic-oracle": 0.9},
}


def problem(name, selectors, *, labels=None, rounds=50, matters=True):
    return ProblemResult(
        name, labels or {"data": name}, rounds, 0.0, 1.0, selectors, matters=matters
    )


def made(problems, aggregated, **changes):
    policies = tuple(aggregated) or (50,)
    given = {"trials": 100, "settings": {}, "headers": ("data",), "least_margin": None, **changes}
    return BenchmarkResult(
        name="x",
        title="x",
        policies=policies,
        selectors=NAMES,
        problems=tuple(problems),
        aggregated=aggregated,
        **given,
    )


def synthetic(auto, rival, *, trials=100):
    """A synthetic result with (final, auc) of two selectors."""
    values = {"auto": auto, "m/gp-mbtl": rival, "random": (0.0, 0.0), "myopic-oracle": (1.0, 1.0)}
    aggregated = {
        name: {"final": Aggregate(final), "auc": Aggregate(auc)}
        for name, (final, auc) in values.items()
    }
    problems = [
        problem(
            f,
            {n: SelectorResult({50: {"final": Statistics(m)}}) for n, m in finals.items()},
            labels={"f(x)": f.capitalize()},
        )
        for f, finals in FINALS.items()
    ]
    settings = {"kind": "synthetic", "dim": 3, "noise": 5.0}
    return made(problems, {50: aggregated}, trials=trials, settings=settings)


def entry(name, auto, rival, *, matters=True, oracle=0.8):
    """A data set with constant curves of 50 policies: random 0.4, the oracle 0.8."""
    curves = {"auto": auto, "m/gp-mbtl": rival, "random": 0.4, "myopic-oracle": oracle}
    curves = {k: v if isinstance(v, list) else [v] * 50 for k, v in curves.items()}
    return problem(
        name, {n: SelectorResult({}, tuple(c)) for n, c in curves.items()}, matters=matters
    )


def real(data, *, auto=0.5, rival=0.4):
    means = {"auto": auto, "m/gp-mbtl": rival, "random": 0.0, "myopic-oracle": 1.0}
    aggregated = {n: {"final": Aggregate(m, 0.1)} for n, m in means.items()}
    return made(data, dict.fromkeys((6, 12, 50), aggregated), least_margin=0.01)


def variations(*differences, trials=10):
    """A result with mean and half width of auto's difference from random on each variation."""
    problems = [
        problem(
            f"v{number}",
            {n: SelectorResult({20: {"ahead": Statistics(mean, width)}}) for n in NAMES},
            rounds=20,
        )
        for number, (mean, width) in enumerate(differences)
    ]
    return made(problems, {}, trials=trials)


def cost(targets, mountain, other, memory=100.0):
    figures = [
        {"median_ms": ms, "slowest_ms": 2 * ms, "peak_mib": memory} for ms in (mountain, other)
    ]
    by_kind = dict(zip(("mountain", "not_mountain"), figures, strict=True))
    return CostResult(("auto",), (Cost(targets, 50, {"auto": by_kind}),), "abc", {})


def found(results, measured=None):
    """Text -> (wanted, value of auto, verdict)."""
    return {g.text: (g.wanted, g.values.get("auto"), g.verdict()) for g in goals(results, measured)}


@pytest.mark.parametrize(
    ("comparison", "value", "reached", "verdict"),
    [
        (">=", 0.9, True, "yes"),
        (">=", 0.85, False, "no, by 0.05"),
        (">", 0.9, False, "no, by 0"),
        (">", 0.91, True, "yes"),
        ("<=", 0.9, True, "yes"),
        ("<=", 1.0, False, "no, by 0.1"),
        ("<", 0.9, False, "no, by 0"),
        ("<", 0.1, True, "yes"),
        (">=", None, None, "-"),
    ],
)
def test_reached_or_not(comparison, value, reached, verdict):
    goal = Goal("it", comparison, 0.9, {"auto": value})
    assert goal.reached() is reached
    assert goal.verdict() == verdict
    assert goal.wanted == f"{comparison} 0.9"


def test_selector_that_was_not_run():
    assert Goal("it", ">=", 0.9, {"m-mbtl": 1.0}).verdict() == "-"
    assert Goal("it", ">=", 0.9, {"m-mbtl": 1.0}).reached("m-mbtl")


def test_synthetic_goals():
    parts = {
        "synthetic-3d-noise5": synthetic((1.01, 0.8), (0.9, 0.7)),
        "synthetic-7d": synthetic((0.9, 0.8), (0.8, 0.7)),
    }
    assert found(parts) == {
        "synthetic 3D, noise 5: aggregated, K = 50": (">= 1", 1.01, "yes"),
        "synthetic 3D, noise 5: aggregated, mean over k = 1..50": (">= 0.85", 0.8, "no, by 0.05"),
        "synthetic 3D, noise 5: aggregated, mean over k = 1..50: ahead of M/GP-MBTL": (
            "> 0",
            pytest.approx(0.1),
            "yes",
        ),
        "synthetic 7D, noise 5: aggregated, K = 50": (">= 0.95", 0.9, "no, by 0.05"),
    }
    ahead = goals(parts)[2]
    assert ahead.values["m/gp-mbtl"] is None, "nobody is ahead of himself"
    assert set(ahead.values) == {"auto", "m/gp-mbtl"}, "the scale has no goals"


def test_real_goals():
    good, poor = entry("good", 0.8, 0.6), entry("poor", 0.5, 0.6)
    flat = entry("flat", 0.1, 0.1, matters=False)
    result = real([good, poor, flat])
    assert found({"real": result}) == {
        "real: lowest of the data sets, K = 6": (">= 0.8", pytest.approx(0.25), "no, by 0.55"),
        "real: lowest of the data sets, K = 12": (">= 0.8", pytest.approx(0.25), "no, by 0.55"),
        "real: lowest of the data sets, any k = 3..12": (">= 0", pytest.approx(0.25), "yes"),
        "real: aggregated, K = 12": (">= 0.85", 0.5, "no, by 0.35"),
        "real: aggregated, K = 12: ahead of the others and Random": (
            "> 0",
            pytest.approx(0.1),
            "yes",
        ),
        "real: farthest behind the best of the others, K = 12": (
            "<= 0.05",
            pytest.approx(0.25),
            "no, by 0.2",
        ),
    }


def test_random_is_one_of_the_others():
    result = real([entry("a", 0.3, 0.2)], auto=-0.25, rival=-0.5)
    values = {text: value for text, (_, value, _) in found({"real": result}).items()}
    assert values["real: aggregated, K = 12: ahead of the others and Random"] == -0.25
    behind = values["real: farthest behind the best of the others, K = 12"]
    assert behind == pytest.approx(0.25)


def test_lowest_score_counts_from_the_third_policy_to_the_last():
    curve = [0.0, 0.0, 0.6, 0.5, *[0.8] * 8, 0.2, *[0.8] * 37]
    result = real([entry("a", curve, 0.4)])
    assert real_scores.lowest_scores(result, "auto", 12) == {"a": pytest.approx(0.25)}
    assert real_scores.lowest_scores(result, "auto", 50) == {"a": pytest.approx(-0.5)}


def test_numbers_of_policies_with_nothing_to_gain_do_not_count():
    data = entry("a", [0.8] * 12 + [0.0] * 38, 0.4, oracle=[0.8] * 12 + [0.405] * 38)
    assert real_scores.lowest_scores(real([data]), "auto", 50) == {"a": pytest.approx(1.0)}
    nothing = entry("b", 0.8, 0.4, oracle=0.4)
    assert real_scores.lowest_scores(real([nothing]), "auto", 50) == {}
    assert real_scores.scores_at(real([nothing]), "auto", 12) == {}
    assert found({"real": real([nothing])})["real: lowest of the data sets, K = 12"][1:] == (
        None,
        "-",
    )


def test_real_tables():
    result = real([entry("good", 0.8, 0.6), entry("poor", 0.5, 0.6)])
    behind = real_scores.behind_table(result, 12)
    assert behind.columns == ("auto", "M/GP-MBTL")
    assert [c.mean for row in behind.rows for c in row.cells] == pytest.approx(
        [-0.5, 0.5, 0.25, -0.25]
    )
    lowest = real_scores.lowest_table(result, 12)
    assert [c.mean for row in lowest.rows for c in row.cells] == pytest.approx([1, 0.5, 0.25, 0.5])


def test_variations_below_random():
    result = variations((-0.03, 0.02), (-0.01, 0.02), (0.05, 0.01), (-0.01, 0.0))
    text = "check: variations below Random, beyond the 95 % interval, of 4"
    assert found({"check": result}) == {text: ("<= 0", 2.0, "no, by 2")}
    one_trial = variations((-0.03, None), trials=1)
    assert [g.verdict() for g in goals({"development": one_trial})] == ["-"]


def test_cost_is_that_of_the_costlier_matrix():
    assert found({}, cost(512, 10.0, 31.0)) == {
        "cost, 512 targets: ms per round": ("< 30", 31.0, "no, by 1"),
    }
    assert found({}, cost(16384, 400.0, 300.0, memory=3000.0)) == {
        "cost, 16384 targets: ms per round": ("< 5000", 400.0, "yes"),
        "cost, 16384 targets: peak MiB": ("< 2048", 3000.0, "no, by 952"),
    }


def test_fewer_matrices_than_the_paper_has_are_mentioned():
    result = synthetic((0.95, 0.8), (0.8, 0.7), trials=1)
    texts = [goal.text for goal in goals({"synthetic-3d-noise5": result})]
    assert all(text.startswith("synthetic 3D, noise 5, 1 matrix: ") for text in texts)
    further = goals({"further": synthetic((0.95, 0.8), (0.8, 0.7), trials=20)})
    assert not any("trials" in goal.text for goal in further), "the paper has none of these"


def test_table_of_goals():
    parts = {"further": synthetic((0.95, 0.8), (0.8, 0.7))}
    table = goal_table(parts, cost(512, 1.0, 2.0))
    assert table.label_headers == ("goal", "wanted", "reached")
    assert table.columns == ("auto", "M/GP-MBTL")
    assert table.rows[0].labels == (
        "quadratic, smooth and random f, g: aggregated, K = 50",
        ">= 0.9",
        "yes",
    )
    assert table.rows[1].labels == (
        "quadratic, smooth and random f, g: without random f, K = 50",
        ">= 0.9",
        "yes",
    )
    scores = [cell.mean for cell in table.rows[1].cells]
    assert scores == pytest.approx([(0.25 / 0.3 + 1.0) / 2, (0.1 / 0.3 + 0.0) / 2])
    assert table.rows[2].cells[1] is None, "no cost was measured for it"
    assert "quadratic" in table.to_text()
