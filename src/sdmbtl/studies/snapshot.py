"""A study at one moment, as data: everything that is shown of it is derived here, once."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from sdmbtl.errors import StructureError
from sdmbtl.json_data import as_json
from sdmbtl.portfolio.network import NetworkRecord
from sdmbtl.selectors.structure_detection_selector import StructureDetectionSelector
from sdmbtl.selectors.trial import TrainingRun, Trial
from sdmbtl.studies.extension import EXTENSIONS
from sdmbtl.studies.networks import Baseline, recorded_baselines, recorded_networks
from sdmbtl.studies.random_actions import RandomActions, recorded_random_actions
from sdmbtl.studies.stopping import STOP_RULES, STOPPED
from sdmbtl.transfer import Coverage, Objective, coverage_of, share_of_range
from sdmbtl.transfer.gaps import Gaps, find_gaps
from sdmbtl.wording import trained_on

if TYPE_CHECKING:
    from sdmbtl.studies.study import Study

#: Number of further policies in the forecast of the gain.
POLICIES_AHEAD = 3


#: Fields of a trial in the JSON data of a policy.
_OF_TRIAL = (
    *("id", "status", "context", "width", "parent", "strategy", "structure", "model", "reason"),
    *("numbers", "expected_gain", "source_return", "earlier"),
)


@dataclass(frozen=True)
class Level:
    """Mean return over the targets, and the same as a coverage.

    Attributes:
        coverage: The mean as a share of the range of returns; None if the range is not known.
        id: The policy with this mean; None for random actions.
    """

    performance: float
    coverage: float | None
    id: int | None = None


@dataclass(frozen=True)
class PolicySnapshot:
    """A policy and what it brought.

    Attributes:
        kind: "whole" for the whole space, "region", or "point" for a single context.
        training_return: Return in its training contexts, from training or else from evaluation.
        failed_targets: Number of targets on which its evaluation failed.
        first_target_error: The error on the first failed target.
        serves: Number of targets on which it is the best policy.
        evaluated_targets: Number of targets with a return.
        performance: Mean best return with it and all before it; None until it is finished.
        coverage: That mean best return as a share of the range of returns.
        gain: Rise of the mean best return.
        model_weights: Weight of each model after this policy.
        probably_failed: True if its returns are far below the others.
        no_better_than_random: True if it is no better than random actions, up to noise.
    """

    trial: Trial
    trained_on: str
    kind: str
    training_return: float | None
    failed_targets: int
    first_target_error: str | None
    serves: int = 0
    evaluated_targets: int = 0
    performance: float | None = None
    coverage: float | None = None
    gain: float | None = None
    model_weights: Mapping[str, float] = field(default_factory=dict)
    probably_failed: bool = False
    no_better_than_random: bool = False

    @property
    def run(self) -> TrainingRun:
        """The training run, an empty one before training."""
        return self.trial.run or TrainingRun()

    @property
    def steps(self) -> int | None:
        """Environment steps of training: 0 of a policy that was given; before it as asked for."""
        return self.trial.steps if self.run.steps is None else self.run.steps

    def to_dict(self) -> dict[str, Any]:
        """Return the policy as JSON data, with what is shown of its trial."""
        trial, run = self.trial, self.run
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "trial"}
        return {
            **{name: getattr(trial, name) for name in _OF_TRIAL},
            "asked_steps": trial.steps,
            "steps": run.steps,
            "curve": run.curve,
            "attempts": run.attempt + 1,
            "errors": run.errors,
            **own,
        }


@dataclass(frozen=True)
class StudySnapshot:
    """A study at one moment.

    All but `timing` and `running_process` is the same however often the study was interrupted.

    Attributes:
        importable: True if the environments can be made by name.
        extensions: Changes of the space and of the objective.
        stop_rules: Stopping rules of the last run, as keywords of `Study.run`.
        stopped: Reason for which the last run stopped; None if it was interrupted.
        rounds: Every policy, in order.
        evaluation_steps: Environment steps of evaluations and random actions.
        performance: Mean best return; NaN before the first policy.
        evaluated_targets: Number of targets with a played return; on the others it is predicted.
        coverage: Mean best return as a share of the known range; None if that is not known.
        covered: The coverage in detail, of the known range or of the returns so far.
        objective: Quantity that the selector raises, such as "cvar:0.1".
        objective_level: Value of the objective. For "share" it is a share of the targets, otherwise
            a share of the known range, or a return if that is not known.
        gaps: Targets that are badly covered.
        best_single: The best policy for all targets; None before the first.
        networks: Networks that were distilled from the policies.
        baselines: Single policies with the same steps, compared with the study.
        return_span: Width of the range of returns, known or so far.
        structure: Structure that the selector detects in all rows.
        model_weights: Weight of each model that predicts the next policy.
        next_gain: Expected rise of the mean best return by one more policy.
        remaining_gain: Expected rise by further policies, with their number.
        timing: Seconds of each stage, in all and by policy.
        running_process: Id of the process that works on the study now.
    """

    path: str
    environment: str | None
    importable: bool
    extensions: list[dict[str, Any]]
    trainer: str | None
    selector: str
    seed: int
    targets: int
    stop_rules: Mapping[str, Any]
    stopped: str | None
    rounds: tuple[PolicySnapshot, ...]
    evaluation_steps: int
    performance: float
    evaluated_targets: int
    coverage: float | None
    covered: Coverage | None
    objective: str
    objective_level: float | None
    gaps: Gaps
    best_single: Level | None
    random_actions: Level | None
    networks: list[NetworkRecord]
    baselines: list[Baseline]
    return_range: tuple[float, float] | None
    return_span: float
    structure: str | None
    model_weights: Mapping[str, float]
    next_gain: float | None
    remaining_gain: float | None
    versions: Mapping[str, str]
    timing: Mapping[str, Any]
    running_process: int | None

    @property
    def finished(self) -> list[PolicySnapshot]:
        """The finished policies."""
        return [policy for policy in self.rounds if policy.trial.status == "finished"]

    @property
    def training_steps(self) -> int:
        """Environment steps of training."""
        return sum(policy.run.steps or 0 for policy in self.rounds)

    @property
    def steps(self) -> int:
        """Environment steps of training and of evaluations."""
        return self.training_steps + self.evaluation_steps

    def level(self, mean_return: float) -> Level:
        """Return a mean return with its coverage."""
        return Level(mean_return, share_of_range(mean_return, self.return_range))

    @property
    def known_span(self) -> float | None:
        """Width of the known range of returns; None if it is not known."""
        return None if self.return_range is None else self.return_range[1] - self.return_range[0]

    def count(self, status: str) -> int:
        """Return the number of policies with a status."""
        return sum(policy.trial.status == status for policy in self.rounds)

    def to_dict(self) -> dict[str, Any]:
        """Return the snapshot as JSON data, with counts of the policies by status."""
        data = {each.name: as_json(getattr(self, each.name)) for each in fields(self)}
        gain, span = self.remaining_gain, self.return_span
        if gain is not None:
            share = gain / span if span else None
            data["remaining_gain"] = {"policies": POLICIES_AHEAD, "gain": gain, "share": share}
        return data | {
            "budget": self.stop_rules.get("budget"),
            "policies": len(self.finished),
            **{s: self.count(s) for s in ("pending", "failed", "forgotten")},
            "failed_evaluations": sum(policy.failed_targets for policy in self.rounds),
            "steps": self.steps,
            "training_steps": self.training_steps,
        }


def take_snapshot(study: Study) -> StudySnapshot:
    """Derive all that is shown of a study from its records."""
    configuration, selector, space = study.configuration, study.selector, study.space
    family, known = configuration.family or {}, study.return_range
    facts, errors, seconds = study.store.facts(), study.store.errors(), study.store.seconds()
    random = recorded_random_actions(facts)
    best, expected = selector.expected_best, selector.expected_returns
    covered = coverage_of(best, expected, known, space.weights)
    range_so_far = known or (None if covered is None else covered.returns)
    objective = getattr(selector, "objective", Objective())
    objective_level = single = None
    if covered is not None and range_so_far is not None:
        value = objective.value(best, space.weights, range_so_far)
        share = value if objective.kind == "share" else study.share(value)
        objective_level = value if share is None else share
    structure = None
    if isinstance(selector, StructureDetectionSelector):
        with suppress(StructureError):  # too little is known
            structure = selector.detector.detect(selector.rows).structure
    stages: dict[str, float] = {}
    for stage, value in (item for each in seconds.values() for item in each.items()):
        stages[stage] = stages.get(stage, 0.0) + value

    if len(expected):
        means = space.mean(expected)
        ids = [t.id for t in study.trials if t.row is not None]
        highest = float(means.max())
        single = Level(highest, study.share(highest), ids[int(means.argmax())])
    by_chance = None if random is None else random.mean(space)
    return StudySnapshot(
        path=str(study.path),
        environment=family.get("name"),
        importable=family.get("importable", True),
        extensions=[
            {name: event[name] for name in ("policies", "changes")}
            for event in facts.get(EXTENSIONS, [])
        ],
        trainer=None if configuration.trainer is None else configuration.trainer["name"],
        selector=configuration.selector["name"],
        seed=configuration.seed,
        targets=len(space),
        stop_rules=facts.get(STOP_RULES, {}),
        stopped=facts.get(STOPPED),
        rounds=_rounds(study, errors, random),
        evaluation_steps=study.evaluation_steps,
        performance=study.performance,
        evaluated_targets=int(np.count_nonzero(~np.isnan(selector.rows.best))),
        coverage=covered.mean if covered is not None and covered.known else None,
        covered=covered,
        objective=str(objective),
        objective_level=objective_level,
        gaps=find_gaps(space, best, range_so_far),
        best_single=single,
        random_actions=None if by_chance is None else Level(by_chance, study.share(by_chance)),
        networks=recorded_networks(study.files.root),
        baselines=recorded_baselines(study.files.root),
        return_range=known,
        return_span=study.return_span,
        structure=structure,
        model_weights={entry["model"]: entry["weight"] for entry in selector.evidence()},
        next_gain=selector.remaining_gain(1),
        remaining_gain=selector.remaining_gain(POLICIES_AHEAD),
        versions=facts.get("versions", {}),
        timing={"seconds": stages, "by_trial": {str(k): v for k, v in sorted(seconds.items())}},
        running_process=study.running_process,
    )


def _rounds(
    study: Study, errors: Mapping[int, Mapping[int, str]], random: RandomActions | None
) -> tuple[PolicySnapshot, ...]:
    """Every policy, with the coverage of it and those before."""
    space, best_trials = study.space, study.selector.best_trials
    best = np.full(len(space), -np.inf)
    expected = study.selector.expected_returns
    evidence, failed = study.selector.evidence(), set(study.selector.failed_runs())
    rounds: list[PolicySnapshot] = []
    rows = 0
    for trial in study.trials:
        outcome: dict[str, Any] = {}
        if trial.row is not None:
            before, best = best, np.maximum(best, expected[rows])
            outcome = {
                "serves": int(np.count_nonzero(best_trials == trial.id)),
                "evaluated_targets": int(np.count_nonzero(~np.isnan(trial.row))),
                "performance": (mean := float(space.mean(best))),
                "coverage": study.share(mean),
                "gain": float(space.mean(best - before)) if rows else float("nan"),
                "model_weights": {e["model"]: e["weight"] for e in evidence if e["rows"] == rows},
                "probably_failed": trial.id in failed,
                "no_better_than_random": random is not None
                and random.are_no_worse_than(trial, space, study.configuration.episodes),
            }
            rows += 1
        own_return = None if trial.run is None else trial.run.training_return
        if own_return is None and trial.row is not None:
            at = trial.index
            own_return = trial.source_return if at is None else float(trial.row[at])
        failures, region = errors.get(trial.id, {}), "region"
        if space.is_whole(trial.source):
            region = "whole"
        rounds.append(
            PolicySnapshot(
                trial=trial,
                trained_on=trained_on(space, study.trials, trial),
                kind="point" if trial.source.is_point else region,
                training_return=own_return,
                failed_targets=len(failures),
                first_target_error=failures[min(failures)] if failures else None,
                **outcome,
            )
        )
    return tuple(rounds)
