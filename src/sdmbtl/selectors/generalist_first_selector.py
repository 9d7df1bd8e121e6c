"""One policy for the whole space first, then specialists where they add most per step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_bool, check_float, check_int, known_name
from sdmbtl.contexts import USUAL_SAMPLING, ContextSpace, Source
from sdmbtl.errors import ExhaustedError, SelectorError
from sdmbtl.selectors.base import SamplingLike, Selector
from sdmbtl.selectors.choice import tie_margin
from sdmbtl.selectors.gain_location import where_gained
from sdmbtl.selectors.history import History
from sdmbtl.selectors.models.completed_rows import complete_returns
from sdmbtl.selectors.models.shortfall_model import (
    USUAL_FORMS,
    Form,
    RegionRun,
    ShortfallFit,
    ShortfallModel,
)
from sdmbtl.selectors.trial import Proposal, Trial
from sdmbtl.wording import rise_in_words

#: Most pairs of centre and target, and fewest centres, for which regions are compared.
PAIRS, LEAST_CENTERS = 1_000_000, 64
#: A policy trained from scratch that is worse in its own region than another one, by more than
#: this share of the range of returns, has failed to learn it.
FAILED_BY = 0.1


class _Candidate(NamedTuple):
    """A source that may be trained next.

    Attributes:
        source: The source.
        improvement: (N,) what it is expected to add on each target.
        form: How a specialist is trained; None for the generalist, continued.
    """

    source: Source
    improvement: NDArray[np.float64]
    form: Form | None

    @property
    def gain_per_length(self) -> float:
        """Expected rise of the mean best return, for the steps of the first generalist."""
        return float(self.improvement.mean()) / (1.0 if self.form is None else self.form.length)


class GeneralistFirstSelector(Selector):
    """The whole space first; then, again and again, what adds most for each step.

    The policy for the whole space is trained in two halves, so that the second can be trained more
    often where the first falls short. What adds most after that is either a specialist, a region
    that starts from the policy that is best around it or from scratch, or the generalist continued.
    A `ShortfallModel` predicts what each would add and learns from what came.

    Args:
        space: The context space.
        seed: Root of every random choice.
        width: Width of the specialists' regions, 0 or more, below 1; "auto" to choose it as well.
        init: Whether specialists start from "scratch" or from a "parent"; "auto" to choose it as
            well. From scratch, the generalist is not continued either.
        steps: Environment steps of the generalist; None for the trainer's number, which then all
            policies are trained for.
        specialist_steps: Those of a specialist; None to choose it as well.
        reported_parents: Whether policies that were only reported can be parents. A study that
            trains has no weights of those.
        sampling: From how many targets on choices are computed on a sample of them, and how
            large it is, also as its settings; None for all targets always.

    Raises:
        SelectorError: If a setting is not usable.
    """

    name: ClassVar[str] = "generalist-first"

    def __init__(
        self,
        space: ContextSpace,
        *,
        seed: int = 0,
        width: float | Literal["auto"] = "auto",
        init: Literal["auto", "scratch", "parent"] = "auto",
        steps: int | None = None,
        specialist_steps: int | None = None,
        reported_parents: bool = True,
        sampling: SamplingLike | None = USUAL_SAMPLING,
    ) -> None:
        super().__init__(space, seed=seed, sampling=sampling)
        known_name("init", init, ("auto", "scratch", "parent"), error=SelectorError)
        if width != "auto":
            width = check_float("width", width, low=0.0, error=SelectorError)
            if width >= 1:
                raise SelectorError(
                    "'width' is 'auto', or a share of each dimension's range: 0 (points) or more, "
                    "below 1 (the whole space, which the generalist is for). "
                    f"Got {width!r} instead."
                )
        self.width, self.init = width, init
        self.steps = _count("steps", steps)
        self.specialist_steps = _count("specialist_steps", specialist_steps)
        self.reported_parents = check_bool(
            "reported_parents", reported_parents, error=SelectorError
        )
        self.model = ShortfallModel(forms=self._forms())

    def settings(self) -> dict[str, Any]:
        """Every setting that changes the choices."""
        names = ("width", "init", "steps", "specialist_steps", "reported_parents")
        return {name: getattr(self, name) for name in names}

    def _forms(self) -> tuple[Form, ...]:
        """The ways of training a specialist that the settings leave."""
        left_out = {"auto": (), "scratch": ("best", "generalist"), "parent": ("scratch",)}
        forms = [form for form in USUAL_FORMS if form.start not in left_out[self.init]]
        if self.width != "auto":
            width = float(self.width)
            nearest = min((form.width for form in forms), key=lambda w: abs(w - width))
            forms = [replace(form, width=width) for form in forms if form.width == nearest]
        if self.specialist_steps is not None or self.steps is None:
            length = (self.specialist_steps or 1) / (self.steps or self.specialist_steps or 1)
            forms = [replace(form, length=length) for form in _of_length(forms, length)]
        return tuple(forms)

    # -- choosing ------------------------------------------------------------------------------

    def propose(self, history: History) -> Proposal:
        """Choose what adds most for each step."""
        opening = self._open(history)
        if opening is not None:
            return opening
        fitted = self._fit(history)
        if fitted is None:
            return self._spread_out(history)
        best = self._expected_best(history, fitted)
        candidate = self._most_per_step(history, fitted, best)
        before = float(best.mean())
        gain = history.bound_gain(float(candidate.improvement.mean()), before)
        return Proposal(
            candidate.source,
            "generalist" if candidate.form is None else "specialist",
            f"{self._in_words(candidate, gain, history)} {fitted.explain()}",
            model="shortfall",
            numbers={"expected_gain": gain},
        )

    def _open(self, history: History) -> Proposal | None:
        """The next part of the first generalist; None when all of it is there or pending."""
        opening, missing = self._opening([t for t in history.trials if t.is_taken])
        steps = self.steps
        if steps is not None and self.init != "scratch":
            steps = -(-steps // 2)  # the second half where the first falls short
        if not opening:
            reason = "One policy for the whole space comes first."
            return Proposal(self.space.whole(steps=steps), "generalist", reason)
        parent = self._latest_generalist(history)
        source = self.space.whole(parent, steps)
        if missing <= 0 or parent is None or history.is_taken(source):
            return None
        reason = "The policy for the whole space continues, more often where it falls short."
        return Proposal(source, "generalist", reason)

    def _opening(self, trials: Sequence[Trial]) -> tuple[list[int], int]:
        """Find the trials of the first generalist, and the steps it still lacks."""
        opening, missing = [], self.steps or 1
        for number, trial in enumerate(trials):
            if missing > 0 and self._is_generalist(trial):
                opening.append(number)
                missing -= trial.steps or missing  # one that was reported is complete
        return opening, missing

    def _most_per_step(
        self, history: History, fitted: ShortfallFit, best: NDArray[np.float64]
    ) -> _Candidate:
        """The candidate with the largest expected gain for each step.

        Raises:
            ExhaustedError: If every source has been proposed.
        """
        generalist = self._latest_generalist(history)
        specialist = self._best_specialist(history, fitted, best)
        candidates = [] if specialist is None else [specialist]
        if self.init != "scratch" and generalist is not None:
            source = self.space.whole(parent=generalist, steps=self.steps)
            if not history.is_taken(source):
                candidates.append(_Candidate(source, fitted.generalist(best), None))
        if not candidates:
            raise history.exhausted()
        return max(candidates, key=lambda candidate: candidate.gain_per_length)

    def _best_specialist(
        self, history: History, fitted: ShortfallFit, best: NDArray[np.float64]
    ) -> _Candidate | None:
        """The specialist with the largest expected gain for each step; None if all are taken."""
        centers, forms = self._centers(history), self.model.forms
        units = history.space.unit_targets[centers]
        gains = fitted.gains(units, best) / np.array([form.length for form in forms])[:, None]
        usable = [number for number, form in enumerate(forms) if self._has_parent(form, history)]
        if not usable:
            return None
        gains = gains[usable]
        # The largest first, of equal ones the most central: the first that is not taken.
        margin = tie_margin(gains) or 1.0
        ranks = np.broadcast_to(history.space.tie_rank[centers], gains.shape)
        for place in np.lexsort((ranks.ravel(), -np.round(gains / margin).ravel())):
            row, center = divmod(int(place), len(centers))
            form = usable[row]
            source = self._source(history, fitted, form, int(centers[center]))
            if not history.is_taken(source):
                improvement = fitted.specialists(form, units[[center]], best)[0]
                return _Candidate(source, improvement, forms[form])
        return None

    def _has_parent(self, form: Form, history: History) -> bool:
        """Return whether such a specialist has a policy to start from, if it needs one."""
        if form.start == "generalist":
            return self._latest_generalist(history) is not None
        return form.start == "scratch" or bool(self._parents(history))

    def _source(self, history: History, fitted: ShortfallFit, number: int, center: int) -> Source:
        """A specialist of some form around a target; from the policy that is best around it."""
        form, parent = self.model.forms[number], None
        if form.start == "best":
            around = fitted.shape(history.space.unit_targets[[center]], form.width, fitted.reach)[0]
            parent = _best_around(self._parents(history), around)
        elif form.start == "generalist":
            parent = self._latest_generalist(history)
        steps = self.specialist_steps
        if steps is None and self.steps is not None:
            steps = max(1, round(form.length * self.steps))
        return Source.at(history.space.targets[center], form.width, parent, steps)

    def _centers(self, history: History) -> NDArray[np.intp]:
        """Targets to compare as centres: all, or some of very many."""
        targets = len(history.space)
        count = max(LEAST_CENTERS, PAIRS // targets)
        if count >= targets:
            return np.arange(targets)
        drawn = history.rng("centers").choice(targets, count, replace=False)
        return np.sort(drawn)

    def _spread_out(self, history: History) -> Proposal:
        """Regions far from one another, from scratch: nothing is known yet."""
        width, units = self.model.forms[0].width, history.space.unit_targets
        tried = [t.source for t in history.trials if t.is_taken]
        distance = np.full(len(units), np.inf)
        for source in tried:
            if not self.space.is_whole(source):
                away = np.abs(units - self.space.to_unit(source.vector)).sum(axis=1)
                distance = np.minimum(distance, away)
        for target in np.lexsort((history.space.tie_rank, -np.round(distance, 9))):
            source = Source.at(history.space.targets[target], width, None, self.steps)
            if not history.is_taken(source):
                reason = "Nothing is known of the generalist yet: a region far from the others."
                return Proposal(source, "specialist", reason)
        raise history.exhausted()

    def _in_words(self, candidate: _Candidate, gain: float, history: History) -> str:
        """Describe a candidate and its predicted gain in a sentence."""
        raised = rise_in_words(gain, history.return_range)
        if candidate.form is None:
            return (
                f"Continuing the generalist is predicted to raise {raised}, more per step than "
                "any specialist."
            )
        where = where_gained(candidate.improvement, history.space.unit_targets, self.space.names)
        mostly = "" if where is None else f", mostly for {where}"
        parent = candidate.source.parent
        start = {
            "best": f"from policy {parent} (the best around it)",
            "generalist": f"from policy {parent} (the generalist)",
            "scratch": "from scratch",
        }[candidate.form.start]
        return f"A specialist {start} is predicted to raise {raised}{mostly}."

    # -- what is known -------------------------------------------------------------------------

    def _fit(self, history: History) -> ShortfallFit | None:
        """Fit the model to all rows; None before the first."""
        rows = history.rows
        if not len(rows):
            return None
        returns = complete_returns(rows)
        finished = [t for t in history.trials if t.row is not None]
        opening = self._opening(finished)[0] or [0]
        first = returns[opening].max(axis=0)
        runs = list(self._runs(history.space, finished, returns, opening))
        return self.model.fit(history.space, first, runs, _late_gain(finished[opening[-1]]))

    def _runs(
        self,
        space: ContextSpace,
        finished: Sequence[Trial],
        returns: NDArray[np.float64],
        opening: Sequence[int],
    ) -> Iterator[RegionRun]:
        """All runs but those of the opening; which of them failed is judged by those before."""
        best, span = returns[opening].max(axis=0), float(np.ptp(returns))
        for number, trial in enumerate(finished):
            if number in opening:
                continue
            source, row = trial.source, returns[number]
            inside = space.targets_in(source)
            below = float((best[inside] - row[inside]).mean())
            form = None if self._is_generalist(trial) else self._nearest_form(source)
            failed = form is not None and source.parent is None and below > FAILED_BY * span
            yield RegionRun(self.space.to_unit(source.vector), form, row, failed)
            best = np.maximum(best, row)

    def _nearest_form(self, source: Source) -> int:
        """The form that a source has, or is most like."""
        length = 1.0 if None in (source.steps, self.steps) else source.steps / self.steps  # type: ignore[operator]

        def difference(number: int) -> tuple[bool, float, float]:
            form = self.model.forms[number]
            return (
                (form.start == "scratch") != (source.parent is None),
                abs(form.width - source.width),
                abs(form.length - length),
            )

        return min(range(len(self.model.forms)), key=difference)

    def _expected_best(self, history: History, fitted: ShortfallFit) -> NDArray[np.float64]:
        """(N,) best returns once the pending policies are there, as predicted."""
        best = fitted.best
        for trial in history.trials:
            if trial.status == "pending":
                if self._is_generalist(trial):
                    best = best + fitted.generalist(best)
                else:
                    center = self.space.to_unit(trial.source.vector)[None]
                    form = self._nearest_form(trial.source)
                    best = best + fitted.specialists(form, center, best)[0]
        return best

    def _is_generalist(self, trial: Trial) -> bool:
        """Return whether a policy is for the whole space, and was not chosen as a specialist."""
        return trial.strategy != "specialist" and self.space.is_whole(trial.source)

    def _latest_generalist(self, history: History) -> int | None:
        """Id of the last finished policy for the whole space that can be a parent."""
        whole = [t.id for t in self._parents(history) if self._is_generalist(t)]
        return whole[-1] if whole else None

    def _parents(self, history: History) -> list[Trial]:
        """Finished trials whose policies can be the start of others."""
        return [
            trial
            for trial in history.trials
            if trial.row is not None
            and (self.reported_parents or (trial.run is not None and trial.run.policy_sha256))
        ]

    def failed_runs(self) -> list[int]:
        """Ids of the trials that failed to learn their own region.

        They are from scratch and worse there than another policy.
        """
        seen = self._seen()
        finished = [t for t in seen.trials if t.row is not None]
        if not finished:
            return []
        opening = self._opening(finished)[0] or [0]
        later = [t.id for n, t in enumerate(finished) if n not in opening]
        runs = self._runs(seen.space, finished, complete_returns(seen.rows), opening)
        return [number for number, run in zip(later, runs, strict=True) if run.has_failed]

    def remaining_gain(self, policies: int = 3) -> float | None:
        """Forecast how much the mean best return will rise by some more policies.

        Args:
            policies: Number of further policies, pending ones not counted.

        Returns:
            The rise, None while too little is known: before the third row.
        """
        policies = check_int("policies", policies, low=1, error=SelectorError)
        seen = self._seen()
        fitted = self._fit(seen)
        if fitted is None or len(seen.rows) < 3:
            return None
        best = self._expected_best(seen, fitted)
        before = float(best.mean())
        for _ in range(policies):
            try:
                best = best + self._most_per_step(seen, fitted, best).improvement
            except ExhaustedError:
                break
        return seen.bound_gain(float(best.mean()) - before, before)


def _count(name: str, number: int | None) -> int | None:
    return None if number is None else check_int(name, number, low=1, error=SelectorError)


def _of_length(forms: Sequence[Form], length: float) -> list[Form]:
    """For each width, from scratch or not, the form that is nearest to a length."""
    kinds: dict[tuple[float, bool], Form] = {}
    for form in forms:
        kind = (form.width, form.start == "scratch")
        # From a parent that is the best around the region, where there is a choice.
        if kind not in kinds or (
            kinds[kind].start == form.start
            and abs(form.length - length) < abs(kinds[kind].length - length)
        ):
            kinds[kind] = form
    return list(kinds.values())


def _best_around(parents: Sequence[Trial], around: NDArray[np.float64]) -> int | None:
    """Id of the policy with the highest mean return, weighted by how near (N,) targets are."""
    means = {}
    for trial in parents:
        if trial.row is not None:
            known = ~np.isnan(trial.row)
            weight = float(around[known].sum())
            if weight > 0:
                means[trial.id] = float(around[known] @ trial.row[known]) / weight
    return max(means, key=means.__getitem__, default=None)


def _late_gain(trial: Trial) -> float | None:
    """By how much the mean return rose in the second half of a training run, if it is known."""
    curve = () if trial.run is None else trial.run.curve
    if len(curve) < 4:
        return None
    returns = np.maximum.accumulate([value for _, value in curve])
    return float(returns[-1] - returns[len(returns) // 2 - 1])
