"""The anatomy of matrices whose anatomy is known, and against brute force."""

import itertools
import json

import numpy as np
import pytest

from sdmbtl import ContextSpace, Interval
from sdmbtl.contexts import Levels
from sdmbtl_lab.benchmarks.synthetic import SyntheticProblem
from sdmbtl_lab.matrices import TransferDataset, TransferMatrices
from sdmbtl_lab.matrices.anatomy import anatomy, spread_targets

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


def finding(found, start):
    """The one finding that starts so."""
    (sentence,) = [s for s in found.findings if s.startswith(start)]
    return sentence


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
    assert (found.size.lowest, found.size.highest, found.size.grid) == (0, 15, True)
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
    assert not listed.size.grid
    assert listed.size.episodes is None


def test_the_sign_of_zero_is_not_shown():
    found = described(LINE, -distances(LINE, 1))
    assert str(found.size.highest) == "0.0"


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
    assert found.gap.mountain_r2 is found.gap.curves_r2 is found.gap.positions_r2 is None
    assert not found.gap.weights.any()
    assert found.quality.linear_r2 == pytest.approx(1)
    by_length, by_mass, by_force = found.quality.main_effects
    assert np.allclose(by_length.means, (np.array([-1.5, -0.5, 0.5, 1.5])) / width)
    assert np.allclose(by_mass.means, np.array([0.5, 0, -0.5]) / width)
    assert np.allclose(by_force.means, 0)
    assert [m.shape for m in found.quality.main_effects] == ["rises", "falls", "flat"]
    assert by_length.swing == pytest.approx(3 / width)
    assert by_length.share == pytest.approx((3 * length).var() / f.var())
    assert by_force.share == pytest.approx(0)
    assert "hardly interact (0 % of the variance)" in finding(found, "No mountain")
    assert (
        "nearly linear (R² 1.00 linear, 1.00 with curves), mostly along length (88 %)"
        in finding(found, "Policy quality f")
    )


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


def test_bent_and_joint_effects():
    length, _, force = GRID.unit_targets.T
    bent = described(GRID, np.tile((length - 0.5) ** 2, (24, 1)))
    assert bent.difficulty.linear_r2 == pytest.approx(0, abs=1e-12)
    assert bent.difficulty.additive_r2 == pytest.approx(1)
    assert "Task difficulty g is bent" in finding(bent, "Task")
    joint = described(GRID, np.tile((length - 0.5) * (force - 0.5), (24, 1)))
    assert joint.difficulty.additive_r2 == pytest.approx(0, abs=1e-12)
    assert joint.quality.linear_r2 is joint.quality.additive_r2 is None
    assert "is not a sum over the dimensions" in finding(joint, "Task")


def test_effects_of_a_list_of_targets():
    unit = LISTED.unit_targets[:, 1]
    found = described(LISTED, np.tile(unit, (24, 1)))
    effect = found.difficulty.main_effects[1]
    part = np.minimum((unit * 8).astype(int), 7)
    wanted = [unit[part == p].mean() for p in range(8)]
    scaled = (np.array(wanted) - unit.mean()) / np.ptp(unit)
    assert np.allclose(effect.means, scaled)
    assert np.allclose(LISTED.dimensions["mass"].to_unit(effect.values), (np.arange(8) + 0.5) / 8)


def test_values_listed_in_any_order():
    space = ContextSpace(mass=Levels([4.0, 1.0, 2.0]))
    found = described(space, np.tile([3.0, 1.0, 2.0], (3, 1)))
    assert found.difficulty.main_effects[0].values.tolist() == [1, 2, 4]
    assert np.allclose(found.difficulty.main_effects[0].means, [-0.5, 0, 0.5])


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
    assert found.detection.structure == found.paper_detection.structure == "mountain"
    assert found.is_mountain
    assert "explains 100 % of the interaction" in finding(found, "Mountain: policies are alike")
    assert "Structure detection finds Mountain in all rows" in finding(found, "Structure")
    for curve in found.gap.curves:
        assert np.allclose(curve.interaction, curve.mountain)


