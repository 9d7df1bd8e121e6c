"""Coverage by hand: the mean, the low end, and what is near the best."""

import numpy as np
import pytest

from sdmbtl.transfer import coverage_of


def test_by_hand_in_a_known_range():
    best = np.arange(20.0) * 5  # 0 to 95
    found = coverage_of(best, best[None], (-100.0, 100.0))
    assert found.mean == pytest.approx((47.5 + 100) / 200)
    assert found.worst_tenth == pytest.approx((2.5 + 100) / 200), "0 and 5"
    assert found.near_best == pytest.approx(3 / 20), "85, 90 and 95: 5 % of the range are 10"
    assert found.targets == 20
    assert found.known
    assert found.returns == (-100.0, 100.0)


def test_the_range_of_the_returns_seen_is_taken_where_none_is_known():
    rows = np.array([[-10.0, 0.0, np.nan], [0.0, 20.0, np.nan]])
    found = coverage_of(np.fmax.reduce(rows), rows)
    assert found.returns == (-10.0, 20.0)
    assert not found.known
    assert found.mean == pytest.approx((10 / 30 + 30 / 30) / 2)
    assert found.targets == 2, "the third was not evaluated"


def test_the_best_known_return_may_have_been_seen_elsewhere():
    """New episodes are compared with what was recorded before."""
    assert coverage_of([90.0, 96.0], [], (0.0, 100.0)).near_best == 0.5
    assert coverage_of([90.0, 96.0], [[99.0, 102.0]], (0.0, 100.0)).near_best == 0.0


def test_at_least_one_target_is_the_worst():
    assert coverage_of([3.0, 1.0, 2.0], [], (0.0, 4.0)).worst_tenth == 0.25


def test_exactly_five_percent_below_is_within():
    assert coverage_of([0.95, 1.0], [], (0.0, 1.0)).near_best == 1.0
    assert coverage_of([0.9499, 1.0], [], (0.0, 1.0)).near_best == 0.5


@pytest.mark.parametrize("best", [[], [np.nan, np.nan], [7.0, 7.0]])
def test_nothing_to_say(best):
    assert coverage_of(best, []) is None
