"""Description of a transfer matrix in numbers.

Returns are scaled so that 0 is the lowest and 1 the highest of the data set.

Example:
    >>> import numpy as np
    >>> from sdmbtl import ContextSpace
    >>> from sdmbtl_lab.matrices import TransferDataset, TransferMatrices
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

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace, Levels
from sdmbtl.json_data import as_json
from sdmbtl.transfer import estimate_slopes
from sdmbtl.transfer.detection import Detection, MountainDetector
from sdmbtl.transfer.gap import SeparableGap
from sdmbtl.transfer.rows import ObservedRows
from sdmbtl_lab.matrices.dataset import TransferDataset, min_max
from sdmbtl_lab.matrices.decomposition import SobolHoeffding
from sdmbtl_lab.matrices.margins import CHOICE_ROUND, choice_margin, oracle_curve, random_curve

Floats = NDArray[np.float64]


def is_flat(values: Floats) -> bool:
    """Return whether values between 0 and 1 differ by rounding at most."""
    return bool(np.ptp(values) < 1e-12)


@dataclass(frozen=True)
class GapCurve:
    """Change of returns with the signed difference source - target in one dimension.

    Attributes:
        differences: (B,) signed differences in unit coordinates, -1..1.
        relative: (B,) mean of J minus its target's mean: f and h together.
        interaction: (B,) mean of h alone, in the orthogonal decomposition.
        mountain: (B,) the same if h were the weighted distance that fits it best.
    """

    name: str
    differences: Floats
    relative: Floats
    interaction: Floats
    mountain: Floats


@dataclass(frozen=True)
class Gap:
    """Dissimilarity h as a function of the difference of source and target.

    The slopes have the target's mean removed, so f tilts them. The R² are those of the orthogonal
    interaction, which f cannot touch; there, a linear gap is sum_d -weight_d |x_d - y_d|.

    Attributes:
        left: (D,) change of return over the whole dimension, for sources below the target.
        right: (D,) the same for sources above the target.
        weights: (D,) weights of the distance; above 0 where returns fall with it.
        mountain_r2: R² of the weighted L1 distance; None if there is no interaction.
        curves: One for each dimension.
    """

    left: Floats
    right: Floats
    weights: Floats
    mountain_r2: float | None
    curves: tuple[GapCurve, ...]


def measure_gap(rows: ObservedRows, interaction: Floats) -> Gap:
    """Measure h on the rows of all sources and their (N, N) interaction."""
    space = rows.space
    slopes = estimate_slopes(rows, "within")
    coefficients, mountain_r2 = _fit_distance(space, interaction)
    distance = SeparableGap.distance(space, -coefficients).change(space.unit_targets)
    mountain = SobolHoeffding.of(distance).interaction
    curves = []
    for name, dimension, units in zip(
        space.names, space.dimensions.values(), space.unit_targets.T, strict=True
    ):
        # Signed differences source - target, cut into equal parts.
        parts = np.rint((units[:, None] - units) * dimension.steps).astype(np.intp).ravel()
        parts += dimension.steps
        count = 2 * dimension.steps + 1
        pairs = np.bincount(parts, minlength=count)
        seen = pairs > 0
        means = [
            np.bincount(parts, weights=values.ravel(), minlength=count)[seen] / pairs[seen]
            for values in (rows.relative, interaction, mountain)
        ]
        curves.append(GapCurve(name, np.linspace(-1, 1, count)[seen], *means))
    return Gap(slopes.left, slopes.right, -coefficients, mountain_r2, tuple(curves))


def _fit_distance(space: ContextSpace, interaction: Floats) -> tuple[Floats, float | None]:
    """Regress an (N, N) interaction on |x_d - y_d|, minus their row and column means.

    Returns:
        (D,) coefficients and R²; zeros and None if there is no interaction.
    """
    if is_flat(interaction):
        return np.zeros(space.n_dimensions), None
    distances = (np.abs(units[:, None] - units) for units in space.unit_targets.T)
    features = np.stack([SobolHoeffding.of(d).interaction.ravel() for d in distances], axis=1)
    values = interaction.ravel()
    coefficients = np.asarray(np.linalg.lstsq(features, values, rcond=1e-10)[0], dtype=np.float64)
    return coefficients, min(float((features @ coefficients) @ values / (values @ values)), 1.0)


#: Parts into which a dimension without levels is cut.
PARTS = 8
#: Share of its swing by which the ends of a curve must differ for it to rise or fall.
CLEARLY = 0.8
#: Rounds of the curves of oracle and random choice.
ROUNDS = 20


@dataclass(frozen=True)
class DimensionSize:
    """One dimension: its range, its scale and its number of values (None for an interval)."""

    name: str
    low: float
    high: float
    scale: str
    levels: int | None


@dataclass(frozen=True)
class Size:
    """Amount of data; `lowest` and `highest` are returns as measured."""

    contexts: int
    dimensions: tuple[DimensionSize, ...]
    seeds: int
    episodes: int | None
    lowest: float
    highest: float


@dataclass(frozen=True)
class Shares:
    """Shares of the variance of the mean matrix over the seeds, decomposed orthogonally.

    The mean of W seeds still has 1/W of the noise between training runs, counted as quality.
    """

    quality: float
    difficulty: float
    dissimilarity: float


@dataclass(frozen=True)
class MainEffect:
    """Mean of f or g over all contexts with the same value of one dimension.

    Attributes:
        values: (L,) values of the dimension, or the middles of its parts.
        means: (L,) means there.
        swing: Difference of the highest and the lowest mean.
        shape: One of "rises", "falls", "hill", "valley", "uneven", "flat".
    """

    name: str
    values: Floats
    means: Floats
    swing: float
    shape: str


@dataclass(frozen=True)
class Effect:
    """Effect f of the source alone, or g of the target alone.

    Attributes:
        values: (N,) the effect of each context, mean 0.
        main_effects: One for each dimension.
        linear_r2: R² of a linear function of the unit coordinates; None if there is no effect.
    """

    values: Floats
    main_effects: tuple[MainEffect, ...]
    linear_r2: float | None


@dataclass(frozen=True)
class RunVariance:
    """Differences between training runs of the same source; None with a single seed.

    Attributes:
        row_correlation: Correlation between seeds of the policies' mean returns, mean over pairs.
        common: Share of the variance of J(seed, x, y) that all seeds have in common.
        row: Share of the noise between training runs: a policy is better or worse everywhere.
        rest: The remaining share.
    """

    row_correlation: float | None = None
    common: float | None = None
    row: float | None = None
    rest: float | None = None


@dataclass(frozen=True)
class FewPolicies:
    """Mean best returns of few policies; means over the seeds.

    Attributes:
        own: Mean return of the policies on the contexts that they were trained on.
        oracle: (K,) after k policies of the greedy oracle, one sequence for all seeds.
        random: (K,) expected after k random policies.
        everything: With all policies.
        margin: Oracle minus random choice after `margin_round` policies.
        margin_round: Number of policies at which the margin is taken.
        multi_task: Number of policies -> mean return of one multi-task policy with their steps.
    """

    own: float
    oracle: Floats
    random: Floats
    everything: float
    margin: float
    margin_round: int
    multi_task: Mapping[int, float]


@dataclass(frozen=True)
class Anatomy:
    """Description of a data set; `difficulty` is high where a target is easy."""

    name: str
    size: Size
    shares: Shares
    quality: Effect
    difficulty: Effect
    gap: Gap
    run_variance: RunVariance
    few_policies: FewPolicies
    detection: Detection

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON data."""
        return {key: as_json(value) for key, value in vars(self).items()}


