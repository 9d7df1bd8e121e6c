"""Weights of targets: where they come from, and that they change exactly what they should."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdmbtl.contexts import ContextSpace, Interval, Levels, Source, TargetSample, load_space
from sdmbtl.errors import ContextError
from sdmbtl.selectors import make_selector
from sdmbtl.transfer import coverage_of

NAMES = ("random", "m-mbtl", "gp-mbtl", "m/gp-mbtl", "predictive", "generalist-first")
POINTS = np.random.default_rng(0).random((12, 2))
RETURNS = np.random.default_rng(1).random((12, 12))


def listed(points, weights=None):
    space = ContextSpace(points, u=Interval(0, 1), v=Interval(0, 1))
    return space if weights is None else space.weighted(weights)


def chosen(name, space, rows, policies=5):
    """Sources and forecasts of a selector whose k-th policy has the k-th row."""
    selector, found = make_selector(name, space, seed=3), []
    for row in rows[:policies]:
        trial = selector.ask()
        found.append((trial.source, trial.expected_gain))
        selector.tell(trial, row)
    return found, selector.performance, selector.remaining_gain(2)


@pytest.mark.parametrize("name", NAMES)
def test_equal_weights_change_no_bit(name):
    assert chosen(name, listed(POINTS, np.full(12, 0.3)), RETURNS) == chosen(
        name, listed(POINTS), RETURNS
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_target_of_weight_0_is_absent(name):
    weights = np.arange(12.0) % 4
    kept = weights > 0
    few = chosen(name, listed(POINTS[kept], weights[kept]), RETURNS[:, kept])
    assert chosen(name, listed(POINTS, weights), RETURNS[:, kept]) == few


@pytest.mark.parametrize("name", ["m-mbtl", "gp-mbtl", "predictive", "generalist-first"])
def test_the_order_of_the_targets_changes_nothing(name):
    weights, order = np.arange(1.0, 13.0), np.random.default_rng(5).permutation(12)
    found, level, ahead = chosen(name, listed(POINTS, weights), RETURNS)
    again, same, also = chosen(name, listed(POINTS[order], weights[order]), RETURNS[:, order])
    assert [source for source, _ in again] == [source for source, _ in found]
    assert same == pytest.approx(level)
    assert also == pytest.approx(ahead)


@pytest.mark.parametrize("name", NAMES[1:])
def test_choices_follow_the_weights(name):
    """Nearly all of the weight lies in a corner: every selector goes there."""
    space = ContextSpace(u=np.linspace(0, 1, 7), v=np.linspace(0, 1, 7))
    corner = np.all(space.unit_targets < 0.4, axis=1)
    space = space.weighted(np.where(corner, 1.0, 1e-6))
    distance = np.abs(space.unit_targets[:, None] - space.unit_targets[None]).sum(axis=2)
    selector = make_selector(name, space)
    for _ in range(5):
        trial = selector.ask()
        at = space.nearest(trial.source.vector)
        selector.tell(trial, 1 - distance[24 if space.is_whole(trial.source) else at])
    assert corner[space.nearest(trial.source.vector)]


@given(st.lists(st.floats(0, 1), min_size=3, max_size=8), st.integers(0, 7))
def test_coverage_of_a_target_twice_is_that_of_twice_the_weight(best, place):
    best = np.array(best)
    place %= len(best)
    weights = np.ones(len(best))
    weights[place] = 2
    twice = coverage_of(np.append(best, best[place]), [0.0, 1.0], (0.0, 1.0))
    once = coverage_of(best, [0.0, 1.0], (0.0, 1.0), weights / weights.sum())
    assert once.mean == pytest.approx(twice.mean)
    assert once.near_best == pytest.approx(twice.near_best)
    assert once.worst_tenth == pytest.approx(twice.worst_tenth)


def test_contexts_are_drawn_by_the_weights():
    grid = ContextSpace(a=range(4), b=range(5)).weighted({"a": lambda a: 1.0 + 4 * (a == 3)})
    drawn = grid.draw(grid.whole(), 4000, np.random.default_rng(0))
    nearest = np.round(drawn[:, 0])  # the end cells of a line have half the length
    density = np.bincount(nearest.astype(int)) / np.array([0.5, 1, 1, 0.5])
    assert density[3] / density[1] == pytest.approx(5, rel=0.1)
    some = listed(POINTS, np.arange(12.0))
    drawn = some.draw(some.whole(), 660, np.random.default_rng(0))
    counts = [np.all(drawn == target, axis=1).sum() for target in some.targets]
    assert counts == pytest.approx(10 * np.arange(1, 12), abs=1)
    inside = some.draw(Source.at([0.5, 0.5], 0.5), 50, np.random.default_rng(0))
    assert np.all(np.abs(inside - 0.5) <= 0.25)


def test_a_sample_of_the_targets_estimates_weighted_means():
    space = ContextSpace(a=range(60), b=range(60)).weighted({"a": lambda a: (1.0 + a) ** 2})
    values = np.sin(space.targets[:, 0] / 9) + space.targets[:, 1] / 60
    estimates = []
    for seed in range(20):
        sample = TargetSample(space, 100, seed)
        estimates.append(sample.space.mean(values[sample.indices]))
    assert np.mean(estimates) == pytest.approx(space.mean(values), abs=0.01)


def test_the_median_of_a_cluster_is_weighted():
    space = ContextSpace(u=[0.0, 1.0, 2.0, 3.0, 4.0]).weighted([1, 1, 1, 1, 5])
    selector = make_selector("m-mbtl", space, sources="box")
    assert selector.ask().context == {"u": 4.0}


# -- where weights come from -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("density", "expected"),
    [
        ({"kind": "uniform", "low": 2, "high": 4}, [0, 1, 1, 1, 0]),
        ({"kind": "normal", "mean": 3, "sd": 1}, np.exp([-2, -0.5, 0, -0.5, -2])),
        (
            {"kind": "log-normal", "median": 2, "sigma": 1},
            np.exp(-0.5 * np.log(np.arange(1, 6) / 2) ** 2) / np.arange(1, 6),
        ),
        (
            {"kind": "histogram", "counts": [4, 2], "edges": [0, 2.5, 4]},
            [1.6, 1.6, 4 / 3, 4 / 3, 0],
        ),
        ({"kind": "histogram", "counts": [5, 0, 1, 0, 1]}, [5, 0, 1, 0, 1]),
        (lambda values: values, [1, 2, 3, 4, 5]),
    ],
)
def test_densities_by_hand(density, expected):
    space = ContextSpace(x=[1, 2, 3, 4, 5]).weighted({"x": density})
    expected = np.array(expected, dtype=float)
    assert space.targets[:, 0].tolist() == (np.flatnonzero(expected) + 1).tolist()
    found = np.full(len(space), 1 / len(space)) if space.weights is None else space.weights
    assert found == pytest.approx(expected[expected > 0] / expected.sum())


def test_a_density_is_per_unit_and_not_per_target():
    """On a logarithmic dimension the targets lie closer where values are small."""
    space = ContextSpace(x=Levels([1, 2, 4, 8], scale="log"))
    found = space.weighted({"x": lambda x: np.ones_like(x)}).weights
    assert found == pytest.approx(np.array([1, 1.5, 3, 4]) / 9.5)


@pytest.mark.parametrize(
    "by",
    [
        [1, 2],
        [1, -1, 1],
        [0, 0, 0],
        [1, np.nan, 1],
        {"y": {"kind": "uniform"}},
        {"x": {"kind": "cauchy"}},
        {"x": {"kind": "normal", "mean": 1}},
        {"x": {"kind": "normal", "mean": 1, "sd": 0}},
        {"x": {"kind": "histogram", "counts": [1, 2]}},
        {"x": {"kind": "histogram", "counts": [1, 2], "edges": [2, 1, 3]}},
        {"x": {"kind": "normal", "mean": 1, "sd": 1, "median": 2}},
        {"x": 3},
        [{"y": 1.0}],
        "equal",
    ],
)
def test_unusable_weights_are_refused(by):
    with pytest.raises(ContextError):
        ContextSpace(x=[1, 2, 3]).weighted(by)


def test_weights_survive_storage():
    space = listed(POINTS, np.random.default_rng(2).random(12))
    again = ContextSpace.from_dict(space.to_dict())
    assert again == space
    assert np.array_equal(again.weights, space.weights)
    assert again != listed(POINTS)
    assert listed(POINTS) != space


GRID = "[dimensions.a]\nvalues = [1, 2, 3]\n"
RANGE = "[dimensions.a]\nlow = 0\nhigh = 9\n"


@pytest.mark.parametrize(
    ("text", "targets", "weights"),
    [
        (GRID + 'density = {kind = "histogram", counts = [1, 2, 1]}', [1, 2, 3], [1, 2, 1]),
        (RANGE + "[targets]\nlist = [{a = 1, weight = 3}, {a = 2}]", [1, 2], [3, 1]),
        (RANGE + '[targets]\nlogged = "log.csv"', [1, 3, 1.2], [2, 1, 1]),
        (GRID + '[targets]\nlogged = "log.csv"', [1, 3], [3, 1]),
        (RANGE + '[targets]\nlogged = "log.jsonl"\nlist = [{a = 0}, {a = 4}]', [0, 4], [1, 2]),
    ],
)
def test_weights_from_files(tmp_path, text, targets, weights):
    (tmp_path / "log.csv").write_text("when,a\n1,1\n2,3\n3,1\n4,1.2\n")
    (tmp_path / "log.jsonl").write_text('{"a": 5}\n{"a": 1.0, "b": 2}\n{"a": 4}\n')
    (tmp_path / "space.toml").write_text(text)
    space, _ = load_space(tmp_path / "space.toml")
    assert space.targets[:, 0].tolist() == targets
    assert space.weights == pytest.approx(np.array(weights) / sum(weights))


@pytest.mark.parametrize(
    ("content", "problem"),
    [("b\n1\n", "'a' is missing"), ("a\nx\n", "'x'"), ("a\n", "no logged contexts")],
)
def test_unusable_logs_are_refused(tmp_path, content, problem):
    (tmp_path / "log.csv").write_text(content)
    (tmp_path / "space.toml").write_text(RANGE + '[targets]\nlogged = "log.csv"')
    with pytest.raises(ContextError, match=rf"log\.csv.*{problem}"):
        load_space(tmp_path / "space.toml")
