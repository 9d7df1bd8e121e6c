"""A trainer of one's own: reads what `sdmbtl ask` printed, writes what `sdmbtl tell` takes.

    python train_cart.py < job.json > report.json

It pushes a cart to a place: a policy is two numbers, training is a random search. Put yours here.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from sdmbtl.contexts import load_space


def play(gains: Any, mass: Any, friction: Any) -> Any:
    """Return of an episode; everything may be an array."""
    position = speed = total = 0.0 * (gains[0] + mass)
    for _ in range(100):
        push = np.clip(gains[0] * (1 - position) - gains[1] * speed, -1, 1)
        speed = speed + 0.1 * (push - friction * speed) / mass
        position = position + 0.1 * speed
        total = total - np.abs(1 - position)
    return total


def main() -> None:
    """Train on the context of the job, play on every target."""
    job = json.load(sys.stdin)
    space, _ = load_space(Path(__file__).parent / "carts.toml")
    candidates = np.random.default_rng(job["id"]).uniform(0, 10, (2, 300))
    best = candidates[:, play(candidates, **job["context"]).argmax()]
    json.dump({**job, "returns": play(best, *space.targets.T).tolist()}, sys.stdout)


if __name__ == "__main__":
    main()
