"""What a transfer matrix looks like, in numbers.

Returns are scaled so that 0 is the lowest and 1 the highest of the data set. Not imported with
`sdmbtl.transfer`: it asks structure detection, the oracle and the random baseline about the matrix,
which all stand on that package.

Example:
    >>> import numpy as np
    >>> from sdmbtl import ContextSpace, TransferMatrices
    >>> from sdmbtl.transfer import TransferDataset
    >>> space = ContextSpace(mass=range(5))
    >>> returns = -abs(space.unit_targets - space.unit_targets.T)
    >>> dataset = TransferDataset(
    ...     TransferMatrices(space, returns), np.diagonal(returns)[None], np.zeros((1, 5))
    ... )
    >>> found = anatomy(dataset)
    >>> round(found.gap.mountain_r2, 6), found.detection.structure
    (1.0, 'mountain')
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.benchmarks.metrics import expected_random_curve
from sdmbtl.contexts import ContextSpace, Levels
from sdmbtl.selectors.oracle import oracle_sequence
from sdmbtl.structure import MOUNTAIN, Detection, MountainDetector, estimate_slopes
from sdmbtl.transfer.dataset import TransferDataset
from sdmbtl.transfer.decomposition import SobolHoeffding
from sdmbtl.transfer.findings import LUCKY, findings
from sdmbtl.transfer.gap import SeparableGap
from sdmbtl.transfer.matrix import min_max
from sdmbtl.transfer.rows import ObservedRows

#: Rounds of the curves of oracle and random choice.
ROUNDS = 20
#: Round in which oracle and random choice are compared.
MARGIN_ROUND = 6
#: A target that no policy of any seed brings above this is not solved.
SOLVED = 0.5
#: Rows of the second detection: as many as a user may have trained.
FEW_ROWS = 12
#: Parts into which a dimension without levels is cut.
PARTS = 8
#: Contexts whose mean is off the middle by this, in unit coordinates, are mostly low or high.
MOSTLY = 0.1
#: Share of its swing by which the ends of a curve must differ for it to rise or fall.
CLEARLY = 0.8

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class DimensionSize:
    """One dimension: its range, its scale and how many values it has (None for an interval)."""

    name: str
    low: float
    high: float
    scale: str
    levels: int | None


@dataclass(frozen=True)
class Size:
    """How much data there is; `lowest` and `highest` are returns as they were measured."""

    contexts: int
    dimensions: tuple[DimensionSize, ...]
    grid: bool
    seeds: int
    episodes: int | None
    lowest: float
    highest: float


@dataclass(frozen=True)
class Shares:
    """Shares of the variance of J, mean over the seeds, in its orthogonal decomposition."""

    quality: float
    difficulty: float
    dissimilarity: float


@dataclass(frozen=True)
class MainEffect:
    """Mean of f or g over all contexts with the same value of one dimension.

    Attributes:
        name: Name of the dimension.
        values: (L,) its values, or the middles of its parts.
        means: (L,) means there.
        share: Share of the variance that these means explain.
        swing: Difference of the highest and the lowest mean.
        shape: In a word: "rises", "falls", "hill", "valley", "uneven" or "flat".
    """

    name: str
    values: Floats
    means: Floats
    share: float
    swing: float
    shape: str


@dataclass(frozen=True)
class Effect:
    """f or g: an effect of the source or of the target alone.

    Attributes:
        values: (N,) the effect of each context, mean 0.
        main_effects: One for each dimension.
        linear_r2: R² of a linear function of the unit coordinates; None if there is no effect.
        additive_r2: R² of a sum of free functions of one dimension each.
    """

    values: Floats
    main_effects: tuple[MainEffect, ...]
    linear_r2: float | None
    additive_r2: float | None


@dataclass(frozen=True)
class GapCurve:
    """How returns change with the signed difference source - target in one dimension.

    Attributes:
        name: Name of the dimension.
        differences: (B,) signed differences in unit coordinates, -1..1.
        relative: (B,) mean of J less its target's mean: f and h together.
        interaction: (B,) mean of h alone, in the orthogonal decomposition.
        mountain: (B,) what that would be if h were the weighted distance that fits it best.
    """

    name: str
    differences: Floats
    relative: Floats
    interaction: Floats
    mountain: Floats


@dataclass(frozen=True)
class Gap:
    """The dissimilarity h: how it depends on the difference of source and target.

    The slopes have the target's mean removed, so f tilts them. The R² are those of the orthogonal
    interaction, which f cannot touch; there, a linear gap is sum_d -weight_d |x_d - y_d|.

    Attributes:
        left: (D,) change of return over the whole dimension, for sources below the target.
        right: (D,) the same for sources above the target.
        weights: (D,) weights of the distance; above 0 where returns fall with it.
        mountain_r2: R² of the weighted L1 distance; None if there is no interaction.
        curves_r2: R² of a sum of free functions of x_d - y_d.
        positions_r2: R² of a sum of free functions of (x_d, y_d): difference and place. None for
            a list of targets, too.
        ceiling: The share of the interaction that the seeds agree on, which no model can exceed
            except by luck; None with one seed.
        curves: One for each dimension.
    """

    left: Floats
    right: Floats
    weights: Floats
    mountain_r2: float | None
    curves_r2: float | None
    positions_r2: float | None
    ceiling: float | None
    curves: tuple[GapCurve, ...]


@dataclass(frozen=True)
class LuckyPolicy:
    """A policy that is better than those of the same source with other seeds.

    Attributes:
        seed: Its seed.
        source: Index of its context.
        context: Its context.
        gain: Its mean return less that of the others.
    """

    seed: int
    source: int
    context: Mapping[str, float]
    gain: float


@dataclass(frozen=True)
class Luck:
    """What one training of a source says about another; None where one seed cannot tell.

    Attributes:
        row_correlation: Correlation between seeds of the policies' mean returns, mean over pairs
            of seeds.
        common: Share of the variance of J(seed, x, y) that all seeds have in common.
        row: Share of the luck of whole trainings: a policy is better or worse everywhere.
        rest: The remaining share.
        evaluation_noise: Share, within the rest, of the few episodes of each evaluation; known
            with one seed too.
        lucky: Number of policies that are better by `LUCKY` than their source's others.
        luckiest: Up to three of them.
    """

    row_correlation: float | None
    common: float | None
    row: float | None
    rest: float | None
    evaluation_noise: float | None
    lucky: int | None
    luckiest: tuple[LuckyPolicy, ...]


@dataclass(frozen=True)
class Training:
    """How well training goes.

    Attributes:
        own: Mean return of the policies on the contexts that they were trained on.
        best: Mean return of the best policy for each target.
        own_is_best: Share of contexts whose own policy has 0.95 of their best policy's return.
        unsolved: Indices of the targets that no policy of any seed solves.
        unsolved_where: Where they lie, by dimension.
    """

    own: float
    best: float
    own_is_best: float
    unsolved: tuple[int, ...]
    unsolved_where: str


@dataclass(frozen=True)
class Coverage:
    """How far few policies get; means over the seeds.

    Attributes:
        at_top: Share of all returns that are at least 0.99.
        single: Mean return of the best single policy.
        single_covers: Share of targets on which it has 0.95 of their best policy's return.
        oracle: (K,) mean best return after k policies of the greedy oracle, one sequence for all
            seeds.
        oracle_by_seed: (K,) the same with a sequence for each seed, whose luck it knows.
        random: (K,) the same expected for random choice.
        everything: The same with all policies.
        margin: Oracle less random choice after `margin_round` policies.
        margin_round: Number of policies at which the margin is taken.
        hard_targets: Share of targets on which fewer than 5 % of the policies have 0.9 of the best
            policy's return.
        multi_task: Mean return of the multi-task policy with the steps of so many policies.
    """

    at_top: float
    single: float
    single_covers: float
    oracle: Floats
    oracle_by_seed: Floats
    random: Floats
    everything: float
    margin: float
    margin_round: int
    hard_targets: float
    multi_task: Mapping[int, float]


@dataclass(frozen=True)
class Anatomy:
    """What a data set looks like.

    Attributes:
        name: Name of the data set.
        size: How much data there is.
        shares: What the variance comes from.
        quality: f, the effect of the source.
        difficulty: g, the effect of the target; high where a target is easy.
        gap: h, their interaction.
        luck: Differences between seeds.
        training: How well training goes.
        coverage: How far few policies get.
        detection: What the criteria say of all rows.
        few_rows_detection: What they say of a dozen evenly spread rows.
        paper_detection: What they say of all rows as the paper has them.
        findings: The above in sentences.
    """

    name: str
    size: Size
    shares: Shares
    quality: Effect
    difficulty: Effect
    gap: Gap
    luck: Luck
    training: Training
    coverage: Coverage
    detection: Detection
    few_rows_detection: Detection
    paper_detection: Detection
    findings: tuple[str, ...] = ()

    @property
    def is_mountain(self) -> bool:
        """Whether the criteria find the Mountain structure in all rows."""
        return self.detection.structure == MOUNTAIN

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON data."""
        data: dict[str, Any] = _json(self)
        return data


