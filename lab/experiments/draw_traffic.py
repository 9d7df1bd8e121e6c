"""Draw the crossing: the same vehicles driven by SUMO and by a trained policy, as an animation.

    python lab/experiments/draw_traffic.py [--seed 8] [--seconds 60]

Above SUMO's IDM, below the policy of the usual context; controlled vehicles are green. Written to
docs/figures/traffic.gif.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sdmbtl.animation import save_animation
from sdmbtl.environments import make_family
from sdmbtl.policies import Policy
from sdmbtl.training import TrainingJob, make_trainer
from sdmbtl_traffic.crossing import STEP
from sdmbtl_traffic.family import Traffic
from sdmbtl_traffic.simulation import Driver
from sdmbtl_traffic.vector_env import act_in_blocks

FIGURE = Path(__file__).parents[2] / "docs" / "figures" / "traffic.gif"
#: When it begins, shortly before the third red; rows of pixels around the main road that are kept.
BEGIN, ROWS = 134.0, slice(90, 210)


def draw(family: Traffic, policy: Policy, driver: Driver, seed: int) -> Iterator[NDArray[np.uint8]]:
    """Pictures of an episode, one for each step."""
    context = family.full_context({})
    world = family.make_vector_env()
    world.driver = driver
    now, is_over, time = world.reset([context], [seed]), False, family.warm_up * STEP
    while not is_over:
        step = world.step(act_in_blocks(policy, now.obs))
        now, is_over, time = step.now, step.is_over, time + STEP
        if time >= BEGIN:
            yield world.render(0)[ROWS]
    world.close()


def main() -> None:
    """Train, drive and draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    family = make_family("Traffic", horizon=BEGIN + given.seconds)
    assert isinstance(family, Traffic)  # noqa: S101 - for the type checker
    space = family.space()
    usual = np.array([[family.defaults[name] for name in space.names]])
    policy = make_trainer("ppo", family, space).train([TrainingJob(usual, 0)])[0].policy
    rows = (draw(family, policy, driver, given.seed) for driver in ("idm", "policy"))
    line = np.full((4, 1000, 3), 255, np.uint8)
    pictures = (np.concatenate([above, line, below]) for above, below in zip(*rows, strict=True))
    number = save_animation(pictures, FIGURE, fps=4 / STEP)  # four times as fast as it is
    print(f"{FIGURE.name}: {number} pictures, {FIGURE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