def test_the_curves_of_a_mountain():
    found = described(LINE, -distances(LINE, 1))
    (curve,) = found.gap.curves
    assert np.allclose(curve.differences, np.arange(-3, 4) / 3)
    relative = np.mean(distances(LINE, 1), axis=0) - distances(LINE, 1)
    wanted = [np.diagonal(relative, -d).mean() for d in range(-3, 4)]
    assert np.allclose(curve.relative, wanted)
    assert curve.interaction.argmax() == 3


@pytest.mark.parametrize("space", [GRID, LISTED], ids=["grid", "list"])
def test_fits_of_the_interaction_by_brute_force(space):
    found = described(space, noise(space)[0] - 3 * distances(space, 1))
    returns = noise(space)[0] - 3 * distances(space, 1)
    interaction = without_effects(returns) / np.ptp(returns)
    difference = space.unit_targets[:, None] - space.unit_targets
    sizes = [np.abs(difference[:, :, d]) for d in range(space.n_dimensions)]
    assert found.gap.mountain_r2 == pytest.approx(brute_force_r2(sizes, interaction))
    indicators = []
    for d, dimension in enumerate(space.dimensions.values()):
        bins = np.rint(difference[:, :, d] * dimension.steps)
        indicators += [bins == b for b in np.unique(bins)]
    assert found.gap.curves_r2 == pytest.approx(brute_force_r2(indicators, interaction))
    assert found.shares.dissimilarity == pytest.approx(
        interaction.var() / (returns / np.ptp(returns)).var()
    )


def test_tables_of_places_by_brute_force():
    returns = noise(GRID)[0]
    tables = [
        np.logical_and.outer(GRID.targets[:, d] == a, GRID.targets[:, d] == b)
        for d, values in enumerate(GRID.dimensions.values())
        for a, b in itertools.product(values.values, repeat=2)
    ]
    wanted = brute_force_r2(tables, without_effects(returns))
    assert described(GRID, returns).gap.positions_r2 == pytest.approx(wanted)
    assert described(LISTED, noise(LISTED)).gap.positions_r2 is None


def test_shapes_that_are_not_straight_slopes():
    space = ContextSpace(mass=range(8))
    plateau = described(space, 1.0 - (distances(space, 7) > 2.5))
    assert "bent curves of the difference explain 100 %" in finding(plateau, "Not straight")
    half = space.unit_targets[:, 0] > 0.3
    blocks = described(space, np.equal.outer(half, half).astype(float))
    assert blocks.gap.positions_r2 == pytest.approx(1)
    assert "where source and target lie" in finding(blocks, "Not straight")


def test_one_sided_slopes():
    difference = LINE.unit_targets - LINE.unit_targets.T  # source - target
    higher_is_better = described(LINE, np.minimum(difference, 0.0))
    assert higher_is_better.gap.left[0] == pytest.approx(-1)
    assert higher_is_better.gap.right[0] == pytest.approx(0, abs=1e-12)
    text = "in mass a source above the target does no harm, one below does"
    assert finding(higher_is_better, "One-sided") == f"One-sided: {text}."
    ridge = finding(higher_is_better, "A ridge, but not a mountain")
    assert ridge.endswith(f"but {higher_is_better.detection.explanation}.")
    lower_is_better = described(LINE, np.minimum(-difference, 0.0))
    assert "a source below the target does no harm, one above does" in finding(
        lower_is_better, "One-sided"
    )


def test_farther_may_be_better():
    found = described(LINE, distances(LINE, 1))
    assert found.gap.weights[0] == pytest.approx(-1)
    assert "farther is better in mass" in finding(found, "No mountain")


def test_noise_does_not_count_against_the_mountain():
    mountain = 4 - distances(GRID, 1)
    returns = mountain + 2 * noise(GRID, seeds=3)
    found = described(GRID, returns)
    interactions = np.array([without_effects(r) for r in returns])
    spread = interactions.var(axis=0, ddof=1).mean() / 3
    wanted = 1 - spread / (interactions.mean(axis=0) ** 2).mean()
    assert found.gap.ceiling == pytest.approx(wanted)
    assert found.gap.mountain_r2 < 0.5
    assert not any(s.startswith("No mountain") for s in found.findings)
    assert described(GRID, returns[0]).gap.ceiling is None
    assert any(s.startswith("No mountain") for s in described(GRID, returns[0]).findings)


