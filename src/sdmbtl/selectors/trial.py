"""Proposals and trials: a source, why it was chosen, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import short_text
from sdmbtl.contexts import ContextSpace, Source, TargetSample
from sdmbtl.errors import SelectorError, StateError
from sdmbtl.json_data import as_json
from sdmbtl.transfer import as_row

Status = Literal["pending", "finished", "failed", "cancelled", "forgotten"]
#: The sources of such trials may be proposed again.
FREED: tuple[Status, ...] = ("cancelled", "forgotten")


@dataclass(frozen=True)
class Proposal:
    """Result of `Selector.propose`: a source, and why it was chosen.

    Attributes:
        source: The source: `space.source(index)`, `Source.at(vector)` with a width, a parent
            and a number of steps, or `space.whole()`.
        strategy: Name of the strategy that chose it.
        reason: Why, in a sentence or two.
        structure: The structure that was detected, None if nothing was.
        model: The model whose prediction the choice rests on, None if no model predicted.
        numbers: The figures behind the reason. `expected_gain` is for the rise of the mean best
            return that is expected, in units of the history's returns, and for nothing else.
    """

    source: Source
    strategy: str
    reason: str
    structure: str | None = None
    model: str | None = None
    numbers: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class TrainingRun:
    """Training of a trial's policy by a study.

    A pending trial that has one is trained by the study; one without, by whoever asked for it.

    Attributes:
        attempt: Number of the present, or last, attempt at training.
        errors: Messages of the attempts that failed.
        steps: Environment steps of training, once trained.
        evaluation_steps: Environment steps of evaluations, in training and after it.
        training_return: Mean return on its own source in training, once trained.
        curve: (steps, mean return) during training.
        policy_sha256: Checksum of the policy file, once trained.
        lost: Messages about workers that were lost during the present attempt; another one then
            begins it again with the same seed.
    """

    attempt: int = 0
    errors: tuple[str, ...] = ()
    steps: int | None = None
    evaluation_steps: int = 0
    training_return: float | None = None
    curve: tuple[tuple[int, float], ...] = ()
    policy_sha256: str | None = None
    lost: tuple[str, ...] = ()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TrainingRun:
        """Read back what `asdict` gave; lists become tuples again."""
        curve = tuple((int(steps), float(value)) for steps, value in data["curve"])
        texts = {name: tuple(data[name]) for name in ("errors", "lost")}
        return cls(**{**data, **texts, "curve": curve})


@dataclass(frozen=True)
class EarlierRow:
    """A row that a trial had, and that was replaced or taken back.

    Attributes:
        row: (N,) the returns, NaN where not evaluated.
        source_return: As of the trial.
        became: The status of the trial without it: "forgotten", "finished" with another row, or
            "pending" until another policy is evaluated.
        reason: The user's reason, if any.
    """

    row: NDArray[np.float64] = field(compare=False)
    source_return: float | None
    became: Status
    reason: str | None = None


@dataclass(frozen=True)
class Trial:
    """A source to train on, why it was chosen, and what became of it. Never changes.

    Attributes:
        id: Number of the trial; `tell` accepts it in place of the trial.
        source: The source that is trained on.
        context: The same by name; of a region its centre.
        index: Index of the target it equals, None if it is not a target, or a region.
        strategy: Its strategy; "reported" for a policy that was trained without being asked for.
        reason: Why, in a sentence or two.
        structure: The structure that was detected before the choice, None if nothing was.
        model: The model whose prediction the choice rests on, None if no model predicted.
        numbers: The figures behind the reason. `expected_gain`, where there is one, is the rise
            of the mean best return that is expected.
        status: "pending", "finished", "failed", "cancelled", or "forgotten": finished, and then
            taken back.
        row: (N,) mean return on each target, NaN where not evaluated; once finished.
        episodes: (N,) number of episodes behind each return; None if all were played, or a row
            was reported without them.
        source_return: J(pi_x, x), if the source is not a target; of a region the mean over the
            targets in it, unless another number was reported.
        run: Training of its policy, if a study trained it.
        earlier: The rows that it had before, in order.
        region: Lowest and highest value of each dimension; of a point the same one twice.
    """

    id: int
    source: Source
    context: dict[str, float]
    index: int | None
    strategy: str
    reason: str
    structure: str | None = None
    model: str | None = None
    numbers: dict[str, float] = field(default_factory=dict)
    status: Status = "pending"
    row: NDArray[np.float64] | None = field(default=None, compare=False)
    episodes: NDArray[np.intp] | None = field(default=None, compare=False)
    source_return: float | None = None
    run: TrainingRun | None = None
    earlier: tuple[EarlierRow, ...] = ()
    region: dict[str, tuple[float, float]] = field(default_factory=dict, kw_only=True)

    @property
    def is_taken(self) -> bool:
        """True if its source may not be proposed again."""
        return self.status not in FREED

    @property
    def has_policy(self) -> bool:
        """True if a study has trained it, so that there is a policy file."""
        return self.run is not None and self.run.policy_sha256 is not None

    @property
    def width(self) -> float:
        """Side of the region as a share of each dimension's range; 0 for a point."""
        return self.source.width

    @property
    def parent(self) -> int | None:
        """Id of the trial whose policy is the start; None for a start from scratch."""
        return self.source.parent

    @property
    def steps(self) -> int | None:
        """Environment steps to train for; None for as many as is usual."""
        return self.source.steps

    @property
    def expected_gain(self) -> float | None:
        """The rise of the mean best return that was expected of it, None if nothing was."""
        return self.numbers.get("expected_gain")

    def updated(self, **changes: Any) -> Trial:
        """The trial with some changes."""
        return replace(self, **changes)

    def forgotten(self, reason: str | None = None) -> Trial:
        """The trial without its row, which is kept as an earlier one."""
        if self.status != "finished":
            raise SelectorError(
                f"Only a finished trial can be forgotten. Trial {self.id} is {self.status}. "
                "A pending one is reported as cancelled instead."
            )
        return self.replaced(reason, status="forgotten", row=None, source_return=None)

    def replaced(self, reason: str | None = None, **changes: Any) -> Trial:
        """The trial with some changes; a row that is not part of the new one is kept as earlier."""
        if reason is not None and not isinstance(reason, str):
            raise SelectorError(f"The 'reason' must be a text. Got {short_text(reason)} instead.")
        after = self.updated(**{"episodes": None, **changes})
        if self.row is None:
            return after
        known = ~np.isnan(self.row)
        if after.row is not None and np.array_equal(after.row[known], self.row[known]):
            return after
        before = EarlierRow(self.row, self.source_return, after.status, reason)
        return after.updated(earlier=(*self.earlier, before))

    def on_sample(self, sample: TargetSample) -> Trial:
        """The trial as it looks on the targets of a sample: a shorter row, its own return kept."""
        changes: dict[str, Any] = {"index": sample.find(self.index), "earlier": ()}
        if self.row is not None:
            changes["row"] = row = sample.row(self.row)
            if self.episodes is not None:
                changes["episodes"] = (~np.isnan(row)).astype(np.intp)  # at least one behind each
            if self.source_return is None:
                nearest = self.index
                if nearest is None:
                    nearest = sample.of.nearest(self.source.vector)
                own = float(self.row[nearest])
                changes["source_return"] = None if np.isnan(own) else own
        return self.updated(**changes)

    def to_dict(self) -> dict[str, Any]:
        """The trial as JSON data, its id left out: that is its place in the list."""
        derived = ("id", "context", "index", "region", "episodes")
        data = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in derived}
        return dict(as_json(data))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], number: int, space: ContextSpace) -> Trial:
        """Read back what `to_dict` gave."""
        try:
            source, row, run = Source.from_dict(data["source"]), data["row"], data["run"]
            read = {
                "id": number,
                "source": source,
                **derived_fields(source, space),
                "row": None if row is None else as_row(row, space),
                "run": None if run is None else TrainingRun.from_dict(run),
                "numbers": dict(data["numbers"]),
                "earlier": tuple(
                    EarlierRow(**{**e, "row": as_row(e["row"], space)}) for e in data["earlier"]
                ),
            }
            trial = cls(**{**data, **read})
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise StateError(f"Trial {number} is damaged: {error}.") from None
        if source.parent is not None and source.parent >= number:
            raise StateError(f"Trial {number} is damaged: it starts from trial {source.parent}.")
        if trial.status not in get_args(Status) or (row is None) == (trial.status == "finished"):
            has = "without" if row is None else "with"
            raise StateError(f"Trial {number} is damaged: status {trial.status!r} {has} a row.")
        return trial


def derived_fields(source: Source, space: ContextSpace) -> dict[str, Any]:
    """Return the fields of a trial that follow from its source and the space."""
    return {
        "context": space.context(source.vector),
        "index": space.find(source.vector) if source.is_point else None,
        "region": space.region(source),
    }