def anatomy(dataset: TransferDataset) -> Anatomy:
    """Measure a data set.

    Args:
        dataset: W seeds of N policies on N targets.
    """
    space = dataset.space
    low, high = float(dataset.returns.min()), float(dataset.returns.max())
    returns = min_max(dataset.returns, low, high).astype(np.float64)
    mean = returns.mean(axis=0)
    parts = SobolHoeffding.of(mean)
    shares = parts.variance_shares()
    rows = ObservedRows(space, space.targets, mean)
    some = spread_targets(space, FEW_ROWS)
    size = _size(dataset, low, high)
    measured = Anatomy(
        name=dataset.name,
        size=size,
        shares=Shares(shares["source"], shares["target"], shares["interaction"]),
        quality=_effect(space, parts.source_effect),
        difficulty=_effect(space, parts.target_effect),
        gap=_gap(rows, parts.interaction, _repeatable(returns, parts.interaction)),
        luck=_luck(dataset, returns, size),
        training=_training(space, returns),
        coverage=_coverage(dataset, returns, low, high),
        detection=_detected(MountainDetector(), rows),
        few_rows_detection=_detected(
            MountainDetector(), ObservedRows(space, space.targets[some], mean[some])
        ),
        paper_detection=_detected(MountainDetector.as_in_the_paper(), rows),
    )
    return replace(measured, findings=findings(measured))


