"""Is the policy quality f(x) nearly constant?"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sdmbtl.transfer import ObservedRows
from sdmbtl.transfer.detection.criterion import Criterion, CriterionResult


class SmallVarianceCriterion(Criterion):
    """The paper's small-variance criterion (Lemma 1).

    Holds if the relative returns of the policies on their own sources, std_x(J̄(pi_x, x)), vary
    less than the relative returns of one policy over the targets, E_x[std_y(J̄(pi_x, y))].
    """

    name: ClassVar[str] = "small variance"

    def evaluate(self, rows: ObservedRows) -> CriterionResult:
        """Compare the two standard deviations."""
        on_source = rows.source_returns - rows.target_means[rows.source_positions]
        on_source = on_source[~np.isnan(on_source)]
        quality = float(np.std(on_source)) if len(on_source) > 1 else np.inf
        dissimilarity = float(np.nanmean(np.nanstd(rows.relative, axis=1)))
        # Where every policy does the same, rounding must not decide.
        rounding = 64 * float(np.finfo(np.float64).eps) * float(np.nanmax(np.abs(rows.returns)))
        passed = quality < dissimilarity and dissimilarity > rounding
        verb = "differ less" if passed else "do not differ less"
        return CriterionResult(
            name=self.name,
            passed=passed,
            value=quality,
            threshold=dissimilarity,
            explanation=(
                f"policies {verb} from one another, each on its own context, than one "
                f"policy does from target to target (standard deviations {quality:.3g} and "
                f"{dissimilarity:.3g}, relative to the mean on each target)"
            ),
        )
