"""One policy for the whole space first, then specialists where most is missing."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import finite_number, known_name, whole_number
from sdmbtl.contexts import ContextSpace, Source
from sdmbtl.errors import SelectorError
from sdmbtl.selectors.base import Proposal, Selector
from sdmbtl.selectors.choice import best_target
from sdmbtl.selectors.history import History
from sdmbtl.selectors.trial import Trial

#: Width of a specialist's region unless another one is given.
USUAL_WIDTH = 0.25


class GeneralistFirstSelector(Selector):
    """The whole space first, then regions where the best returns fall short most.

    Args:
        space: The context space.
        seed: Root of every random choice.
        width: Width of the specialists' regions, 0 to 1; "auto" for the usual one.
        init: Whether specialists start from "scratch" or from the "parent" that is best in their
            region; "auto" is from the parent.
        steps: Environment steps of the generalist; None for the trainer's number.
        specialist_steps: Those of a specialist; None for as many as the generalist's.
    """

    name = "generalist-first"

    def __init__(
        self,
        space: ContextSpace,
        *,
        seed: int = 0,
        width: float | Literal["auto"] = "auto",
        init: Literal["auto", "scratch", "parent"] = "auto",
        steps: int | None = None,
        specialist_steps: int | None = None,
    ) -> None:
        super().__init__(space, seed=seed)
        known_name("init", init, ("auto", "scratch", "parent"), error=SelectorError)
        if width != "auto" and finite_number("width", width, low=0.0, error=SelectorError) > 1:
            raise SelectorError(
                "'width' is 'auto', or a share of each dimension's range from 0 (points) to 1 "
                f"(the whole space). Got {width!r} instead."
            )
        for name, number in (("steps", steps), ("specialist_steps", specialist_steps)):
            if number is not None:
                whole_number(name, number, low=1, error=SelectorError)
        self.width, self.init = width, init
        self.steps, self.specialist_steps = steps, specialist_steps

    def settings(self) -> dict[str, Any]:
        """Every setting that changes the choices."""
        names = ("width", "init", "steps", "specialist_steps")
        return {name: getattr(self, name) for name in names}

    def propose(self, history: History) -> Proposal:
        """The whole space, then the region with the largest sum of shortfalls."""
        whole = self.space.whole(steps=self.steps)
        if not history.is_taken(whole):
            return Proposal(whole, "generalist", "One policy for the whole space comes first.")
        width = USUAL_WIDTH if self.width == "auto" else self.width
        missing = self._missing(history)
        inside = [self.space.targets_in(Source.at(center, width)) for center in self.space.targets]
        free = self._free(history, width)
        sums = np.array([missing[targets].sum() for targets in inside])
        target = best_target(sums, free, self.space.tie_rank)
        parent = None if self.init == "scratch" else _best_parent(history, inside[target])
        steps = self.steps if self.specialist_steps is None else self.specialist_steps
        center = self.space.targets[target]
        start = "from scratch" if parent is None else f"from policy {parent}, the best there"
        return Proposal(
            Source.at(center, width, parent, steps),
            "specialist",
            f"In this region most is missing to the highest return seen; it starts {start}.",
        )

    def _free(self, history: History, width: float) -> NDArray[np.bool_]:
        """(N,) targets that are not the centre of a specialist yet."""
        centers = {t.source.center for t in _taken(history) if t.width == width}
        free = np.array([tuple(c) not in centers for c in self.space.targets.tolist()])
        if not free.any():
            raise history.exhausted()
        return free

    def _missing(self, history: History) -> NDArray[np.float64]:
        """(N,) how far the best return is below the highest seen; 0 where somebody trains."""
        best = history.rows.best
        seen = best[~np.isnan(best)]
        if not len(seen):
            missing = np.ones(len(self.space))
        else:
            missing = seen.max() - np.where(np.isnan(best), seen.min(), best)
        for trial in history.trials:
            if trial.status == "pending" and not self.space.is_whole(trial.source):
                missing[self.space.targets_in(trial.source)] = 0.0
        return missing


def _taken(history: History) -> list[Trial]:
    return [t for t in history.trials if t.status != "cancelled"]


def _best_parent(history: History, inside: NDArray[np.bool_]) -> int | None:
    """Id of the finished trial with the highest mean over some targets, None if there is none."""
    means = {}
    for trial in history.trials:
        if trial.row is not None:
            values = trial.row[inside]
            if not np.isnan(values).all():
                means[trial.id] = float(np.nanmean(values))
    return max(means, key=means.__getitem__, default=None)