def spread_targets(space: ContextSpace, count: int) -> list[int]:
    """Indices of targets that lie evenly in the space, the middle first; fewer if there are not.

    Multiples of the powers of the generalised golden ratio fill a box evenly in any dimension.
    """
    dimensions = space.n_dimensions
    ratio = 2.0
    for _ in range(64):  # a contraction: the positive root of r^(D+1) = r + 1
        ratio = (1 + ratio) ** (1 / (dimensions + 1))
    steps = ratio ** -np.arange(1.0, dimensions + 1)
    free = np.ones(len(space), dtype=np.bool_)
    chosen = []
    for number in range(min(count, len(space))):
        index = space.nearest_to_unit((0.5 + number * steps) % 1, among=free)
        free[index] = False
        chosen.append(index)
    return chosen


# -- size and effects ------------------------------------------------------------------------


def _size(dataset: TransferDataset, low: float, high: float) -> Size:
    episodes = dataset.card.get("recipe", {}).get("episodes")
    return Size(
        contexts=len(dataset.space),
        dimensions=tuple(
            DimensionSize(
                name, d.low, d.high, d.scale, len(d.values) if isinstance(d, Levels) else None
            )
            for name, d in dataset.space.dimensions.items()
        ),
        grid=dataset.space.is_grid,
        seeds=len(dataset.matrices),
        episodes=None if episodes is None else int(episodes),
        lowest=low + 0.0,  # -0.0 would be printed with its sign
        highest=high + 0.0,
    )


def _effect(space: ContextSpace, values: Floats) -> Effect:
    effects = []
    indicators = []
    for d, name in enumerate(space.names):
        centres, group = _groups(space, d)
        member = np.equal.outer(group, np.arange(len(centres))).astype(np.float64)  # (N, L)
        means = values @ member / member.sum(axis=0)
        share = _ratio(means[group].var(), values.var())
        effects.append(MainEffect(name, centres, means, share, float(np.ptp(means)), _shape(means)))
        indicators.append(member)
    return Effect(
        values,
        tuple(effects),
        linear_r2=_fit_r2(space.unit_targets, values),
        additive_r2=_fit_r2(np.hstack(indicators), values),
    )


def _shape(means: Floats) -> str:
    """What a curve looks like, in a word."""
    first, last, swing = float(means[0]), float(means[-1]), float(np.ptp(means))
    if _is_flat(means):
        return "flat"
    if abs(last - first) >= CLEARLY * swing:
        return "rises" if last > first else "falls"
    if float(means.max()) - max(first, last) >= swing / 2:
        return "hill"
    if min(first, last) - float(means.min()) >= swing / 2:
        return "valley"
    return "uneven"


