"""Shortfall: how much of what is missing a training run on a region removes.

The shortfall of a target is the highest return seen anywhere minus the best return seen there. A
training run on a region removes a share of it, most of it in the region and less with the distance
from it. What that share is differs between families of environments, between ways of training, and
between targets: some contexts cannot be solved at all. So it begins with what was seen on other
families and is corrected by every run: predicted first, then compared with what came.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_float, known_name
from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import ModelError
from sdmbtl.selectors.models.cells import space_cells

Start = Literal["best", "generalist", "scratch"]


@dataclass(frozen=True)
class Form:
    """A way of training a specialist, whatever its region is around.

    Attributes:
        width: Width of the region, 0 to 1.
        start: The policy it starts from: the "best" one around its region, the latest
            "generalist", or none: from "scratch".
        length: Its steps, as a share of those of the first generalist.
        share: Share of the shortfall in its region that it is expected to remove.
    """

    width: float
    start: Start
    length: float
    share: float

    def __post_init__(self) -> None:
        known_name("start", self.start, get_args(Start), error=ModelError)
        for name in ("width", "length", "share"):
            check_float(name, getattr(self, name), low=0.0, error=ModelError)
        if self.width > 1 or self.share > 1 or self.length == 0:
            raise ModelError(
                "A form has a 'width' and a 'share' of at most 1, and a 'length' above 0. "
                f"Got {self!r} instead."
            )


#: Their shares were seen on CartPole, Pendulum, MountainCar and Acrobot: half the steps from a
#: parent remove nearly as much as all of them, from scratch much less, and width has its price.
USUAL_FORMS = (
    Form(0.25, "best", 0.5, 0.65),
    Form(0.25, "generalist", 1.0, 0.7),
    Form(0.5, "best", 0.5, 0.25),
    Form(0.125, "best", 0.5, 0.6),
    Form(0.0, "best", 0.5, 0.45),
    Form(0.25, "scratch", 0.5, 0.35),
    Form(0.25, "scratch", 1.0, 0.5),
)


@dataclass(frozen=True)
class RegionRun:
    """A training run after the first generalist, as the model sees it.

    Attributes:
        center: (D,) centre of its region in unit coordinates.
        form: How it was trained: number of the form; None for the generalist, continued.
        row: (N,) its return on every target, without NaN.
        has_failed: Whether it failed to learn its own region: it then says something about this
            way of training, and nothing about the targets.
    """

    center: NDArray[np.float64]
    form: int | None
    row: NDArray[np.float64]
    has_failed: bool = False


@dataclass(frozen=True)
class ShortfallModel:
    """Improvement(y) = share · exp(-(distance of y from the region / reach)²) · shortfall(y).

    The share is that of the form, corrected by four factors that begin at 1: for all specialists,
    for the form, for how well a target is solved already, and for what specialists around nearly
    the same centre did on the target. After every run each is multiplied by
    (weight + came / predicted) / (weight + 1). What a region next to a target could not do says
    little about a region around the target, and the other way round: so the last factor differs
    with both, and its power falls with the distance between the centres.

    Attributes:
        forms: Ways of training a specialist.
        continued: Largest share of the shortfall that continuing the generalist may remove; less
            if its learning curve was flat.
        flat: Share that is expected even then.
        reaches: Reaches that are tried, in unit coordinates, and
        usual_reach: the one to expect before there are specialists.
        reach_weight: How much a reach must fit better to be preferred to the usual one.
        weights: Of what is assumed, in runs: for all specialists, a form, a level, specialists
            that are alike, the continued generalist.
        levels: Number of levels of "how well a target is solved".
        cells: Number of parts of the space over which what came is averaged.
        alike: Distance between centres over which specialists are alike, in unit coordinates.
        other_width: How much a specialist says about one of another width, 0 to 1.
        largest_surprise: A run counts as at most this many times what was predicted.
    """

    forms: tuple[Form, ...] = USUAL_FORMS
    continued: float = 0.06
    flat: float = 0.01
    reaches: tuple[float, ...] = (0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.9)
    usual_reach: float = 0.2
    reach_weight: float = 0.3
    weights: tuple[float, float, float, float, float] = (4.0, 2.0, 1.0, 0.5, 1.0)
    levels: int = 4
    cells: int = 64
    alike: float = 0.25
    other_width: float = 0.5
    largest_surprise: float = 2.0

    def fit(
        self,
        space: ContextSpace,
        first: NDArray[np.float64],
        runs: Sequence[RegionRun],
        late_gain: float | None = None,
    ) -> ShortfallFit:
        """Learn from what came.

        Args:
            space: The context space.
            first: (N,) the best returns before these runs: usually the row of the generalist.
            runs: The later runs, in order.
            late_gain: By how much the generalist's mean return rose in the second half of its
                training run; None if that is not known.
        """
        rows = np.array([first, *[run.row for run in runs]])
        fitted = ShortfallFit(self, space, first, float(rows.min()), float(rows.max()), late_gain)
        fitted.reach = self._fit_reach(fitted, first, runs)
        for run in runs:
            fitted.learn(run)
        return fitted

    def _fit_reach(
        self, fitted: ShortfallFit, first: NDArray[np.float64], runs: Sequence[RegionRun]
    ) -> float:
        """The reach that explains best where specialists improved on the best before them."""
        best, seen = first, []
        for run in runs:
            if run.form is not None and not run.has_failed:
                came = np.maximum(run.row - best, 0.0)
                seen.append((run, came, fitted.ceiling - best))
            best = np.maximum(best, run.row)
        errors = []
        for reach in self.reaches:
            error = self.reach_weight * np.log(reach / self.usual_reach) ** 2
            for run, came, shortfall in seen:
                width = self.forms[run.form or 0].width
                shape = fitted.shape(run.center[None], width, reach)[0] * shortfall
                share = (shape @ came) / max(shape @ shape, 1e-300)
                scale = max(came @ came, 1e-3 * (shortfall @ shortfall), 1e-300)
                error += float(((came - share * shape) ** 2).sum() / scale)
            errors.append(error)
        return self.reaches[int(np.argmin(errors))]


class _Experience(NamedTuple):
    """Evidence of one specialist about those that are like it.

    Attributes:
        center: (D,) centre of its region.
        width: Width of its region.
        log_factors: (N,) what the logarithm of their share on each target changes by.
    """

    center: NDArray[np.float64]
    width: float
    log_factors: NDArray[np.float64]


@dataclass
class ShortfallFit:
    """State of learning; `best` and the factors change with every run.

    Attributes:
        model: The settings.
        space: The context space.
        best: (N,) best return so far on each target.
        floor: The lowest return seen.
        ceiling: The highest return seen.
        late_gain: See `ShortfallModel.fit`.
        reach: Distance from its region over which a specialist is good, in unit coordinates.
    """

    model: ShortfallModel
    space: ContextSpace
    best: NDArray[np.float64]
    floor: float
    ceiling: float
    late_gain: float | None
    reach: float = field(init=False)

    def __post_init__(self) -> None:
        self.reach = self.model.usual_reach
        self._specialists = 0
        self._of_all = 1.0
        self._of_form = np.ones(len(self.model.forms))
        self._of_level = np.ones(self.model.levels)
        columns = self.space.unit_targets.T
        self._values = [np.unique(column, return_inverse=True) for column in columns]
        self._cells = space_cells(self.space, self.model.cells)
        self._experience: list[_Experience] = []
        self._of_continuing = 1.0

    # -- predictions -----------------------------------------------------------------------------

    def specialists(
        self, form: int, centers: NDArray[np.float64], best: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """(m, N) expected improvements by specialists around (m, D) centres.

        Args:
            form: Number of the form.
            centers: The centres, in unit coordinates.
            best: (N,) the returns to improve on; the best so far if left out.
        """
        best = self.best if best is None else best
        width = self.model.forms[form].width
        share = self._expected_share(form, best) * self._alike(centers, width)
        shape = self.shape(centers, width, self.reach)
        return np.asarray(shape * np.minimum(share, 1.0) * np.maximum(self.ceiling - best, 0.0))

    def gains(self, centers: NDArray[np.float64], best: NDArray[np.float64]) -> NDArray[np.float64]:
        """(F, m) expected rises of the (N,) best returns' mean, by form and by (m, D) centre."""
        forms = self.model.forms
        shortfall = np.maximum(self.ceiling - best, 0.0) / len(best)
        gains = np.empty((len(forms), len(centers)))
        for width in {form.width for form in forms}:
            shape, alike = self.shape(centers, width, self.reach), self._alike(centers, width)
            weighted, most = shape * alike, float(alike.max())
            for number in (n for n, form in enumerate(forms) if form.width == width):
                share = self._expected_share(number, best)
                if most * float(share.max()) <= 1:  # nearly always, and faster
                    gains[number] = weighted @ (share * shortfall)
                else:
                    gains[number] = (shape * np.minimum(share * alike, 1.0)) @ shortfall
        return gains

    def generalist(self, best: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """(N,) expected improvement by continuing the generalist for its first steps again.

        A learning curve that rises with the logarithm of the steps adds as much with the second
        half of the steps as with doubling them.
        """
        best = self.best if best is None else best
        shortfall = np.maximum(self.ceiling - best, 0.0)
        mean = float(shortfall.mean())
        if mean == 0:
            return shortfall
        share = self.model.continued
        if self.late_gain is not None:
            share = min(share, max(self.late_gain / mean, self.model.flat))
        return np.asarray(share * self._of_continuing * shortfall)

    def shape(
        self, centers: NDArray[np.float64], width: float, reach: float
    ) -> NDArray[np.float64]:
        """(m, N) 1 on the targets in each region, falling with the distance from it."""
        # Target by target: whole rows are copied, which is several times faster than columns.
        shape = np.ones((len(self.space), len(centers)))
        # On a grid a dimension has few values: the exponential is taken of those only.
        for center, (values, place) in zip(centers.T, self._values, strict=True):
            beyond = np.maximum(np.abs(np.subtract.outer(values, center)) - width / 2, 0.0)
            shape *= np.exp(-((beyond / reach) ** 2))[place]
        return shape.T

    def _expected_share(self, form: int, best: NDArray[np.float64]) -> NDArray[np.float64]:
        """(N,) share of the shortfall that specialists of a form are expected to remove."""
        base = self.model.forms[form].share * self._of_all * self._of_form[form]
        return np.asarray(base * self._of_level[self._level(best)])

    def _alike(self, centers: NDArray[np.float64], width: float) -> NDArray[np.float64]:
        """(m, N) factors for what specialists that were alike did on each target."""
        if not self._experience:
            return np.ones((len(self.space), len(centers))).T
        seen = [experience.center for experience in self._experience]
        same = np.array([experience.width == width for experience in self._experience])
        away = np.abs(centers[:, None] - np.array(seen)).max(axis=2)
        power = np.exp(-((away / self.model.alike) ** 2))
        power *= np.where(same, 1.0, self.model.other_width)
        log_factors = np.array([experience.log_factors for experience in self._experience])
        return np.asarray(np.exp(log_factors.T @ power.T)).T

    def _level(self, best: NDArray[np.float64]) -> NDArray[np.intp]:
        """(N,) how well each target is solved, from 0 on."""
        span = max(self.ceiling - self.floor, 1e-300)
        # Rounding must not decide on which side of an edge a return lies.
        solved = (best - self.floor) / span * self.model.levels + 1e-9
        return np.minimum(solved.astype(np.intp), self.model.levels - 1)

    # -- learning --------------------------------------------------------------------------------

    def learn(self, run: RegionRun) -> None:
        """Compare what was predicted of a run with what came, then count it among the best."""
        came = np.maximum(run.row - self.best, 0.0)
        if run.form is None:
            weight = self.model.weights[4]
            surprise = self._surprise(came.mean(), self.generalist().mean())
            self._of_continuing *= float((weight + surprise) / (weight + 1.0))
        else:
            self._learn_of_specialists(run, run.form, came)
        self.best = np.maximum(self.best, run.row)

    def _learn_of_specialists(self, run: RegionRun, form: int, came: NDArray[np.float64]) -> None:
        self._specialists += 1
        all_weight, form_weight, level_weight, alike_weight, _ = self.model.weights
        width = self.model.forms[form].width
        near = self.shape(run.center[None], width, self.reach)[0]
        # Near its region only: elsewhere it may be better by chance, and nothing was promised.
        predicted = self.specialists(form, run.center[None])[0] * near
        came = came * near
        surprise = self._surprise(came.sum(), predicted.sum())
        self._of_form[form] *= (form_weight + surprise) / (form_weight + 1.0)
        if run.has_failed:
            return
        self._of_all *= float((all_weight + surprise) / (all_weight + 1.0))
        levels = self._level(self.best)
        share = _sums(predicted, levels, self.model.levels) / max(predicted.sum(), 1e-300)
        surprise = self._mean_surprise(came, predicted, levels, self.model.levels)
        counted = np.minimum(2.0 * share, 1.0)
        self._of_level *= (level_weight + counted * surprise) / (level_weight + counted)
        surprise = self._mean_surprise(came, predicted, self._cells, int(self._cells.max()) + 1)
        factors = (alike_weight + surprise[self._cells]) / (alike_weight + 1.0)
        self._experience.append(_Experience(run.center, width, near * np.log(factors)))

    def _mean_surprise(
        self,
        came: NDArray[np.float64],
        predicted: NDArray[np.float64],
        group: NDArray[np.intp],
        groups: int,
    ) -> NDArray[np.float64]:
        """(G,) what came in each group of (N,) targets, as a multiple of what was predicted."""
        return self._surprise(_sums(came, group, groups), _sums(predicted, group, groups))

    def _surprise(
        self, came: NDArray[np.float64] | float, predicted: NDArray[np.float64] | float
    ) -> NDArray[np.float64]:
        """Return realised gains as multiples of the predicted ones; 1 where nothing was."""
        promised = np.asarray(predicted) > 1e-9 * max(self.ceiling - self.floor, 1e-300)
        ratio = np.divide(came, predicted, out=np.ones(np.shape(predicted)), where=promised)
        return np.minimum(ratio, self.model.largest_surprise)

    def explain(self) -> str:
        """Describe the finding in a sentence."""
        reach = f"{100 * self.reach:.0f} % of a range"
        share = float(self.model.forms[0].share * self._of_all * self._of_form[0])
        when = "So far specialists" if self._specialists else "In other environments specialists"
        return (
            f"{when} removed about {100 * min(share, 1.0):.0f} % of what was missing in their "
            f"region and were good up to about {reach} around it."
        )


def _sums(values: NDArray[np.float64], group: NDArray[np.intp], groups: int) -> NDArray[np.float64]:
    """(G,) sums of (N,) values by group."""
    return np.asarray(np.bincount(group, weights=values, minlength=groups))
