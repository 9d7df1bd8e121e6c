"""How much of CartPole's spaces a few policies cover, chosen in different ways.

    python lab/experiments/coverage.py [--seeds 5] [--work runs/coverage] [--only auto]

On `wide` (8 x 8 x 8 targets): the default selector, M/GP-MBTL, Random, independent training (the
targets in turn, without choosing), M/GP-MBTL with policies that see the context, and multi-task
training (one policy that sees the context, trained on all targets for as many steps as the K
policies together). On `paper` (9 x 10 x 10): M/GP-MBTL with three policies.

The policy for each target is chosen by the recorded returns; the coverage is measured on new
episodes, as a share of the highest return. Interrupted, it continues where it was. Written to
results/coverage.json.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np

from sdmbtl.environments import make_family
from sdmbtl.files import write_atomically
from sdmbtl.fingerprint import code_fingerprint
from sdmbtl.seeds import derived_seed
from sdmbtl.software import CORE, TRAINING, versions
from sdmbtl.studies import Study
from sdmbtl.training import TrainingJob, make_trainer

RESULT = Path(__file__).parents[2] / "results" / "coverage.json"
ROUNDS = (4, 8, 12)
EPISODES = 10
#: Name in the result, space, selector, options of the trainer, policies.
STUDIES: tuple[tuple[str, str, str, dict[str, Any], tuple[int, ...]], ...] = (
    ("auto", "wide", "auto", {}, ROUNDS),
    ("m/gp-mbtl", "wide", "m/gp-mbtl", {}, ROUNDS),
    ("random", "wide", "random", {}, ROUNDS),
    ("independent", "wide", "independent", {}, ROUNDS),
    ("m/gp-mbtl, context observed", "wide", "m/gp-mbtl", {"observe_context": True}, ROUNDS),
    ("paper: m/gp-mbtl", "paper", "m/gp-mbtl", {}, (1, 2, 3)),
)


def study_coverage(
    directory: Path,
    name: str,
    space: str,
    selector: str,
    options: dict[str, Any],
    rounds: tuple[int, ...],
    seed: int,
) -> dict[str, Any]:
    """Run a study, then measure the coverage of its first policies on new episodes."""
    path = directory / f"{'-'.join(re.findall('[a-z]+', name))}-{seed}"
    study = Study.open(
        path,
        "CartPole",
        space=space,
        selector=selector,
        trainer_options=options,
        width=0,  # points from scratch: what the paper's selectors choose among
        init="scratch",
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
    coverage = {
        str(k): float(fresh[recorded[:k].argmax(axis=0), np.arange(len(study.space))].mean() / 500)
        for k in rounds
    }
    contexts = [r["context"] for r in study.status()["rounds"]]
    seconds = study.status()["timing"]["seconds"]
    return {"coverage": coverage, "contexts": contexts, "seconds": seconds}


def multi_task_coverage(k: int, seed: int) -> float:
    """One policy for all targets, trained for as many steps as K policies."""
    family = make_family("CartPole")
    space = family.space("wide")
    each = make_trainer("ppo", family, space).settings()["total_timesteps"]
    trainer = make_trainer("ppo", family, space, observe_context=True, total_timesteps=k * each)
    job = TrainingJob(space.targets, derived_seed(seed, "multi-task", k))
    (training,) = trainer.train([job])
    returns = trainer.evaluate(
        training.policy, space.targets, episodes=EPISODES, seed=derived_seed(seed, "coverage", k)
    )
    return float(returns.complete().mean() / 500)


def main() -> None:
    """Measure what is not measured yet, and write everything down."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--work", type=Path, default=Path("runs") / "coverage")
    parser.add_argument("--only", help="one of the methods; the others keep their results")
    arguments = parser.parse_args()
    only = arguments.only
    # Results of other code are not mixed with those of this.
    work = arguments.work / code_fingerprint(
        "sdmbtl.studies", "sdmbtl.training", "sdmbtl.environments", "sdmbtl.selectors"
    )
    notes = work / "measured.json"
    measured: dict[str, dict[str, Any]] = json.loads(notes.read_text()) if notes.exists() else {}

    def keep(method: str, seed: int, value: dict[str, Any]) -> None:
        measured.setdefault(method, {})[str(seed)] = value
        work.mkdir(parents=True, exist_ok=True)
        write_atomically(notes, json.dumps(measured).encode())
        print(f"{method}, seed {seed}: {value['coverage']}", flush=True)

    for seed in range(arguments.seeds):
        for name, space, selector, options, rounds in STUDIES:
            if only in (None, name) and str(seed) not in measured.get(name, {}):
                keep(
                    name,
                    seed,
                    study_coverage(work, name, space, selector, options, rounds, seed),
                )
        if only in (None, "multi-task") and str(seed) not in measured.get("multi-task", {}):
            begun = time.monotonic()
            coverage = {str(k): multi_task_coverage(k, seed) for k in ROUNDS}
            keep(
                "multi-task",
                seed,
                {"coverage": coverage, "seconds": {"training": time.monotonic() - begun}},
            )
    result = {
        "command": f"python lab/experiments/coverage.py --seeds {arguments.seeds}",
        "environment": "CartPole",
        "episodes": EPISODES,
        "trainer": make_trainer(
            "ppo", make_family("CartPole"), make_family("CartPole").space()
        ).settings(),
        "versions": versions((*CORE, *TRAINING)),
        "measured": {
            **(json.loads(RESULT.read_text())["measured"] if only else {}),
            **{
                method: {str(seed): seeds[str(seed)] for seed in range(arguments.seeds)}
                for method, seeds in measured.items()
            },
        },
    }
    RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
