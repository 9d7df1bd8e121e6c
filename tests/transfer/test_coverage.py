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


def test_as_json():
    data = coverage_of([0.0, 1.0], [], (0.0, 2.0)).to_dict()
    assert data == {
        "coverage": 0.25,
        "worst_tenth": 0.0,
        "within_5_percent": 0.5,
        "targets": 2,
        "range": [0.0, 2.0],
        "range_known": True,
    }


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


@pytest.mark.parametrize(("count", "worst"), [(10, 1), (11, 2), (20, 2), (70, 7), (71, 8)])
def test_a_tenth_is_rounded_up(count, worst):
    best = np.r_[np.zeros(worst), np.ones(count - worst)]
    assert coverage_of(best, [], (0.0, 1.0)).worst_tenth == 0.0
    best[worst - 1] = 1.0
    assert coverage_of(best, [], (0.0, 1.0)).worst_tenth == pytest.approx(1 / worst)


def test_exactly_five_percent_below_is_within():
    assert coverage_of([0.95, 1.0], [], (0.0, 1.0)).near_best == 1.0
    assert coverage_of([0.9499, 1.0], [], (0.0, 1.0)).near_best == 0.5


@pytest.mark.parametrize("best", [[], [np.nan, np.nan], [7.0, 7.0]])
def test_nothing_to_say(best):
    assert coverage_of(best, []) is None


def test_equal_returns_in_a_known_range():
    found = coverage_of([7.0, 7.0], [], (0.0, 10.0))
    assert (found.mean, found.worst_tenth, found.near_best) == (0.7, 0.7, 1.0)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_unit_does_not_matter(scale):
    best = np.linspace(-3.0, 8.0, 23)
    one, other = coverage_of(best, []), coverage_of(scale * best - 5 * scale, [])
    for name in ("mean", "worst_tenth", "near_best"):
        assert getattr(one, name) == pytest.approx(getattr(other, name))
