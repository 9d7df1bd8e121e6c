"""What a transfer matrix looks like, in numbers.

Returns are scaled so that 0 is the lowest and 1 the highest of the data set.

Example:
    >>> import numpy as np
    >>> from sdmbtl import ContextSpace
    >>> from sdmbtl_lab.matrices import TransferMatrices
    >>> from sdmbtl_lab.matrices import TransferDataset
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

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sdmbtl.contexts import ContextSpace
from sdmbtl.json_data import as_json
from sdmbtl.transfer.decomposition import SobolHoeffding
from sdmbtl.transfer.detection import MOUNTAIN, Detection, MountainDetector
from sdmbtl.transfer.rows import ObservedRows
from sdmbtl_lab.matrices.anatomy.effects import Effect, measure_effect
from sdmbtl_lab.matrices.anatomy.few_policies import (
    FewPolicies,
    Training,
    measure_few_policies,
    measure_training,
)
from sdmbtl_lab.matrices.anatomy.findings import findings
from sdmbtl_lab.matrices.anatomy.gap import Gap, measure_agreement, measure_gap
from sdmbtl_lab.matrices.anatomy.run_variance import RunVariance, compare_seeds
from sdmbtl_lab.matrices.anatomy.size import Size, size_of
from sdmbtl_lab.matrices.dataset import TransferDataset
from sdmbtl_lab.matrices.transfer_matrices import min_max

#: Rows of the second detection: as many as a user may have trained.
FEW_ROWS = 12


@dataclass(frozen=True)
class Shares:
    """Shares of the variance of the mean matrix over the seeds, decomposed orthogonally.

    The mean of W seeds still has 1/W of the noise between training runs: it is counted as quality.
    """

    quality: float
    difficulty: float
    dissimilarity: float


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
        run_variance: Differences between seeds.
        training: How well training goes.
        few_policies: How far few policies get.
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
    run_variance: RunVariance
    training: Training
    few_policies: FewPolicies
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
        return {key: as_json(value) for key, value in vars(self).items()}


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
    size = size_of(dataset, low, high)
    measured = Anatomy(
        name=dataset.name,
        size=size,
        shares=Shares(shares["source"], shares["target"], shares["interaction"]),
        quality=measure_effect(space, parts.source_effect),
        difficulty=measure_effect(space, parts.target_effect),
        gap=measure_gap(rows, parts.interaction, measure_agreement(returns, parts.interaction)),
        run_variance=compare_seeds(dataset, returns, size),
        training=measure_training(space, returns),
        few_policies=measure_few_policies(dataset, returns, low, high),
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


def _detected(detector: MountainDetector, rows: ObservedRows) -> Detection:
    if len(rows) < detector.min_rows:
        return Detection("none", "one policy tells nothing about a structure")
    return detector.detect(rows)
