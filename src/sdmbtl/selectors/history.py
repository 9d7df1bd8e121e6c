"""What a selector knows: every candidate so far and what became of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.contexts.space import SAME_CONTEXT
from sdmbtl.transfer import ObservedRows

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
        row: (N,) its returns, once finished.
        source_return: J(pi_x, x), if it was told.
    """

    id: int
    source: NDArray[np.float64]
    index: int | None
    status: Status
    strategy: str
    structure: str | None
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
        self._places: dict[bytes, list[Trial]] = {}

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
        """(N,) which targets may still be proposed."""
        free = np.ones(len(self.space), dtype=np.bool_)
        for trial in self.trials:
            if trial.status != "cancelled" and trial.index is not None:
                free[trial.index] = False
        return free

    def rng(self, key: str) -> np.random.Generator:
        """A generator for the next choice: the same whenever this choice is made again."""
        digest = hashlib.sha256(key.encode()).digest()
        words = [int.from_bytes(digest[i : i + 4], "little") for i in (0, 4)]
        return np.random.default_rng(
            np.random.SeedSequence(self.seed, spawn_key=(*words, len(self.trials)))
        )

    # -- what the selector records ---------------------------------------------------------------

    def add(self, source: NDArray[np.float64], strategy: str, structure: str | None) -> Trial:
        """Record a new pending trial."""
        trial = Trial(
            id=len(self.trials),
            source=source,
            index=self.space.find(source),
            status="pending",
            strategy=strategy,
            structure=structure,
        )
        self.trials.append(trial)
        self._places.setdefault(self._key(source), []).append(trial)
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
        """Add a trial from `Trial.to_dict`."""
        source = self.space.vector(data["source"])
        trial = self.add(source, data["strategy"], data["structure"])
        if data["status"] != "pending":
            row = None if data["row"] is None else np.array(data["row"], dtype=np.float64)
            self.close(trial, data["status"], row, data["source_return"])

    def with_source(self, source: NDArray[np.float64]) -> list[Trial]:
        """Trials on this context, in order."""
        return self._places.get(self._key(source), [])

    def _key(self, source: NDArray[np.float64]) -> bytes:
        """The same for two sources that are the same context up to rounding."""
        return (np.round(self.space.to_unit(source) / SAME_CONTEXT) + 0.0).tobytes()

    def _units(self, *statuses: Status) -> NDArray[np.float64]:
        chosen = [t.source for t in self.trials if t.status in statuses]
        return self.space.to_unit(np.array(chosen).reshape(len(chosen), self.space.n_dimensions))