def test_seeds_that_agree_on_nothing():
    returns = noise(GRID)[0]
    assert described(GRID, [returns, -returns + 1e-3 * distances(GRID, 1)]).gap.ceiling == 0
    assert described(GRID, [returns, returns]).gap.ceiling == pytest.approx(1)


@pytest.mark.parametrize("h", ["l1", "non-distance"])
def test_the_papers_data(h):
    configuration = SyntheticProblem(3, "constant", "linear", h, noise=5.0)
    found = described(configuration.space, configuration.matrix(0))
    assert found.is_mountain == (h == "l1")
    assert found.few_rows_detection.structure == found.detection.structure
    if h == "non-distance":
        assert "in c1, c2 a source below the target does no harm" in finding(found, "One-sided")
    assert found.difficulty.linear_r2 > 0.9


# -- run-to-run variance --------------------------------------------------------------------------


def test_nothing_but_run_variance():
    rows = np.array([[1.0, -1, 1, -1], [1, 1, -1, -1]])
    found = described(LINE, np.repeat(rows[:, :, None], 4, axis=2))
    variance = found.run_variance
    assert (variance.common, variance.row, variance.rest) == pytest.approx((0, 1, 0))
    assert variance.row_correlation == pytest.approx(0)
    sentence = finding(found, "Policies differ by chance")
    assert "correlate 0.00; noise between training runs is 100 % of all variance" in sentence
    assert sentence.endswith("2 of 8 policies beat their source's others by 0.1 or more.")
    # Two policies differ, by the whole range; each has one better run.
    assert variance.better_runs == 2
    assert [(p.seed, p.source, p.gain, p.context) for p in variance.best_runs] == [
        (0, 2, 1, {"mass": 2.0}),
        (1, 1, 1, {"mass": 1.0}),
    ]


def test_parts_of_the_run_variance():
    rng = np.random.default_rng(1)
    common, row, rest = distances(GRID, 2), rng.normal(size=(40, 24, 1)), noise(GRID, 40, seed=2)
    found = described(GRID, common + 0.5 * row + 0.3 * rest)
    variances = np.array([common.var(), 0.25, 0.09])
    shares = (found.run_variance.common, found.run_variance.row, found.run_variance.rest)
    assert shares == pytest.approx(variances / variances.sum(), abs=0.02)
    assert sum(shares) == pytest.approx(1)


def test_run_variance_is_not_underestimated_with_two_seeds():
    rest = noise(GRID, 2)
    variance = described(GRID, 100 * distances(GRID, 1) + rest).run_variance
    total = (100 * distances(GRID, 1) + rest).var()
    deviation = (rest[0] - rest[1]) / 2
    rows = deviation.mean(axis=1)
    assert variance.row == pytest.approx(2 * (rows**2).mean() / total)
    assert variance.rest == pytest.approx(2 * ((deviation - rows[:, None]) ** 2).mean() / total)


def test_repeatable_training():
    found = described(LINE, [np.tile([[0.0], [1], [2], [3]], 4)] * 2)
    assert found.run_variance.row_correlation == pytest.approx(1)
    assert finding(found, "Training is repeatable")
    partly = np.array([[0.0, 1, 2, 3], [1, 0, 3, 2]])
    between = described(LINE, np.repeat(partly[:, :, None], 4, axis=2))
    assert between.run_variance.row_correlation == pytest.approx(0.6)
    assert finding(between, "Partly repeatable")
    assert between.run_variance.best_runs[0].gain == pytest.approx(1 / 3)


def test_the_correlation_is_the_mean_over_pairs_of_seeds():
    rows = np.array([[0.0, 1, 2, 3], [1, 0, 3, 2], [3, 2, 1, 0]])
    found = described(LINE, np.repeat(rows[:, :, None], 4, axis=2))
    assert found.run_variance.row_correlation == pytest.approx((0.6 - 1 - 0.6) / 3)


def test_one_seed_says_nothing_about_run_variance():
    found = described(GRID, noise(GRID))
    variance = found.run_variance
    assert (
        variance.common
        is variance.row
        is variance.rest
        is variance.row_correlation
        is variance.better_runs
        is None
    )
    assert variance.best_runs == ()
    assert finding(found, "One seed")