def _groups(space: ContextSpace, d: int) -> tuple[Floats, NDArray[np.intp]]:
    """The (L,) values of a dimension, or the middles of its parts, and (N,) which one each has."""
    dimension = list(space.dimensions.values())[d]
    units = space.unit_targets[:, d]
    if isinstance(dimension, Levels):
        nearest = np.abs(units[:, None] - dimension.knot_units).argmin(axis=1)
        centres = dimension.knots
    else:
        nearest = np.minimum((units * PARTS).astype(np.intp), PARTS - 1)
        centres = dimension.from_unit((np.arange(PARTS) + 0.5) / PARTS)
    occurring, group = np.unique(nearest, return_inverse=True)
    return centres[occurring], group


def _fit_r2(features: Floats, values: Floats) -> float | None:
    """R² of a linear regression with intercept of (N,) values on (N, K) features."""
    if _is_flat(values):
        return None
    design = np.hstack([np.ones((len(values), 1)), features])
    solution = np.linalg.lstsq(design, values, rcond=None)[0]
    return max(float(1 - (values - design @ solution).var() / values.var()), 0.0)


# -- gap -------------------------------------------------------------------------------------


def _gap(rows: ObservedRows, interaction: Floats, ceiling: float | None) -> Gap:
    space = rows.space
    slopes = estimate_slopes(rows, "within")
    bins = [
        _difference_bins(units, 2 * dimension.steps + 1)
        for units, dimension in zip(space.unit_targets.T, space.dimensions.values(), strict=True)
    ]
    coefficients, mountain_r2 = _fit(_distance_sums(space, interaction), interaction)
    _, curves_r2 = _fit(_indicator_sums(bins, interaction), interaction)
    distance = SeparableGap.distance(space, -coefficients).change(space.unit_targets)
    mountain = SobolHoeffding.of(distance).interaction
    return Gap(
        left=slopes.left,
        right=slopes.right,
        weights=-coefficients,
        mountain_r2=mountain_r2,
        curves_r2=curves_r2,
        positions_r2=_positions_r2(space, interaction),
        ceiling=ceiling,
        curves=tuple(
            GapCurve(name, each.middles, *map(each.means, (rows.relative, interaction, mountain)))
            for name, each in zip(space.names, bins, strict=True)
        ),
    )


@dataclass(frozen=True)
class _Bins:
    """The signed differences source - target in one dimension, cut into equal parts.

    Attributes:
        numbers: (N, N) the part of each pair.
        count: Number of parts.
    """

    numbers: NDArray[np.intp]
    count: int

    @property
    def pairs(self) -> NDArray[np.intp]:
        """(B,) number of pairs in each part."""
        return np.bincount(self.numbers.ravel(), minlength=self.count)

    @property
    def middles(self) -> Floats:
        """Middles of the parts that have pairs, in unit coordinates."""
        return np.linspace(-1, 1, self.count)[self.pairs > 0]

    def sums(self, values: Floats) -> Floats:
        """(B,) sums of (N, N) values over the pairs of each part."""
        sums = np.bincount(self.numbers.ravel(), weights=values.ravel(), minlength=self.count)
        return np.asarray(sums, dtype=np.float64)

    def means(self, values: Floats) -> Floats:
        """Means over the parts that have pairs."""
        seen = self.pairs > 0
        return np.asarray(self.sums(values)[seen] / self.pairs[seen])

    def joint(self, other: _Bins) -> Floats:
        """(B, B') number of pairs in each combination of parts."""
        return _counts(self.numbers * other.count + other.numbers, self.count, other.count)

    def by_row(self) -> Floats:
        """(N, B) share of each part in every row."""
        n = len(self.numbers)
        return _counts(np.arange(n)[:, None] * self.count + self.numbers, n, self.count) / n


def _difference_bins(units: Floats, count: int) -> _Bins:
    half = count // 2
    numbers = np.rint((units[:, None] - units) * half).astype(np.intp) + half
    return _Bins(numbers, count)


def _counts(numbers: NDArray[np.intp], rows: int, columns: int) -> Floats:
    """(rows, columns) how often each number occurs."""
    found = np.bincount(numbers.ravel(), minlength=rows * columns)
    return found.reshape(rows, columns).astype(np.float64)


@dataclass(frozen=True)
class _PairSums:
    """What a regression of an interaction on K features of the pairs needs.

    Attributes:
        products: (K, K) sums over all pairs of products of two features.
        moments: (K,) sums of their products with the interaction.
        row_means: (N, K) means over each row.
        column_means: (N, K) means over each column.
    """

    products: Floats
    moments: Floats
    row_means: Floats
    column_means: Floats


