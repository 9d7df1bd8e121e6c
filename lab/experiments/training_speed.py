"""Training steps per CPU-second: our PPO, stable-baselines3 and SBX, in one run.

    python lab/experiments/training_speed.py [--repeats 3] [--part batched|host|all]

batched: CartPole as a pure function; each library's PPO with its own defaults, 8 environments.

host: Gymnasium's own environments, and our faster walker against Gymnasium's; the same network,
environments, rollout, epochs and minibatch for all. SBX (stable-baselines in JAX,
`pip install sbx-rl`) is left out if it is not installed.

Compilation is timed separately. Written to results/training-speed.json; the other part stays.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import gymnasium
import numpy as np

from experiment import read_result, save_result
from sdmbtl import ContextSpace
from sdmbtl.environments import EnvironmentFamily, FactoryFamily, make_family
from sdmbtl.training import Trainer, TrainingJob, make_trainer
from sdmbtl.training.ppo.gymnasium_env import GymnasiumPPO

SB3_STEPS = 49_152
HOST = ("CartPole-v1", "Pendulum-v1", "LunarLander-v3", "BipedalWalker-v3", "BipedalWalker")
#: Our families among them, and what others have instead.
OURS = {"BipedalWalker": "BipedalWalker-v3"}
#: The same for all in the part "host"; hidden layers of 64 and 64 units with tanh.
NUM_ENVS, NUM_STEPS, MINIBATCH, EPOCHS = 8, 256, 64, 10


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


def host_training(environment: str) -> Callable[[int], float]:
    """Our PPO on the host: a function that trains a few iterations and gives its CPU-seconds."""
    space = ContextSpace(unused=[0.0, 1.0])
    family: EnvironmentFamily = FactoryFamily(lambda _: gymnasium.make(environment), space)
    if environment in OURS:
        family = make_family(environment)
        space = family.space()
    trainer = GymnasiumPPO(
        family,
        space,
        total_timesteps=NUM_ENVS * NUM_STEPS * 1000,
        num_envs=NUM_ENVS,
        num_steps=NUM_STEPS,
        minibatch_size=MINIBATCH,
        update_epochs=EPOCHS,
    )
    usual = [[family.defaults[name] for name in space.names]]
    job = TrainingJob(np.array(usual), 0)
    state, slots = trainer.begin(job), trainer.open_slots(job)
    slots.start(state.env_states)

    def train_for(iterations: int) -> float:
        begun = time.process_time()
        for _ in range(iterations):
            trainer.iterate(state, slots, job, 1000)
        return time.process_time() - begun

    return train_for


def library_training(library: str, environment: str) -> Callable[[int], float]:
    """PPO of stable-baselines3 or SBX, likewise."""
    import torch
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(1)
    algorithm = import_module({"sb3": "stable_baselines3", "sbx": "sbx"}[library]).PPO
    sizes = {"n_steps": NUM_STEPS, "batch_size": MINIBATCH, "n_epochs": EPOCHS}
    envs = make_vec_env(OURS.get(environment, environment), n_envs=NUM_ENVS, seed=0)
    more = {"device": "cpu"} if library == "sb3" else {}
    model = algorithm("MlpPolicy", envs, seed=0, **sizes, **more)

    def train_for(iterations: int) -> float:
        begun = time.process_time()
        model.learn(iterations * NUM_ENVS * NUM_STEPS, reset_num_timesteps=False)
        return time.process_time() - begun

    return train_for


def measure_host(environments: Sequence[str], repeats: int) -> dict[str, Any]:
    """Steps per CPU-second of each environment, and ratios against stable-baselines3."""
    libraries = ["sb3", *(["sbx"] if find_spec("sbx") else [])]
    iterations = {"ppo": 4, "sb3": 1, "sbx": 2}
    table: dict[str, Any] = {}
    for environment in environments:
        training = {
            "ppo": host_training(environment),
            **{name: library_training(name, environment) for name in libraries},
        }
        warm_up = {name: train_for(1) for name, train_for in training.items()}
        rates: dict[str, list[float]] = {name: [] for name in training}
        for _ in range(repeats):
            for name, train_for in training.items():
                steps = iterations[name] * NUM_ENVS * NUM_STEPS
                rates[name].append(steps / train_for(iterations[name]))
        medians = {name: statistics.median(values) for name, values in rates.items()}
        table[environment] = {
            "steps_per_cpu_second": medians,
            "ratio_to_sb3": {n: v / medians["sb3"] for n, v in medians.items() if n != "sb3"},
            "all": rates,
            "first_iteration_cpu_seconds": warm_up,
        }
        print(json.dumps({environment: table[environment]}, indent=1), flush=True)
    return table


def measure_batched(contexts: int, repeats: int) -> dict[str, Any]:
    """Environments that are pure functions: in turns, so that all see the same machine."""
    family = make_family("CartPole")
    space = family.space("paper")
    alone = make_trainer("ppo", family, space)
    step = len(space) // contexts
    jobs = [TrainingJob(space.targets[[i * step]], i) for i in range(contexts)]
    # Whole chunks and the last, shorter one are compiled by themselves.
    rest = len(jobs) % alone.settings()["chunk"]
    begun = time.process_time()
    for shape in {1, alone.settings()["chunk"], rest} - {0}:
        alone.train(jobs[:shape])
    compiling = time.process_time() - begun
    measured: dict[str, list[float]] = {"sb3": [], "one": [], "many": []}
    for _ in range(repeats):
        measured["sb3"].append(stable_baselines_rate())
        measured["one"].append(batched_rate(alone, jobs[:1]))
    measured["many"].append(batched_rate(alone, jobs))
    measured["sb3"].append(stable_baselines_rate())
    base = statistics.median(measured["sb3"])
    one, many = statistics.median(measured["one"]), statistics.median(measured["many"])
    return {
        "steps_per_cpu_second": {"stable-baselines3": base, "one context": one, "many": many},
        "all": measured,
        "contexts": contexts,
        "ratio_one": one / base,
        "ratio_many": many / base,
        "warm_up_cpu_seconds": compiling,
    }


def main() -> None:
    """Measure the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--contexts", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--part", choices=("batched", "host", "all"), default="all")
    parser.add_argument("--only", nargs="+", choices=HOST, default=HOST, help="of the part host")
    arguments = parser.parse_args()
    result = {**read_result("training-speed"), "cores": len(os.sched_getaffinity(0))}
    if arguments.part in ("batched", "all"):
        result |= measure_batched(arguments.contexts, arguments.repeats)
    if arguments.part in ("host", "all"):
        before = result.get("host", {}).get("environments", {})
        result["host"] = {
            "settings": {
                "num_envs": NUM_ENVS,
                "num_steps": NUM_STEPS,
                "minibatch_size": MINIBATCH,
                "update_epochs": EPOCHS,
            },
            "environments": before | measure_host(arguments.only, arguments.repeats),
        }
    save_result("training-speed", result)


if __name__ == "__main__":
    main()
