"""When a coverage is reached: closed forms, and the forecast of a study."""

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.selectors import Trial
from sdmbtl.selectors.random_selector import RandomSelector
from sdmbtl.studies import Study
from sdmbtl.studies.describe import reach_text
from sdmbtl.studies.reach import GainCurve, reach_of, spread_of

SPACE = ContextSpace(a=range(5), b=range(4))


class TestGainCurve:
    def test_is_a_geometric_series(self):
        """Gains of 0.4, 0.2, 0.1, 0.05, ..."""
        gains = 0.8 * 0.5 ** np.arange(1, 40)
        curve = GainCurve.through(gains[:3].sum(), gains[:6].sum())
        assert curve.decay == pytest.approx(0.5)
        for policies in (0, 1, 2, 3, 6, 20):
            assert curve.after(policies) == pytest.approx(gains[:policies].sum())

    def test_may_go_on_and_on(self):
        curve = GainCurve.through(3.0, 6.0)
        assert curve.after(10) == pytest.approx(10.0)

    @pytest.mark.parametrize(("three", "six"), [(0.0, 0.0), (0.0, 1.0)])
    def test_of_nothing(self, three, six):
        assert GainCurve.through(three, six).after(50) == 0.0

    def test_gains_do_not_rise_again(self):
        assert GainCurve.through(1.0, 5.0).decay == 1.0
        assert GainCurve.through(1.0, 0.5).after(9) == 1.0, "no more after the first three"

    def test_says_when_a_gain_is_reached(self):
        curve = GainCurve.through(3.0, 6.0)
        assert curve.policies_for(4.5, most=100) == 5
        assert curve.policies_for(4.5, most=4) is None
        assert curve.policies_for(-1.0, most=4) == 0


class TestSpread:
    def test_before_any_test_a_factor_of_4_is_supposed(self):
        assert spread_of([], []) == pytest.approx(4.0)
        assert spread_of([1.0, 1.0], [1.0, 1.0]) == pytest.approx(4.0), "two are not three"

    def test_is_a_root_mean_square_of_logarithms(self):
        """Once as supposed, a factor of 4; once half of it came, once twice as much."""
        expected, came = [1.0, 1.0, 1.0, 4.0], [0.0, 1.0, 0.5, 10.5]
        assert spread_of(expected, came) == pytest.approx(2.0 ** np.sqrt((4 + 1 + 1) / 3))

    def test_right_forecasts_make_it_small(self):
        assert spread_of([0.1] * 12, [0.1] * 12) == pytest.approx(4.0 ** np.sqrt(1 / 11))

    def test_nothing_that_came_is_bounded(self):
        assert spread_of([1.0] * 40, [0.0] * 40) == pytest.approx(8.0, rel=0.02)
        assert spread_of([0.0] * 3, [1.0] * 3) == pytest.approx(4.0)


class TestReach:
    CURVE = GainCurve.through(0.03, 0.06)  # 0.01 each

    def test_interval_by_hand(self):
        found = reach_of(0.95, 0.91, self.CURVE, 2.0, steps_per_policy=1000.0)
        assert found.policies == (2, 8)
        assert found.steps == (2000, 8000)

    def test_is_open_if_it_may_never_be_reached(self):
        found = reach_of(0.95, 0.91, self.CURVE, 2.0, most=6, steps_per_policy=1000.0)
        assert found.policies == (2, None)
        assert found.steps == (2000, None)

    def test_is_none_if_it_is_not_expected_even_if_possible(self):
        found = reach_of(0.95, 0.91, self.CURVE, 2.0, most=3, steps_per_policy=1000.0)
        assert found.policies is None
        assert found.steps is None
        assert found.levels_off_at == pytest.approx(0.94)
        assert found.levels_off_between == pytest.approx((0.925, 0.97))

    def test_no_coverage_above_1_is_forecast(self):
        assert reach_of(0.95, 0.91, self.CURVE, 4.0).levels_off_between == (1.0, 1.0)

    def test_what_is_reached(self):
        found = reach_of(0.95, 0.96, self.CURVE, 2.0)
        assert found.policies == (0, 0)
        assert found.to_dict()["reached"]
        assert not reach_of(0.95, 0.94, self.CURVE, 2.0).to_dict()["reached"]


