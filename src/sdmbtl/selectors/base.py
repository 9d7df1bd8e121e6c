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

from sdmbtl.contexts import ContextLike, ContextSpace
from sdmbtl.errors import (
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
        self.seed = seed
        self.history = History(space, seed)

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
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise SelectorError(f"The 'n' of ask must be a whole number >= 1. Got {n!r} instead.")
        candidates = [self._ask_one()]
        while len(candidates) < n:
            try:
                candidates.append(self._ask_one())
            except ExhaustedError:
                break
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
            source_return: J(pi_x, x), for a source that is no target. Otherwise, and if left
                out, the return on the nearest evaluated target stands for it.
            skip_if_finished: Ignore the call if this candidate was told already.
            repeat: Add one more policy trained on a context that was told already.

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
        checked = self._checked_row(row, status)
        own = None if source_return is None else _checked_return(source_return)
        if trial is None:
            source = self.space.vector(candidate)  # type: ignore[arg-type]
            trial = self.history.add(source, strategy="told", structure=None)
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
    def pending(self) -> list[Trial]:
        """The candidates that were asked and not told yet."""
        return [t for t in self.history.trials if t.status == "pending"]

    @property
    def performance(self) -> float:
        """Mean over the targets of the best return so far; NaN before the first row."""
        return self.rows.performance

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
        mine = self.state_dict()
        for key in ("version", "selector", "settings", "seed", "space"):
            if key not in state:
                raise StateError(f"This is no state of a selector: it has no {key!r}.")
            if state[key] != mine[key]:
                raise StateError(
                    f"This state belongs to another selector: {key} is {_short(state[key])} in the "
                    f"state and {_short(mine[key])} here. Make the selector as it was made then."
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
        if self.history.is_taken(proposal.source):
            raise SelectorError(
                f"{type(self).__name__}.propose returned {self.space.context(proposal.source)}, "
                "which was proposed before. A selector must not propose a context twice."
            )
        trial = self.history.add(proposal.source, proposal.strategy, proposal.structure)
        return Candidate(
            id=trial.id,
            context=self.space.context(trial.source),
            index=trial.index,
            strategy=proposal.strategy,
            reason=proposal.reason,
            structure=proposal.structure,
            numbers=dict(proposal.numbers),
        )

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
        return None if repeat or not found else found[-1]

    def _by_id(self, number: int) -> Trial:
        if not 0 <= number < len(self.history.trials):
            known = f"0 to {len(self.history.trials) - 1}" if self.history.trials else "none yet"
            raise UnknownCandidateError(
                f"There is no candidate {number}; ids so far: {known}. "
                "Tell a context instead if the policy was trained elsewhere."
            )
        return self.history.trials[number]

    def _checked_row(self, row: ArrayLike | None, status: Status) -> NDArray[np.float64] | None:
        if status == "finished":
            if row is None:
                raise RowError(
                    "A finished run needs its row of returns. Pass row=..., or status='failed'."
                )
            return as_row(row, self.space)
        if row is not None:
            raise RowError(f"A run with status={status!r} has no row. Leave the row out.")
        return None


def _checked_return(value: float) -> float:
    number = float(value)
    if not np.isfinite(number):
        raise RowError(f"The 'source_return' must be a finite number. Got {value!r} instead.")
    return number


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "..."
