"""Which contexts the baselines train on."""

import numpy as np
import pytest

from generalists import contexts


def rng(seed=0):
    return np.random.default_rng(seed)


def cost(points, chosen):
    """Sum of the L1 distances to the nearest of some points."""
    distances = np.abs(points[:, None] - points[None, list(chosen)]).sum(axis=2)
    return distances.min(axis=1).sum()


@pytest.mark.parametrize("seed", range(5))
def test_groups_that_lie_apart_are_found(seed):
    centres = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])
    truth = rng(seed).integers(4, size=60)
    points = centres[truth] + rng(seed).normal(size=(60, 2))
    groups = contexts.cluster(points, 4, rng(seed))
    pairs = {(t, g) for t, g in zip(truth.tolist(), groups.tolist(), strict=True)}
    assert len(pairs) == 4, "each group is one cloud"


def test_every_point_is_in_the_group_of_the_nearest_mean():
    points = rng(1).random((80, 3))
    groups = contexts.cluster(points, 7, rng(2))
    means = np.stack([points[groups == g].mean(axis=0) for g in range(7)])
    nearest = ((points[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(groups, nearest)


def test_one_medoid_is_the_best_of_all():
    points = rng(4).random((30, 3))
    best = min(range(30), key=lambda index: cost(points, [index]))
    assert contexts.medoids(points, 1).tolist() == [best]


@pytest.mark.parametrize("k", [2, 3, 5])
def test_no_exchange_of_a_medoid_helps(k):
    points = rng(k).random((25, 2))
    found = contexts.medoids(points, k).tolist()
    assert len(set(found)) == k
    for out in found:
        for new in set(range(25)) - set(found):
            assert cost(points, [*(set(found) - {out}), new]) >= cost(points, found) - 1e-9


@pytest.mark.parametrize(("members", "n"), [(5, 64), (64, 64), (100, 64)])
def test_groups_are_filled_up_evenly(members, n):
    filled = contexts.filled_up(np.arange(members), n, rng())
    counts = np.bincount(filled, minlength=members)
    assert len(filled) == n
    assert np.ptp(counts) <= 1


def test_the_worst_tenth():
    assert contexts.worst_tenth(np.arange(40.0)[::-1]) == 1.5
    assert contexts.worst_tenth(np.array([3.0, 1.0])) == 1.0