def _distance_sums(space: ContextSpace, interaction: Floats) -> _PairSums:
    """The features are |x_d - y_d|."""
    features = [np.abs(units[:, None] - units) for units in space.unit_targets.T]
    means = np.stack([feature.mean(axis=1) for feature in features], axis=1)
    return _PairSums(
        np.array([[(a * b).sum() for b in features] for a in features]),
        np.array([(feature * interaction).sum() for feature in features]),
        means,
        means,
    )


def _indicator_sums(bins: Sequence[_Bins], interaction: Floats) -> _PairSums:
    """The features say in which part of each dimension the difference lies."""
    rows = [each.by_row() for each in bins]
    return _PairSums(
        np.block([[a.joint(b) for b in bins] for a in bins]),
        np.concatenate([each.sums(interaction) for each in bins]),
        np.hstack(rows),
        # A difference changes its sign when source and target are exchanged.
        np.hstack([each[:, ::-1] for each in rows]),
    )


def _fit(sums: _PairSums, interaction: Floats) -> tuple[Floats, float | None]:
    """Regress an interaction on features, less their row and column means.

    Returns:
        (K,) coefficients and R²; zeros and None if there is no interaction.
    """
    if _is_flat(interaction):
        return np.zeros(len(sums.moments)), None
    n, mean = len(interaction), sums.row_means.mean(axis=0)
    centred = (
        sums.products
        - n * sums.row_means.T @ sums.row_means
        - n * sums.column_means.T @ sums.column_means
        + n * n * np.outer(mean, mean)
    )
    coefficients = np.linalg.pinv(centred, rcond=1e-10, hermitian=True) @ sums.moments
    explained = float(coefficients @ sums.moments)
    return coefficients, min(explained / float((interaction**2).sum()), 1.0)


def _positions_r2(space: ContextSpace, interaction: Floats) -> float | None:
    """On a grid, tables of (x_d, y_d) are orthogonal: their R² add up."""
    if not space.is_grid or _is_flat(interaction):
        return None
    dimensions = space.n_dimensions
    blocks = interaction.reshape(*space.shape, *space.shape)
    explained = 0.0
    for d in range(dimensions):
        others = tuple(a for a in range(2 * dimensions) if a % dimensions != d)
        explained += float((blocks.mean(axis=others) ** 2).mean())
    return explained / float((interaction**2).mean())


def _repeatable(returns: Floats, interaction: Floats) -> float | None:
    """Share of the mean interaction's variance that is not the luck of the seeds."""
    if len(returns) < 2 or _is_flat(interaction):
        return None
    luck = np.mean([(SobolHoeffding.of(r).interaction - interaction) ** 2 for r in returns])
    return max(1 - float(luck) / (len(returns) - 1) / float((interaction**2).mean()), 0.0)


# -- luck, training, coverage ----------------------------------------------------------------