def test_policies_that_are_all_alike_do_not_correlate():
    variance = described(LINE, [np.tile(np.arange(4.0), (4, 1))] * 2).run_variance
    assert variance.row_correlation is None
    assert variance.common == pytest.approx(1)


def test_noise_of_the_evaluation():
    returns = 10 * noise(GRID)
    found = described(GRID, returns, variance=200.0, recipe={"episodes": 10})
    assert found.run_variance.evaluation_noise == pytest.approx(20 / returns.var())
    assert "10 episodes leave noise of 20 % of the variance" in finding(found, "Noisy")
    for card in ({}, {"recipe": {"episodes": 1}}):  # from one episode, no variance is known
        assert (
            described(GRID, returns, variance=200.0, **card).run_variance.evaluation_noise is None
        )


# -- training and few policies -----------------------------------------------------------------


def test_training():
    returns = np.array([[10.0, 0, 0, 0], [0, 4, 0, 0], [0, 5, 9, 1], [0, 0, 9.1, 2]])
    found = described(LINE, returns)
    training = found.training
    assert training.own == pytest.approx((10 + 4 + 9 + 2) / 40)
    assert training.best == pytest.approx((10 + 5 + 9.1 + 2) / 40)
    assert training.own_is_best == 0.75  # 4 of 5 is too little, 9 of 9.1 is not
    assert training.unsolved == (3,)
    assert training.unsolved_where == "mass = 3"
    assert "on one target (25 %): mass = 3" in finding(found, "Out of reach")
    assert "in 75 % of the contexts" in finding(found, "Training where it counts")


def test_what_any_seed_solves_is_solved():
    returns = np.zeros((2, 4, 4))
    returns[0, 0] = [1, 0.49, 0, 0]
    returns[1, 1] = [0, 0, 0.5, 0]
    assert described(LINE, returns).training.unsolved == (1, 3)


@pytest.mark.parametrize(
    ("solved", "where"),
    [
        (lambda length, mass, force: length > 1, "length <= 1"),
        (lambda length, mass, force: (length < 2) | (mass < 1), "length >= 2, mass >= 1"),
        (lambda length, mass, force: (length != 1) & (length != 2), "length 1 to 2"),
        (lambda length, mass, force: (length + mass + force) % 2 == 1, "all over the space"),
        (lambda length, mass, force: (mass == 0) | (mass + length + force == 5), "mass >= 1"),
        (lambda length, mass, force: length * mass >= 1, "mostly low length, mostly low mass"),
        (
            lambda length, mass, force: (length * force == 0) & (length < 3),
            "length >= 1, mostly high force",
        ),
        (lambda length, mass, force: length >= 0, ""),
    ],
)
def test_where_targets_are_out_of_reach(solved, where):
    returns = np.tile(solved(*GRID.targets.T).astype(float), (24, 1))
    returns[0, 0] = 0.2  # so that they are not all the same
    assert described(GRID, returns).training.unsolved_where == where


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
    assert few.single == pytest.approx(scaled.mean(axis=2).max(axis=1).mean())
    assert few.everything == pytest.approx(reached(range(4)))
    assert few.margin_round == 4
    assert few.margin == pytest.approx(0)


def test_the_margin_is_taken_after_six_policies():
    found = described(GRID, np.eye(24))
    few = found.few_policies
    assert (few.margin_round, len(few.oracle)) == (6, 20)
    assert np.allclose(few.oracle, np.arange(1, 21) / 24)
    assert few.margin == pytest.approx(0)
    assert "(less than 0.03 apart)" in finding(found, "The choice hardly matters")
    one_is_enough = np.zeros((24, 24))
    one_is_enough[5] = 1
    found = described(GRID, one_is_enough)
    assert found.few_policies.margin == pytest.approx(1 - 6 / 24)
    sentence = "six policies chosen by the oracle reach 1.000, chosen at random 0.250."
    assert finding(found, "The choice matters") == f"The choice matters: {sentence}"


