"""Track records by hand."""

import dataclasses

import numpy as np
import pytest

from sdmbtl.prediction import Outcome, TrackRecord


def outcome(**given_):
    usual = {"score": 0.5, "error": 1.0, "variance": 1.0, "expected": 1.0, "gain": 1.0}
    return Outcome(**{"rows": 2, "above": None, **usual, **given_})


class TestRecord:
    def test_of_nothing(self):
        record = TrackRecord()
        assert record.score is None
        assert record.calibration is None
        assert record.optimism == 1.0

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

    def test_optimism_compares_sums(self):
        record = TrackRecord(
            (
                outcome(expected=3.0, gain=1.0),
                outcome(expected=1.0, gain=0.0),
            )
        )
        assert record.optimism == pytest.approx(4.0)

    @pytest.mark.parametrize(("expected", "gain"), [(1.0, 0.0), (0.0, 0.0), (0.0, 2.0)])
    def test_optimism_of_what_cannot_be_compared_is_1(self, expected, gain):
        assert TrackRecord((outcome(expected=expected, gain=gain),)).optimism == 1.0

    def test_ceiling_is_passed_as_long_as_such_expectations_are_met(self):
        mean = np.array([[4.0, 10.0, 14.0]])
        assert TrackRecord().ceiling(mean, 10.0).tolist() == [[10.0, 10.0, 14.0]]
        for kept, trust in (((1.0, 1.0), 1.0), ((0.0,), 0.5), ((0.0, 0.5, 0.0), 0.375)):
            record = TrackRecord((*(outcome(above=share) for share in kept), outcome(above=None)))
            np.testing.assert_allclose(record.ceiling(mean, 10.0), [[10.0, 10.0, 10 + 4 * trust]])

    def test_outcomes_cannot_be_changed(self):
        with pytest.raises(dataclasses.FrozenInstanceError):
            outcome().score = 1.0
