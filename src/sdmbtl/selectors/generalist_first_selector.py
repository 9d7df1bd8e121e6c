"""One policy for the whole space first, then specialists where they add most."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_bool, check_float, check_int, known_name
from sdmbtl.contexts import ContextSpace, Source
from sdmbtl.contexts.weights import weighted_mean
from sdmbtl.errors import ExhaustedError, SelectorError
from sdmbtl.selectors.acquisition import tie_margin, where_gained
from sdmbtl.selectors.base import SAMPLE_SIZE, Selector
from sdmbtl.selectors.history import History
from sdmbtl.selectors.models.region_model import RegionModel, RegionRun
from sdmbtl.selectors.trial import Proposal, Trial
from sdmbtl.transfer import Objective
from sdmbtl.wording import rise_in_words, whole_percent

SeesContext = Literal["never", "always", "both"]

#: Most pairs of centre and target, and fewest centres, for which regions are compared.
PAIRS, LEAST_CENTERS = 1_000_000, 64
#: Runs for the whole space before one sees its context, if both kinds compete.
BLIND_RUNS = 2


class _Candidate(NamedTuple):
    """A source, the (N,) rises of the best returns it should bring, and that of the objective.

    `share` is the expected share of what is missing that it removes, and its standard deviation.
    """

    source: Source
    improvement: NDArray[np.float64]
    share: tuple[float, float]
    gain: float


class GeneralistFirstSelector(Selector):
    """A policy for the whole space first; then, again and again, the run that adds most.

    A run is a specialist, trained on a region from the policy that is best there, or a policy for
    the whole space trained further. All runs have the same length. A `RegionModel` predicts the
    gain of each from the gains of the runs before. The first policy and its continuation do
    not see their context, the third continues and does: both kinds are trained further and start
    specialists wherever they are the better one.

    Args:
        space: The context space.
        seed: Root of every random choice.
        width: Width of the specialists' regions, 0 or more, below 1.
        steps: Environment steps of a unit, of which a run takes half. If left out, every run takes
            the trainer's number; a study passes it.
        sees_context: Policies see their context "never" or "always"; with "both", both kinds
            compete. A study with the trainer "ppo" passes "both".
        objective: Quantity that choices raise: "mean" of the best returns, "cvar:0.1" for the mean
            of the worst tenth, "worst" for the lowest, or "share:0.9" for the share of the targets
            above 90 % of the range of returns.
        reported_parents: Let policies that were trained elsewhere be parents. A study that trains
            passes false: it has no weights of them.
    """

    name: ClassVar[str] = "generalist-first"
    sample_size = SAMPLE_SIZE

    def __init__(
        self,
        space: ContextSpace,
        *,
        seed: int = 0,
        width: float = RegionModel.width,
        steps: int | None = None,
        sees_context: SeesContext = "never",
        objective: str = "mean",
        reported_parents: bool = True,
    ) -> None:
        super().__init__(space, seed=seed)
        width = check_float("width", width, low=0.0, error=SelectorError)
        if width >= 1:
            raise SelectorError(f"'width' is from 0 (points) to below 1. Got {width!r} instead.")
        if steps is not None:
            steps = check_int("steps", steps, low=1, error=SelectorError)
        known_name("sees_context", sees_context, ("never", "always", "both"), error=SelectorError)
        self.width, self.steps, self.sees_context = width, steps, sees_context
        #: Steps of every run.
        self._run_steps = None if steps is None else -(-steps // 2)
        self.objective = Objective.of(objective)
        check_bool("reported_parents", reported_parents, error=SelectorError)
        self.reported_parents = reported_parents
        self.model = RegionModel(width=width)

    def settings(self) -> dict[str, Any]:
        """Every setting that changes the choices."""
        names = ("width", "steps", "sees_context", "reported_parents")
        settings = {name: getattr(self, name) for name in names}
        objective = {} if self.objective == Objective() else {"objective": str(self.objective)}
        return settings | objective

    # -- choosing ------------------------------------------------------------------------------

    def propose(self, history: History) -> Proposal:
        """Choose the run with the largest expected gain, after the first generalists."""
        taken = [t for t in history.trials if t.is_taken and self._is_whole(t)]
        if not taken:
            source = self.space.whole(None, self._run_steps, self.sees_context == "always")
            return Proposal(source, "generalist", "One policy for the whole space comes first.")
        parents = self._parents(history)
        blind = [t for t in parents if self._is_whole(t)]
        if self.sees_context == "both" and blind and not any(t.source.sees_context for t in taken):
            sees = len(taken) >= BLIND_RUNS
            source = self.space.whole(blind[-1].id, self._run_steps, sees)
            reason = "It continues, on the whole space."
            if sees:
                reason = "It continues and sees its context from now on."
            return Proposal(source, "generalist", reason)
        if not parents:
            return self._spread_out(history)
        best = self._expected_best(history)
        chosen = self._largest_gain(history, best)
        gain, before = (float(history.space.mean(v)) for v in (chosen.improvement, best))
        gain = history.bound_gain(gain, before)
        return Proposal(
            chosen.source,
            "generalist" if self.space.is_whole(chosen.source) else "specialist",
            self._in_words(chosen, gain, history),
            model="regions",
            numbers={"expected_gain": gain},
        )

    def _largest_gain(self, history: History, best: NDArray[np.float64]) -> _Candidate:
        """Return the candidate with the largest expected gain."""
        candidates = self._continued(history, best)
        specialist = self._best_specialist(history, best)
        if specialist is not None:
            candidates.append(specialist)
        if not candidates:
            raise history.exhausted()
        gains = np.array([candidate.gain for candidate in candidates])
        return candidates[int(np.argmax(gains >= gains.max() - tie_margin(gains)))]

    def _continued(self, history: History, best: NDArray[np.float64]) -> list[_Candidate]:
        """List the policies for the whole space, each trained further."""
        runs, ceiling = self._runs(history), float(history.expected_returns.max())
        latest = {t.source.sees_context: t for t in self._parents(history) if self._is_whole(t)}
        candidates, worth = [], self._worth(history, best)
        for trial in latest.values():
            source = self.space.whole(trial.id, self._run_steps, trial.source.sees_context)
            if not history.is_taken(source):
                of_kind = [
                    run
                    for number, run in runs.items()
                    if self._is_whole(history.trials[number])
                    and history.trials[number].source.sees_context == trial.source.sees_context
                ]
                share = self.model.share_of_whole(of_kind)
                row = history.expected_returns[history.row_of(trial.id)]
                after = row + share * np.maximum(ceiling - row, 0.0)
                rise = np.maximum(after - best, 0.0)
                gain = float(weighted_mean(rise, worth))
                candidates.append(_Candidate(source, rise, (share, 0.0), gain))
        return candidates

    def _best_specialist(self, history: History, best: NDArray[np.float64]) -> _Candidate | None:
        """Return the specialist with the largest expected gain; None if all are taken."""
        parents, units = self._parents(history), history.space.unit_targets
        centers, count = np.arange(len(units)), max(LEAST_CENTERS, PAIRS // len(units))
        if count < len(units):  # some of very many
            centers = np.sort(history.rng("centers").choice(len(units), count, replace=False))
        shape = self.model.shape(units[centers], units)
        missing = np.maximum(float(history.expected_returns.max()) - best, 0.0)
        shares, variances = self.model.shares(units[centers], list(self._runs(history).values()))
        worth = self._worth(history, best)
        if worth is None:
            gains = shares * (shape @ missing) / len(best)
        else:
            gains = shares * (shape @ (missing * worth))
        rows = history.expected_returns[[history.row_of(trial.id) for trial in parents]]
        # The largest first, of equal ones the most central: the first that is not taken.
        margin = tie_margin(gains) or 1.0
        ranks = history.space.tie_rank[centers]
        for place in np.lexsort((ranks, -np.round(gains / margin))):
            level = (rows - best) @ shape[place]
            parent = parents[int(np.argmax(level >= level.max() - tie_margin(level)))]
            source = Source.at(
                history.space.targets[centers[place]],
                self.width,
                parent.id,
                self._run_steps,
                parent.source.sees_context,
            )
            if not history.is_taken(source):
                improvement = shares[place] * shape[place] * missing
                share = float(shares[place]), float(np.sqrt(variances[place]))
                gain = float(weighted_mean(improvement, worth))
                return _Candidate(source, improvement, share, gain)
        return None

    def _worth(self, history: History, best: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """(N,) worth of a higher return on each target for the objective; None if all are alike."""
        return self.objective.weights(best, history.space.weights, history.range_so_far)

    def _spread_out(self, history: History) -> Proposal:
        """Propose a region far from the others, from scratch: nothing is known yet."""
        units = history.space.unit_targets
        distance = np.full(len(units), np.inf)
        for trial in history.trials:
            if trial.is_taken and not self._is_whole(trial):
                away = np.abs(units - self.space.to_unit(trial.source.vector)).sum(axis=1)
                distance = np.minimum(distance, away)
        for target in np.lexsort((history.space.tie_rank, -np.round(distance, 9))):
            source = Source.at(history.space.targets[target], self.width, None, self._run_steps)
            if not history.is_taken(source):
                reason = "Nothing is known of the generalist yet: a region far from the others."
                return Proposal(source, "specialist", reason)
        raise history.exhausted()

    def _in_words(self, candidate: _Candidate, gain: float, history: History) -> str:
        """Describe a candidate and its expected gain in two sentences."""
        raised = rise_in_words(gain, history.return_range)
        parent, (share, deviation) = candidate.source.parent, candidate.share
        low, high = max(share - deviation, 0.0), min(share + deviation, 1.0)
        removed, least, most = map(whole_percent, (share, low, high))
        if self.space.is_whole(candidate.source):
            return (
                f"Training policy {parent} further on the whole space is predicted to raise "
                f"{raised}, more than any specialist. Such a run removes about {removed} of what "
                "is missing."
            )
        where = where_gained(
            candidate.improvement, history.space.unit_targets, self.space.unit_names
        )
        mostly = "" if where is None else f", mostly for {where}"
        return (
            f"A specialist from policy {parent} (the best around it) is predicted to raise "
            f"{raised}{mostly}. Specialists here remove {least} to {most} of what is missing "
            "in their region."
        )

    # -- what is known -------------------------------------------------------------------------

    def _runs(self, history: History) -> dict[int, RegionRun]:
        """By id: the runs that started from another policy, with the share they removed."""
        returns = history.expected_returns
        finished = history.finished
        ceiling, runs = float(returns.max()), {}
        best = np.full(returns.shape[1], -np.inf)
        for number, trial in enumerate(finished):
            row = returns[number]
            before = {t.id: place for place, t in enumerate(finished[:number])}
            if trial.parent in before:
                start, around, center = returns[before[trial.parent]], np.ones(len(row)), None
                if not self._is_whole(trial):
                    start, center = best, self.space.to_unit(trial.source.vector)
                    around = self.model.shape(center[None], history.space.unit_targets)[0]
                weights = history.space.weights
                around = around if weights is None else around * weights
                missing = float(around @ np.maximum(ceiling - start, 0.0))
                removed = float(around @ np.maximum(row - start, 0.0))
                if center is None:
                    removed = max(float(((row - start) * around).sum()), 0.0)
                share = min(removed / missing, 1.0) if missing > 0 else 0.0
                runs[trial.id] = RegionRun(center, share)
            best = np.maximum(best, row)
        return runs

    def _expected_best(self, history: History) -> NDArray[np.float64]:
        """(N,) best returns once the pending policies are there, as predicted."""
        best = history.expected_returns.max(axis=0)
        ceiling, runs = float(best.max()), list(self._runs(history).values())
        for trial in history.trials:
            if trial.status == "pending" and trial.parent is not None:
                missing = np.maximum(ceiling - best, 0.0)
                if self._is_whole(trial):
                    best = best + self.model.share_of_whole(runs) * missing
                else:
                    center = self.space.to_unit(trial.source.vector)[None]
                    shape = self.model.shape(center, history.space.unit_targets)[0]
                    best = best + self.model.shares(center, runs)[0] * shape * missing
        return np.asarray(best)

    def _is_whole(self, trial: Trial) -> bool:
        """Return whether a policy is for the whole space, and was not chosen as a specialist."""
        return trial.strategy != "specialist" and self.space.is_whole(trial.source)

    def _parents(self, history: History) -> list[Trial]:
        """Finished trials whose policies can be the start of others."""
        return [t for t in history.finished if self.reported_parents or t.has_policy]

    def remaining_gain(self, policies: int = 3) -> float | None:
        """Forecast the rise of the mean best return by more policies; None before the third row."""
        policies = check_int("policies", policies, low=1, error=SelectorError)
        seen = self._seen()
        if len(seen.rows) < 3:
            return None
        best = self._expected_best(seen)
        before = float(seen.space.mean(best))
        for _ in range(policies):
            try:
                best = best + self._largest_gain(seen, best).improvement
            except ExhaustedError:
                break
        return seen.bound_gain(float(seen.space.mean(best)) - before, before)
