"""Compare our PPO with stable-baselines3's PPO on environments of other packages, all defaults.

    python lab/experiments/foreign_learning.py [--only minigrid ...] [--seeds 3] [--trainer ppo]

Neither was tuned for these environments. Both train for the same steps, keep their last policy and
then play new episodes with their most probable actions. The packages are not among ours:

    pip install --no-deps minigrid gym-electric-motor gymnax flappy-bird-gymnasium panda-gym MinAtar

Written to results/foreign-learning.json after every training run; finished runs are not repeated.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from gymnasium.wrappers import FlattenObservation, TimeLimit
from stable_baselines3 import PPO

from experiment import read_result, save_result
from sdmbtl import ContextSpace
from sdmbtl.environments import FactoryFamily
from sdmbtl.policies import Policy
from sdmbtl.policies.sb3 import SB3Policy
from sdmbtl.training import TrainingJob, make_trainer

NAME = "foreign-learning"
EPISODES, EVALUATION_SEED = 100, 12345
SPACE = ContextSpace(unused=[0.0, 1.0])

Env = gymnasium.Env[Any, Any]


class RandomCrossing(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Cross walls or lava through gaps to reach a goal, seeing 7 x 7 fields ahead.

    Each episode is in one of 18 contexts: three sizes, one to three rivers, walls or lava.
    """

    def __init__(self) -> None:
        from minigrid.core.world_object import Lava, Wall
        from minigrid.envs.crossing import CrossingEnv
        from minigrid.wrappers import ImgObsWrapper

        contexts = itertools.product((5, 7, 9), (1, 2, 3), (Wall, Lava))
        wrapper: Any = ImgObsWrapper  # without types, where the package is installed
        self._envs = [
            wrapper(CrossingEnv(size=size, num_crossings=rivers, obstacle_type=obstacle))
            for size, rivers, obstacle in contexts
        ]
        super().__init__(self._envs[0])

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Draw a context and start an episode in it."""
        if options.get("seed") is not None:
            self._rng = np.random.default_rng(options["seed"])
        self.env = self._envs[self._rng.integers(len(self._envs))]
        return self.env.reset(**{**options, "seed": int(self._rng.integers(2**31))})


def make_minatar() -> Env:
    """Play a small form of Breakout, by 10 x 10 x 4 images."""
    if "MinAtar/Breakout-v1" not in gymnasium.registry:
        import_module("minatar.gym").register_envs()
    return TimeLimit(gymnasium.make("MinAtar/Breakout-v1"), 1000)


def make_motor() -> Env:
    """Let the speed of a DC motor follow a reference."""
    import gym_electric_motor

    return TimeLimit(FlattenObservation(gym_electric_motor.make("Cont-SC-PermExDc-v0")), 200)


def make_flappy_bird() -> Env:
    """Fly between pipes, by numbers."""
    import flappy_bird_gymnasium  # noqa: F401

    return TimeLimit(gymnasium.make("FlappyBird-v0", use_lidar=False), 1000)


def make_panda() -> Env:
    """Move the hand of a robot's arm to a point."""
    import panda_gym  # noqa: F401

    return FlattenObservation(gymnasium.make("PandaReachDense-v3"))


class GymnaxEnv(Env):
    """An environment of gymnax, stepped by one compiled function."""

    def __init__(self, name: str) -> None:
        import gymnax
        import jax

        env, self._parameters = gymnax.make(name)
        self.observation_space = _as_box(env.observation_space(self._parameters))
        self.action_space = _as_gymnasium(env.action_space(self._parameters))
        self._step, self._reset = jax.jit(env.step_env), jax.jit(env.reset_env)
        self._keys, self._limit = jax.random, int(self._parameters.max_steps_in_episode)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed, options=options)
        self._elapsed = 0
        observation, self._state = self._reset(self._key(), self._parameters)
        return np.asarray(observation, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one step."""
        played = self._step(self._key(), self._state, action, self._parameters)
        observation, self._state, reward, done = played[:4]
        self._elapsed += 1
        truncated = self._elapsed >= self._limit
        ended = bool(done) and not truncated
        return np.asarray(observation, np.float32), float(reward), ended, truncated, {}

    def _key(self) -> Any:
        return self._keys.PRNGKey(int(self.np_random.integers(2**31)))


def _as_box(space: Any) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, tuple(space.shape), np.float32)


def _as_gymnasium(space: Any) -> spaces.Space[Any]:
    if hasattr(space, "n"):
        return spaces.Discrete(int(space.n))
    return spaces.Box(float(np.min(space.low)), float(np.max(space.high)), space.shape, np.float32)


class Task(NamedTuple):
    """An environment, and the steps of a training run."""

    make: Callable[[], Env]
    steps: int


TASKS = {
    "minigrid Crossing, 18 contexts": Task(RandomCrossing, 163_840),
    "gym-electric-motor Cont-SC-PermExDc": Task(make_motor, 20_480),
    "gymnax Reacher-misc": Task(lambda: GymnaxEnv("Reacher-misc"), 20_480),
    "flappy-bird-gymnasium FlappyBird": Task(make_flappy_bird, 51_200),
    "panda-gym PandaReachDense": Task(make_panda, 10_240),
    "MinAtar Breakout": Task(make_minatar, 51_200),
}


def run(name: str, trainer_name: str, seed: int) -> dict[str, Any]:
    """Train once and evaluate the policy."""
    make, steps = TASKS[name]
    trainer = make_trainer(
        "ppo", FactoryFamily(lambda _: make(), SPACE), SPACE, total_timesteps=steps
    )
    begun = time.process_time()
    policy: Policy
    if trainer_name == "ppo":
        policy = trainer.train([TrainingJob(SPACE.targets[:1], seed)])[0].policy
    else:
        model = PPO("MlpPolicy", make(), seed=seed, device="cpu")
        policy = SB3Policy.from_model(model.learn(steps))
    seconds = time.process_time() - begun
    played = trainer.evaluate(policy, SPACE.targets[:1], episodes=EPISODES, seed=EVALUATION_SEED)
    return {
        "environment": name,
        "trainer": trainer_name,
        "steps": steps,
        "seed": seed,
        "mean_return": float(played.complete().mean()),
        "cpu_seconds": seconds,
    }


def main() -> None:
    """Run what is missing, and show the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[""], help="parts of names")
    parser.add_argument("--trainer", nargs="*", default=["ppo", "sb3"])
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    chosen = [name for name in TASKS if any(part in name for part in arguments.only)]
    wanted = [
        (name, trainer, seed)
        for name in chosen
        for seed in range(arguments.seeds)
        for trainer in arguments.trainer
    ]
    for name, trainer, seed in wanted:
        done = read_result(NAME).get("runs", [])
        if (name, trainer, seed) in {(r["environment"], r["trainer"], r["seed"]) for r in done}:
            continue
        found = run(name, trainer, seed)
        print(found, flush=True)
        runs = [*read_result(NAME).get("runs", []), found]
        save_result(NAME, {"runs": runs, "summary": summarize(runs)})
    for name, means in read_result(NAME).get("summary", {}).items():
        print(name, means)


def summarize(runs: list[dict[str, Any]]) -> dict[str, dict[str, list[float]]]:
    """Return the mean returns of all seeds, by environment and trainer."""
    found: dict[str, dict[str, list[float]]] = {}
    for each in sorted(runs, key=lambda r: (r["environment"], r["trainer"], r["seed"])):
        by_trainer = found.setdefault(each["environment"], {})
        by_trainer.setdefault(each["trainer"], []).append(each["mean_return"])
    return found


if __name__ == "__main__":
    main()
