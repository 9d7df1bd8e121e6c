"""The anatomy of matrices whose anatomy is known, and against brute force."""

import itertools
import json

import numpy as np
import pytest

from sdmbtl import ContextSpace, Interval
from sdmbtl_lab.matrices import TransferDataset, TransferMatrices
from sdmbtl_lab.matrices.anatomy import anatomy

GRID = ContextSpace(length=range(4), mass=range(3), force=range(2))
LINE = ContextSpace(mass=range(4))
LISTED = ContextSpace.sample(24, seed=3, length=Interval(1, 9), mass=Interval(0.1, 10, "log"))


def dataset(space, returns, *, variance=0.0, multi_task=None, **card):
    returns = TransferMatrices(space, returns).returns
    return TransferDataset(
        TransferMatrices(space, returns),
        returns.diagonal(axis1=1, axis2=2).copy(),
        np.full(returns.shape[:2], variance),
        multi_task or {},
        {"name": "made up", **card},
    )


def described(space, returns, **options):
    return anatomy(dataset(space, returns, **options))


def distances(space, weights):
    return (np.abs(space.unit_targets[:, None] - space.unit_targets) * weights).sum(axis=2)


def noise(space, seeds=1, seed=0):
    return np.random.default_rng(seed).normal(size=(seeds, len(space), len(space)))


def without_effects(values):
    """(N, N) without row and column means, in one loop each."""
    centred = np.array(values, dtype=float)
    for row in centred:
        row -= row.mean()
    for column in centred.T:
        column -= column.mean()
    return centred


def brute_force_r2(features, interaction):
    design = np.column_stack([without_effects(f).ravel() for f in features])
    fitted = design @ np.linalg.lstsq(design, interaction.ravel(), rcond=None)[0]
    return 1 - ((interaction.ravel() - fitted) ** 2).sum() / (interaction**2).sum()


# -- f, g and size -----------------------------------------------------------------------------


def test_size():
    found = described(GRID, 5 * distances(GRID, 1), recipe={"episodes": 7})
    assert (found.size.contexts, found.size.seeds, found.size.episodes) == (24, 1, 7)
    assert (found.size.lowest, found.size.highest) == (0, 15)
    assert [(d.name, d.low, d.high, d.levels) for d in found.size.dimensions] == [
        ("length", 0, 3, 4),
        ("mass", 0, 2, 3),
        ("force", 0, 1, 2),
    ]
    listed = described(LISTED, noise(LISTED))
    assert [(d.scale, d.levels) for d in listed.size.dimensions] == [
        ("linear", None),
        ("log", None),
    ]
    assert listed.size.episodes is None


def test_an_exact_sum_of_effects():
    length, mass, force = GRID.unit_targets.T
    f, g = 3 * length - mass, 2 * (force == 1)
    found = described(GRID, f[:, None] + g)
    width = np.ptp(f) + np.ptp(g)
    assert np.allclose(found.quality.values, (f - f.mean()) / width)
    assert np.allclose(found.difficulty.values, (g - g.mean()) / width)
    assert found.shares.quality == pytest.approx(f.var() / (f.var() + g.var()))
    assert found.shares.difficulty == pytest.approx(g.var() / (f.var() + g.var()))
    assert found.shares.dissimilarity == pytest.approx(0, abs=1e-12)
    assert found.gap.mountain_r2 is None
    assert not found.gap.weights.any()
    assert found.quality.linear_r2 == pytest.approx(1)
    by_length, by_mass, by_force = found.quality.main_effects
    assert np.allclose(by_length.means, (np.array([-1.5, -0.5, 0.5, 1.5])) / width)
    assert np.allclose(by_mass.means, np.array([0.5, 0, -0.5]) / width)
    assert np.allclose(by_force.means, 0)
    assert [m.shape for m in found.quality.main_effects] == ["rises", "falls", "flat"]
    assert by_length.swing == pytest.approx(3 / width)


@pytest.mark.parametrize(
    ("means", "shape"),
    [
        ([0, 1, 2, 3], "rises"),
        ([3, 1, 2, 0], "falls"),
        ([0, 3, 2, 1], "hill"),
        ([2, 0, 1, 3], "valley"),
        ([1, 2.4, 0, 1.6], "uneven"),
        ([1, 1, 1, 1], "flat"),
    ],
)
def test_shapes_of_effects(means, shape):
    found = described(LINE, np.array(means, dtype=float)[:, None] + np.arange(4.0))
    assert found.quality.main_effects[0].shape == shape


def test_effects_of_a_list_of_targets():
    unit = LISTED.unit_targets[:, 1]
    found = described(LISTED, np.tile(unit, (24, 1)))
    effect = found.difficulty.main_effects[1]
    part = np.minimum((unit * 8).astype(int), 7)
    wanted = [unit[part == p].mean() for p in range(8)]
    scaled = (np.array(wanted) - unit.mean()) / np.ptp(unit)
    assert np.allclose(effect.means, scaled)
    assert np.allclose(LISTED.dimensions["mass"].to_unit(effect.values), (np.arange(8) + 0.5) / 8)


