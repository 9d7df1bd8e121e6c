"""Compare the final return of our PPO with stable-baselines3's PPO at equal steps.

    python lab/experiments/learning.py [--only CartPole-v1 ...] [--seeds 5] [--share 1.0]

Our PPO has its recommended settings, stable-baselines3's PPO those of RL Zoo (constant learning
rates and clipping). Both return their best policy by their own evaluations during training, which
then plays new episodes. BipedalWalker and Hopper take long and have two seeds.

Written to results/learning.json after every training run; finished runs are not repeated. Runs of
another length are other runs: --share 0.1 takes a tenth of the steps.
"""

from __future__ import annotations

import argparse
import time
import tomllib
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from experiment import read_result, save_result
from sdmbtl import ContextSpace
from sdmbtl.environments import FactoryFamily
from sdmbtl.training import TrainingJob, make_trainer
from sdmbtl_lab.benchmarks.metrics import bootstrap_interval

EPISODES, EVALUATION_SEED = 50, 12345


#: Environment -> steps of a training run, most seeds, and RL Zoo's settings of "sb3".
TASKS: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("zoo.toml").read_text())


def run(environment: str, trainer_name: str, steps: int, seed: int) -> dict[str, Any]:
    """Train once and evaluate the policy."""
    space = ContextSpace(unused=[0.0, 1.0])
    family = FactoryFamily(lambda _: gymnasium.make(environment), space)
    settings: dict[str, Any] = {"eval_episodes": 5}
    if trainer_name == "sb3":
        settings |= {**TASKS[environment]["settings"], "eval_every": max(steps // 10, 1)}
    trainer = make_trainer(trainer_name, family, space, total_timesteps=steps, **settings)
    begun = time.process_time()
    (training,) = trainer.train([TrainingJob(space.targets[:1], seed)])
    seconds = time.process_time() - begun
    returns = trainer.evaluate(
        training.policy, space.targets[:1], episodes=EPISODES, seed=EVALUATION_SEED
    )
    return {
        "environment": environment,
        "trainer": trainer_name,
        "steps_asked": steps,
        "seed": seed,
        "steps": training.steps,
        "mean_return": float(returns.complete().mean()),
        "curve": training.curve,
        "cpu_seconds": seconds,
    }


def summarize(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return mean and 95 % interval over seeds, by environment, steps and trainer."""
    groups: dict[str, dict[str, list[float]]] = {}
    for each in runs:
        name = f"{each['environment']}, {each['steps_asked']} steps"
        by_trainer = groups.setdefault(name, {})
        by_trainer.setdefault(each["trainer"], []).append(each["mean_return"])
    return {
        name: {
            trainer: {
                "seeds": len(values),
                "mean": float(np.mean(values)),
                "interval": [interval.low, interval.high] if len(values) > 1 else None,
            }
            for trainer, values in by_trainer.items()
            for interval in [bootstrap_interval(values)]
        }
        for name, by_trainer in groups.items()
    }


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--trainers", nargs="+", choices=("ppo", "sb3"), default=["ppo", "sb3"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    runs = read_result("learning", given.out).get("runs", [])
    keys = ("environment", "trainer", "steps_asked", "seed")
    done = {tuple(each[key] for key in keys) for each in runs}
    for environment in given.only:
        task = TASKS[environment]
        steps = round(task["steps"] * given.share)
        for seed in range(min(given.seeds, task["most_seeds"])):
            for trainer in given.trainers:
                wanted = (environment, trainer, steps, seed)
                if wanted in done:
                    continue
                runs.append(run(*wanted))
                print({key: value for key, value in runs[-1].items() if key != "curve"}, flush=True)
                content = {"episodes": EPISODES, "summary": summarize(runs), "runs": runs}
                save_result("learning", content, given.out)


if __name__ == "__main__":
    main()
