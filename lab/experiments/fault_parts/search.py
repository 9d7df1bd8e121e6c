"""Training that takes CPU-milliseconds and is real: the best of some random linear policies.

What is measured is what becomes of processes, so training should cost nothing; but it goes through
the same functions as any other: environments of Gymnasium, a `Trainer`, policy files, evaluations.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np

from sdmbtl.policies.mlp import MlpPolicy
from sdmbtl.training import Trainer, Training, TrainingJob, registry
from sdmbtl.training.checkpoint import Checkpoint
from sdmbtl.training.progress import Progress, Report

#: Steps after which an episode ends: evaluations should be cheap too.
EPISODE = 30


class SearchTrainer(Trainer):
    """Plays random linear policies and keeps the best.

    Args:
        *where: Family and space.
        candidates: How many are played.
        seconds: How long a training run takes at least, in which nothing is computed.
        **options: As for every trainer.
    """

    name = "search"

    def __init__(
        self, *where: Any, candidates: int = 10, seconds: float = 0.0, **options: Any
    ) -> None:
        super().__init__(*where, **options)
        self.candidates, self.seconds = candidates, seconds

    @classmethod
    def own_settings(cls) -> tuple[str, ...]:
        """Names of the settings, those that all trainers have included."""
        shared = ("observe_context", "max_episode_steps", "endless_after")
        return (*shared, "candidates", "seconds")

    def train_chunk(
        self,
        jobs: Sequence[TrainingJob],
        progress: Progress | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> list[Training]:
        """Train one policy; there is nothing to continue from."""
        del checkpoint
        return [self._search(job, progress) for job in jobs]

    def _search(self, job: TrainingJob, progress: Progress | None) -> Training:
        end = time.monotonic() + self.seconds
        rng = np.random.default_rng(job.seed)
        env = self.family.make(self.space.context(job.contexts[0]))
        found, steps = [], 0
        for number in range(self.candidates):
            weights = rng.normal(size=(4, 2)).astype(np.float32)
            policy = MlpPolicy([weights], [np.zeros(2, "f4")], np.zeros(4, "f4"), np.ones(4, "f4"))
            played = _play(env, policy, int(rng.integers(2**31)))
            steps += int(played)
            found.append((played, number, policy))
            if progress is not None:
                progress(Report(steps, self.candidates * EPISODE))
        env.close()
        time.sleep(max(end - time.monotonic(), 0.0))
        best, _, policy = max(found, key=lambda entry: entry[:2])
        return Training(policy, steps, best, [(steps, best)])


def _play(env: gymnasium.Env[Any, Any], policy: MlpPolicy, seed: int) -> float:
    observation, _ = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        observation, reward, ended, cut_off, _ = env.step(policy.act(observation))
        total, over = total + float(reward), ended or cut_off
    return total


class Ill(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment that falls ill after so many steps: in training, but in no evaluation.

    Args:
        env: A healthy one.
        how: "crash", "memory" or "hang".
    """

    healthy_steps = 2 * EPISODE + 1

    def __init__(self, env: gymnasium.Env[Any, Any], how: str) -> None:
        super().__init__(env)
        self._how, self._steps = how, 0
        self._held: list[Any] = []

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """As the healthy one, for some time."""
        self._steps += 1
        if self._steps > self.healthy_steps:
            if self._how == "crash":
                import ctypes

                ctypes.string_at(0)
            elif self._how == "hang":
                time.sleep(3600)
            else:
                while True:  # as much as there is, a little at a time
                    self._held.append(np.ones(2**22))
                    time.sleep(0.02)
        return self.env.step(action)


def make_cart(context: dict[str, float]) -> gymnasium.Env[Any, Any]:
    """Gymnasium's CartPole with another pole."""
    env = gymnasium.make("CartPole-v1", max_episode_steps=EPISODE)
    env.unwrapped.length = context["length"]  # type: ignore[attr-defined]
    return env


def make_crashing(context: dict[str, float]) -> gymnasium.Env[Any, Any]:
    """One that brings its process down if the pole is longest."""
    return _sometimes_ill(context, "crash")


def make_greedy(context: dict[str, float]) -> gymnasium.Env[Any, Any]:
    """One that uses all memory if the pole is longest."""
    return _sometimes_ill(context, "memory")


def make_hanging(context: dict[str, float]) -> gymnasium.Env[Any, Any]:
    """One that never answers if the pole is longest."""
    return _sometimes_ill(context, "hang")


def _sometimes_ill(context: dict[str, float], how: str) -> gymnasium.Env[Any, Any]:
    env = make_cart(context)
    return Ill(env, how) if context["length"] >= 1.0 else env


def do_nothing() -> None:
    """A task that costs nothing."""


# There is no other way to name a trainer that is not in the package, and this one should not be.
registry._TRAINERS["search"] = registry._Entry(f"{__name__}:SearchTrainer", "numpy", "")
