"""Comparison of several studies on one space."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from sdmbtl.errors import StudyError
from sdmbtl.json_data import as_json
from sdmbtl.studies.describe import baseline_line
from sdmbtl.studies.store import has_database
from sdmbtl.studies.study import Study
from sdmbtl.wording import counted

#: Level of the intervals.
CONFIDENCE = 0.95
#: Shares of the cost of the shortest study at which studies are compared.
MARKS = (0.25, 0.5, 1.0)

#: Of one study: (k,) environment steps up to each policy, or the number of policies, and (k,) the
#: mean return to be expected with the policies so far, as a coverage where the range is known.
CoverageCurve = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class Method:
    """Studies that differ in their seed only, named after their directory."""

    name: str
    curves: tuple[CoverageCurve, ...]

    def levels(self, cost: float) -> list[float]:
        """Return the coverage of each study up to a cost; NaN before the first policy."""
        places = [np.flatnonzero(costs <= cost * (1 + 1e-9)) for costs, _ in self.curves]
        return [
            float(coverages[known[-1]]) if len(known) else math.nan
            for known, (_, coverages) in zip(places, self.curves, strict=True)
        ]

    def at(self, cost: float) -> tuple[float, float]:
        """Estimate the coverage up to a cost, with half the width of Student's 95 % interval.

        The width is NaN for a single study.
        """
        levels = self.levels(cost)
        if len(levels) == 1:
            return levels[0], math.nan
        quantile = scipy.stats.t.ppf((1 + CONFIDENCE) / 2, len(levels) - 1)
        return float(np.mean(levels)), float(quantile * scipy.stats.sem(levels))

    def lead_over(self, other: Method, cost: float, *, is_share: bool) -> str:
        """Describe how far the mean is ahead of another one at a cost, with Welch's interval."""
        ours, theirs = self.levels(cost), other.levels(cost)
        ahead = float(np.mean(ours) - np.mean(theirs))
        if math.isnan(ahead):
            return f"not known: {(self if np.isnan(ours).any() else other).name} has no policy yet"
        unit = " points" if is_share else ""
        if min(len(ours), len(theirs)) < 2 or np.ptp(ours) == np.ptp(theirs) == 0:
            lead = f"{100 * ahead:.1f}" if is_share else f"{ahead:.3g}"
            return f"ahead by {lead}{unit}, with too few seeds for an interval"
        tested = scipy.stats.ttest_ind(ours, theirs, equal_var=False)
        width = ahead - tested.confidence_interval(CONFIDENCE).low
        verdict = "ahead" if ahead > width else "no difference beyond the interval, ahead"
        return f"{verdict} by {estimate_text(ahead, width, is_share=is_share)}{unit}"


