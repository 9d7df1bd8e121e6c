"""The history of a selector: every trial so far."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace, Source, TargetSample
from sdmbtl.contexts.targets import SAME_CONTEXT
from sdmbtl.errors import ExhaustedError, SelectorError
from sdmbtl.seeds import seed_sequence
from sdmbtl.selectors.trial import Status, Trial
from sdmbtl.transfer import ObservedRows, ReturnModel

#: A return that is not known to be a mean of few episodes counts as one of this many.
EXACT = 100.0


class History:
    """Trials in the order in which they were asked, whatever the order of the tells.

    Args:
        space: The context space.
        seed: Root seed of the selector.
        trials: Earlier trials.
        return_range: Lowest and highest return there is, if known. Bounds forecasts, changes no
            choice.

    Attributes:
        sample: The targets that stand for all, if this history is that of a sample, see
            `on_sample`; its `space` is then that of the sample.
        whole: The history of all targets; itself, unless it is that of a sample.
    """

    def __init__(
        self,
        space: ContextSpace,
        seed: int,
        trials: Iterable[Trial] = (),
        return_range: tuple[float, float] | None = None,
    ) -> None:
        self.space = space
        self.seed = seed
        self.return_range = return_range
        self.sample: TargetSample | None = None
        self.whole = self
        #: The history of a sample, and the trials that it was made of.
        self._sampled: tuple[History, list[Trial]] | None = None
        self._trials: list[Trial] = []
        self._ids_at: dict[Hashable, list[int]] = {}
        self._rows: ObservedRows | None = None  # made when they are asked for
        #: Expected returns, the model of returns, and the rows that they were made of.
        self._expected: tuple[NDArray[np.float64], ObservedRows] | None = None
        self._model: tuple[ReturnModel, ObservedRows] | None = None
        for trial in trials:
            self.record(trial)

    # -- what a strategy looks at --------------------------------------------------------------

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial, in the order of the ids."""
        return tuple(self._trials)

    @property
    def finished(self) -> list[Trial]:
        """The trials that have a row, in the order of the ids."""
        return [trial for trial in self._trials if trial.row is not None]

    @property
    def rows(self) -> ObservedRows:
        """The observed rows of all finished trials, in the order of their ids.

        The row of a region stands at its centre: selectors of points take a region for its
        centre.
        """
        if self._rows is None:
            finished = self.finished
            self._rows = ObservedRows(
                self.space,
                [t.source.vector for t in finished],
                [t.row for t in finished],
                [np.nan if t.source_return is None else t.source_return for t in finished],
            )
        return self._rows

    @property
    def expected_returns(self) -> NDArray[np.float64]:
        """(k, N) expected return of each policy on each target: its row, if that is complete."""
        rows = self.rows
        if self._expected is None or self._expected[1] is not rows:
            finished = self.finished
            known = ~np.isnan(rows.returns)
            exact = np.array([t.episodes is None for t in finished], bool) & known.all(axis=1)
            expected = rows.returns
            if not exact.all():
                expected = np.where(exact[:, None], rows.returns, self.return_model.means)
            self._expected = expected, rows
        return self._expected[0]

    @property
    def return_model(self) -> ReturnModel:
        """The model of the returns of all finished trials."""
        rows = self.rows
        if self._model is None or self._model[1] is not rows:
            finished = self.finished
            place: dict[int | None, int] = {t.id: number for number, t in enumerate(finished)}
            episodes = np.where(np.isnan(rows.returns), 0.0, EXACT)
            for number, trial in enumerate(finished):
                if trial.episodes is not None:
                    episodes[number] = trial.episodes
            parents = [place.get(trial.parent, -1) for trial in finished]
            sources = [trial.source for trial in finished]
            model = ReturnModel(self.space, parents, rows.returns, episodes, sources=sources)
            self._model = model, rows
        return self._model[0]

    def row_of(self, number: int) -> int:
        """Return the number of a finished trial's row."""
        return sum(t.row is not None for t in self._trials[:number])

    def on_sample(self, sample: TargetSample) -> History:
        """Return the same history on the targets of a sample."""
        if self._sampled is None or self._sampled[0].sample is not sample:
            twin = History(sample.space, self.seed)
            twin.sample = sample
            self._sampled = (twin, [])
        twin, known = self._sampled
        twin.whole, twin.return_range = self, self.return_range
        for number, trial in enumerate(self._trials):
            if number == len(known) or known[number] is not trial:
                twin.record(trial.on_sample(sample))
                known[number : number + 1] = [trial]
        return twin

    @property
    def range_so_far(self) -> tuple[float, float]:
        """Lowest and highest return: as known, or else as observed."""
        returns = self.rows.returns
        return self.return_range or (float(np.nanmin(returns)), float(np.nanmax(returns)))

    def bound_gain(self, gain: float, before: float) -> float:
        """A forecast of a gain, not more than the highest return leaves."""
        if self.return_range is None:
            return gain
        return min(gain, max(self.return_range[1] - before, 0.0))

    def _units(self, *statuses: Status) -> NDArray[np.float64]:
        """(k, U) sources of the trials with these statuses, in unit coordinates."""
        chosen = [t.source.center for t in self._trials if t.status in statuses]
        return self.space.to_unit(np.array(chosen).reshape(len(chosen), self.space.n_dimensions))

    @property
    def pending(self) -> NDArray[np.float64]:
        """(p, U) sources asked and not reported yet, in unit coordinates."""
        return self._units("pending")

    @property
    def covering(self) -> NDArray[np.float64]:
        """(k, U) sources that have a policy or will have one, in unit coordinates."""
        return self._units("finished", "pending")

    @property
    def round(self) -> int:
        """The paper's k: 1 + the number of sources that have a policy or will have one."""
        return 1 + len(self.covering)

    def is_taken(self, source: Source) -> bool:
        """Return whether this source was proposed or reported, and not cancelled or forgotten."""
        return any(trial.is_taken for trial in self.with_source(source))

    def free_targets(self) -> NDArray[np.bool_]:
        """(N,) which targets may still be proposed as points; regions around them do not count."""
        free = np.ones(len(self.space), dtype=np.bool_)
        for trial in self._trials:
            if trial.is_taken and trial.index is not None:
                free[trial.index] = False
        if not free.any():
            raise self.exhausted()
        return free

    def exhausted(self) -> ExhaustedError:
        """The error to raise when nothing is left to propose."""
        return ExhaustedError(
            f"Every target has been proposed; none is left of {len(self.space)}. "
            "Stop here, or use a space with more targets."
        )

    def rng(self, key: str) -> np.random.Generator:
        """A generator for the next choice: the same whenever this choice is made again."""
        return np.random.default_rng(seed_sequence(self.seed, key, len(self._trials)))

    def with_source(self, source: Source) -> list[Trial]:
        """Trials on this source, in order."""
        return [self._trials[number] for number in self._ids_at.get(self._key(source), [])]

    def pending_around(self, source: Source) -> list[Trial]:
        """Pending trials whose region has this centre, in order."""
        place = self._key(source)[0]
        return [
            t for t in self._trials if t.status == "pending" and self._key(t.source)[0] == place
        ]

    # -- what the selector records ---------------------------------------------------------------

    def record(self, trial: Trial) -> None:
        """Add a new trial, or replace the one with the same id."""
        before = None
        if trial.id == len(self._trials):
            self._trials.append(trial)
            self._ids_at.setdefault(self._key(trial.source), []).append(trial.id)
        else:
            if self._trials[trial.id].source != trial.source:
                raise SelectorError(
                    f"Trial {trial.id} is already on record with the context "
                    f"{self._trials[trial.id].context}, not {trial.context}. "
                    "Record what next_trials returned before asking it again."
                )
            before, self._trials[trial.id] = self._trials[trial.id].row, trial
        if self._rows is None or trial.row is before:
            return
        is_last = all(later.row is None for later in self._trials[trial.id + 1 :])
        if trial.row is not None and before is None and is_last:
            self._rows = self._rows.added(trial.source.vector, trial.row, trial.source_return)
        else:  # reported after a later one, or again: the rows keep the order of the asks
            self._rows = None

    def copy(self) -> History:
        """The same history, to look ahead in."""
        twin = History(self.space, self.seed, return_range=self.return_range)
        twin._trials = list(self._trials)
        twin._ids_at = {key: list(ids) for key, ids in self._ids_at.items()}
        twin._rows, twin._expected, twin._model = self._rows, self._expected, self._model
        twin.sample, twin.whole = self.sample, twin if self.whole is self else self.whole
        if self._sampled is not None:
            small, known = self._sampled
            twin._sampled = (small.copy(), list(known))
        return twin

    def _key(self, source: Source) -> tuple[Hashable, ...]:
        """The same for two sources that are the same up to rounding of their centres."""
        vector, place = source.vector, self.space.find(source.vector)
        how = (source.width, source.parent, source.steps, source.sees_context)
        if place is not None:
            return place, *how
        units = np.round(self.space.place(vector) / SAME_CONTEXT) + 0.0
        fixed = [d.low == d.high for d in self.space.dimensions.values()]
        return units.tobytes() + vector[fixed].tobytes(), *how