def test_saturation():
    returns = np.ones((24, 24))
    returns[:, 0] = 0
    returns[0, 0] = 0.5
    found = described(GRID, returns)
    assert found.few_policies.at_top == pytest.approx(23 / 24)
    assert found.few_policies.single_covers == 1
    assert "the best single policy reaches 1.000 of what all 24 reach" in finding(
        found, "Saturated"
    )
    assert not any(s.startswith("Plateaus") for s in found.findings)
    blocks = np.kron(np.eye(2), np.ones((12, 12)))
    found = described(GRID, blocks)
    assert found.few_policies.single_covers == 0.5
    assert finding(found, "Plateaus") == "Plateaus: 50 % of all returns are at the very top."


def test_hard_targets():
    returns = np.zeros((24, 24))
    returns[:, 12:] = 1  # whoever runs there
    returns[3, 0] = 1  # one of 24: less than 5 %
    returns[4:6, 1] = 1  # two of 24 are more
    found = described(GRID, returns)
    assert found.few_policies.hard_targets == pytest.approx(1 / 24)
    returns[3, 2:6] = 1
    assert "on 21 % of the targets" in finding(described(GRID, returns), "Hard targets")


@pytest.mark.parametrize(
    ("reached", "verdict"),
    [(10.0, "is at least as good as the oracle"), (5.0, "lies between"), (0.0, "is worse")],
)
def test_multi_task_policies(reached, verdict):
    returns = np.zeros((24, 24))
    returns[5] = 8
    returns[6, 6] = 10
    multi_task = {3: np.full((1, 24), reached), 50: np.zeros((1, 24))}
    found = described(GRID, returns, multi_task=multi_task)
    assert found.few_policies.multi_task == {3: reached / 10, 50: 0}
    sentence = finding(found, "One policy for all contexts")
    assert f"with the steps of 3, reaches {reached / 10:.3f} and {verdict}" in sentence


# -- everything --------------------------------------------------------------------------------


def test_shift_and_scale_of_the_returns_change_nothing_but_the_size():
    returns = noise(GRID, seeds=2) - distances(GRID, 1)
    options = {"variance": 1.0, "recipe": {"episodes": 5}}
    here = described(GRID, returns, **options)
    there = described(GRID, 1000 + 40 * returns, **{**options, "variance": 1600.0})
    assert there.findings == here.findings
    assert there.run_variance.evaluation_noise == pytest.approx(here.run_variance.evaluation_noise)
    assert np.allclose(there.gap.left, here.gap.left)
    assert there.few_policies.margin == pytest.approx(here.few_policies.margin)
    assert there.size.highest == pytest.approx(1000 + 40 * here.size.highest)


def test_returns_that_are_all_the_same():
    found = described(GRID, np.full((2, 24, 24), 7.0), recipe={"episodes": 3})
    assert found.findings == ("All returns are the same (7): there is nothing to choose.",)
    assert found.few_policies.margin == 0
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_single_context():
    found = described(ContextSpace(mass=[1.0]), np.array([[[1.0]], [[3.0]]]))
    assert found.detection.structure == "none"
    assert found.few_policies.oracle.tolist() == [0.5]
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize("space", [GRID, LISTED, LINE], ids=["grid", "list", "line"])
def test_json_data(space):
    n = len(space)
    found = described(space, noise(space, seeds=2), multi_task={3: np.ones((2, n))})
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["name"] == "made up"
    assert data["findings"] == list(found.findings)
    assert data["quality"]["values"] == found.quality.values.tolist()
    assert data["gap"]["curves"][0]["name"] == space.names[0]
    assert data["few_policies"]["multi_task"] == {"3": found.few_policies.multi_task[3]}
    assert data["detection"]["structure"] == found.detection.structure
    assert data["size"]["contexts"] == n


def test_evenly_spread_targets():
    space = ContextSpace(a=range(9), b=range(9))
    chosen = spread_targets(space, 12)
    assert space.targets[chosen[0]].tolist() == [4, 4]
    assert len(set(chosen)) == 12
    quarters = {tuple(q) for q in (space.unit_targets[chosen] > 0.5).tolist()}
    assert len(quarters) == 4
    # No other point of the space is far from all of them.
    assert distances(space, 1)[chosen].min(axis=0).max() <= 0.5
    assert sorted(spread_targets(LINE, 12)) == [0, 1, 2, 3]
