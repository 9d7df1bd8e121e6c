"""Measure whether studies raise the objective that they are given, at equal steps.

    python lab/experiments/objectives.py

For each family and seed, a study of the mean and one of the worst tenth are run with the same
number of environment steps, evaluation included. Fresh episodes on all targets measure the worst
tenth. The best known return on a target is the highest of all studies of the family.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiment import STUDY_CODE, read_result, save_result
from sdmbtl.studies import Study
from sdmbtl.transfer import Objective

#: Family -> steps of a policy, and of a study in all.
BUDGETS = {"CartPole": (61_440, 240_000), "Pendulum": (163_840, 600_000)}
OBJECTIVES = ("mean", "cvar:0.1")
EPISODES = 5
WORST_TENTH = Objective.of("cvar:0.1")

#: Mean returns on the targets, steps of the study, range of returns.
Outcome = tuple[NDArray[np.float64], int, tuple[float, float]]


def new_returns(family: str, objective: str, seed: int, folder: Path) -> Outcome:
    """Run a study and play new episodes."""
    steps, total = BUDGETS[family]
    study = Study.open(
        folder / f"{family}-{objective.replace(':', '')}-{seed}",
        family,
        trainer_options={"total_timesteps": steps},
        objective=objective,
        seed=seed,
    )
    study.run(total_steps=total, progress=False, checkpoint_seconds=None)
    returns = study.evaluate(episodes=EPISODES, seed=1000 + seed)
    if study.return_range is None:
        raise SystemExit(f"The range of returns of {family} is not known.")
    means = returns.mean(axis=1)
    worst = WORST_TENTH.value(means, None, study.return_range)
    print(f"{family} {objective} {seed}: {study.steps} {means.mean():.4g} {worst:.4g}", flush=True)
    return means, study.steps, study.return_range


def measure(family: str, seeds: int, folder: Path) -> dict[str, object]:
    """Compare the objectives on a family."""
    runs = {
        name: [new_returns(family, name, seed, folder) for seed in range(seeds)]
        for name in OBJECTIVES
    }
    best_known = np.max([returns for group in runs.values() for returns, _, _ in group], axis=0)
    low, high = runs["mean"][0][2]

    def shares(returns: NDArray[np.float64]) -> dict[str, float]:
        worst = WORST_TENTH.value(returns, None, (low, high))
        values = {"mean": float(returns.mean()), "worst_tenth": worst}
        return {name: (value - low) / (high - low) for name, value in values.items()}

    by_objective = {name: [shares(returns) for returns, _, _ in runs[name]] for name in OBJECTIVES}
    means = {
        name: {k: float(np.mean([run[k] for run in found])) for k in ("mean", "worst_tenth")}
        for name, found in by_objective.items()
    }
    known = shares(best_known)
    before, after = (means[name]["worst_tenth"] for name in OBJECTIVES)
    return {
        "steps": {name: [steps for _, steps, _ in runs[name]] for name in OBJECTIVES},
        "best_known": known,
        "by_seed": by_objective,
        "means": means,
        "share_of_missing_removed": (after - before) / (known["worst_tenth"] - before),
    }


def main() -> None:
    """Measure all families and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--families", nargs="*", default=list(BUDGETS))
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = {family: measure(family, given.seeds, Path(folder)) for family in given.families}
    for family, result in found.items():
        print(family, result["means"], result["best_known"], result["share_of_missing_removed"])
    earlier = read_result("objectives", given.output).get("families", {})
    save_result("objectives", {"families": {**earlier, **found}}, given.output, STUDY_CODE)


if __name__ == "__main__":
    main()