@pytest.mark.parametrize(
    ("coverage", "most", "known", "words"),
    [
        (0.96, 9, True, "95 % coverage: reached."),
        (0.91, 9, True, "predicted after 2 to 8 further policies (2,000 to 8,000 steps)."),
        (0.91, 6, True, "predicted after 2 or more further policies (2,000 or more steps)."),
        (0.91, 3, True, "not predicted, forecasts level off at 94.0 %, at best at 97.0 %."),
        (0.949, 9, False, "95 % of the range so far: predicted after 1 further policy (1,000 steps)."),
    ],
)
def test_in_words(coverage, most, known, words):
    curve = GainCurve.through(0.0301, 0.0602)
    found = reach_of(0.95, coverage, curve, 2.0, most=most, steps_per_policy=1000.0)
    assert reach_text(found, known=known).endswith(words)


def told(path, monkeypatch, rows, gain=1.0, **options):
    """A study of policies that are trained elsewhere, each to add the same, by its selector."""
    monkeypatch.setattr(RandomSelector, "remaining_gain", lambda self, policies=3: gain * policies)
    study = Study.open(path, space=SPACE, selector="random", **options)
    for row in rows:
        study.tell(study.ask(), row)
    return study


def test_a_study_says_it_from_the_third_policy_on(tmp_path, monkeypatch):
    rows = [np.full(20, value) for value in (80.0, 85.0, 91.0)]
    study = told(tmp_path / "study", monkeypatch, rows[:2], return_range=(0.0, 100.0))
    assert study.status()["reach"] is None
    study.tell(study.ask(), rows[2])
    assert study.status()["reach"] == {
        "coverage": 0.95,
        "reached": False,
        "policies": [1, 16],  # 4 at 1 each, four times as fast or as slow
        "steps": None,
        "levels_off_at": 1.0,
        "levels_off_between": pytest.approx([0.96, 1.0]),
    }


def test_runs_that_failed_do_not_count_as_policies_there(tmp_path, monkeypatch):
    monkeypatch.setattr(RandomSelector, "failed_runs", lambda self: [1])
    rows = [np.full(20, value) for value in (80.0, 2.0, 91.0)]
    study = told(tmp_path / "study", monkeypatch, rows, return_range=(0.0, 100.0))
    assert study.status()["reach"] is None


def test_without_a_known_range_it_is_about_the_returns_so_far(tmp_path, monkeypatch):
    rows = [np.linspace(0.0, top, 20) for top in (5.0, 8.0, 10.0)]
    status = told(tmp_path / "study", monkeypatch, rows, gain=0.01).status()
    assert status["coverage"] is None
    assert status["covered"]["coverage"] == pytest.approx(0.5)
    assert status["covered"]["range"] == [0.0, 10.0]
    assert status["covered"]["range_known"] is False
    assert status["reach"]["policies"] is None
    assert status["reach"]["levels_off_at"] == pytest.approx(0.52), "20 targets, 0.001 each"


def test_a_selector_without_forecasts_says_nothing(tmp_path):
    study = Study.open(tmp_path / "study", space=SPACE, selector="random")
    for value in range(4):
        study.tell(study.ask(), np.arange(20.0) + value)
    assert study.status()["reach"] is None
    assert study.status()["covered"]["targets"] == 20


def test_pending_policies_bring_what_is_expected_of_them(tmp_path, monkeypatch):
    rows = [np.full(20, value) for value in (80.0, 85.0, 91.0)]
    study = told(tmp_path / "study", monkeypatch, rows, return_range=(0.0, 100.0))
    monkeypatch.setattr(Trial, "expected_gain", property(lambda self: 2.0))
    study.ask()
    assert study.status()["reach"]["policies"] == [1, 8], "2 are missing, at 1 each"


def test_coverage_of_rows_in_part(tmp_path):
    study = Study.open(tmp_path / "study", space=SPACE, return_range=(0.0, 10.0))
    assert study.status()["covered"] is None
    row = np.full(20, np.nan)
    row[:5] = [2.0, 4.0, 6.0, 8.0, 10.0]
    study.tell(study.ask(), row)
    covered = study.status()["covered"]
    assert covered["targets"] == 5
    assert (covered["coverage"], covered["worst_tenth"]) == pytest.approx((0.6, 0.2))
    assert covered["within_5_percent"] == pytest.approx(0.2)
