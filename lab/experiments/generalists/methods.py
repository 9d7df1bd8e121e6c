"""The methods that are compared: what each does with the steps, seeds side by side."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from generalists import contexts
from generalists.contexts import Floats
from generalists.data_sets import MARKS, DataSet
from generalists.long_runs import LongRuns
from generalists.measuring import Measured, fresh_rows, mean_returns, recorded_rows
from sdmbtl.contexts import Source
from sdmbtl.policies import Policy
from sdmbtl.seeds import derived_seed, seed_sequence
from sdmbtl.selectors import make_selector
from sdmbtl.studies import Study
from sdmbtl.training import TrainingJob

#: Contexts that one policy for the whole space is trained on; of a region, of a committee's group.
WHOLE, REGION, GROUP = 256, 32, 64
#: Width of regions at random.
WIDTH = 0.25
#: Policies of the methods that add one after another.
POLICIES = 12
#: Segments of a unit of the prioritised baseline.
SEGMENTS = 2
#: About as many policies as stay in the cache when trained side by side.
MOST_AT_ONCE = 12

Results = Iterator[tuple[int, Measured]]
Run = Callable[[DataSet, Sequence[int], Path], Results]


def generalist(data: DataSet, seeds: Sequence[int], _: Path) -> Results:
    """One policy, every episode in one of 256 contexts anywhere in the space."""
    return _one_policy(data, seeds, "generalist", observe_context=False)


def multi_task(data: DataSet, seeds: Sequence[int], _: Path) -> Results:
    """The same, and the policy sees the context."""
    return _one_policy(data, seeds, "multi-task", observe_context=True)


def _one_policy(data: DataSet, seeds: Sequence[int], key: str, *, observe_context: bool) -> Results:
    trainer = data.trainer(chunk=len(seeds), observe_context=observe_context)
    whole = data.space.whole()
    jobs = [
        TrainingJob(data.space.draw(whole, WHOLE, _rng(seed, key)), derived_seed(seed, key))
        for seed in seeds
    ]
    at_marks = trainer.policies_after(jobs, [mark * data.unit for mark in MARKS])
    for number, seed in enumerate(seeds):
        rows = {
            mark: mean_returns(trainer, policies[number], data.space.targets, seed, "fresh", mark)
            for mark, policies in zip(MARKS, at_marks, strict=True)
        }
        yield seed, Measured(rows)


def prioritised(data: DataSet, seeds: Sequence[int], _: Path) -> Results:
    """One policy, continued on contexts of which half are those where most is missing."""
    trainer, targets = data.trainer(chunk=len(seeds)), data.space.targets
    every = trainer.ppo_settings.eval_every * trainer.ppo_settings.batch_size
    steps = -(-data.unit // (SEGMENTS * every)) * every
    policies: list[Policy | None] = [None for _ in seeds]
    rows: list[dict[int, Floats]] = [{} for _ in seeds]
    for segment in range(1, SEGMENTS * max(MARKS) + 1):
        jobs = [
            TrainingJob(
                _prioritised_contexts(data, trainer, policy, seed, segment),
                derived_seed(seed, "prioritised", segment),
                parent=policy,
                steps=steps,
            )
            for seed, policy in zip(seeds, policies, strict=True)
        ]
        policies = [training.policy for training in trainer.train(jobs)]
        mark, rest = divmod(segment, SEGMENTS)
        if rest == 0 and mark in MARKS:
            for row, policy, seed in zip(rows, policies, seeds, strict=True):
                if policy is not None:
                    row[mark] = mean_returns(trainer, policy, targets, seed, "fresh", mark)
    yield from ((seed, Measured(row)) for seed, row in zip(seeds, rows, strict=True))


def _prioritised_contexts(
    data: DataSet, trainer: LongRuns, policy: Policy | None, seed: int, segment: int
) -> Floats:
    """(256, D) contexts: half where the policy falls short most, half anywhere."""
    rng, space = _rng(seed, "prioritised", segment), data.space
    returns = None
    if policy is not None:
        returns = mean_returns(trainer, policy, space.targets, seed, "scored", segment)
    return space.draw(space.whole(), WHOLE, rng, returns)


def committee(data: DataSet, seeds: Sequence[int], _: Path) -> Results:
    """K groups of targets, a policy for each, from scratch."""
    targets, units = data.space.targets, data.space.unit_targets
    jobs: dict[int, dict[int, list[TrainingJob]]] = {seed: {} for seed in seeds}
    for seed in seeds:
        for k in data.sizes:
            rng = _rng(seed, "committee", k)
            groups = contexts.cluster(units, k, rng)
            jobs[seed][k] = [
                TrainingJob(
                    targets[contexts.filled_up(np.flatnonzero(groups == group), GROUP, rng)],
                    derived_seed(seed, "committee", k, group),
                )
                for group in range(k)
            ]
    return _sets_of_policies(data, jobs)


def cover(data: DataSet, seeds: Sequence[int], _: Path) -> Results:
    """K medoids of the targets, a policy for each, from scratch."""
    points = {k: contexts.medoids(data.space.unit_targets, k) for k in data.sizes}
    jobs = {
        seed: {
            k: [
                TrainingJob(data.space.targets[[index]], derived_seed(seed, "cover", k, number))
                for number, index in enumerate(points[k].tolist())
            ]
            for k in data.sizes
        }
        for seed in seeds
    }
    return _sets_of_policies(data, jobs)


def random_points(data: DataSet, seeds: Sequence[int], _: Path) -> Results:
    """Targets at random, a policy for each, from scratch."""
    jobs = {}
    for seed in seeds:
        selector = make_selector("random", data.space, seed=seed)
        trials = selector.ask(POLICIES)
        jobs[seed] = [
            TrainingJob(t.source.vector[None], derived_seed(seed, "random points", number))
            for number, t in enumerate(trials)
        ]
    return _growing_sets(data, jobs)


def random_regions(data: DataSet, seeds: Sequence[int], _: Path) -> Results:
    """Regions around targets at random, a policy for each, from scratch."""
    jobs = {}
    for seed in seeds:
        rng = _rng(seed, "random regions")
        centres = rng.choice(len(data.space), POLICIES, replace=False)
        regions = [Source.at(data.space.targets[centre], WIDTH) for centre in centres]
        jobs[seed] = [
            TrainingJob(
                data.space.draw(region, REGION, rng), derived_seed(seed, "random regions", number)
            )
            for number, region in enumerate(regions)
        ]
    return _growing_sets(data, jobs)


def _sets_of_policies(
    data: DataSet, jobs: Mapping[int, Mapping[int, Sequence[TrainingJob]]]
) -> Results:
    """Measure sets of policies, for each seed and each K one of their own."""
    flat = [job for sets in jobs.values() for some in sets.values() for job in some]
    trainer, policies = _trained(data, flat, len(jobs))
    for seed, sets in jobs.items():
        own = [policies[id(job)] for some in sets.values() for job in some]
        ends = np.cumsum([len(some) for some in sets.values()]).tolist()
        members = {
            k: range(end - len(some), end)
            for (k, some), end in zip(sets.items(), ends, strict=True)
        }
        yield seed, _portfolio(data, trainer, own, members, seed)


def _growing_sets(data: DataSet, jobs: Mapping[int, Sequence[TrainingJob]]) -> Results:
    """Measure the first policies of each seed, of one unit each."""
    flat = [job for some in jobs.values() for job in some]
    trainer, policies = _trained(data, flat, len(jobs))
    for seed, some in jobs.items():
        own = [policies[id(job)] for job in some]
        members = {mark: range(mark) for mark in MARKS}
        yield seed, _portfolio(data, trainer, own, members, seed)


def _trained(
    data: DataSet, jobs: Sequence[TrainingJob], seeds: int
) -> tuple[LongRuns, dict[int, Policy]]:
    """Train jobs of the same shape in equal chunks; the policies by the identity of the job."""
    trainer = data.trainer(chunk=even_chunk(len(jobs), seeds * math.gcd(*data.sizes, POLICIES)))
    trained = trainer.train(jobs)
    return trainer, {id(j): t.policy for j, t in zip(jobs, trained, strict=True)}


def even_chunk(jobs: int, preferred: int) -> int:
    """Policies side by side: a divisor of both numbers, for each chunk size is compiled anew."""
    common = math.gcd(jobs, preferred)
    return max(n for n in range(1, MOST_AT_ONCE + 1) if common % n == 0)


def _portfolio(
    data: DataSet,
    trainer: LongRuns,
    policies: Sequence[Policy],
    members: Mapping[int, Sequence[int]],
    seed: int,
) -> Measured:
    recorded = recorded_rows(data, trainer, policies, seed)
    return Measured(fresh_rows(data, trainer, policies, recorded, members, seed))


def predictive_points(data: DataSet, seeds: Sequence[int], work: Path) -> Results:
    """Train on single contexts from scratch, chosen by `predictive`."""
    return _studies(data, seeds, work, selector="predictive", width=0, init="scratch")


def paper_points(data: DataSet, seeds: Sequence[int], work: Path) -> Results:
    """Points from scratch, chosen by M/GP-MBTL."""
    return _studies(data, seeds, work, selector="m/gp-mbtl", width=0, init="scratch")


def generalist_first(data: DataSet, seeds: Sequence[int], work: Path) -> Results:
    """A study as it is by default: a generalist, then what adds most."""
    return _studies(data, seeds, work)


def _studies(data: DataSet, seeds: Sequence[int], work: Path, **options: Any) -> Results:
    for seed in seeds:
        begun = time.monotonic()
        study = Study.open(
            work / f"study-{seed}",
            data.environment,
            space=data.space,
            trainer="ppo",
            trainer_options={**data.options, "processes": 1},
            seed=seed,
            **options,
        )
        ended = study.run(total_steps=max(MARKS) * data.unit)
        yield seed, _measured_study(data, study, ended, time.monotonic() - begun)


def _measured_study(data: DataSet, study: Study, ended: str, seconds: float) -> Measured:
    finished = [trial for trial in study.trials if trial.row is not None]
    # As asked for: the trainer rounds each run up to whole iterations.
    steps = [trial.steps or data.unit for trial in finished]
    members = affordable(steps, data.unit)
    portfolio = study.portfolio()
    policies = [portfolio.policy(trial.id) for trial in finished]
    recorded = study.returns.mean(axis=2)
    rows = fresh_rows(data, data.trainer(), policies, recorded, members, study.configuration.seed)
    sources = [trial.source.to_dict() for trial in finished]
    notes = {"ended": ended, "policies": len(finished), "sources": sources}
    return Measured(rows, {**notes, "study_seconds": round(seconds, 1)})


def affordable(steps: Sequence[int], unit: int) -> dict[int, range]:
    """For each mark the policies that there are when so many units are spent, if any."""
    spent = np.cumsum(steps)
    numbers = {mark: int((spent <= mark * unit).sum()) for mark in MARKS}
    return {mark: range(number) for mark, number in numbers.items() if number}


def _rng(seed: int, key: str, *numbers: int) -> np.random.Generator:
    return np.random.default_rng(seed_sequence(seed, f"{key}, contexts", *numbers))


class Method(NamedTuple):
    """A way to use the steps.

    Attributes:
        name: Name in the result.
        run: What trains and measures it.
        keyed: Whether results of other code do not count.
    """

    name: str
    run: Run
    keyed: bool = False


#: What takes least time first.
METHODS = (
    Method("generalist", generalist),
    Method("multi-task", multi_task),
    Method("prioritised", prioritised),
    Method("points: random", random_points),
    Method("regions: random", random_regions),
    Method("cover", cover),
    Method("committee", committee),
    Method("points: predictive", predictive_points),
    Method("points: m/gp-mbtl", paper_points),
    Method("generalist-first", generalist_first, keyed=True),
)
