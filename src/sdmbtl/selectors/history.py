"""What a selector knows: every candidate so far and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.contexts.space import SAME_CONTEXT
from sdmbtl.errors import ExhaustedError, StateError
from sdmbtl.seeds import seed_sequence
from sdmbtl.transfer import ObservedRows, as_row

Status = Literal["pending", "finished", "failed", "cancelled"]


@dataclass
class Trial:
    """One candidate and what became of it.

    Attributes:
        id: Number of the candidate.
        source: (D,) context it was, or is being, trained on.
        index: Index of the target that the source equals, None if it is no target.
        status: "pending", "finished", "failed" or "cancelled".
        strategy: What chose it; "told" for a warm start.
        structure: The structure detected at the time, if any.
        reason: Why it was chosen, in words.
        numbers: The figures behind the reason.
        row: (N,) its returns, once finished.
        source_return: J(pi_x, x), if it was told.
    """

    id: int
    source: NDArray[np.float64]
    index: int | None
    status: Status
    strategy: str
    structure: str | None
    reason: str
    numbers: dict[str, float]
    row: NDArray[np.float64] | None = None
    source_return: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """The trial as JSON data; NaN becomes None."""
        row = None if self.row is None else [None if np.isnan(v) else float(v) for v in self.row]
        return {
            "source": self.source.tolist(),
            "status": self.status,
            "strategy": self.strategy,
            "structure": self.structure,
            "reason": self.reason,
            "numbers": self.numbers,
            "row": row,
            "source_return": self.source_return,
        }


class History:
    """Trials in the order in which they were asked, whatever the order of the tells.

    Args:
        space: The context space.
        seed: Root seed of the selector.
    """

    def __init__(self, space: ContextSpace, seed: int) -> None:
        self.space = space
        self.seed = seed
        self.trials: list[Trial] = []
        self._rows = ObservedRows(space)
        self._rows_up_to = -1  # id of the last trial in _rows
        self._places: dict[int | bytes, list[Trial]] = {}

    # -- what a strategy looks at --------------------------------------------------------------

    @property
    def rows(self) -> ObservedRows:
        """The observed rows of all finished trials, in the order of their ids."""
        return self._rows

    @property
    def pending(self) -> NDArray[np.float64]:
        """(p, D) sources asked and not told yet, in unit coordinates."""
        return self._units("pending")

    @property
    def covering(self) -> NDArray[np.float64]:
        """(k, D) sources that have a policy or will have one, in unit coordinates."""
        return self._units("finished", "pending")

    @property
    def round(self) -> int:
        """The paper's k: 1 + the number of sources that have a policy or will have one."""
        return 1 + sum(t.status in ("finished", "pending") for t in self.trials)

    def is_taken(self, source: NDArray[np.float64]) -> bool:
        """Whether this context was proposed, or told, and not cancelled."""
        return any(t.status != "cancelled" for t in self.with_source(source))

    def free_targets(self) -> NDArray[np.bool_]:
        """(N,) which targets may still be proposed.

        Raises:
            ExhaustedError: If none is left.
        """
        free = np.ones(len(self.space), dtype=np.bool_)
        for trial in self.trials:
            if trial.status != "cancelled" and trial.index is not None:
                free[trial.index] = False
        if not free.any():
            raise self.exhausted()
        return free

    def exhausted(self) -> ExhaustedError:
        """The error to raise when nothing is left to propose."""
        counts = ", ".join(
            f"{sum(t.status == status for t in self.trials)} {status}"
            for status in ("finished", "pending", "failed")
        )
        return ExhaustedError(
            f"Every target has been proposed; none is left of {len(self.space)} ({counts}). "
            "Stop here, or use a space with more targets."
        )

    def rng(self, key: str) -> np.random.Generator:
        """A generator for the next choice: the same whenever this choice is made again."""
        return np.random.default_rng(seed_sequence(self.seed, key, len(self.trials)))

    # -- what the selector records ---------------------------------------------------------------

    def add(
        self,
        source: NDArray[np.float64],
        *,
        strategy: str,
        structure: str | None,
        reason: str,
        numbers: Mapping[str, float],
    ) -> Trial:
        """Record a new pending trial."""
        trial = Trial(
            id=len(self.trials),
            source=source,
            index=self.space.find(source),
            status="pending",
            strategy=strategy,
            structure=structure,
            reason=reason,
            numbers=dict(numbers),
        )
        self.trials.append(trial)
        key = self._key(source) if trial.index is None else trial.index
        self._places.setdefault(key, []).append(trial)
        return trial

    def close(
        self,
        trial: Trial,
        status: Status,
        row: NDArray[np.float64] | None,
        source_return: float | None,
    ) -> None:
        """Record what became of a pending trial."""
        trial.status, trial.row, trial.source_return = status, row, source_return
        if row is None:
            return
        if trial.id > self._rows_up_to:
            self._rows = self._rows.added(trial.source, row, source_return)
            self._rows_up_to = trial.id
        else:  # told after a later one: put the rows in the order of the asks
            self._rows = ObservedRows(self.space)
            for t in self.trials:
                if t.row is not None:
                    self._rows = self._rows.added(t.source, t.row, t.source_return)

    def restore(self, data: Mapping[str, Any]) -> None:
        """Add a trial from `Trial.to_dict`.

        Raises:
            StateError: If it is no such trial.
        """
        number = len(self.trials)
        try:
            source, status, row = data["source"], data["status"], data["row"]
            told = {key: data[key] for key in ("strategy", "structure", "reason", "numbers")}
            source_return = data["source_return"]
        except (KeyError, TypeError) as error:
            raise StateError(f"Trial {number} of this state is damaged: {error!r}.") from None
        if status not in get_args(Status) or (row is None) == (status == "finished"):
            raise StateError(
                f"Trial {number} of this state is damaged: status {status!r} "
                f"{'without' if row is None else 'with'} a row."
            )
        trial = self.add(self.space.vector(source), **told)
        if status != "pending":
            checked = None if row is None else as_row(row, self.space)
            self.close(trial, status, checked, source_return)

    def with_source(self, source: NDArray[np.float64]) -> list[Trial]:
        """Trials on this context, in order."""
        return self._places.get(self._key(source), [])

    def _key(self, source: NDArray[np.float64]) -> int | bytes:
        """The same for two sources that are the same context up to rounding."""
        index = self.space.find(source)
        if index is not None:
            return index
        units = np.round(self.space.to_unit(source) / SAME_CONTEXT) + 0.0
        fixed = [d.low == d.high for d in self.space.dimensions.values()]
        return units.tobytes() + source[fixed].tobytes()

    def _units(self, *statuses: Status) -> NDArray[np.float64]:
        chosen = [t.source for t in self.trials if t.status in statuses]
        return self.space.to_unit(np.array(chosen).reshape(len(chosen), self.space.n_dimensions))
