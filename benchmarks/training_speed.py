"""Training steps per CPU-second: the batched trainer and stable-baselines3, in one run.

    python benchmarks/training_speed.py [--contexts 100] [--repeats 3]

CartPole, each library's PPO with its own defaults and 8 environments. Compilation is timed by
itself. Written to results/training-speed.json.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import time
from pathlib import Path
from typing import Any

from sdmbtl.environments import make_family
from sdmbtl.software import CORE, TRAINING, versions
from sdmbtl.trainers import Trainer, TrainerSpec, TrainingJob, make_trainer, train

RESULT = Path(__file__).parent.parent / "results" / "training-speed.json"
SB3_STEPS = 49_152


def cpu_seconds() -> float:
    """Of this process and of the children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def stable_baselines_rate() -> float:
    """Steps per CPU-second of stable-baselines3's PPO, as it comes, on one thread."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(1)
    model = PPO("MlpPolicy", make_vec_env("CartPole-v1", n_envs=8, seed=0), seed=0, device="cpu")
    begun = time.process_time()
    model.learn(SB3_STEPS)
    return model.num_timesteps / (time.process_time() - begun)


def batched_rate(trainer: Trainer, jobs: list[TrainingJob]) -> float:
    """Steps per CPU-second of the batched trainer, in this process."""
    begun = time.process_time()
    runs = trainer.train(jobs)
    return sum(t.steps for t in runs) / (time.process_time() - begun)


def evaluation_rate(trainer: Trainer, job: TrainingJob) -> float:
    """Environment steps per CPU-second in evaluation; in CartPole a step is a point."""
    policy = trainer.train([job])[0].policy
    contexts = trainer.space.targets
    trainer.evaluate(policy, contexts, episodes=10, seed=0)  # compiles
    begun = time.process_time()
    returns = trainer.evaluate(policy, contexts, episodes=10, seed=1).returns
    return float(returns.sum()) / (time.process_time() - begun)


def main() -> None:
    """Measure in turns, so that all see the same machine."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--contexts", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    family = make_family("CartPole")
    space = family.space("paper")
    alone = make_trainer("ppo", family, space, processes=1)
    several = make_trainer("ppo", family, space)
    step = len(space) // arguments.contexts
    jobs = [TrainingJob(space.targets[[i * step]], i) for i in range(arguments.contexts)]
    # Whole chunks and the last, shorter one are compiled by themselves.
    rest = len(jobs) % alone.settings()["chunk"]
    begun = time.process_time()
    for shape in {1, alone.settings()["chunk"], rest} - {0}:
        alone.train(jobs[:shape])
    compiling = time.process_time() - begun
    measured: dict[str, list[float]] = {"sb3": [], "one": [], "many": []}
    for _ in range(arguments.repeats):
        measured["sb3"].append(stable_baselines_rate())
        measured["one"].append(batched_rate(alone, jobs[:1]))
    measured["many"].append(batched_rate(alone, jobs))
    measured["sb3"].append(stable_baselines_rate())
    wall, cpu = time.monotonic(), cpu_seconds()
    train(TrainerSpec.of(several), jobs)
    wall, cpu = time.monotonic() - wall, cpu_seconds() - cpu
    base = statistics.median(measured["sb3"])
    one, many = statistics.median(measured["one"]), statistics.median(measured["many"])
    result: dict[str, Any] = {
        "command": f"python benchmarks/training_speed.py --contexts {arguments.contexts} "
        f"--repeats {arguments.repeats}",
        "cores": len(os.sched_getaffinity(0)),
        "versions": versions((*CORE, *TRAINING)),
        "steps_per_cpu_second": {"stable-baselines3": base, "one context": one, "many": many},
        "all": measured,
        "contexts": arguments.contexts,
        "ratio_one": one / base,
        "ratio_many": many / base,
        "warm_up_cpu_seconds": compiling,
        "both_cores": {
            "wall_seconds": wall,
            "cpu_seconds": cpu,
            "cores_used": cpu / wall,
            "steps_per_wall_second": len(jobs) * several.settings()["total_timesteps"] / wall,
        },
        "evaluation_steps_per_cpu_second": evaluation_rate(alone, jobs[0]),
    }
    print(json.dumps(result, indent=1))
    RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
