"""What one training run of a source says about another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sdmbtl_lab.matrices.anatomy.findings import MUCH_BETTER
from sdmbtl_lab.matrices.anatomy.scales import Floats, is_flat
from sdmbtl_lab.matrices.anatomy.size import Size
from sdmbtl_lab.matrices.dataset import TransferDataset


@dataclass(frozen=True)
class BetterRun:
    """A policy that is better than those of the same source with other seeds.

    Attributes:
        seed: Its seed.
        source: Index of its context.
        context: Its context.
        gain: Its mean return minus that of the others.
    """

    seed: int
    source: int
    context: Mapping[str, float]
    gain: float


@dataclass(frozen=True)
class RunVariance:
    """What one training run of a source says about another; None where one seed cannot tell.

    Attributes:
        row_correlation: Correlation between seeds of the policies' mean returns, mean over pairs
            of seeds.
        common: Share of the variance of J(seed, x, y) that all seeds have in common.
        row: Share of the noise between training runs: a policy is better or worse everywhere.
        rest: The remaining share.
        evaluation_noise: Share, within the rest, of the few episodes of each evaluation; known
            with one seed too.
        better_runs: Number of policies that are better by `MUCH_BETTER` than their source's others.
        best_runs: Up to three of them.
    """

    row_correlation: float | None
    common: float | None
    row: float | None
    rest: float | None
    evaluation_noise: float | None
    better_runs: int | None
    best_runs: tuple[BetterRun, ...]


def compare_seeds(dataset: TransferDataset, returns: Floats, size: Size) -> RunVariance:
    """Compare the seeds; `returns` is (W, N, N), scaled."""
    seeds, total = len(returns), float(returns.var())
    noise = None
    if size.episodes is not None and size.episodes > 1 and total > 0:
        width = size.highest - size.lowest
        noise = float(dataset.episode_variance.mean()) / size.episodes / width**2 / total
    if seeds < 2 or total == 0:
        return RunVariance(None, None, None, None, noise, None, ())
    mean = returns.mean(axis=0)
    row_means = returns.mean(axis=2)
    row_differences = row_means - row_means.mean(axis=0)
    rest = returns - mean - row_differences[:, :, None]
    # The mean of few seeds has part of their noise, so what is left around it is too small.
    scale = seeds / (seeds - 1)
    row, other = float((row_differences**2).mean()) * scale, float((rest**2).mean()) * scale
    common = max(total - row - other, 0.0)
    everything = common + row + other
    gains = row_differences * seeds / (seeds - 1)
    order = np.argsort(-gains, axis=None, kind="stable")[:3]
    best = [(int(i) // size.contexts, int(i) % size.contexts) for i in order]
    return RunVariance(
        row_correlation=_mean_correlation(row_means),
        common=common / everything,
        row=row / everything,
        rest=other / everything,
        evaluation_noise=noise,
        better_runs=int((gains >= MUCH_BETTER).sum()),
        best_runs=tuple(
            BetterRun(seed, source, dataset.space.target(source), float(gains[seed, source]))
            for seed, source in best
            if gains[seed, source] >= MUCH_BETTER
        ),
    )


def _mean_correlation(rows: Floats) -> float | None:
    """Mean correlation of two of the (W, N) rows; None if one of them is constant."""
    if any(is_flat(row) for row in rows):
        return None
    above = np.triu_indices(len(rows), k=1)
    return float(np.asarray(np.corrcoef(rows))[above].mean())
