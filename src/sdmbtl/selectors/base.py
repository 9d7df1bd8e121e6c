"""The ask/tell contract that every selector shares.

A selector decides in one method, `propose`, from the history alone: what was trained and
evaluated, what is still running, what failed. Everything else — trials and their ids, pending and
failed runs, warm starts, batches, saving and loading — is the same for all and lives here. Since
`propose` depends on nothing but the history, the settings and the seed, a selector that is loaded
from its state continues exactly as the original would have.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.checks import check_float, check_int, short_text
from sdmbtl.contexts import ContextLike, ContextSpace, Source, TargetSample
from sdmbtl.errors import (
    ContextError,
    DuplicateTellError,
    ExhaustedError,
    RowError,
    SelectorError,
    StateError,
    UnknownTrialError,
)
from sdmbtl.json_data import differences
from sdmbtl.selectors.history import History
from sdmbtl.selectors.trial import Proposal, Status, Trial, derived_fields
from sdmbtl.transfer import ObservedRows, as_row, mean_of

STATE_VERSION = 5
REPORTED: tuple[Status, ...] = ("finished", "failed", "cancelled")
#: A trial: the trial, its id, its source, or the context it is a point of.
TrialLike = Trial | int | Source | ContextLike
#: Size of the sample of selectors that compare every target with every other.
SAMPLE_SIZE = 4_096


class TellOptions(TypedDict, total=False):
    """Optional keywords of `tell`; described there."""

    status: Literal["finished", "failed", "cancelled"]
    source_return: float | None
    skip_if_finished: bool
    repeat: bool
    correct: bool
    reason: str | None


class Selector(ABC):
    """Chooses contexts to train on, one after another.

    Args:
        space: The context space with its targets.
        seed: Root of every random choice this selector makes.

    Attributes:
        sample_size: With more than `exact_up_to` targets, `propose` gets the history of a sample of
            this many; None for the history of all targets always.
        exact_up_to: Number of targets.
    """

    name: ClassVar[str]
    sample_size: int | None = None
    exact_up_to: int = 16_384

    def __init__(self, space: ContextSpace, *, seed: int = 0) -> None:
        self.space = space
        self.seed = check_int("seed", seed, low=0, error=SelectorError)
        self._sample: TargetSample | None = None
        self.history = History(space, self.seed)

    # -- methods that a selector implements -------------------------------------------------

    @abstractmethod
    def propose(self, history: History) -> Proposal:
        """Choose the next source, a function of the history, the settings and the seed.

        Must not return a source for which `history.is_taken` holds. The targets are those of
        `history.space`: with a sample they may be fewer than those of the selector.

        Raises:
            ExhaustedError: If no source is left.
        """

    def settings(self) -> dict[str, Any]:
        """Every setting that changes the choices, as JSON data."""
        return {}

    # -- ask and tell ----------------------------------------------------------------------

    @overload
    def ask(self, n: None = None) -> Trial: ...
    @overload
    def ask(self, n: int) -> list[Trial]: ...
    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        """Choose the next context, or the next `n`.

        May be called again before `tell`: what is pending is never proposed a second time.

        Args:
            n: Number of trials; a single one, not in a list, if left out.

        Returns:
            A pending trial, or a list of `n` of them; fewer if fewer are left.

        Raises:
            ExhaustedError: If every context has been proposed.
        """
        trials = self.next_trials(1 if n is None else n)
        self.record(*trials)
        return trials[0] if n is None else trials

    def tell(
        self, trial: TrialLike, row: ArrayLike | None = None, **options: Unpack[TellOptions]
    ) -> Trial:
        """Report what became of a trial.

        Args:
            trial: The trial, its id, a context, or a `Source`. A context or a source that was
                never asked is taken as a policy trained elsewhere (warm start).
            row: One return for each target, NaN where not evaluated. For "finished" only.
            **options: Optional keywords:

                * status: "finished", the default; "failed" (the context is not proposed again
                  and covers nothing); "cancelled" (the context may be proposed again).
                * source_return: J(pi_x, x), for a source that is not an evaluated target. By
                  default the return on the nearest target, for a region the mean in it.
                * skip_if_finished: Ignore the call if this trial was reported already.
                * repeat: With a context: add one more policy trained on it.
                * correct: Replace what was reported or forgotten; the earlier row is kept in
                  `Trial.earlier`, with the `reason`.

        Returns:
            The trial as it is recorded now.

        Raises:
            UnknownTrialError: If the trial is unknown.
            DuplicateTellError: If it was reported already.
            RowError: If the row does not fit the targets. Nothing is changed then.
        """
        reported = self.reported_trial(trial, row, **options)
        self.record(reported)
        return reported

    def forget(self, trial: TrialLike, *, reason: str | None = None) -> Trial:
        """Take back what was reported of a finished trial, as if its policy had never been.

        Its context may be proposed again. The row is kept in `Trial.earlier`, with the reason; to
        undo it, `tell` the row with correct=True.

        Raises:
            UnknownTrialError: If the trial is unknown.
            SelectorError: If it is not finished.
        """
        forgotten = self.find(trial).forgotten(reason)
        self.record(forgotten)
        return forgotten

    def next_trials(self, n: int) -> list[Trial]:
        """Return what `ask` would; nothing is recorded yet."""
        n = check_int("n", n, low=1, error=SelectorError)
        ahead = self.history.copy()
        trials: list[Trial] = []
        try:
            while len(trials) < n:
                trials.append(self._next_trial(ahead))
                ahead.record(trials[-1])
        except ExhaustedError:
            if not trials:
                raise
        return trials

    def reported_trial(
        self,
        trial: TrialLike,
        row: ArrayLike | None,
        *,
        status: Literal["finished", "failed", "cancelled"] = "finished",
        source_return: float | None = None,
        skip_if_finished: bool = False,
        repeat: bool = False,
        correct: bool = False,
        reason: str | None = None,
    ) -> Trial:
        """Return what `tell` would; nothing is recorded yet."""
        if reason is not None and not correct:
            raise SelectorError("A 'reason' explains a correction. Pass correct=True with it.")
        if status not in REPORTED:
            raise SelectorError(
                f"The 'status' of tell must be one of {', '.join(map(repr, REPORTED))}. "
                f"Got {status!r} instead."
            )
        found = self._find(trial, repeat=repeat, forgotten=correct)
        if found is not None and found.status != "pending" and not correct:
            if skip_if_finished:
                return found
            raise DuplicateTellError(
                f"Trial {found.id} {found.context} was reported already (status {found.status!r}). "
                "Pass skip_if_finished=True to ignore a second tell, correct=True to replace what "
                "was reported, or tell its context with repeat=True if it was trained once more."
            )
        if found is None:
            source = self._as_source(trial)  # type: ignore[arg-type]
            if source.vector not in self.space:
                raise ContextError(
                    f"{self.space.context(source.vector)} lies outside the context space "
                    f"{self.space.bounds}. Check its units, or make the space wider."
                )
            reported = Proposal(source, "reported", "Trained without being asked for.")
            found = self._new_trial(self.history, reported)
        checked, own = self._checked_returns(found, row, status, source_return)
        return found.replaced(reason, status=status, row=checked, source_return=own)

    def find(self, trial: TrialLike) -> Trial:
        """Return the recorded trial that a trial, its id, a source or a context stands for."""
        found = self._find(trial, repeat=False)
        if found is None:
            raise UnknownTrialError(f"There is no trial on {short_text(trial)}.")
        return found

    def record(self, *trials: Trial) -> None:
        """Take over new trials, or those that replace the ones with the same ids."""
        for trial in trials:
            self.history.record(trial)

    # -- what is known -----------------------------------------------------------------------

    @property
    def rows(self) -> ObservedRows:
        """The observed rows, in the order of their trials."""
        return self.history.rows

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial so far, in order."""
        return self.history.trials

    @property
    def pending(self) -> list[Trial]:
        """The trials that were asked and not reported yet, for example to start them again."""
        return [t for t in self.trials if t.status == "pending"]

    @property
    def expected_returns(self) -> NDArray[np.float64]:
        """(k, N) expected return of each policy on each target: its row, if that is complete.

        What was not played, or not as often as the rest, is predicted; see `ReturnModel`.
        """
        seen = self._seen()
        expected = seen.expected_returns
        if seen.sample is None or not len(expected):
            return expected
        rows = self.rows.returns
        return np.where(np.isnan(rows), expected[:, seen.sample.parts], rows)

    @property
    def expected_best(self) -> NDArray[np.float64]:
        """(N,) highest expected return on each target; NaN before the first row."""
        if not len(self.rows):
            return np.full(len(self.space), np.nan)
        return np.asarray(self.expected_returns.max(axis=0))

    @property
    def best_trials(self) -> NDArray[np.intp]:
        """(N,) id of the trial with the highest expected return; -1 before the first row."""
        if not len(self.rows):
            return np.full(len(self.space), -1, dtype=np.intp)
        ids = np.array([t.id for t in self.history.finished], dtype=np.intp)
        return np.asarray(ids[self.expected_returns.argmax(axis=0)])

    @property
    def performance(self) -> float:
        """Mean over the targets of the highest expected return; NaN before the first row."""
        return float(self.space.mean(self.expected_best))

    def remaining_gain(self, policies: int = 3) -> float | None:
        """Forecast how much the mean best return will rise by some more policies.

        Pending policies are not counted. None if this selector does not estimate it, or knows too
        little yet.
        """
        del policies
        return None

    def evidence(self) -> list[dict[str, Any]]:
        """List how well models predicted the rows: an entry for each row and model.

        Each has at least the `model`, the number of `rows` before the one it predicted, and
        the `weight` of the model after it. Empty if this selector does not let models predict.
        """
        return []

    def failed_runs(self) -> list[int]:
        """List the trials whose training run has probably failed, judged by its row."""
        return []

    # -- state ---------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue elsewhere, as JSON data."""
        return {**self._identity(), "trials": [t.to_dict() for t in self.trials]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of a selector that was configured in the same way.

        Raises:
            StateError: If the state belongs to another selector; the message shows what differs.
        """
        mine = self._identity()
        if not isinstance(state, Mapping) or not {*mine, "trials"} <= set(state):
            raise StateError(f"This is not what state_dict() returned: {short_text(state)}.")
        changed = differences({key: state[key] for key in mine}, mine)
        if changed:
            raise StateError(
                f"This state belongs to another selector ({changed[0]}). "
                "Make the selector as it was made then."
            )
        self.load_trials(
            Trial.from_dict(data, number, self.space) for number, data in enumerate(state["trials"])
        )

    def load_trials(self, trials: Iterable[Trial]) -> None:
        """Continue from these trials, in the order of their ids."""
        self.history = History(self.space, self.seed, trials, self.history.return_range)

    def _identity(self) -> dict[str, Any]:
        return {
            "version": STATE_VERSION,
            "selector": self.name,
            "settings": self.settings(),
            "sample_size": self.sample_size,
            "exact_up_to": self.exact_up_to,
            "seed": self.seed,
            "space": self.space.to_dict(),
        }

    def __repr__(self) -> str:
        counts = f"{len(self.history.finished)} finished, {len(self.pending)} pending"
        return f"{type(self).__name__}({len(self.space)} targets, {counts})"

    # -- inside --------------------------------------------------------------------------------

    def _seen(self, history: History | None = None) -> History:
        """Return what the selector computes with: the history, perhaps that of a sample."""
        history = self.history if history is None else history
        if self.sample_size is None or len(self.space) <= self.exact_up_to:
            return history
        if self._sample is None:
            self._sample = TargetSample(self.space, self.sample_size, self.seed)
        return history.on_sample(self._sample)

    def _next_trial(self, history: History) -> Trial:
        seen = self._seen(history)
        try:
            proposal = self.propose(seen)
        except ExhaustedError:
            if seen.sample is None:
                raise
            free = np.flatnonzero(seen.whole.free_targets())
            source = self.space.source(int(seen.rng("sample used up").choice(free)))
            reason = f"All {len(seen.space)} targets compared are used up: a random other one."
            proposal = Proposal(source, "random", reason)
        usable = isinstance(proposal, Proposal) and isinstance(proposal.source, Source)
        if not usable or history.is_taken(proposal.source):
            raise SelectorError(
                f"{type(self).__name__}.propose must return a Proposal with a Source, and must not "
                f"propose a context twice. Got {proposal!r}."
            )
        return self._new_trial(history, proposal)

    def _new_trial(self, history: History, proposal: Proposal) -> Trial:
        source = proposal.source
        if source.parent is not None and source.parent not in [t.id for t in history.finished]:
            raise SelectorError(
                f"The 'parent' of a source is a trial that is finished. Trial {source.parent} is "
                "not. Leave the parent out to start from scratch."
            )
        return Trial(
            id=len(history.trials),
            source=source,
            **derived_fields(source, self.space),
            strategy=proposal.strategy,
            reason=proposal.reason,
            structure=proposal.structure,
            model=proposal.model,
            numbers={name: float(value) for name, value in proposal.numbers.items()},
        )

    def _find(self, trial: TrialLike, *, repeat: bool, forgotten: bool = False) -> Trial | None:
        """The trial a caller means; None for a context that is new, or trained once more."""
        number = trial.id if isinstance(trial, Trial) else trial
        if isinstance(number, int | np.integer) and not isinstance(number, bool):
            if not 0 <= number < len(self.trials):
                raise UnknownTrialError(
                    f"There is no trial {number}; there are {len(self.trials)} so far. "
                    "Tell a context instead if the policy was trained elsewhere."
                )
            found = self.trials[number]
            if isinstance(trial, Trial) and found.source != trial.source:
                raise UnknownTrialError(
                    f"Trial {number} of this selector has the context {found.context}, not "
                    f"{trial.context}. The trial comes from another selector."
                )
            return found
        source = self._as_source(trial)  # type: ignore[arg-type]
        same = self.history.with_source(source)
        pending = [t for t in same if t.status == "pending"]
        if pending:
            return pending[0]
        if not isinstance(trial, Source) and (around := self.history.pending_around(source)):
            if len(around) > 1:
                raise UnknownTrialError(
                    f"{len(around)} pending trials have their region around {around[0].context}: "
                    f"{', '.join(str(t.id) for t in around)}. Tell the trial or its id."
                )
            return around[0]
        reported = [t for t in same if t.is_taken or (forgotten and t.status == "forgotten")]
        return None if repeat or not reported else reported[-1]

    def _as_source(self, given: Source | ContextLike) -> Source:
        """A source as it was given, or the point that a context is."""
        if not isinstance(given, Source):
            return Source.at(self.space.vector(given))
        self.space.vector(given.vector)  # as many values as there are dimensions
        return given

    def _checked_returns(
        self, trial: Trial, row: ArrayLike | None, status: Status, source_return: float | None
    ) -> tuple[NDArray[np.float64] | None, float | None]:
        """Check the row, and the return on the source unless the row has it."""
        if status != "finished":
            if row is not None or source_return is not None:
                raise RowError(f"A run with status={status!r} has no returns. Leave the row out.")
            return None, None
        if row is None:
            raise RowError(
                "A finished run needs its row of returns. Pass row=..., or status='failed'."
            )
        checked = as_row(row, self.space)
        if source_return is None:
            if trial.source.is_point:
                return checked, None
            inside = checked[self.space.targets_in(trial.source)]
            return checked, None if np.isnan(inside).all() else mean_of(inside)
        own = check_float("source_return", source_return, error=RowError)
        if trial.index is None or np.isnan(checked[trial.index]):
            return checked, own
        if own != checked[trial.index]:
            raise RowError(
                f"The row has {checked[trial.index]:g} on the source, target {trial.index}, but "
                f"source_return is {own:g}. Leave source_return out, or correct the row."
            )
        return checked, None
