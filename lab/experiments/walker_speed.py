"""How much faster the lean BipedalWalker is than Gymnasium's, in one run.

    python lab/experiments/walker_speed.py [--steps 2000] [--repeats 3]

CPU time of steps, resets and building in 27 contexts, from end to end of the family's space. Both
walkers play the same episodes with the same actions, in turns, so that they see the same machine.
Gymnasium's is the class in the same copy of its module, with the same wrappers. Written to
results/walker-speed.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from sdmbtl.environments import make_family
from sdmbtl.environments.bipedal_walker import copy_walker_module
from sdmbtl.environments.family import make_variant
from sdmbtl.software import CORE, versions

RESULT = Path(__file__).parents[2] / "results" / "walker-speed.json"
FAMILY = make_family("BipedalWalker")

#: Steps for which an action is held; walkers with new ones in each step hardly move.
HOLD = 8

Environment = gymnasium.Env[Any, Any]


def build_gymnasiums(context: dict[str, float]) -> Environment:
    """Gymnasium's own walker in a context."""
    module = copy_walker_module(context["friction"], context["scale"])
    env = make_variant("BipedalWalker-v3", None, module.BipedalWalker)
    inner: Any = env.unwrapped
    inner.world.gravity = (0.0, -context["gravity"])
    return env


WAYS: dict[str, Callable[[dict[str, float]], Environment]] = {
    "gymnasium": build_gymnasiums,
    "lean": lambda context: FAMILY.build(context, None),
    "lean, contextual": FAMILY.make,
}


def play(env: Environment, seed: int, steps: int) -> dict[str, float]:
    """CPU seconds of steps and resets, and how many of them there were."""
    actions = np.random.default_rng(seed).normal(0, 1.2, (steps, 4)).astype(np.float32)
    times = {"step": 0.0, "reset": 0.0, "steps": 0.0, "resets": 0.0}
    while times["steps"] < steps:
        begun = time.process_time()
        env.reset(seed=seed + int(times["resets"]))
        reset = time.process_time()
        played, ended = 0, False
        # The clock is read once for an episode: reading it takes as long as some of the step.
        while not ended and times["steps"] + played < steps:
            action = actions[(int(times["steps"]) + played) // HOLD]
            _, _, terminated, truncated, _ = env.step(action)
            played, ended = played + 1, terminated or truncated
        times["step"] += time.process_time() - reset
        times["reset"] += reset - begun
        times["steps"] += played
        times["resets"] += 1
    return times


def building_time(build: Callable[[dict[str, float]], Environment]) -> float:
    """CPU seconds of making an environment of a context that was used before."""
    context = FAMILY.full_context({})
    build(context)
    begun = time.process_time()
    for _ in range(50):
        build(context)
    return (time.process_time() - begun) / 50


def measure(steps: int, repeats: int) -> dict[str, dict[str, float]]:
    """Microseconds of each way: medians over repeats, each the mean over 27 contexts."""
    space = FAMILY.space("paper", 3)
    contexts = [FAMILY.full_context(space.context(target)) for target in space.targets]
    found: dict[str, dict[str, list[float]]] = {
        way: {"step": [], "reset": [], "build": []} for way in WAYS
    }
    for repeat in range(repeats):
        totals = {way: dict.fromkeys(("step", "reset", "steps", "resets"), 0.0) for way in WAYS}
        for number, context in enumerate(contexts):
            for way, build in WAYS.items():
                env = build(context)
                for name, value in play(env, 1000 * repeat + number, steps).items():
                    totals[way][name] += value
        for way, total in totals.items():
            found[way]["step"].append(1e6 * total["step"] / total["steps"])
            found[way]["reset"].append(1e6 * total["reset"] / total["resets"])
            found[way]["build"].append(1e6 * building_time(WAYS[way]))
    return {
        way: {name: statistics.median(values) for name, values in times.items()}
        for way, times in found.items()
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=2000, help="in each context")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    microseconds = measure(arguments.steps, arguments.repeats)
    base = microseconds["gymnasium"]
    result = {
        "command": f"python lab/experiments/walker_speed.py --steps {arguments.steps} "
        f"--repeats {arguments.repeats}",
        "versions": versions((*CORE, "gymnasium", "box2d")),
        "cpu_microseconds": microseconds,
        "times_as_fast": {
            way: {name: base[name] / value for name, value in times.items()}
            for way, times in microseconds.items()
            if way != "gymnasium"
        },
    }
    print(json.dumps(result, indent=1))
    RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