def _luck(dataset: TransferDataset, returns: Floats, size: Size) -> Luck:
    seeds, total = len(returns), float(returns.var())
    noise = None
    if size.episodes is not None and size.episodes > 1 and total > 0:
        width = size.highest - size.lowest
        noise = float(dataset.episode_variance.mean()) / size.episodes / width**2 / total
    if seeds < 2 or total == 0:
        return Luck(None, None, None, None, noise, None, ())
    mean = returns.mean(axis=0)
    row_means = returns.mean(axis=2)
    luck_of_rows = row_means - row_means.mean(axis=0)
    rest = returns - mean - luck_of_rows[:, :, None]
    # The mean of few seeds has part of their luck, so what is left around it is too small.
    scale = seeds / (seeds - 1)
    row, other = float((luck_of_rows**2).mean()) * scale, float((rest**2).mean()) * scale
    common = max(total - row - other, 0.0)
    everything = common + row + other
    gains = luck_of_rows * seeds / (seeds - 1)
    order = np.argsort(-gains, axis=None, kind="stable")[:3]
    best = [(int(i) // size.contexts, int(i) % size.contexts) for i in order]
    return Luck(
        row_correlation=_mean_correlation(row_means),
        common=common / everything,
        row=row / everything,
        rest=other / everything,
        evaluation_noise=noise,
        lucky=int((gains >= LUCKY).sum()),
        luckiest=tuple(
            LuckyPolicy(seed, source, dataset.space.target(source), float(gains[seed, source]))
            for seed, source in best
            if gains[seed, source] >= LUCKY
        ),
    )


def _mean_correlation(rows: Floats) -> float | None:
    """Mean correlation of two of the (W, N) rows; None if one of them is constant."""
    if any(_is_flat(row) for row in rows):
        return None
    above = np.triu_indices(len(rows), k=1)
    return float(np.asarray(np.corrcoef(rows))[above].mean())


def _training(space: ContextSpace, returns: Floats) -> Training:
    best = returns.max(axis=1)  # (W, N)
    own = returns.diagonal(axis1=1, axis2=2)
    unsolved = np.flatnonzero(best.max(axis=0) < SOLVED)
    return Training(
        own=float(own.mean()),
        best=float(best.mean()),
        own_is_best=float((own >= 0.95 * best).mean()),
        unsolved=tuple(unsolved.tolist()),
        unsolved_where=_where(space, unsolved),
    )


def _where(space: ContextSpace, chosen: NDArray[np.intp]) -> str:
    """Where some contexts lie, by dimension: "mass >= 2, length 1 to 3, mostly low force"."""
    if not len(chosen):
        return ""
    tendency = space.unit_targets[chosen].mean(axis=0) - space.unit_targets.mean(axis=0)
    parts = []
    for (name, dimension), values, shift in zip(
        space.dimensions.items(), space.targets[chosen].T, tendency, strict=True
    ):
        low, high = float(values.min()), float(values.max())
        at_low, at_high = low <= dimension.low, high >= dimension.high
        if at_low and at_high:
            if abs(shift) >= MOSTLY:
                parts.append(f"mostly {'high' if shift > 0 else 'low'} {name}")
        elif low == high:
            parts.append(f"{name} = {low:.3g}")
        elif at_low:
            parts.append(f"{name} <= {high:.3g}")
        elif at_high:
            parts.append(f"{name} >= {low:.3g}")
        else:
            parts.append(f"{name} {low:.3g} to {high:.3g}")
    return ", ".join(parts) or "all over the space"


def _coverage(dataset: TransferDataset, returns: Floats, low: float, high: float) -> Coverage:
    rounds = min(ROUNDS, returns.shape[1])
    best = returns.max(axis=1)
    single = returns.mean(axis=2).argmax(axis=1)
    single_rows = returns[np.arange(len(returns)), single]  # (W, N)
    oracle = _curve_of(returns, [oracle_sequence(returns, rounds)] * len(returns))
    random = np.mean([expected_random_curve(one, rounds) for one in returns], axis=0)
    margin_round = min(MARGIN_ROUND, rounds)
    reach = (returns >= 0.9 * best[:, None]).mean(axis=1)  # (W, N) share of the policies
    return Coverage(
        at_top=float((returns >= 0.99).mean()),
        single=float(single_rows.mean()),
        single_covers=float((single_rows >= 0.95 * best).mean()),
        oracle=oracle,
        oracle_by_seed=_curve_of(returns, [oracle_sequence(r[None], rounds) for r in returns]),
        random=random,
        everything=float(best.mean()),
        margin=float(oracle[margin_round - 1] - random[margin_round - 1]),
        margin_round=margin_round,
        hard_targets=float((reach < 0.05).mean()),
        multi_task={
            budget: float(min_max(np.asarray(values), low, high).mean())
            for budget, values in sorted(dataset.multi_task.items())
        },
    )


def _curve_of(returns: Floats, sequences: list[list[int]]) -> Floats:
    """(K,) mean best return after each source of the sequences, one for each seed."""
    curves = [
        np.maximum.accumulate(one[sequence]).mean(axis=1)
        for one, sequence in zip(returns, sequences, strict=True)
    ]
    return np.asarray(np.mean(curves, axis=0))


def _detected(detector: MountainDetector, rows: ObservedRows) -> Detection:
    if len(rows) < detector.min_rows:
        return Detection("none", "one policy tells nothing about a structure")
    return detector.detect(rows)


# -- small helpers ---------------------------------------------------------------------------


def _is_flat(values: Floats) -> bool:
    """Whether values between 0 and 1 differ by rounding at most."""
    return bool(np.ptp(values) < 1e-12)


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else 0.0


def _json(value: Any) -> Any:
    """Dataclasses, arrays and numbers as JSON data; None for a number that is not finite."""
    if isinstance(value, Detection):
        return value.to_dict()
    if is_dataclass(value):
        return {field.name: _json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, tuple | list):
        return [_json(inner) for inner in value]
    if isinstance(value, Mapping):
        return {str(key): _json(inner) for key, inner in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
