"""Whether normalising observations and rewards helps PPO of Stable-Baselines3.

    python lab/experiments/sb3_normalisation.py [ENVIRONMENT] [SEEDS]

trains on one of Gymnasium's own environments with the defaults of the trainer `sb3` and prints a
table for docs/trainers.md: the mean return of the policy that is kept, in 20 new episodes, for each
seed. Pendulum takes about 90 seconds of CPU for each seed.
"""

from __future__ import annotations

import sys
from functools import partial
from itertools import product
from typing import Any

import gymnasium

from sdmbtl import ContextSpace
from sdmbtl.environments import FactoryFamily
from sdmbtl.training import TrainingJob, make_trainer

STEPS = {"CartPole-v1": 30_000, "Pendulum-v1": 50_000}
SPACE = ContextSpace(unused=[0.0, 1.0])


def main(name: str = "Pendulum-v1", seeds: str = "3") -> None:
    """Train and print."""
    numbers = range(int(seeds))
    label = f"{name.removesuffix('-v1')}, {STEPS[name]:,} steps"
    print(f"| {label}, normalised | {' | '.join(f'seed {n}' for n in numbers)} |")
    print("| --- |" + " ---: |" * len(numbers))
    for norm_obs, norm_reward in product((False, True), repeat=2):
        settings = {"norm_obs": norm_obs, "norm_reward": norm_reward}
        returns = [f"{mean_return(name, seed, **settings):,.0f}" for seed in numbers]
        what = [word for word, on in (("observations", norm_obs), ("rewards", norm_reward)) if on]
        label = f"{name.removesuffix('-v1')}, {STEPS[name]:,} steps"
        print(
            f"| {label} | {' and '.join(what) or 'nothing'} | {' | '.join(returns)} |", flush=True
        )


def mean_return(name: str, seed: int, **settings: Any) -> float:
    """Mean return of the policy that is kept, in new episodes."""
    family = FactoryFamily(partial(make, name), SPACE)
    trainer = make_trainer("sb3", family, SPACE, total_timesteps=STEPS[name], **settings)
    (training,) = trainer.train([TrainingJob(SPACE.targets[:1], seed)])
    returns = trainer.evaluate(training.policy, SPACE.targets[:1], episodes=20, seed=99)
    return float(returns.complete().mean())


def make(name: str, context: dict[str, float]) -> gymnasium.Env[Any, Any]:
    """The environment, whatever the context."""
    del context
    return gymnasium.make(name)


if __name__ == "__main__":
    main(*sys.argv[1:])
