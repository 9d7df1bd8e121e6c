"""Track records by hand."""

import numpy as np
import pytest

from sdmbtl.selectors.models import Outcome, TrackRecord


def outcome(**given_):
    usual = {"score": 0.5, "error": 1.0, "variance": 1.0, "expected": 1.0, "gain": 1.0}
    return Outcome(**{"rows": 2, "above": None, **usual, **given_})


class TestRecord:
    def test_score_is_a_mean(self):
        assert TrackRecord(
            (
                outcome(score=0.2),
                outcome(score=0.6),
            )
        ).score == pytest.approx(0.4)

    def test_typical_error_is_a_geometric_mean(self):
        record = TrackRecord(
            (
                outcome(error=1.0),
                outcome(error=10_000.0),
            )
        )
        assert record.typical_error == pytest.approx(10.0), "the root of the mean square of 100"
        assert TrackRecord((outcome(error=0.0),)).typical_error == pytest.approx(1e-150)

    def test_calibration_compares_sums(self):
        record = TrackRecord(
            (
                outcome(error=3.0, variance=1.0),
                outcome(error=1.0, variance=7.0),
            )
        )
        assert record.calibration == pytest.approx(0.5)

    def test_realised_share_by_hand(self):
        """An eighth came: its cube root is a half; 1 from before has the weight 1 / sqrt(2)."""
        record = TrackRecord((outcome(expected=8.0, gain=1.0),))
        before = 0.5**0.5
        mean = (0.5 + before) / (1 + before)
        assert record.realised_share == pytest.approx(mean**3)

    def test_realised_share_halves_its_weights_every_two_predictions(self):
        kept = [outcome(expected=2.0, gain=2.0)] * 2
        lost = [outcome(expected=2.0, gain=0.0)] * 2
        old, recent = TrackRecord((*kept, *lost)), TrackRecord((*lost, *kept))
        weights = 0.5 ** (np.arange(5) / 2)  # the latest first, the last of them from before
        total = weights.sum()
        assert old.realised_share == pytest.approx((weights[2:].sum() / total) ** 3)
        expected = (weights[[0, 1, 4]].sum() / total) ** 3
        assert recent.realised_share == pytest.approx(expected)
        assert recent.realised_share > 2 * old.realised_share

    @pytest.mark.parametrize("gain", [0.0, 2.0])
    def test_where_nothing_was_expected_there_is_no_share(self, gain):
        assert TrackRecord((outcome(expected=0.0, gain=gain),)).realised_share == 1.0

    def test_ceiling_is_passed_as_long_as_such_expectations_are_met(self):
        mean = np.array([[4.0, 10.0, 14.0]])
        assert TrackRecord().ceiling(mean, 10.0).tolist() == [[10.0, 10.0, 14.0]]
        for kept, trust in (((1.0, 1.0), 1.0), ((0.0,), 0.5), ((0.0, 0.5, 0.0), 0.375)):
            record = TrackRecord((*(outcome(above=share) for share in kept), outcome(above=None)))
            np.testing.assert_allclose(record.ceiling(mean, 10.0), [[10.0, 10.0, 10 + 4 * trust]])
