"""Controlled vehicle-steps per CPU-second in training at a crossing: our PPO and stable-baselines3.

    python lab/experiments/traffic_speed.py [--iterations 60]

The usual context, eight crossings in one simulation for both; the same network, rollout, epochs
and minibatch. For stable-baselines3 they become a vector environment in the usual way: a place for
each vehicle is an environment, and empty places are zeros. A step of a place with a vehicle counts,
others do not. The CPU-seconds are those of the trainer and of the simulation's process. Ours is
measured with the evaluations that a training run has, and without, as stable-baselines3 is.
Written to results/traffic-speed.json.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv

from sdmbtl.environments import make_family
from sdmbtl.files import write_atomically
from sdmbtl.software import CORE, TRAINING, versions
from sdmbtl.training import TrainingJob
from sdmbtl.training.ppo import GymnasiumPPO
from sdmbtl_traffic.family import Traffic, TrafficVectorEnv
from sdmbtl_traffic.vector_env import AgentsNow

RESULT = Path(__file__).parents[2] / "results" / "traffic-speed.json"
NUM_STEPS, MINIBATCH, EPOCHS = 256, 256, 10
#: More vehicles than this are never controlled at once on a usual crossing.
VEHICLES, CROSSINGS = 16, 8
PLACES = VEHICLES * CROSSINGS


def simulation_seconds(world: TrafficVectorEnv) -> float:
    """CPU-seconds of a simulation's process so far."""
    pid = world._client.pid
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


class PlacesOfVehicles(VecEnv):
    """The places of all crossings as environments, for stable-baselines3."""

    def __init__(self, family: Traffic) -> None:
        self.world = family.make_vector_env()
        self.vehicle_steps = 0
        self._context = family.full_context({})
        self._now = AgentsNow(np.zeros(0, np.int32), np.zeros((0, 14), np.float32))
        self._actions = np.zeros((PLACES, 1), np.float32)
        self._episodes = 0
        self.render_mode = None
        super().__init__(PLACES, self.world.observation_space, self.world.action_space)

    def reset(self) -> Any:
        """Begin the next episode."""
        self._episodes += 1
        seeds = [CROSSINGS * self._episodes + number for number in range(CROSSINGS)]
        self._now = self.world.reset([self._context] * CROSSINGS, seeds)
        return self._seen()

    def step_async(self, actions: Any) -> None:
        """Keep the actions."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Half a second."""
        acting = self._now.slots
        step = self.world.step(self._actions[acting])
        self.vehicle_steps += len(acting)
        rewards, dones = np.zeros(PLACES, np.float32), np.zeros(PLACES, np.bool_)
        rewards[acting], dones[acting] = step.reward, step.gone
        self._now = step.now
        if step.is_over:
            dones[acting] = True
            self.reset()
        return self._seen(), rewards, dones, [{} for _ in range(PLACES)]

    def _seen(self) -> Any:
        seen = np.zeros((PLACES, 14), np.float32)
        seen[self._now.slots] = self._now.obs
        return seen

    def close(self) -> None:
        """End the simulation."""
        self.world.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:  # noqa: ARG002
        """Asked for by stable-baselines3."""
        return [getattr(self, attr_name, None)] * PLACES

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Nothing can be set."""

    def env_method(self, *_: Any, **__: Any) -> list[Any]:
        """No method is called."""
        return [None] * PLACES

    def env_is_wrapped(self, *_: Any, **__: Any) -> list[bool]:
        """It is not."""
        return [False] * PLACES


def our_rate(family: Traffic, iterations: int, *, evaluations: int) -> float:
    """Vehicle-steps per CPU-second of our trainer, with so many evaluations."""
    space = family.space()
    trainer = GymnasiumPPO(
        family,
        space,
        total_timesteps=CROSSINGS * NUM_STEPS * iterations,
        num_envs=CROSSINGS,
        num_steps=NUM_STEPS,
        minibatch_size=MINIBATCH,
        update_epochs=EPOCHS,
    )
    usual = [[family.defaults[name] for name in space.names]]
    job = TrainingJob(np.array(usual), 0)
    state, slots = trainer.begin(job), trainer.open_slots(job)
    slots.start(state.env_states)
    trainer.iterate(state, slots, job, 1000)  # compiles
    world: Any = slots._env  # type: ignore[attr-defined]
    begun, child, steps = time.process_time(), simulation_seconds(world), 0
    for number in range(iterations):
        trainer.iterate(state, slots, job, 1000)
        steps += int(slots.arrays.present[:-1].sum())
        if evaluations and number % (iterations // evaluations) == 0:
            trainer._evaluate_progress(state, job)
    seconds = time.process_time() - begun + simulation_seconds(world) - child
    evaluating: Any = trainer.vector_env(trainer.family)
    if evaluating is not None:
        seconds += simulation_seconds(evaluating)
        evaluating.close()
    slots.close()
    return steps / seconds


def stable_baselines_rate(family: Traffic, iterations: int) -> float:
    """The same of stable-baselines3, without any evaluation."""
    import torch

    torch.set_num_threads(1)
    envs = PlacesOfVehicles(family)
    sizes: Any = {"n_steps": NUM_STEPS, "batch_size": MINIBATCH, "n_epochs": EPOCHS}
    model = PPO("MlpPolicy", envs, seed=0, device="cpu", **sizes)
    model.learn(PLACES * NUM_STEPS)
    begun, child, before = time.process_time(), simulation_seconds(envs.world), envs.vehicle_steps
    model.learn(iterations * PLACES * NUM_STEPS, reset_num_timesteps=False)
    seconds = time.process_time() - begun + simulation_seconds(envs.world) - child
    steps = envs.vehicle_steps - before
    envs.close()
    return steps / seconds


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure in turns, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args(arguments)
    family = make_family("Traffic", max_vehicles=VEHICLES)
    assert isinstance(family, Traffic)  # noqa: S101 - for the type checker
    rates: dict[str, list[float]] = {"ppo": [], "ppo, not evaluated": [], "sb3": []}
    for _ in range(given.repeats):
        rates["ppo"].append(our_rate(family, given.iterations, evaluations=10))
        rates["ppo, not evaluated"].append(our_rate(family, given.iterations, evaluations=0))
        rates["sb3"].append(stable_baselines_rate(family, max(given.iterations // 30, 1)))
        print(rates, flush=True)
    medians = {name: float(np.median(values)) for name, values in rates.items()}
    result = {
        "vehicle_steps_per_cpu_second": medians,
        "ratio": medians["ppo, not evaluated"] / medians["sb3"],
        "all": rates,
        "versions": versions([*CORE, *TRAINING]),
    }
    print(json.dumps(result, indent=1))
    write_atomically(RESULT, (json.dumps(result, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