def anatomy(dataset: TransferDataset) -> Anatomy:
    """Measure a data set of W seeds of N policies on N targets."""
    space = dataset.space
    low, high = float(dataset.returns.min()), float(dataset.returns.max())
    returns = min_max(dataset.returns, low, high).astype(np.float64)
    mean = returns.mean(axis=0)
    parts = SobolHoeffding.of(mean)
    effects = (parts.source_effect, parts.target_effect, parts.interaction)
    variances = [float(effect.var()) for effect in effects]
    rows = ObservedRows(space, space.targets, mean)
    detection = Detection("none", "one policy does not show a structure")
    if len(rows) >= MountainDetector.min_rows:
        detection = MountainDetector().detect(rows)
    episodes = dataset.card.get("recipe", {}).get("episodes")
    return Anatomy(
        name=dataset.name,
        size=Size(
            contexts=len(space),
            dimensions=tuple(
                DimensionSize(
                    name, d.low, d.high, d.scale, len(d.values) if isinstance(d, Levels) else None
                )
                for name, d in space.dimensions.items()
            ),
            seeds=len(returns),
            episodes=None if episodes is None else int(episodes),
            lowest=low + 0.0,  # -0.0 would be printed with its sign
            highest=high + 0.0,
        ),
        shares=Shares(*(variance / (sum(variances) or 1.0) for variance in variances)),
        quality=measure_effect(space, parts.source_effect),
        difficulty=measure_effect(space, parts.target_effect),
        gap=measure_gap(rows, parts.interaction),
        run_variance=compare_seeds(returns),
        few_policies=measure_few_policies(dataset, returns, low, high),
        detection=detection,
    )


