import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.errors import ModelError
from sdmbtl.selectors.models.shortfall_model import Form, RegionRun, ShortfallModel

SPACE = ContextSpace(a=np.linspace(0, 1, 9), b=np.linspace(0, 1, 9))
UNITS = SPACE.unit_targets
REACH = 0.3
MODEL = ShortfallModel(
    forms=(Form(0.25, "best", 0.5, 0.6), Form(0.0, "scratch", 1.0, 0.4)), usual_reach=REACH
)
FIRST = 100.0 * UNITS[:, 0]


def brute_shape(center, width, reach):
    shape = []
    for target in UNITS:
        beyond = [max(abs(t - c) - width / 2, 0.0) for t, c in zip(target, center, strict=True)]
        shape.append(np.exp(-sum((d / reach) ** 2 for d in beyond)))
    return np.array(shape)


def specialist(center, share, reach=REACH, before=FIRST, form=0, **options):
    """A run that removes exactly a share of the shortfall."""
    shape = brute_shape(center, MODEL.forms[form].width, reach)
    row = before + share * shape * (100.0 - before)
    return RegionRun(np.array(center), form, row, **options)


@pytest.mark.parametrize("width", [0.0, 0.25, 1.0])
def test_the_shape_is_the_distance_from_the_region(width):
    fitted = MODEL.fit(SPACE, FIRST, [])
    centers = np.array([[0.0, 0.5], [0.4, 0.9]])
    expected = [brute_shape(center, width, 0.2) for center in centers]
    assert np.allclose(fitted.shape(centers, width, 0.2), expected)


def test_before_any_specialist_the_share_is_that_of_the_form():
    fitted = MODEL.fit(SPACE, FIRST, [])
    center = np.array([[0.0, 0.5]])
    expected = 0.6 * brute_shape(center[0], 0.25, REACH) * (100.0 - FIRST)
    assert np.allclose(fitted.specialists(0, center)[0], expected)
    assert np.allclose(fitted.gains(center, FIRST)[0], expected.mean())


def test_gains_are_the_means_of_the_improvements():
    fitted = MODEL.fit(SPACE, FIRST, [specialist([0.0, 0.5], 0.3)])
    for form in range(2):
        improvements = fitted.specialists(form, UNITS)
        assert np.allclose(fitted.gains(UNITS, fitted.best)[form], improvements.mean(axis=1))


def test_one_failure_of_a_promise_changes_each_factor_by_its_weight():
    fitted = MODEL.fit(SPACE, FIRST, [specialist([0.0, 0.5], 0.0)])
    assert fitted._of_all == pytest.approx(4 / 5)
    assert fitted._of_form == pytest.approx([2 / 3, 1.0])
    assert fitted._of_level[0] == pytest.approx(1 / 2)
    assert fitted._of_level[-1] > 0.9


def test_a_failure_of_a_promise_is_expected_again_of_those_that_are_alike():
    center = [0.0, 0.5]
    fitted = MODEL.fit(SPACE, FIRST, [specialist(center, 0.0)])
    near = brute_shape(center, 0.25, fitted.reach)
    fell_short = 0.6 * near**2 * (100.0 - FIRST) > 1e-6  # elsewhere nothing was promised
    for other, width, power in (
        (center, 0.25, 1.0),
        ([0.25, 0.5], 0.25, np.exp(-1.0)),
        ([0.25, 0.25], 0.25, np.exp(-1.0)),
        (center, 0.0, 0.5),
        ([0.0, 1.0], 0.0, 0.5 * np.exp(-4.0)),
    ):
        factors = fitted._alike(np.array([other]), width)[0]
        assert np.allclose(factors[fell_short], (0.5 / 1.5) ** (power * near[fell_short]))
        assert np.allclose(factors[~fell_short], 1.0, atol=1e-3)
    # Next to where it failed, a region of its own may well do better.
    share = fitted.specialists(0, np.array([center, [0.25, 0.75]])) / (100.0 - FIRST + 1e-9)
    beside = SPACE.nearest([0.125, 0.625])
    assert share[1, beside] > 1.5 * share[0, beside]


@pytest.mark.parametrize("reach", [0.1, 0.2, 0.6])
def test_the_reach_is_found(reach):
    runs, before = [], FIRST
    for center in ([0.0, 0.5], [0.0, 0.0], [0.25, 1.0], [0.5, 0.25]):
        runs.append(specialist(center, 0.6, reach, before))
        before = np.maximum(before, runs[-1].row)
    assert MODEL.fit(SPACE, FIRST, runs).reach == reach
    one = MODEL.fit(SPACE, FIRST, runs[:1]).reach
    assert min(reach, REACH) <= one <= max(reach, REACH), (
        "one run may leave it nearer to the usual one"
    )


def test_a_failed_run_is_evidence_about_its_form_only():
    fitted = MODEL.fit(SPACE, FIRST, [specialist([0.0, 0.5], 0.0, has_failed=True)])
    assert fitted._of_form == pytest.approx([2 / 3, 1.0])
    assert (fitted._of_all, fitted._of_level.min()) == (1, 1)
    assert (fitted._alike(UNITS, 0.25) == 1).all()


@pytest.mark.parametrize(
    ("late_gain", "share"), [(None, 0.06), (50.0, 0.06), (2.5, 0.05), (0.0, 0.01)]
)
def test_the_generalist_follows_its_learning_curve(late_gain, share):
    fitted = MODEL.fit(SPACE, FIRST, [], late_gain)
    assert np.allclose(fitted.generalist(), share * (100.0 - FIRST))


def test_a_continued_generalist_that_adds_nothing_is_expected_to_add_half():
    run = RegionRun(np.array([0.5, 0.5]), None, FIRST)
    before, after = (MODEL.fit(SPACE, FIRST, runs).generalist() for runs in ([], [run]))
    assert np.allclose(after, before / 2)


def test_nothing_is_missing():
    fitted = MODEL.fit(SPACE, np.full(81, 7.0), [])
    assert not fitted.generalist().any()
    assert not fitted.gains(UNITS, fitted.best).any()


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((0.25, "warm", 0.5, 0.6), "Unknown start 'warm'"),
        ((1.5, "best", 0.5, 0.6), "a 'width' and a 'share' of at most 1"),
        ((0.25, "best", 0.0, 0.6), "a 'length' above 0"),
        ((0.25, "best", 0.5, -0.1), "'share' must be"),
    ],
)
def test_unusable_forms(values, text):
    with pytest.raises(ModelError, match=text):
        Form(*values)
