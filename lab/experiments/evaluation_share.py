"""Measure how much of a study's steps are evaluation, and what full rows would have added.

    python lab/experiments/evaluation_share.py [--seeds 5] [--work runs/evaluation-share]

A study of CartPole `wide`: at most 12 policies, until they gain less than 0.5 %. Evaluations are
chosen; then each of its policies plays ten episodes on every target, as with `--evaluate all`. Both
choose a policy for each target, and the same new episodes measure both. The same with each constant
of the evaluation, and the number of runs before a policy sees its context, halved and doubled.

Finished seeds are not repeated. Written to results/evaluation-share.json.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiment import STUDY_CODE, read_result, save_result
from sdmbtl.seeds import derived_seed
from sdmbtl.selectors import generalist_first_selector
from sdmbtl.studies import Study, row_evaluation
from sdmbtl_lab.fingerprint import code_fingerprint

NAME = "evaluation-share"
BUDGET, MIN_GAIN = 12, 0.005
#: New episodes on each target.
EPISODES = 10
#: Constants of the evaluation and of the opening that are halved and doubled.
CONSTANTS = {
    **dict.fromkeys(("FIRST", "COMPARED", "CANDIDATES", "COMPARED_SHARE"), row_evaluation),
    "BLIND_RUNS": generalist_first_selector,
}


def variations() -> dict[str, tuple[str, float]]:
    """Return the study as it is, and with each constant halved and doubled."""
    found: dict[str, tuple[str, float]] = {"as it is": ("FIRST", row_evaluation.FIRST)}
    for name, module in CONSTANTS.items():
        value = getattr(module, name)
        for word, changed in (("half", type(value)(value / 2)), ("double", 2 * value)):
            found[f"{name}: {word}"] = name, changed
    return found


def measure(seed: int, work: Path) -> dict[str, Any]:
    """Run one study, then evaluate its policies everywhere."""
    study = Study.open(work / str(seed), "CartPole", space="wide", seed=seed)
    ended = study.run(BUDGET, min_gain=MIN_GAIN, progress=False)
    finished = [trial.id for trial in study.trials if trial.row is not None]
    portfolio, targets = study.portfolio(), study.space.targets
    policies = [portfolio.policy(number) for number in finished]
    episodes = study.configuration.episodes
    everywhere = [
        study.trainer.evaluate(
            policy, targets, episodes=episodes, seed=derived_seed(seed, "everywhere")
        )
        for policy in policies
    ]
    rows = np.stack([played.complete().mean(axis=1) for played in everywhere])
    choices = {
        "chosen": study.selector.history.expected_returns.argmax(axis=0),
        "all": rows.argmax(axis=0),
    }
    low, high = study.return_range or (0.0, 1.0)
    fresh = _new_returns(study, policies, list(choices.values()), seed)
    coverage = {
        name: float((fresh[best, np.arange(len(best))].mean() - low) / (high - low))
        for name, best in choices.items()
    }
    return {
        "ended": ended,
        "policies": len(policies),
        "training_steps": study.training_steps,
        "evaluation_steps": {
            "chosen": study.evaluation_steps,
            "all": sum(played.steps for played in everywhere),
        },
        "episodes": {
            "chosen": int((~np.isnan(study.returns)).sum()),
            "all": rows.size * episodes,
        },
        "evaluation_share": study.evaluation_steps / study.steps,
        "coverage": coverage,
    }


def _new_returns(
    study: Study, policies: list[Any], choices: list[NDArray[np.intp]], seed: int
) -> NDArray[np.float64]:
    """(K, N) mean returns in new episodes where any choice needs them, NaN elsewhere."""
    fresh = np.full((len(policies), len(study.space)), np.nan)
    for number, policy in enumerate(policies):
        needed = np.flatnonzero(np.any([best == number for best in choices], axis=0))
        if len(needed):
            played = study.trainer.evaluate(
                policy,
                study.space.targets,
                episodes=EPISODES,
                seed=derived_seed(seed, "new episodes"),
                only=needed.tolist(),
            )
            fresh[number, needed] = played.returns[needed].mean(axis=1)
    return fresh


def main() -> None:
    """Measure the missing seeds, and write everything."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--work", type=Path, default=Path("runs") / NAME)
    given = parser.parse_args()
    before = read_result(NAME)
    same_code = before.get("code") == code_fingerprint(*STUDY_CODE)
    rows: dict[str, dict[str, Any]] = before.get("variations", {}) if same_code else {}
    for seed in range(given.seeds):
        for name, (constant, value) in variations().items():
            found = rows.setdefault(name, {})
            if str(seed) in found:
                continue
            module = CONSTANTS[constant]
            usual = getattr(module, constant)
            setattr(module, constant, value)
            found[str(seed)] = measure(seed, given.work / re.sub(r"\W+", "-", name))
            setattr(module, constant, usual)
            print(name, seed, found[str(seed)], flush=True)
            content = {"budget": BUDGET, "min_gain": MIN_GAIN, "variations": rows}
            save_result(NAME, content, code=STUDY_CODE)


if __name__ == "__main__":
    main()
