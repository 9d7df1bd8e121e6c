"""M-MBTL: under the Mountain structure, selection is sequential clustering."""

from __future__ import annotations

from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_int, known_name
from sdmbtl.contexts import ContextSpace, Source
from sdmbtl.errors import SelectorError
from sdmbtl.selectors.acquisition import Sources, best_source
from sdmbtl.selectors.base import SAMPLE_SIZE, Selector
from sdmbtl.selectors.clustering import NearestDistances, RestartSearch
from sdmbtl.selectors.history import History
from sdmbtl.selectors.trial import Proposal


class MountainSelector(Selector):
    """M-MBTL: the next source is the one that most reduces the total distance to the targets.

    With `sources="targets"` the reduction is computed for every target, so the choice is the
    exact minimiser. With `sources="box"` the paper's search runs in the continuous box: from
    each of M targets the new centroid moves to the median of the targets it would win, until
    it stays; the best end point is chosen.

    The returns play no role: the sequence is the same for every matrix.

    Args:
        space: The context space.
        seed: Seed of the choice of restarts, if not every target starts one.
        sources: "targets", or "box" for any point of the box around them.
        restarts: M, the number of targets that start a search in the box; all if left out.
    """

    name: ClassVar[str] = "m-mbtl"
    sample_size = SAMPLE_SIZE

    def __init__(
        self,
        space: ContextSpace,
        *,
        seed: int = 0,
        sources: Sources = "targets",
        restarts: int | None = None,
    ) -> None:
        super().__init__(space, seed=seed)
        known_name("sources", sources, get_args(Sources), error=SelectorError)
        self.sources = sources
        self.restarts = restarts
        if restarts is not None:
            self.restarts = check_int("restarts", restarts, low=1, error=SelectorError)
        self._nearest: NearestDistances | None = None

    def settings(self) -> dict[str, Any]:
        """Every setting that changes the choices."""
        return {"sources": self.sources, "restarts": self.restarts}

    def propose(self, history: History) -> Proposal:
        """Choose the source that most reduces the clustering loss."""
        free = history.free_targets()
        centroids, nearest = history.covering, self._nearest
        known = 0 if nearest is None else len(nearest.centroids)
        if (
            nearest is None
            or nearest.space is not history.space
            or not np.array_equal(centroids[:known], nearest.centroids)
        ):
            nearest = NearestDistances(history.space)
        nearest.extend(centroids)
        self._nearest = nearest
        before = nearest.loss
        source, gain = (
            self._best_target(nearest, free, history)
            if self.sources == "targets"
            else self._best_point(nearest, free, history)
        )
        reason = (
            "The context with the smallest mean distance to all targets."
            if not np.isfinite(before)
            else f"Reduces the mean distance from a target to its nearest source from {before:.3g} "
            f"to {before - gain:.3g} (each dimension counts 0 to 1)."
        )
        numbers = {"distance_reduction": gain} if np.isfinite(before) else {}
        return Proposal(Source.at(source), self.name, reason, numbers=numbers)

    def _best_target(
        self, nearest: NearestDistances, free: NDArray[np.bool_], history: History
    ) -> tuple[NDArray[np.float64], float]:
        choice = best_source(history, nearest.target_gains(), nearest.gains, free)
        return choice.source.vector, choice.gain

    def _best_point(
        self, nearest: NearestDistances, free: NDArray[np.bool_], history: History
    ) -> tuple[NDArray[np.float64], float]:
        starts = np.arange(len(history.space))
        if self.restarts is not None and self.restarts < len(starts):  # the same in every round
            rng = np.random.default_rng(np.random.SeedSequence(history.seed))
            starts = np.sort(rng.choice(len(starts), size=self.restarts, replace=False))
        for point, gain in RestartSearch(nearest, starts).best_first():
            source = nearest.space.snap(point)
            if not nearest.space.is_box:
                gain = float(nearest.gains(nearest.space.to_unit(source)[None])[0])
            if gain > 0 and not history.is_taken(Source.at(source)):
                return source, gain
        # Nothing in the box helps any more: what is left are targets without a policy.
        return self._best_target(nearest, free, history)
