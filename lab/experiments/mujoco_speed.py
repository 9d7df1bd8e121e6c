"""Training steps per CPU-second of `ppo` on MuJoCo: one environment at a time, and as a batch.

    python lab/experiments/mujoco_speed.py [--repeats 3]

Both train in turns in one process, so that they see the same machine; compilation is not counted.
Written to results/mujoco-speed.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np

from experiment import save_result
from sdmbtl.environments import make_family
from sdmbtl.training import TrainingJob
from sdmbtl.training.ppo.gymnasium_env import GymnasiumPPO

FAMILIES = ("Hopper", "HalfCheetah", "Ant")
ITERATIONS = 2


def training(name: str, is_batched: bool, contexts: str) -> Callable[[], float]:
    """Return a function that trains a few iterations; it returns steps per CPU-second."""
    family = make_family(name)
    space = family.space()
    trainer = GymnasiumPPO(family, space, total_timesteps=2_048_000)
    usual = np.array([[family.defaults[feature] for feature in space.names]])
    job = TrainingJob(usual if contexts == "usual" else space.targets, 0)
    state = trainer.begin(job)
    if is_batched:
        slots = trainer.open_slots(job)
    else:
        with patch.object(type(family), "make_env_batch", lambda *_: None):
            slots = trainer.open_slots(job)
    slots.start(state.env_states)
    trainer.iterate(state, slots, job, 1000)

    def train() -> float:
        begun = time.process_time()
        for _ in range(ITERATIONS):
            trainer.iterate(state, slots, job, 1000)
        seconds = time.process_time() - begun
        return ITERATIONS * trainer.ppo_settings.batch_size / seconds

    return train


def measure(name: str, contexts: str, repeats: int) -> dict[str, Any]:
    """Measure both ways in turns."""
    runs = {way: training(name, way == "batch", contexts) for way in ("single", "batch")}
    rates: dict[str, list[float]] = {way: [] for way in runs}
    for _ in range(repeats):
        for way, train in runs.items():
            rates[way].append(train())
    medians = {way: statistics.median(values) for way, values in rates.items()}
    ratio = medians["batch"] / medians["single"]
    return {"steps_per_cpu_second": medians, "ratio": ratio, "all": rates}


def main() -> None:
    """Measure all robots, on the usual context and on the whole space."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    result: dict[str, Any] = {}
    for name in FAMILIES:
        result[name] = {c: measure(name, c, arguments.repeats) for c in ("usual", "all")}
        print(json.dumps({name: result[name]}, indent=1), flush=True)
    save_result("mujoco-speed", result)


if __name__ == "__main__":
    main()