# -- h -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", [GRID, LISTED], ids=["grid", "list"])
def test_an_exact_mountain(space):
    weights = np.array([3.0, 1.0, 2.0])[: space.n_dimensions]
    g = 0.1 * space.unit_targets[:, 0]
    returns = g - distances(space, weights)
    found = described(space, returns)
    width = np.ptp(returns)
    for values in (-found.gap.left, -found.gap.right, found.gap.weights):
        assert np.allclose(values, weights / width)
    assert found.gap.mountain_r2 == pytest.approx(1)
    assert found.detection.structure == "mountain"
    for curve in found.gap.curves:
        assert np.allclose(curve.interaction, curve.mountain)


@pytest.mark.parametrize("space", [GRID, LISTED], ids=["grid", "list"])
def test_fits_of_the_interaction_by_brute_force(space):
    found = described(space, noise(space)[0] - 3 * distances(space, 1))
    returns = noise(space)[0] - 3 * distances(space, 1)
    interaction = without_effects(returns) / np.ptp(returns)
    difference = space.unit_targets[:, None] - space.unit_targets
    sizes = [np.abs(difference[:, :, d]) for d in range(space.n_dimensions)]
    assert found.gap.mountain_r2 == pytest.approx(brute_force_r2(sizes, interaction))
    assert found.shares.dissimilarity == pytest.approx(
        interaction.var() / (returns / np.ptp(returns)).var()
    )


def test_one_sided_slopes():
    difference = LINE.unit_targets - LINE.unit_targets.T  # source - target
    higher_is_better = described(LINE, np.minimum(difference, 0.0))
    assert higher_is_better.gap.left[0] == pytest.approx(-1)
    assert higher_is_better.gap.right[0] == pytest.approx(0, abs=1e-12)


# -- run-to-run variance --------------------------------------------------------------------------


def test_nothing_but_run_variance():
    rows = np.array([[1.0, -1, 1, -1], [1, 1, -1, -1]])
    found = described(LINE, np.repeat(rows[:, :, None], 4, axis=2))
    variance = found.run_variance
    assert (variance.common, variance.row, variance.rest) == pytest.approx((0, 1, 0))
    assert variance.row_correlation == pytest.approx(0)


def test_parts_of_the_run_variance():
    rng = np.random.default_rng(1)
    common, row, rest = distances(GRID, 2), rng.normal(size=(40, 24, 1)), noise(GRID, 40, seed=2)
    found = described(GRID, common + 0.5 * row + 0.3 * rest)
    variances = np.array([common.var(), 0.25, 0.09])
    shares = (found.run_variance.common, found.run_variance.row, found.run_variance.rest)
    assert shares == pytest.approx(variances / variances.sum(), abs=0.02)
    assert sum(shares) == pytest.approx(1)


def test_one_seed_says_nothing_about_run_variance():
    variance = described(GRID, noise(GRID)).run_variance
    assert variance.common is variance.row is variance.rest is variance.row_correlation is None


# -- training and few policies -----------------------------------------------------------------


def test_few_policies_by_brute_force():
    returns = noise(LINE, seeds=2)
    found = described(LINE, returns)
    scaled = (returns - returns.min()) / np.ptp(returns)

    def reached(sources):
        return scaled[:, list(sources)].max(axis=1).mean()

    few = found.few_policies
    for k in (1, 2, 3, 4):
        subsets = list(itertools.combinations(range(4), k))
        assert few.random[k - 1] == pytest.approx(np.mean([reached(s) for s in subsets]))
        assert few.oracle[k - 1] <= max(reached(s) for s in subsets) + 1e-12
    assert few.oracle[0] == pytest.approx(max(reached([s]) for s in range(4)))
    assert few.own == pytest.approx(scaled.diagonal(axis1=1, axis2=2).mean())
    assert few.everything == pytest.approx(reached(range(4)))
    assert few.margin_round == 4
    assert few.margin == pytest.approx(0)


# -- everything --------------------------------------------------------------------------------


def test_shift_and_scale_of_the_returns_change_nothing_but_the_size():
    returns = noise(GRID, seeds=2) - distances(GRID, 1)
    options = {"variance": 1.0, "recipe": {"episodes": 5}}
    here = described(GRID, returns, **options)
    there = described(GRID, 1000 + 40 * returns, **{**options, "variance": 1600.0})
    assert there.run_variance.row == pytest.approx(here.run_variance.row)
    assert np.allclose(there.gap.left, here.gap.left)
    assert there.few_policies.margin == pytest.approx(here.few_policies.margin)
    assert there.size.highest == pytest.approx(1000 + 40 * here.size.highest)


def test_returns_that_are_all_the_same():
    found = described(GRID, np.full((2, 24, 24), 7.0), recipe={"episodes": 3})
    assert found.few_policies.margin == 0
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_single_context():
    found = described(ContextSpace(mass=[1.0]), np.array([[[1.0]], [[3.0]]]))
    assert found.detection.structure == "none"
    assert found.few_policies.oracle.tolist() == [0.5]
    json.dumps(found.to_dict(), allow_nan=False)
