"""The further kinds of matrices, number by number."""

import numpy as np
import pytest

from sdmbtl.seeds import seed_sequence
from sdmbtl_lab.benchmarks.synthetic import effect
from sdmbtl_lab.matrices.dataset import min_max
from sdmbtl_lab.matrices.margins import CHOICE_MATTERS, choice_margin
from variations import CHECK, DEVELOPMENT, Plateau, Slopes, Variation, noiseless

EVERY = (*DEVELOPMENT, *CHECK)


def made(**parts):
    """Make a small variation."""
    return Variation(**{"kind": "small", "sizes": (3, 4), "h": Slopes((-2, 0), (1, 5)), **parts})


def test_slopes_and_plateau_against_a_double_loop():
    variation = made(f="linear", f_slope=2.0, g="quadratic", g_slope=3.0)
    plateau = made(h=Plateau(10.0, (1.0, 2.0)))
    contexts = variation.space.targets
    g = effect("quadratic", contexts, 3.0, seed_sequence(0, "g of small"))
    for i, x in enumerate(contexts):
        for j, y in enumerate(contexts):
            a, b = x - y
            expected = 2 * x.sum() + g[j] - (-2 * a if a < 0 else a) - (0 if b < 0 else 5 * b)
            assert variation.matrix(3)[i, j] == pytest.approx(expected)
            expected = -10 * (1 - np.exp(-(a**2 + b**2 / 4)))
            assert plateau.matrix(0)[i, j] == pytest.approx(expected)


def test_training_runs_and_failures_move_whole_rows():
    varied, failing = made(run_deviation=7.0), made(failures=0.25, failure_drop=40.0)
    moved = np.array([varied.matrix(t) - noiseless(varied) for t in range(300)])
    np.testing.assert_allclose(moved, np.broadcast_to(moved[..., :1], moved.shape), atol=1e-9)
    assert moved[..., 0].std() == pytest.approx(7.0, rel=0.05)
    moved = np.array([failing.matrix(t) - noiseless(failing) for t in range(300)])
    failed = np.isclose(moved, -40)
    assert (failed.all(axis=2) | np.isclose(moved, 0).all(axis=2)).all()
    assert failed.mean() == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize("heavy_tails", [False, True])
def test_noise_has_its_standard_deviation(heavy_tails):
    noisy = made(noise=4.0, heavy_tails=heavy_tails)
    noise = np.array([noisy.matrix(t) - noiseless(noisy) for t in range(1000)])
    assert noise.std() == pytest.approx(4.0, rel=0.1)
    assert (np.abs(noise).max() > 10 * 4.0) == heavy_tails


def test_returns_saturate_at_quantiles_of_the_noiseless_matrix():
    plain, cut = made(noise=3.0), made(noise=3.0, floor=0.2, ceiling=0.6)
    low, high = np.quantile(noiseless(plain), [0.2, 0.6])
    np.testing.assert_array_equal(cut.matrix(1), np.clip(plain.matrix(1), low, high))
    only_above = made(noise=3.0, ceiling=0.6).matrix(1)
    np.testing.assert_array_equal(only_above, np.minimum(plain.matrix(1), high))


def test_choosing_matters_everywhere_and_the_sets_differ():
    names = [variation.name for variation in EVERY]
    assert len(set(names)) == len(EVERY) == 36
    assert not {v.sizes for v in DEVELOPMENT} & {v.sizes for v in CHECK}
    for variation in EVERY[::4]:
        returns = np.array([variation.matrix(trial) for trial in range(5)])
        scaled = min_max(returns, returns.min(), returns.max())
        assert choice_margin(np.asarray(scaled)) >= CHOICE_MATTERS, variation.name
