"""Writes recorded_selections.json: what each selector chooses on fixed matrices.

Run it only when a change of the choices is meant, and say so in the changelog:

    python tests/selectors/record_selections.py

It keeps to what users call: make a selector, ask, tell. The file has, for every case, selector and
seed, a run: each ask as [index of the target or coordinates in the box, strategy, structure,
model], for `predictive` also its numbers; at the end the remaining gain and the failed runs. Where
all seeds gave the same, it is written once.
"""

import json
import math
from collections.abc import Callable
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sdmbtl import ContextSpace, Interval, make_selector
from sdmbtl.selectors import Proposal, Selector, selector_names
from sdmbtl.testing import example_matrix, example_spaces
from sdmbtl_lab.benchmarks import paper_configurations
from sdmbtl_lab.matrices import load_matrix
from sdmbtl_lab.matrices.margins import GreedyGains

PATH = Path(__file__).with_name("recorded_selections.json")
EVERY_SEED = "every seed"
MOUNTAIN, NOT_MOUNTAIN = "3d-f-constant-g-linear-h-l1", "3d-f-linear-g-constant-h-non-distance"

# -- problems: a space and (W, N, N) returns, of which the first trial is run on -------------------


def synthetic(name, trials=3):
    """One of the paper's configurations, with noise 5."""
    (found,) = (c for c in paper_configurations(int(name[0]), 5.0) if c.name == name)
    return found.space, np.stack([found.matrix(trial) for trial in range(trials)])


def real(name):
    """Returns of real training."""
    matrices = load_matrix(name)
    return matrices.space, matrices.returns


def listed():
    """Targets that are not a grid."""
    space = ContextSpace.sample(60, seed=1, u=Interval(0, 1), v=Interval(0.1, 10, scale="log"))
    return space, np.stack([example_matrix(space, seed=seed) for seed in (4, 5, 6)])


def small(name):
    """A few targets, to be used up."""
    space = example_spaces()[name]
    return space, np.stack([example_matrix(space, seed=seed) for seed in range(3)])


# -- scenarios: yield what was asked, in the order of the asks -------------------------------------


def one_by_one(selector, returns, rounds):
    """Tell each before the next is asked."""
    for _ in range(rounds):
        trial = selector.ask()
        yield trial
        selector.tell(trial, row(selector, returns, trial))


