"""Measure the coverage of CartPole's spaces by a few policies, chosen in different ways.

    python lab/experiments/coverage.py [--seeds 5] [--work runs/coverage] [--only predictive]

On `wide` (8 x 8 x 8 targets): the selectors of single contexts, the targets in turn, policies that
see the context, and multi-task training (one policy that sees the context, trained on all targets
with the steps of all K policies). On `paper` (9 x 10 x 10): M/GP-MBTL with three policies.

Recorded returns choose the policy of each target; new episodes measure the coverage, as a share of
the highest return. An interrupted run continues. Written to results/coverage.json.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiment import STUDY_CODE, read_result, save_result
from sdmbtl.environments import make_family
from sdmbtl.seeds import derived_seed
from sdmbtl.studies import Study
from sdmbtl.training import TrainingJob, make_trainer

ROUNDS = (4, 8, 12)
EPISODES = 10
#: Highest return of CartPole.
HIGHEST = 500


def study_coverage(
    name: str,
    seed: int,
    work: Path,
    *,
    selector: str,
    space: str = "wide",
    rounds: tuple[int, ...] = ROUNDS,
    **options: Any,
) -> dict[str, Any]:
    """Run a study, then measure the coverage of its first policies on new episodes."""
    study = Study.open(
        work / f"{'-'.join(re.findall('[a-z]+', name))}-{seed}",
        "CartPole",
        space=space,
        selector=selector,
        trainer_options=options,
        seed=seed,
    )
    study.run(budget=max(rounds))
    recorded = study.returns.mean(axis=2)
    portfolio = study.portfolio()
    fresh = np.stack(
        [
            study.trainer.evaluate(
                portfolio.policy(member.id),
                study.space.targets,
                episodes=EPISODES,
                seed=derived_seed(seed, "coverage", member.id),
            )
            .complete()
            .mean(axis=1)
            for member in portfolio
        ]
    )
    targets = np.arange(len(study.space))
    coverage = {
        str(k): float(fresh[recorded[:k].argmax(axis=0), targets].mean() / HIGHEST) for k in rounds
    }
    status = study.status()
    contexts = [trained["context"] for trained in status["rounds"]]
    return {"coverage": coverage, "contexts": contexts, "seconds": status["timing"]["seconds"]}


def multi_task_coverage(name: str, seed: int, work: Path) -> dict[str, Any]:
    """Train one policy for all targets with the steps of K policies, for each K."""
    del name, work
    family = make_family("CartPole")
    space = family.space("wide")
    each = make_trainer("ppo", family, space).settings()["total_timesteps"]
    coverage = {}
    for k in ROUNDS:
        trainer = make_trainer("ppo", family, space, total_timesteps=k * each)
        seed_of_policy = derived_seed(seed, "multi-task", k)
        job = TrainingJob(space.targets, seed_of_policy, sees_context=True)
        policy = trainer.train([job])[0].policy
        episodes = derived_seed(seed, "coverage", k)
        returns = trainer.evaluate(policy, space.targets, episodes=EPISODES, seed=episodes)
        coverage[str(k)] = float(returns.complete().mean() / HIGHEST)
    return {"coverage": coverage}


METHODS: dict[str, Callable[..., dict[str, Any]]] = {
    "predictive": partial(study_coverage, selector="predictive"),
    "m/gp-mbtl-unbiased": partial(study_coverage, selector="m/gp-mbtl-unbiased"),
    "random": partial(study_coverage, selector="random"),
    "independent": partial(study_coverage, selector="independent"),
    "paper: m/gp-mbtl-unbiased": partial(
        study_coverage, selector="m/gp-mbtl-unbiased", space="paper", rounds=(1, 2, 3)
    ),
    "multi-task": multi_task_coverage,
}


def main() -> None:
    """Measure what is missing; a method that is asked for by name is measured again."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--work", type=Path, default=Path("runs") / "coverage")
    parser.add_argument("--only", nargs="+", choices=METHODS, default=[])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    measured = read_result("coverage", given.out).get("measured", {})
    for name in given.only:
        measured.pop(name, None)
    for seed in range(given.seeds):
        for name in given.only or METHODS:
            if str(seed) not in measured.setdefault(name, {}):
                found = METHODS[name](name, seed, given.work)
                measured[name][str(seed)] = found
                print(f"{name}, seed {seed}: {found['coverage']}", flush=True)
                content = {"environment": "CartPole", "episodes": EPISODES, "measured": measured}
                save_result("coverage", content, given.out, code=STUDY_CODE)


if __name__ == "__main__":
    main()
