"""Trained drivers at a crossing against SUMO's own: reward, CO2, speed and throughput.

    python lab/experiments/traffic_policies.py [--part crossing|portfolio|all] [--seeds 3]

crossing: the usual context. A policy for each seed of training, SUMO's IDM, IDM with SUMO's
green-light advisory, and full acceleration, all with the same vehicles in new episodes.

portfolio: a study of eight policies on 64 contexts. On every context the best of the first K, by
the returns that the study has measured, drives in new episodes, compared with
IDM and the advisory there. A saving with more than 1 % less throughput counts as none.

Studies and policies are kept in the work directory. Written to results/traffic-policies.json; the
other part stays.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiment import read_result, save_result
from sdmbtl.environments import make_family
from sdmbtl.policies import load_policy
from sdmbtl.studies import Study
from sdmbtl.training import TrainingJob, make_trainer
from sdmbtl_traffic.crossing import MOST_ACCELERATION
from sdmbtl_traffic.family import Traffic, TrafficVectorEnv
from sdmbtl_traffic.simulation import Driver
from sdmbtl_traffic.vector_env import Episode

#: Seeds of new episodes begin here: training and studies have others.
NEW = 10**6
#: Savings count only where at least this share of IDM's throughput is left.
ENOUGH = 0.99

Act = Callable[[NDArray[np.float32]], NDArray[np.float32]]
#: By name, (n, E) measures of episodes on n contexts.
Measures = dict[str, NDArray[np.float64]]


def accelerate(obs: NDArray[np.float32]) -> NDArray[np.float32]:
    """As fast as SUMO lets it."""
    return np.full((len(obs), 1), MOST_ACCELERATION, np.float32)


def drive(
    world: TrafficVectorEnv,
    contexts: Sequence[dict[str, float]],
    episodes: int,
    driver: Driver,
    act: Act = accelerate,
) -> Measures:
    """Play new episodes, the same for every driver."""
    world.driver = driver
    todo = [
        Episode(context, NEW + number * episodes + episode)
        for number, context in enumerate(contexts)
        for episode in range(episodes)
    ]
    found: dict[str, list[NDArray[np.float64]]] = {}
    for first in range(0, len(todo), world.most_episodes):
        returns = world.play(act, todo[first : first + world.most_episodes])
        for name, values in {"return": returns, **world.measures()}.items():
            found.setdefault(name, []).append(values)
    return {name: np.concatenate(parts).reshape(-1, episodes) for name, parts in found.items()}


def summarise(measures: Measures, usual: Measures) -> dict[str, Any]:
    """Means over all episodes, and the changes against IDM in the same ones with 95 % intervals."""
    summary: dict[str, Any] = {name: float(values.mean()) for name, values in measures.items()}
    for name in ("return", "co2", "arrived"):
        change = (measures[name] - usual[name]).ravel()
        summary[f"{name} against idm"] = [
            float(change.mean()),
            float(1.96 * change.std(ddof=1) / np.sqrt(len(change))),
        ]
    return summary


def credited_saving(measures: Measures, usual: Measures) -> float:
    """Mean over the contexts of the share of CO2 saved; none where throughput is lost."""
    saved = 1 - measures["co2"].mean(axis=1) / usual["co2"].mean(axis=1)
    kept = measures["arrived"].mean(axis=1) >= ENOUGH * usual["arrived"].mean(axis=1)
    return float(np.where(kept, saved, np.minimum(saved, 0.0)).mean())


def measure_crossing(family: Traffic, seeds: int, episodes: int) -> dict[str, Any]:
    """The usual context."""
    space = family.space()
    context = family.full_context({})
    trainer = make_trainer("ppo", family, space)
    usual = np.array([[context[name] for name in space.names]])
    world = family.make_vector_env()
    idm = drive(world, [context], episodes, "idm")
    table = {
        "idm": summarise(idm, idm),
        "advisory": summarise(drive(world, [context], episodes, "advisory"), idm),
        "full acceleration": summarise(drive(world, [context], episodes, "policy"), idm),
    }
    for seed in range(seeds):
        policy = trainer.train([TrainingJob(usual, seed)])[0].policy
        driven = drive(world, [context], episodes, "policy", partial(world.act, policy))
        table[f"policy, seed {seed}"] = summarise(driven, idm)
    world.close()
    for name, row in table.items():
        print(f"{name}: " + ", ".join(f"{k} {v}" for k, v in row.items()), flush=True)
    return {"context": context, "episodes": episodes, "drivers": table}


def measure_portfolio(family: Traffic, episodes: int, work: Path) -> dict[str, Any]:
    """All contexts of a space of 4 x 4 x 4."""
    space = family.space(levels=4)
    study = Study.open(work / "traffic-study", "Traffic", space=space, seed=0)
    study.run(budget=8)
    finished = [trial for trial in study.trials if trial.row is not None]
    rows = np.array([trial.row for trial in finished])
    policies = [load_policy(study.files.path(trial.id)) for trial in finished]
    steps = [0 if trial.run is None else trial.run.steps or 0 for trial in finished]
    contexts = [family.full_context(space.context(vector)) for vector in space.targets]
    world = family.make_vector_env()
    idm = drive(world, contexts, episodes, "idm")
    advisory = drive(world, contexts, episodes, "advisory")
    result: dict[str, Any] = {
        "targets": len(contexts),
        "episodes": episodes,
        "idm": summarise(idm, idm),
        "advisory": {
            **summarise(advisory, idm),
            "credited saving": credited_saving(advisory, idm),
        },
        "policies": {},
    }
    driven = [
        drive(world, contexts, episodes, "policy", partial(world.act, policy))
        for policy in policies
    ]
    for number in (1, 2, 4, 8):
        best = choose(driven, rows[:number].argmax(axis=0))
        result["policies"][str(number)] = {
            **summarise(best, idm),
            "credited saving": credited_saving(best, idm),
            "steps": sum(steps[:number]),
        }
        print(number, result["policies"][str(number)], flush=True)
    world.close()
    return result


def choose(driven: Sequence[Measures], chosen: NDArray[np.intp]) -> Measures:
    """On each context the episodes of the policy that was chosen for it."""
    return {
        name: np.array([driven[n][name][i] for i, n in enumerate(chosen.tolist())])
        for name in driven[0]
    }


def main() -> None:
    """Measure, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--part", choices=["crossing", "portfolio", "all"], default="all")
    parser.add_argument("--seeds", type=int, default=3, help="of training")
    parser.add_argument("--episodes", type=int, default=64, help="on the usual crossing")
    parser.add_argument("--target-episodes", type=int, default=10, help="on each target")
    parser.add_argument("--work", type=Path, default=Path("runs"))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    family = make_family("Traffic")
    assert isinstance(family, Traffic)  # noqa: S101 - for the type checker
    result = read_result("traffic-policies", given.out)
    if given.part in ("crossing", "all"):
        result["crossing"] = measure_crossing(family, given.seeds, given.episodes)
    if given.part in ("portfolio", "all"):
        result["portfolio"] = measure_portfolio(family, given.target_episodes, given.work)
    save_result("traffic-policies", result, given.out)


if __name__ == "__main__":
    main()