@dataclass(frozen=True)
class Comparison:
    """Methods on one space, in the order in which they were given.

    Attributes:
        unit: Unit of the cost: "steps" or "policies".
        is_share: Whether these are coverages; mean returns otherwise.
        targets: Number of targets.
        baselines: What studies with a baseline are worth, in words, by the name of the method.
    """

    methods: tuple[Method, ...]
    unit: str
    is_share: bool
    targets: int
    baselines: tuple[str, ...] = ()

    @property
    def marks(self) -> list[float]:
        """Costs that all studies have reached, at which the methods are compared."""
        shortest = min(costs[-1] for method in self.methods for costs, _ in method.curves)
        return sorted({float(np.ceil(share * shortest)) for share in MARKS})

    def verdicts(self) -> list[str]:
        """Describe the lead of the best method over each other one at the last mark."""
        mark = self.marks[-1]
        best = max(self.methods, key=lambda method: np.nan_to_num(method.at(mark)[0], nan=-np.inf))
        others = [method for method in self.methods if method is not best]
        where = f"at {mark:,.0f} {self.unit}"
        leads = [
            f"{best.name} against {other.name} {where}: "
            f"{best.lead_over(other, mark, is_share=self.is_share)}"
            for other in others
        ]
        return [*leads, *self.baselines]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON data."""
        methods = [
            {
                "name": each.name,
                "studies": len(each.curves),
                "at_marks": [
                    dict(zip(("mean", "half_width"), each.at(mark), strict=True))
                    for mark in self.marks
                ],
                "curves": [
                    {"cost": costs, "coverage": coverages} for costs, coverages in each.curves
                ],
            }
            for each in self.methods
        ]
        about = {"unit": self.unit, "coverage_is_share": self.is_share, "targets": self.targets}
        more = {"marks": self.marks, "methods": methods, "verdicts": self.verdicts()}
        return {name: as_json(value) for name, value in (about | more).items()}


def estimate_text(mean: float, half_width: float, *, is_share: bool) -> str:
    """Format an estimate, a share in percent.

    >>> estimate_text(0.967, 0.012, is_share=True), estimate_text(12.3456, math.nan, is_share=False)
    ('96.7 ± 1.2', '12.35')
    """
    if math.isnan(mean):
        return "–"
    figure = f"{100 * mean:.1f}" if is_share else f"{mean:.4g}"
    if math.isnan(half_width):
        return figure
    return f"{figure} ± {100 * half_width:.1f}" if is_share else f"{figure} ± {half_width:.3g}"


def compare_studies(paths: Sequence[Path]) -> Comparison:
    """Compare studies, each directory one method: a study, or several in seed-*."""
    opened = {}
    for path in paths:
        places = [path] if has_database(path) else sorted(filter(has_database, path.glob("seed-*")))
        if not places:
            raise StudyError(
                f"There is no study in {str(path)!r}, and none in {path}/seed-*. Make them: "
                f"sdmbtl run CartPole --seed 0 --out {path}/seed-0"
            )
        opened[path] = [Study.open(place) for place in places]
    studies = [study for group in opened.values() for study in group]
    space = studies[0].space
    for study in studies:
        if not np.array_equal(study.space.targets, space.targets):
            raise StudyError(
                f"Studies can be compared on the same targets. {str(study.path)!r} has "
                f"{counted(len(study.space), 'target')} of ({', '.join(study.space.names)}), "
                f"{str(studies[0].path)!r} has others."
            )
        if not study.n_finished:
            raise StudyError(f"The study in {str(study.path)!r} has no finished policy yet.")
    runs = [t.run for study in studies for t in study.trials if t.row is not None]
    has_steps = all(run is not None and run.steps for run in runs)
    ranges = {study.return_range for study in studies}
    is_share = len(ranges) == 1 and None not in ranges
    names = [path.resolve().name for path in paths]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    methods, worth = [], []
    for name, group in zip(names, opened.values(), strict=True):
        methods.append(Method(name, tuple(_trace(s, has_steps, is_share) for s in group)))
        for study in group:
            snapshot = study.snapshot()
            lines = [baseline_line(snapshot, each) for each in snapshot.baselines]
            worth += [f"{name}, seed {study.configuration.seed}: {line}" for line in lines]
    unit = "steps" if has_steps else "policies"
    return Comparison(tuple(methods), unit, is_share, len(space), tuple(worth))


def _trace(study: Study, has_steps: bool, is_share: bool) -> CoverageCurve:
    """Trace the coverage of a study over its policies."""
    runs = [trial.run for trial in study.trials if trial.row is not None]
    best = np.maximum.accumulate(study.selector.expected_returns, axis=0)
    means = study.space.mean(best).tolist()
    shown = [study.share(mean) or 0.0 for mean in means] if is_share else means
    costs = [(run.steps or 0) + run.evaluation_steps if has_steps and run else 1 for run in runs]
    if has_steps and study.random_actions is not None:
        costs[0] += study.random_actions.steps
    return np.cumsum(costs).astype(np.float64), np.array(shown)
