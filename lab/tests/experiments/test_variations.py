"""The further kinds of matrices, number by number."""

import pickle

import numpy as np
import pytest
from scoreboard.variations import CHECK, DEVELOPMENT, Plateau, Slopes, Variation

from sdmbtl.errors import BenchmarkError
from sdmbtl.seeds import seed_sequence
from sdmbtl_lab.benchmarks.effects import effect
from sdmbtl_lab.matrices.margins import CHOICE_MATTERS, choice_margin
from sdmbtl_lab.matrices.transfer_matrices import min_max

EVERY = (*DEVELOPMENT, *CHECK)
SMALL = Variation("small", sizes=(3, 4), h=Slopes((-2, 0), (1, 5)))


def names(variations):
    return [v.name for v in variations]


def changed(**parts):
    """The small variation with other parts."""
    return Variation(**{"kind": "small", "sizes": (3, 4), "h": SMALL.h, **parts})


def test_slopes_against_a_double_loop():
    variation = changed(f="linear", f_slope=2.0, g="quadratic", g_slope=3.0)
    contexts = variation.space.targets
    g = effect("quadratic", contexts, 3.0, seed_sequence(0, "g of small"))
    expected = np.empty((12, 12))
    for i, x in enumerate(contexts):
        for j, y in enumerate(contexts):
            way = x - y
            expected[i, j] = 2 * x.sum() + g[j]
            expected[i, j] -= 2 * -way[0] if way[0] < 0 else way[0]
            expected[i, j] -= 0 if way[1] < 0 else 5 * way[1]
    np.testing.assert_allclose(variation.noiseless(), expected)
    np.testing.assert_allclose(variation.matrix(3), expected)


def test_plateau_against_a_double_loop():
    variation = changed(h=Plateau(10.0, (1.0, 2.0)))
    contexts = variation.space.targets
    for i, x in enumerate(contexts):
        for j, y in enumerate(contexts):
            a, b = x - y
            expected = -10 * (1 - np.exp(-(a**2 + b**2 / 4)))
            assert variation.noiseless()[i, j] == pytest.approx(expected)


def test_smooth_effects_are_smooth_and_random_ones_are_not():
    contexts = Variation("line", sizes=(100,), h=Plateau(1.0, (1.0,))).space.targets
    smooth, rough = (effect(kind, contexts, 1.0, seed=3) for kind in ("smooth", "random"))
    assert smooth.std() == pytest.approx(rough.std())
    assert np.abs(np.diff(smooth)).max() < 0.1 * np.ptp(smooth)
    assert np.abs(np.diff(rough)).max() > 0.5 * np.ptp(rough)


def test_a_training_run_moves_its_whole_row():
    varied = changed(run_deviation=7.0)
    moved = varied.matrix(0) - varied.noiseless()
    np.testing.assert_allclose(moved, np.broadcast_to(moved[:, :1], moved.shape), atol=1e-9)
    offsets = [(varied.matrix(t) - varied.noiseless())[:, 0] for t in range(300)]
    assert np.std(offsets) == pytest.approx(7.0, rel=0.05)


def test_failures_make_some_rows_fall():
    failing = changed(failures=0.25, failure_drop=40.0)
    moved = np.array([failing.matrix(t) - failing.noiseless() for t in range(300)])
    failed = np.isclose(moved, -40)
    assert (failed.all(axis=2) | np.isclose(moved, 0).all(axis=2)).all()
    assert failed.mean() == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize("heavy_tails", [False, True])
def test_noise_has_its_standard_deviation(heavy_tails):
    noisy = changed(noise=4.0, heavy_tails=heavy_tails)
    noise = np.array([noisy.matrix(t) - noisy.noiseless() for t in range(1000)])
    assert noise.std() == pytest.approx(4.0, rel=0.1)
    assert (np.abs(noise).max() > 10 * 4.0) == heavy_tails


def test_returns_saturate_at_quantiles_of_the_noiseless_matrix():
    plain, cut = changed(noise=3.0), changed(noise=3.0, floor=0.2, ceiling=0.6)
    low, high = np.quantile(plain.noiseless(), [0.2, 0.6])
    np.testing.assert_array_equal(cut.matrix(1), np.clip(plain.matrix(1), low, high))
    only_above = changed(noise=3.0, ceiling=0.6).matrix(1)
    np.testing.assert_array_equal(only_above, np.minimum(plain.matrix(1), high))


@pytest.mark.parametrize("variation", EVERY, ids=names(EVERY))
def test_reproducible_in_other_processes_and_different_in_trials(variation):
    again = pickle.loads(pickle.dumps(variation))  # noqa: S301 (ours)
    assert again == variation
    first = variation.matrix(0)
    np.testing.assert_array_equal(first, again.matrix(0))
    assert first.shape == (len(variation.space),) * 2
    assert np.isfinite(first).all()
    noiseless = variation.noise == variation.run_deviation == variation.failures == 0
    assert np.array_equal(first, variation.matrix(1)) == noiseless


def test_what_is_random_depends_on_the_name():
    one, other = (changed(kind=name, noise=1.0, f="random", f_slope=1.0) for name in ("a", "b"))
    assert not np.allclose(one.noiseless(), other.noiseless())
    assert not np.allclose(one.matrix(0) - one.noiseless(), other.matrix(0) - other.noiseless())


def test_a_caller_cannot_change_what_is_kept():
    SMALL.noiseless()[:] = 0
    SMALL.matrix(0)[:] = 0
    assert SMALL.noiseless().min() < 0


@pytest.mark.parametrize("variation", EVERY, ids=names(EVERY))
def test_choosing_matters_everywhere(variation):
    returns = np.array([variation.matrix(trial) for trial in range(10)])
    margin = choice_margin(np.asarray(min_max(returns, returns.min(), returns.max())))
    assert margin >= CHOICE_MATTERS


def test_the_two_sets_have_nothing_in_common():
    assert len(set(names(EVERY))) == len(EVERY) == 36
    assert not {v.sizes for v in DEVELOPMENT} & {v.sizes for v in CHECK}
    assert not {v.h for v in DEVELOPMENT} & {v.h for v in CHECK}


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"f": "cubic"}, "'f' must be one of .*Got 'cubic'"),
        ({"g": "cubic"}, "'g' must be one of"),
        ({"sizes": (3, 4, 5)}, "'h' of 'small' must have 3 dimensions.*Got 2"),
        ({"failures": 1.5}, "'failures' of 'small' .* in 0..1. Got 1.5"),
        ({"floor": 0.7, "ceiling": 0.6}, "floor below the ceiling. Got 0.7 and 0.6"),
        ({"ceiling": 60}, "must be in 0..1"),
    ],
)
def test_bad_variations(parts, text):
    with pytest.raises(BenchmarkError, match=text):
        changed(**parts)


def test_slopes_of_different_lengths():
    with pytest.raises(BenchmarkError, match="Got 2 and 1 instead"):
        Slopes((1, 2), (3,))


def test_what_is_shown_of_a_variation_says_run_variance():
    """Its name does not change: random numbers and recorded results depend on it."""
    (found,) = (v for v in DEVELOPMENT + CHECK if v.name == "plateau-luck")
    assert found.labels["variation"] == "plateau-run-variance"
    assert not any("luck" in v.labels["variation"] for v in DEVELOPMENT + CHECK)
