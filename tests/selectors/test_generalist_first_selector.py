import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.contexts import Source
from sdmbtl.errors import ExhaustedError, SelectorError
from sdmbtl.selectors import GeneralistFirstSelector
from sdmbtl.selectors.models.region_model import RegionModel, RegionRun

SPACE = ContextSpace(a=np.linspace(0.0, 7.0, 8), b=np.linspace(0.0, 7.0, 8))
UNITS = SPACE.unit_targets
#: Good but in a corner.
CORNER = np.where((UNITS > 0.7).all(axis=1), 0.0, 100.0)


def opened(row=CORNER, **settings):
    """A selector whose first policy for the whole space has this row."""
    selector = GeneralistFirstSelector(SPACE, steps=1000, **settings)
    selector.tell(selector.ask(), row)
    return selector


def test_the_whole_space_comes_first_for_half_a_unit():
    trial = GeneralistFirstSelector(SPACE, steps=1001).ask()
    assert SPACE.is_whole(trial.source)
    assert (trial.steps, trial.parent, trial.source.sees_context) == (501, None, False)


@pytest.mark.parametrize(("sees_context", "sees"), [("never", False), ("always", True)])
def test_policies_never_or_always_see_their_context(sees_context, sees):
    selector = GeneralistFirstSelector(SPACE, steps=1000, sees_context=sees_context)
    for _ in range(3):
        trial = selector.ask()
        assert trial.source.sees_context == sees
        selector.tell(trial, CORNER)


def test_with_both_kinds_the_third_policy_continues_the_second_and_sees():
    selector = GeneralistFirstSelector(SPACE, steps=1000, sees_context="both")
    first = selector.ask()
    assert not SPACE.is_whole(selector.next_trials(1)[0].source)  # nothing is known: a region
    selector.tell(first, CORNER)
    for sees, parent in ((False, 0), (True, 1)):
        trial = selector.ask()
        assert SPACE.is_whole(trial.source)
        assert (trial.source.sees_context, trial.parent) == (sees, parent)
        selector.tell(trial, CORNER)
    assert not first.source.sees_context


def test_then_a_specialist_where_most_is_missing():
    trial = opened().ask()
    assert (trial.strategy, trial.model, trial.parent) == ("specialist", "regions", 0)
    assert (trial.width, trial.steps) == (0.25, 500)
    assert (SPACE.to_unit(trial.source.vector) > 0.7).all()
    assert 0 < trial.expected_gain < (100 - CORNER).mean()


def test_where_much_is_missing_everywhere_the_whole_space_is_trained_further():
    trial = opened(np.where(UNITS[:, 0] < 0.05, 100.0, 0.0)).ask()
    assert SPACE.is_whole(trial.source)
    assert trial.parent == 0


def test_specialists_start_from_the_best_policy_around_and_see_what_it_sees():
    selector = GeneralistFirstSelector(SPACE, steps=1000, sees_context="both")
    for _ in range(2):
        selector.tell(selector.ask(), np.where(UNITS[:, 0] > 0.8, 0.0, 90.0))
    selector.tell(selector.ask(), np.where(UNITS[:, 0] > 0.8, 50.0, 100.0))
    while SPACE.is_whole((trial := selector.ask()).source):
        pass
    assert (trial.parent, trial.source.sees_context) == (2, True)


def test_a_region_where_specialists_failed_is_left_for_another():
    two = np.where((UNITS > 0.7).all(axis=1) | (UNITS < 0.3).all(axis=1), 0.0, 100.0)
    selector = opened(two)
    first = selector.ask()
    selector.tell(first, np.zeros(len(SPACE)))  # removed nothing
    second = selector.ask()
    apart = np.abs(SPACE.to_unit(first.source.vector) - SPACE.to_unit(second.source.vector))
    assert apart.max() > 0.25
    assert second.expected_gain == pytest.approx(first.expected_gain, rel=0.2)


def test_forecasts_fall_to_zero_when_nothing_is_missing():
    selector = opened(np.full(len(SPACE), 5.0))
    for _ in range(2):
        selector.tell(selector.ask(), np.full(len(SPACE), 5.0))
    assert selector.remaining_gain() == 0.0


def test_when_every_source_is_taken_asking_fails():
    space = ContextSpace(a=[0.0, 1.0])
    selector = GeneralistFirstSelector(space, reported_parents=True)
    for _ in range(3):  # the whole space, and a region around each target
        selector.tell(selector.ask(), status="failed")
    with pytest.raises(ExhaustedError):
        selector.ask()


def test_policies_without_weights_are_not_parents():
    selector = GeneralistFirstSelector(SPACE, reported_parents=False)
    selector.tell(Source.at(SPACE.targets[0], 1.0), CORNER)
    selector.tell(selector.ask(), CORNER)
    assert selector.ask().parent is None


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"width": 1.0}, "width"),
        ({"width": -0.1}, "width"),
        ({"steps": 0}, "steps"),
        ({"sees_context": "sometimes"}, "sees_context"),
        ({"reported_parents": 1}, "reported_parents"),
    ],
)
def test_unusable_settings(options, name):
    with pytest.raises(SelectorError, match=name):
        GeneralistFirstSelector(SPACE, **options)


class TestRegionModel:
    MODEL = RegionModel()

    def test_shape_is_one_inside_and_falls_outside(self):
        shape = self.MODEL.shape(np.array([[0.5, 0.5]]), UNITS)[0]
        inside = (np.abs(UNITS - 0.5) <= 0.125).all(axis=1)
        assert (shape[inside] == 1).all()
        assert (shape[~inside] < 1).all()
        beyond = np.maximum(np.abs(UNITS - 0.5) - 0.125, 0.0)
        np.testing.assert_allclose(shape, np.exp(-((beyond / 0.2) ** 2).sum(axis=1)))

    def test_shares_are_kernel_averages_with_a_prior(self):
        centers = np.array([[0.1, 0.1], [0.9, 0.9]])
        runs = [RegionRun(centers[0], 0.0), RegionRun(None, 1.0), RegionRun(centers[0], 0.3)]
        means, variances = self.MODEL.shares(centers, runs)
        far = 2 * np.exp(-((0.8 / 0.25) ** 2))
        expected = [(0.6 + 0.3) / 3, (0.6 + 0.15 * far) / (1 + far)]
        np.testing.assert_allclose(means, expected)
        assert variances[0] < variances[1]

    def test_of_the_whole_space_later_runs_count_more(self):
        early, late = RegionRun(None, 0.8), RegionRun(None, 0.0)
        assert self.MODEL.share_of_whole([]) == 0.3
        assert self.MODEL.share_of_whole([early, late]) == pytest.approx((0.3 + 0.4) / 2.5)