def batches_of_four(selector, returns, rounds):
    """Ask for four at once; tell them by their ids, the last first."""
    for _ in range(rounds // 4):
        batch = selector.ask(4)
        yield from batch
        for trial in reversed(batch):
            selector.tell(trial.id, row(selector, returns, trial))


def late_tells(selector, returns, rounds):
    """Some stay pending for a while and are reported out of order; the last ones never are."""
    rng, waiting = np.random.default_rng(11), []
    for _ in range(rounds):
        waiting.append(selector.ask())
        yield waiting[-1]
        while len(waiting) > 1 and rng.random() < 0.55:
            trial = waiting.pop(rng.integers(len(waiting)))
            selector.tell(trial.context, row(selector, returns, trial))


def partial_rows(selector, returns, rounds):
    """Each policy is evaluated on about half of the targets."""
    rng = np.random.default_rng(12)
    for _ in range(rounds):
        trial = selector.ask()
        yield trial
        evaluated = rng.random(len(returns)) < 0.5
        selector.tell(trial, np.where(evaluated, row(selector, returns, trial), np.nan))


def failed_and_cancelled(selector, returns, rounds):
    """Of five runs, one fails and one is cancelled, from the first on."""
    for number in range(rounds):
        trial = selector.ask()
        yield trial
        if number % 5 in (0, 3):
            selector.tell(trial, status="failed" if number % 5 else "cancelled")
        else:
            selector.tell(trial, row(selector, returns, trial))


def collapsed_runs(selector, returns, rounds):
    """Every sixth training run ends with a policy that is bad everywhere, reported as finished."""
    for number in range(rounds):
        trial = selector.ask()
        yield trial
        bad = returns.min() + 0.01 * row(selector, returns, trial)
        selector.tell(trial, bad if number % 6 == 4 else row(selector, returns, trial))


def warm_start(selector, returns, rounds):
    """Policies that were never asked for: before the first ask two, one of no target, and later."""
    space = selector.space
    between = 0.3 * space.targets[0] + 0.7 * space.targets[-1]
    assert space.find(between) is None, "the point between targets must not be a target"
    selector.tell(space.target(7), returns[7])
    selector.tell(dict(zip(space.names, between, strict=True)), returns[-2], source_return=9.5)
    taken = {7}
    for number in range(rounds):
        trial = selector.ask()
        yield trial
        selector.tell(trial, row(selector, returns, trial))
        taken.add(trial.index)
        if number % 8 == 5:
            other = next(i for i in range(20, len(space)) if i not in taken)
            taken.add(other)
            selector.tell(space.target(other), returns[other])


def row(selector, returns, trial):
    """The returns of a policy; a source that is not a target trains at the nearest one."""
    return returns[selector.space.nearest(trial.context)]


# -- selectors -------------------------------------------------------------------------------------


def variants():
    """Selectors with other settings than their default: name and options of each."""
    return {
        "m-mbtl in the box": ("m-mbtl", {"sources": "box"}),
        "m-mbtl in the box from 10 targets": ("m-mbtl", {"sources": "box", "restarts": 10}),
        "random in the box": ("random", {"sources": "box"}),
        "gp-mbtl within": ("gp-mbtl", {"slopes": "within"}),
    }


class Oracle(Selector):
    """Greedy with the true returns known, as far as the rows that were reported allow."""

    def __init__(self, space, name, returns):
        super().__init__(space)
        self.name, self.returns = name, np.asarray(returns)

    def propose(self, history):
        greedy, free = GreedyGains(self.returns), history.free_targets()
        for trial in history.trials:
            if trial.status in ("finished", "pending") and trial.index is not None:
                greedy.add(trial.index)
        index = greedy.best(free)
        gain = float(greedy.bounds[index])
        return Proposal(history.space.source(index), self.name, "", numbers={"gain": gain})


def make(name, space, matrices, seed):
    """A selector by its name in the record."""
    if name in ORACLES:
        return Oracle(space, name, matrices if name == "myopic-oracle" else matrices[:1])
    name, options = variants().get(name, (name, {}))
    return make_selector(name, space, seed=seed, **options)


#: The selectors of points: what chooses regions is not recorded here.
POINTS = tuple(name for name in selector_names() if name not in ("auto", "generalist-first"))
ORACLES = ("myopic-oracle", "sequential-oracle")
ALL = (*POINTS, *variants(), *ORACLES)
MODELS = ("predictive", "m/gp-mbtl-unbiased", "m-mbtl", "gp-mbtl")

# -- cases -----------------------------------------------------------------------------------------


class Case(NamedTuple):
    """Selectors on a problem, asked and reported in one way."""

    problem: Callable
    rounds: int
    scenario: Callable = one_by_one
    selectors: tuple = ALL
    seeds: tuple = (0, 1, 2)


SCENARIOS = (
    *(batches_of_four, late_tells, partial_rows),
    *(failed_and_cancelled, collapsed_runs, warm_start),
)


def in_every_scenario(name, problem):
    """A case for each scenario."""
    return {
        f"{name}, {scenario.__name__.replace('_', ' ')}": Case(problem, 24, scenario, seeds=(0, 1))
        for scenario in SCENARIOS
    }


#: For the usual test run, with the first seed.
QUICK = {
    MOUNTAIN: Case(partial(synthetic, MOUNTAIN), 16),
    NOT_MOUNTAIN: Case(partial(synthetic, NOT_MOUNTAIN), 16),
    "listed": Case(listed, 16),
    "pendulum": Case(partial(real, "pendulum"), 16),
    "grid of 12, all of it": Case(partial(small, "grid"), 12),
    "one dimension, all of it": Case(partial(small, "one dimension"), 7),
    **in_every_scenario("listed", listed),
}
#: Many targets or many rounds.
HEAVY = {
    **in_every_scenario(NOT_MOUNTAIN, partial(synthetic, NOT_MOUNTAIN)),
    **{
        name: Case(partial(synthetic, name, trials=1), 12, selectors=MODELS)
        for name in ("5d-f-constant-g-linear-h-l1", "5d-f-linear-g-constant-h-non-distance-1")
    },
    f"{NOT_MOUNTAIN}, 50 rounds": Case(partial(synthetic, NOT_MOUNTAIN), 50, selectors=MODELS),
    "cartpole-wide, 50 rounds": Case(partial(real, "cartpole-wide"), 50, selectors=MODELS),
}

# -- recording and comparing -----------------------------------------------------------------------


def runs(case):
    """Yield selector, seed and run."""
    space, matrices = case.problem()
    for name in case.selectors:
        for seed in case.seeds:
            selector = make(name, space, matrices, seed)
            asked = case.scenario(selector, matrices[0], case.rounds)
            yield (
                name,
                seed,
                {
                    "asks": [
                        recorded_ask(c, with_numbers=name.startswith("predictive")) for c in asked
                    ],
                    "remaining gain": selector.remaining_gain(3),
                    "failed runs": [int(number) for number in selector.failed_runs()],
                },
            )


def recorded_ask(trial, with_numbers):
    """What is recorded of an ask."""
    place = trial.index
    if place is None:
        place = [round(float(value), 9) for value in trial.context.values()]
    ask = [place, trial.strategy, trial.structure, trial.model]
    return [*ask, {k: float(v) for k, v in trial.numbers.items()}] if with_numbers else ask


def recorded(case):
    """The runs of a case by selector and seed."""
    found = {}
    for name, seed, run in runs(case):
        found.setdefault(name, {})[f"seed {seed}"] = run
    for name, seeds in found.items():
        first = seeds["seed 0"]
        if all(run == first for run in seeds.values()):
            found[name] = {EVERY_SEED: first}
    return found


def differences(name, case, record):
    """Sentences that say where the choices are not the recorded ones."""
    found = [f"{name}: {s} is recorded, but gone" for s in set(record) - set(case.selectors)]
    for selector, seed, run in runs(case):
        where = f"{name}: {selector} with seed {seed}"
        seeds = record.get(selector, {})
        before = seeds.get(f"seed {seed}", seeds.get(EVERY_SEED))
        if before is None:
            found.append(f"{where} is not recorded")
            continue
        asks = enumerate(zip_longest(before["asks"], run["asks"]), start=1)
        changed = [(f"round {n}", *both) for n, both in asks if not same_ask(*both)][:1]
        changed += [
            (f"{key} at the end", before[key], run[key])
            for key in ("remaining gain", "failed runs")
            if not same(before[key], run[key])
        ]
        found += [f"{where}, {what}: {then} was recorded, now {now}" for what, then, now in changed]
    return found


def same_ask(then, now):
    """Whether two asks are equal, None if there was none; places are rounded."""
    if then is None or now is None:
        return then is now
    return same(then[0], now[0], slack=2e-9) and same(then[1:], now[1:])


def same(then, now, slack=1e-12):
    """Whether two pieces of JSON are equal, fractions up to a share of 1e-9."""
    if isinstance(then, float) and isinstance(now, float):
        return math.isclose(then, now, rel_tol=1e-9, abs_tol=slack)
    if isinstance(then, dict) and isinstance(now, dict):
        return then.keys() == now.keys() and all(same(then[k], now[k], slack) for k in then)
    if isinstance(then, list) and isinstance(now, list):
        return len(then) == len(now) and all(map(partial(same, slack=slack), then, now))
    return type(then) is type(now) and then == now


def as_text(record):
    """The record as JSON with one line for each run."""
    lines = []
    for case, selectors in record.items():
        by_selector = [
            f"  {json.dumps(name)}: {{\n"
            + ",\n".join(f"   {json.dumps(seed)}: {json.dumps(r)}" for seed, r in seeds.items())
            + "\n  }"
            for name, seeds in selectors.items()
        ]
        lines.append(f" {json.dumps(case)}: {{\n" + ",\n".join(by_selector) + "\n }")
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    PATH.write_text(as_text({name: recorded(case) for name, case in (QUICK | HEAVY).items()}))
