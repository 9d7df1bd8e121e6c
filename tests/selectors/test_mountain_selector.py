"""M-MBTL against brute force: exact minimiser on targets, the paper's search in the box."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdmbtl import ContextSpace, Interval
from sdmbtl.errors import ExhaustedError, SelectorError
from sdmbtl.selectors import MountainSelector
from sdmbtl.selectors.clustering import NearestDistances
from sdmbtl.testing import example_matrix, example_spaces


def asked(selector, rounds):
    matrix = example_matrix(selector.space)
    trials = []
    for _ in range(rounds):
        trials.append(selector.ask())
        selector.tell(trials[-1], matrix[selector.space.nearest(trials[-1].context)])
    return trials


def distances(space, weights, points):
    """(P, N) weighted L1 distances, with loops."""
    table = np.zeros((len(points), len(space)))
    for p, point in enumerate(points):
        for n, target in enumerate(space.unit_targets):
            table[p, n] = sum(
                w * abs(a - b) for w, a, b in zip(weights, point, target, strict=True)
            )
    return table


def brute_force_targets(space, weights, rounds):
    """Losses of the best target in each round, by trying all."""
    table = distances(space, weights, space.unit_targets)
    nearest = np.full(len(space), np.inf)
    free = np.ones(len(space), bool)
    losses = []
    for _ in range(rounds):
        loss = np.where(free, np.minimum(table, nearest).mean(axis=1), np.inf)
        best = loss.min()
        ties = np.flatnonzero(loss <= best + 1e-9)
        chosen = ties[np.argmin(space.tie_rank[ties])]
        free[chosen] = False
        nearest = np.minimum(nearest, table[chosen])
        losses.append((chosen, best))
    return losses


def brute_force_box(space, weights, rounds):
    """The paper's Algorithm 3 and 4 with loops: every target starts a search."""
    centroids = []
    for _ in range(rounds):
        ends = []
        for start in space.unit_targets:
            point, gain, visited = start.copy(), -1.0, []
            while point.tolist() not in visited:
                own = distances(space, weights, [point])[0]
                nearest = (
                    distances(space, weights, centroids).min(axis=0)
                    if centroids
                    else np.full(len(space), weights.sum() + 1.0)
                )
                new_gain = np.maximum(nearest - own, 0).mean()
                if new_gain < gain - 1e-9:
                    break
                best, gain = point, new_gain
                visited.append(point.tolist())
                members = space.unit_targets[own < nearest - 1e-9]
                if len(members):
                    point = np.median(members, axis=0)
            ends.append((-round(gain, 9), round(np.abs(best - 0.5).sum(), 9), *best))
        centroids.append(np.array(min(ends)[2:]))
    return np.array(centroids)


SPACES = {
    **{k: v for k, v in example_spaces().items() if len(v) > 3},
    "cube": ContextSpace(a=range(4), b=range(4), c=range(3)),
    "scattered": ContextSpace.sample(40, seed=3, u=Interval(0, 5), v=Interval(1, 100, "log")),
}


@pytest.mark.parametrize("name", SPACES)
def test_targets_are_the_exact_minimiser(name):
    space = SPACES[name]
    trials = asked(MountainSelector(space), len(space))
    expected = brute_force_targets(space, np.ones(space.n_units), len(space))
    assert [c.index for c in trials] == [index for index, _ in expected]


@pytest.mark.parametrize("name", sorted(set(SPACES) - {"categories"}))  # a box has an order
def test_box_follows_the_papers_search(name):
    space = SPACES[name]
    weights = np.ones(space.n_units)
    rounds = min(6, len(space) - 1)
    selector = MountainSelector(space, sources="box")
    chosen = [space.to_unit(space.vector(c.context)) for c in asked(selector, rounds)]
    np.testing.assert_allclose(chosen, brute_force_box(space, weights, rounds), atol=1e-9)


@given(st.integers(0, 10_000))
def test_incremental_gains_equal_fresh_ones(seed):
    rng = np.random.default_rng(seed)
    space = ContextSpace.sample(30, seed=seed, u=Interval(0, 1), v=Interval(0, 1))
    weights = np.ones(2)
    running = NearestDistances(space)
    running.target_gains()
    centroids = rng.random((8, 2))
    for k in range(1, 9):
        running.extend(centroids[:k])
        fresh = NearestDistances(space)
        fresh.extend(centroids[:k])
        np.testing.assert_allclose(running.target_gains(), fresh.target_gains(), atol=1e-12)
        assert running.loss == pytest.approx(
            distances(space, weights, centroids[:k]).min(axis=0).mean()
        )


def test_warm_start_and_failure_count_rightly():
    space = ContextSpace(a=range(9))
    selector = MountainSelector(space)
    selector.tell({"a": 4}, np.zeros(9))
    left, right = selector.ask(2)
    assert {left.context["a"], right.context["a"]} == {1.0, 7.0}
    selector.tell(left, status="failed")
    # What failed covers nothing: its side is still the worst covered, but it is not proposed.
    assert abs(selector.ask().context["a"] - left.context["a"]) == 1.0


def test_bad_settings():
    space = ContextSpace(a=range(3), b=range(3))
    with pytest.raises(SelectorError, match="'restarts' must be a whole number >= 1"):
        MountainSelector(space, sources="box", restarts=0)
    with pytest.raises(SelectorError, match="known: targets, box"):
        MountainSelector(space, sources="everywhere")


def test_box_ends_when_every_target_has_a_policy():
    selector = MountainSelector(ContextSpace(a=range(3)), sources="box")
    for target in range(3):
        selector.tell({"a": target}, np.zeros(3))
    with pytest.raises(ExhaustedError, match="none is left of 3"):
        selector.ask()
