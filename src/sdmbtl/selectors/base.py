"""The ask/tell contract that every selector shares.

A selector decides in one method, `propose`, from the history alone: what was trained and
evaluated, what is still running, what failed. Everything else — candidates and their ids,
pending and failed runs, warm starts, batches, saving and loading — is the same for all and
lives here. Since `propose` depends on nothing but the history, the settings and the seed, a
selector that is loaded from its state goes on exactly as the original would have.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.checks import finite_number, short_text, whole_number
from sdmbtl.contexts import ContextLike, ContextSpace
from sdmbtl.errors import (
    ContextError,
    DuplicateTellError,
    ExhaustedError,
    RowError,
    SelectorError,
    StateError,
    UnknownCandidateError,
)
from sdmbtl.selectors.history import History, Status, Trial
from sdmbtl.transfer import ObservedRows, as_row

STATE_VERSION = 1
TOLD: tuple[Status, ...] = ("finished", "failed", "cancelled")


@dataclass(frozen=True)
class Candidate:
    """A context to train on, and why.

    Attributes:
        id: Number of the candidate; `tell` accepts it in place of the candidate.
        context: The context by name.
        index: Index of the target it equals, None if it is no target.
        strategy: Name of the strategy that chose it.
        structure: The structure that was detected, None if none was looked for.
        reason: Why this context, in words.
        numbers: The figures behind the reason.
    """

    id: int
    context: dict[str, float]
    index: int | None
    strategy: str
    reason: str
    structure: str | None = None
    numbers: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Proposal:
    """What `Selector.propose` returns: a source in context units, and why it was chosen."""

    source: NDArray[np.float64]
    strategy: str
    reason: str
    structure: str | None = None
    numbers: dict[str, float] = field(default_factory=dict)


class Selector(ABC):
    """Chooses contexts to train on, one after another.

    Args:
        space: The context space with its targets.
        seed: Root of every random choice this selector makes.
    """

    name: ClassVar[str]

    def __init__(self, space: ContextSpace, *, seed: int = 0) -> None:
        if not isinstance(space, ContextSpace):
            raise SelectorError(
                f"The 'space' of a selector must be a ContextSpace. Got {space!r} instead."
            )
        self.space = space
        self.seed = whole_number("seed", seed, low=0, error=SelectorError)
        self.history = History(space, self.seed)

    # -- what a selector of your own implements --------------------------------------------

    @abstractmethod
    def propose(self, history: History) -> Proposal:
        """Choose the next source, a function of the history, the settings and the seed.

        Must not return a source for which `history.is_taken` holds.

        Raises:
            ExhaustedError: If no source is left.
        """

    def settings(self) -> dict[str, Any]:
        """Every setting that changes the choices, as JSON data."""
        return {}

    # -- ask and tell ----------------------------------------------------------------------

    @overload
    def ask(self, n: None = None) -> Candidate: ...
    @overload
    def ask(self, n: int) -> list[Candidate]: ...
    def ask(self, n: int | None = None) -> Candidate | list[Candidate]:
        """Choose the next context, or the next `n`.

        May be called again before `tell`: what is pending is never proposed a second time.

        Args:
            n: Number of candidates; a single one, not in a list, if left out.

        Returns:
            A candidate, or a list of `n` of them; fewer if fewer are left.

        Raises:
            ExhaustedError: If every context has been proposed.
        """
        if n is None:
            return self._ask_one()
        n = whole_number("n", n, low=1, error=SelectorError)
        candidates = [self._ask_one()]
        try:
            while len(candidates) < n:
                candidates.append(self._ask_one())
        except ExhaustedError:
            return candidates
        except Exception:
            for candidate in candidates:  # the caller will never see them
                self.tell(candidate, status="cancelled")
            raise
        return candidates

    def tell(
        self,
        candidate: Candidate | int | ContextLike,
        row: ArrayLike | None = None,
        *,
        status: Literal["finished", "failed", "cancelled"] = "finished",
        source_return: float | None = None,
        skip_if_finished: bool = False,
        repeat: bool = False,
    ) -> None:
        """Report what became of a candidate.

        Args:
            candidate: The candidate, its id, or a context. A context that was never asked is
                taken as a policy trained elsewhere (warm start).
            row: One return for each target, NaN where not evaluated. For "finished" only.
            status: "finished"; "failed" (the context is not proposed again and covers
                nothing); "cancelled" (the context goes back and may be proposed again).
            source_return: J(pi_x, x), for a source that is no target. If left out, the return on
                the nearest target stands for it.
            skip_if_finished: Ignore the call if this candidate was told already.
            repeat: With a context: add one more policy trained on it.

        Raises:
            UnknownCandidateError: If there is no such candidate.
            DuplicateTellError: If it was told already.
            RowError: If the row does not fit the targets. Nothing is changed then.
        """
        if status not in TOLD:
            raise SelectorError(
                f"The 'status' of tell must be one of {', '.join(map(repr, TOLD))}. "
                f"Got {status!r} instead."
            )
        trial = self._find(candidate, repeat=repeat)
        if trial is not None and trial.status != "pending":
            if skip_if_finished:
                return
            raise DuplicateTellError(
                f"Candidate {trial.id} {self.space.context(trial.source)} was told already "
                f"(status {trial.status!r}). Pass skip_if_finished=True to ignore a second tell, "
                "or tell its context with repeat=True if it was trained once more."
            )
        checked = self._checked_row(row, status, source_return)
        own = None
        if source_return is not None:
            own = finite_number("source_return", source_return, error=RowError)
        if trial is None:
            trial = self.history.add(
                self._in_the_box(candidate),  # type: ignore[arg-type]
                strategy="told",
                structure=None,
                reason="trained without being asked for",
                numbers={},
            )
        self.history.close(trial, status, checked, own)

    # -- what is known -----------------------------------------------------------------------

    @property
    def rows(self) -> ObservedRows:
        """The observed rows, in the order of their candidates."""
        return self.history.rows

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every candidate so far with its status, in order."""
        return tuple(self.history.trials)

    @property
    def pending(self) -> list[Candidate]:
        """The candidates that were asked and not told yet, for example to start them again."""
        return [self._candidate(t) for t in self.history.trials if t.status == "pending"]

    @property
    def best_candidates(self) -> NDArray[np.intp]:
        """(N,) id of the candidate whose policy is best on each target, -1 if none is known."""
        ids, rows = self._told_candidates(), self.rows.best_policy
        return np.where(rows < 0, -1, ids[rows] if len(ids) else -1)

    def _told_candidates(self) -> NDArray[np.intp]:
        """(k,) id of the candidate of each row."""
        return np.array([t.id for t in self.history.trials if t.row is not None], dtype=np.intp)

    @property
    def performance(self) -> float:
        """Mean over the evaluated targets of the best return so far; NaN before the first row.

        With partial rows the targets it counts may change from round to round.
        """
        return self.rows.performance

    def remaining_gain(self, policies: int = 3) -> float | None:
        """How much the mean best return is expected to rise by some more policies.

        Args:
            policies: Number of further policies, pending ones not counted.

        Returns:
            The rise; None if this selector does not estimate it, or knows too little yet.
        """
        del policies
        return None

    def evidence(self) -> list[dict[str, Any]]:
        """How well structures foretold the rows: an entry for each row and structure.

        Each has at least the `structure`, the number of `rows` before the one it predicted, and
        its `score`, 0 to 1. Empty if this selector does not let structures predict.
        """
        return []

    def failed_trainings(self) -> list[int]:
        """Ids of the candidates whose training has probably failed, by the rows told.

        Empty if this selector cannot tell.
        """
        return []

    # -- state ---------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on elsewhere, as JSON data."""
        return {
            "version": STATE_VERSION,
            "selector": self.name,
            "settings": self.settings(),
            "seed": self.seed,
            "space": self.space.to_dict(),
            "trials": [t.to_dict() for t in self.history.trials],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of a selector that was configured in the same way.

        Raises:
            StateError: If the state belongs to another selector; the message shows what differs.
        """
        if not isinstance(state, Mapping):
            raise StateError(
                f"A state is what state_dict() returned. Got {type(state).__name__} instead; "
                "text needs json.loads first."
            )
        mine = self.state_dict()
        for key in mine:
            if key not in state:
                raise StateError(f"This is no state of a selector: it has no {key!r}.")
            if key != "trials" and state[key] != mine[key]:
                raise StateError(
                    "This state belongs to another selector: "
                    f"{_difference(key, state[key], mine[key])}. "
                    "Make the selector as it was made then."
                )
        history = History(self.space, self.seed)
        for data in state["trials"]:
            history.restore(data)
        self.history = history

    def __repr__(self) -> str:
        counts = {
            s: sum(t.status == s for t in self.history.trials) for s in ("finished", "pending")
        }
        return (
            f"{type(self).__name__}({len(self.space)} targets, {counts['finished']} finished, "
            f"{counts['pending']} pending)"
        )

    # -- inside --------------------------------------------------------------------------------

    def _ask_one(self) -> Candidate:
        proposal = self.propose(self.history)
        if not isinstance(proposal, Proposal):
            raise SelectorError(
                f"{type(self).__name__}.propose must return a Proposal. Got {proposal!r} instead."
            )
        if self.history.is_taken(proposal.source):
            raise SelectorError(
                f"{type(self).__name__}.propose returned {self.space.context(proposal.source)}, "
                "which was proposed before. A selector must not propose a context twice."
            )
        trial = self.history.add(
            proposal.source,
            strategy=proposal.strategy,
            structure=proposal.structure,
            reason=proposal.reason,
            numbers=proposal.numbers,
        )
        return self._candidate(trial)

    def _candidate(self, trial: Trial) -> Candidate:
        return Candidate(
            id=trial.id,
            context=self.space.context(trial.source),
            index=trial.index,
            strategy=trial.strategy,
            reason=trial.reason,
            structure=trial.structure,
            numbers=dict(trial.numbers),
        )

    def _in_the_box(self, context: ContextLike) -> NDArray[np.float64]:
        vector = self.space.vector(context)
        if vector not in self.space:
            raise ContextError(
                f"{self.space.context(vector)} lies outside the context space "
                f"{self.space.bounds}. Check its units, or make the space wider."
            )
        return vector

    def _find(self, candidate: Candidate | int | ContextLike, *, repeat: bool) -> Trial | None:
        """The trial a caller means; None for a context that is new, or trained once more."""
        if isinstance(candidate, Candidate):
            trial = self._by_id(candidate.id)
            if self.space.context(trial.source) != candidate.context:
                raise UnknownCandidateError(
                    f"Candidate {candidate.id} of this selector has the context "
                    f"{self.space.context(trial.source)}, not {candidate.context}. "
                    "The candidate comes from another selector."
                )
            return trial
        if isinstance(candidate, int | np.integer) and not isinstance(candidate, bool):
            return self._by_id(int(candidate))
        found = self.history.with_source(self.space.vector(candidate))  # type: ignore[arg-type]
        pending = [t for t in found if t.status == "pending"]
        if pending:
            return pending[0]
        told = [t for t in found if t.status != "cancelled"]
        return None if repeat or not told else told[-1]

    def _by_id(self, number: int) -> Trial:
        if not 0 <= number < len(self.history.trials):
            known = f"0 to {len(self.history.trials) - 1}" if self.history.trials else "none yet"
            raise UnknownCandidateError(
                f"There is no candidate {number}; ids so far: {known}. "
                "Tell a context instead if the policy was trained elsewhere."
            )
        return self.history.trials[number]

    def _checked_row(
        self, row: ArrayLike | None, status: Status, source_return: float | None
    ) -> NDArray[np.float64] | None:
        if status == "finished":
            if row is None:
                raise RowError(
                    "A finished run needs its row of returns. Pass row=..., or status='failed'."
                )
            return as_row(row, self.space)
        if row is not None or source_return is not None:
            raise RowError(f"A run with status={status!r} has no returns. Leave the row out.")
        return None


def _difference(path: str, theirs: object, mine: object) -> str:
    """The first place in which two pieces of JSON data differ, in words."""
    if isinstance(theirs, Mapping) and isinstance(mine, Mapping):
        for key in [*mine, *theirs]:
            if theirs.get(key) != mine.get(key):
                return _difference(f"{path}.{key}", theirs.get(key), mine.get(key))
    if isinstance(theirs, list) and isinstance(mine, list) and len(theirs) == len(mine):
        for number, (one, other) in enumerate(zip(theirs, mine, strict=True)):
            if one != other:
                return _difference(f"{path}[{number}]", one, other)
    return f"{path} is {short_text(theirs, 120)} in the state and {short_text(mine, 120)} here"