def measure_effect(space: ContextSpace, values: Floats) -> Effect:
    """Measure an effect with (N,) values, one for each context."""
    effects = []
    for d, name in enumerate(space.names):
        centres, group = _groups(space, d)
        means = np.bincount(group, weights=values) / np.bincount(group)
        effects.append(MainEffect(name, centres, means, float(np.ptp(means)), _shape(means)))
    linear_r2 = None
    if not is_flat(values):
        design = np.hstack([np.ones((len(values), 1)), space.unit_targets])
        rest = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
        linear_r2 = max(float(1 - rest.var() / values.var()), 0.0)
    return Effect(values, tuple(effects), linear_r2)


def _shape(means: Floats) -> str:
    """Return the shape of a curve in a word."""
    first, last, swing = float(means[0]), float(means[-1]), float(np.ptp(means))
    if is_flat(means):
        return "flat"
    if abs(last - first) >= CLEARLY * swing:
        return "rises" if last > first else "falls"
    if float(means.max()) - max(first, last) >= swing / 2:
        return "hill"
    if min(first, last) - float(means.min()) >= swing / 2:
        return "valley"
    return "uneven"


def _groups(space: ContextSpace, d: int) -> tuple[Floats, NDArray[np.intp]]:
    """Return the (L,) values of a dimension, or middles of its parts, and (N,) the part of each."""
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


def compare_seeds(returns: Floats) -> RunVariance:
    """Compare the seeds; `returns` is (W, N, N), scaled."""
    seeds, total = len(returns), float(returns.var())
    if seeds < 2 or total == 0:
        return RunVariance()
    row_means = returns.mean(axis=2)
    differences = row_means - row_means.mean(axis=0)
    rest = returns - returns.mean(axis=0) - differences[:, :, None]
    # The mean of few seeds has part of their noise, so what is left around it is too small.
    scale = seeds / (seeds - 1)
    row, other = float((differences**2).mean()) * scale, float((rest**2).mean()) * scale
    common = max(total - row - other, 0.0)
    everything = common + row + other
    correlation = None
    if not any(is_flat(means) for means in row_means):
        pairs = np.triu_indices(seeds, k=1)
        correlation = float(np.asarray(np.corrcoef(row_means))[pairs].mean())
    return RunVariance(correlation, common / everything, row / everything, other / everything)


def measure_few_policies(
    dataset: TransferDataset, returns: Floats, low: float, high: float
) -> FewPolicies:
    """Measure few policies; `returns` is (W, N, N), scaled from `low` and `high`."""
    rounds = min(ROUNDS, returns.shape[1])
    return FewPolicies(
        own=float(returns.diagonal(axis1=1, axis2=2).mean()),
        oracle=oracle_curve(returns, rounds),
        random=random_curve(returns, rounds),
        everything=float(returns.max(axis=1).mean()),
        margin=choice_margin(returns),
        margin_round=min(CHOICE_ROUND, rounds),
        multi_task={
            k: float(min_max(np.asarray(dataset.multi_task[k]), low, high).mean())
            for k in sorted(dataset.multi_task)
        },
    )
