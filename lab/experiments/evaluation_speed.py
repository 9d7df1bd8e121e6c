"""How fast a policy is evaluated in Gymnasium environments: in one process, and on all cores.

Prints CPU microseconds per environment step, the share of them that Gymnasium's own steps take, and
the ratio of the wall times. All are measured in turns, and the best of several counts, because a
machine may be busy with other things. What does not depend on that is written to
results/evaluation-speed.json.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from sdmbtl import ContextSpace
from sdmbtl.environments import FactoryFamily
from sdmbtl.files import write_atomically
from sdmbtl.parallel import Workers, available_cores
from sdmbtl.policies import MlpPolicy
from sdmbtl.software import CORE, TRAINING, versions
from sdmbtl.training import TrainerSpec, evaluate, make_trainer

RESULT = Path(__file__).parents[2] / "results" / "evaluation-speed.json"
SPACE = ContextSpace(gravity=np.linspace(5.0, 11.0, 100))


def pendulum(context: dict[str, float]) -> gymnasium.Env[Any, Any]:
    """200 steps in each episode."""
    return gymnasium.make("Pendulum-v1", g=context["gravity"])


def lander(context: dict[str, float]) -> gymnasium.Env[Any, Any]:
    """LunarLander with another gravity."""
    return gymnasium.make("LunarLander-v3", gravity=-context["gravity"])


def random_policy(env: gymnasium.Env[Any, Any]) -> MlpPolicy:
    """Two hidden layers of 64, as a trained policy has, with random weights."""
    actions = env.action_space
    discrete = isinstance(actions, gymnasium.spaces.Discrete)
    (n_inputs,) = env.observation_space.shape or (1,)
    sizes = [n_inputs, 64, 64, int(actions.n) if discrete else 1]  # type: ignore[attr-defined]
    rng = np.random.default_rng(0)
    return MlpPolicy(
        [0.3 * rng.normal(size=pair).astype(np.float32) for pair in pairwise(sizes)],
        [np.zeros(size, np.float32) for size in sizes[1:]],
        shift=np.zeros(n_inputs, np.float32),
        scale=np.ones(n_inputs, np.float32),
        bounds=None if discrete else (-2.0, 2.0),
    )


class Counted(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Counts the steps of all its instances."""

    steps = 0

    def step(self, action: Any) -> Any:
        """Count, and step."""
        Counted.steps += 1
        return self.env.step(action)


def count_steps(name: str, policy: MlpPolicy, episodes: int) -> int:
    """Steps of one evaluation."""
    make = globals()[name]
    family = FactoryFamily(lambda context: Counted(make(context)), SPACE)
    Counted.steps = 0
    _play(TrainerSpec.of(make_trainer("sb3", family, SPACE)), policy, episodes, None)
    return Counted.steps


def _play(
    spec: TrainerSpec, policy: MlpPolicy, episodes: int, workers: Workers | None
) -> tuple[float, float]:
    """CPU seconds of this process, and seconds, of one evaluation."""
    cpu, begun = time.process_time(), time.monotonic()
    evaluate(spec, policy, SPACE.targets, episodes=episodes, seed=0, workers=workers).complete()
    return time.process_time() - cpu, time.monotonic() - begun


def time_gymnasium_alone(name: str, policy: MlpPolicy, episodes: int) -> float:
    """CPU seconds per step of the environments alone: made, reset and stepped in a plain loop.

    They get actions that are there already. LunarLander is made anew for each episode, as its world
    keeps traces of the one before.
    """
    make = globals()[name]
    rng = np.random.default_rng(0)
    shape = make(SPACE.target(0)).observation_space.shape or ()
    actions = cycle([*policy.act(rng.normal(size=(64, *shape)).astype(np.float32))])
    steps, begun = 0, time.process_time()
    for context in SPACE:
        env = make(context)
        for episode in range(episodes):
            if episode and name == "lander":
                env = make(context)
            env.reset(seed=episode)
            over = False
            while not over:
                _, _, terminated, truncated, _ = env.step(next(actions))
                over = terminated or truncated
                steps += 1
    return (time.process_time() - begun) / steps


def main() -> None:
    """Measure each environment."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--episodes", type=int, default=10, help="on each of 100 contexts")
    given = parser.parse_args()
    repeats, episodes = given.repeats, given.episodes
    measured: dict[str, dict[str, float]] = {}
    with Workers(available_cores() - 1) as workers:
        workers.start_seconds = 0.0
        for name in ("pendulum", "lander"):
            family = FactoryFamily(f"evaluation_speed:{name}", SPACE)
            spec = TrainerSpec.of(make_trainer("sb3", family, SPACE))
            policy = random_policy(family.make())
            steps = count_steps(name, policy, episodes)
            _play(spec, policy, episodes, workers)  # starts the processes
            pairs = [
                (_play(spec, policy, episodes, None), _play(spec, policy, episodes, workers))
                for _ in range(repeats)
            ]
            cpu, alone = (min(values) for values in zip(*[a for a, _ in pairs], strict=True))
            shared = min(seconds for _, (_, seconds) in pairs)
            own = min(time_gymnasium_alone(name, policy, episodes) for _ in range(repeats))
            measured[name] = {
                "cpu_microseconds_per_step": round(1e6 * cpu / steps, 2),
                "of_which_gymnasium": round(1e6 * own, 2),
                "share_of_gymnasium": round(own * steps / cpu, 3),
            }
            print(
                f"{name}: {measured[name]}; "
                f"{alone / shared:.2f} times as fast on {workers.processes + 1} cores"
            )
    command = (
        f"python lab/experiments/evaluation_speed.py --repeats {repeats} --episodes {episodes}"
    )
    result = {
        "command": command,
        "environments": measured,
        "versions": versions((*CORE, *TRAINING)),
    }
    write_atomically(RESULT, (json.dumps(result, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
