"""An episode as pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.errors import FamilyError
from sdmbtl.portfolio.acting import Actor


class Shot(NamedTuple):
    """A moment of an episode.

    Attributes:
        picture: (H, W, 3) what is seen.
        total: Sum of the rewards so far; of several agents the mean over them.
        step: Number of steps so far.
    """

    picture: NDArray[np.uint8]
    total: float
    step: int


def film_episode(
    family: EnvironmentFamily, actor: Actor, context: Mapping[str, float], seed: int
) -> Iterator[Shot]:
    """The moments of an episode, from its reset to its end.

    Raises:
        FamilyError: If it cannot be drawn.
    """
    full = family.full_context(context)
    vector_env = family.make_vector_env()
    if vector_env is None:
        yield from _film_single(family, actor, full, seed)
        return
    with closing(vector_env):
        for step, (picture, total) in enumerate(vector_env.film(actor, full, seed), start=1):
            yield Shot(picture, total, step)


def show_episode(
    family: EnvironmentFamily, actor: Actor, context: Mapping[str, float], seed: int
) -> float:
    """Play an episode in a window of the environment's own; returns the sum of rewards.

    Raises:
        FamilyError: If the environment has no window.
    """
    env = family.make(context, render_mode="human")
    if "human" not in env.metadata.get("render_modes", ()):
        env.close()
        raise FamilyError(f"{family.name} has no window. Write a file instead: --out play.gif")
    with closing(env):
        observation, _ = env.reset(seed=seed)
        total, is_over = 0.0, False
        while not is_over:
            observation, reward, terminated, truncated, _ = env.step(actor.act(observation))
            total, is_over = total + reward, terminated or truncated
    return total


def _film_single(
    family: EnvironmentFamily, actor: Actor, context: dict[str, float], seed: int
) -> Iterator[Shot]:
    env = family.make(context, render_mode="rgb_array")
    with closing(env):
        observation, _ = env.reset(seed=seed)
        total, step, is_over = 0.0, 0, False
        yield Shot(_check_picture(env.render(), family), total, step)
        while not is_over:
            observation, reward, terminated, truncated, _ = env.step(actor.act(observation))
            total, step, is_over = total + reward, step + 1, terminated or truncated
            yield Shot(_check_picture(env.render(), family), total, step)


def _check_picture(picture: Any, family: EnvironmentFamily) -> NDArray[np.uint8]:
    found = np.asarray(picture)
    if found.ndim != 3 or found.shape[2] != 3:
        raise FamilyError(
            f"{family.name} must be able to render 'rgb_array', (height, width, 3) pictures, to be "
            f"filmed. Got {type(picture).__name__} of shape {found.shape} instead."
        )
    return found.astype(np.uint8, copy=False)
