"""Settings for environments on the host, where a user leaves them out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from sdmbtl.checks import check_int
from sdmbtl.errors import TrainerError
from sdmbtl.policies.flattening import FlatObservations
from sdmbtl.training.ppo.recommended import RECOMMENDED
from sdmbtl.training.ppo.settings import PPOSettings

#: A training run should have at least this many updates, if its steps suffice,
ENOUGH_UPDATES = 25
#: and no more samples for one than this.
LARGEST_BATCH = 2048
#: Evaluations in a training run, besides that after the first update.
EVALUATIONS = 10
#: Observations need no normalisation if each entry is at least so wide, on either side of its
#: middle, and at most so large.
NARROWEST, WIDEST = 0.5, 10.0


def complete_settings(
    given: Mapping[str, Any], environment: str | None, observations: FlatObservations
) -> dict[str, Any]:
    """Settings of `PPOSettings` and of the trainer, with what is left out filled in.

    Args:
        given: By the user, or by the family.
        environment: What Gymnasium calls the environment, if it knows it.
        observations: What is observed.
    """
    settings = {**RECOMMENDED.get(environment or "", {}), **given}
    settings.setdefault("norm_obs", not observations.is_within(NARROWEST, WIDEST))
    settings.setdefault("norm_reward", True)
    defaults = {field.name: field.default for field in fields(PPOSettings)}
    sizes = {
        name: check_int(name, settings.get(name, defaults[name]), low=1, error=TrainerError)
        for name in ("total_timesteps", "num_envs", "minibatch_size")
    }
    settings.setdefault("num_steps", _choose_num_steps(**sizes))
    batch = sizes["num_envs"] * check_int(
        "num_steps", settings["num_steps"], low=1, error=TrainerError
    )
    iterations = math.ceil(sizes["total_timesteps"] / batch)
    settings.setdefault("eval_every", math.ceil(iterations / EVALUATIONS))
    return settings


def _choose_num_steps(total_timesteps: int, num_envs: int, minibatch_size: int) -> int:
    """Steps of each environment in an iteration: as many as leave enough updates."""
    # The smallest number of which the minibatches come out even, doubled as often as possible.
    num_steps = math.lcm(num_envs, minibatch_size) // num_envs
    largest = min(LARGEST_BATCH, total_timesteps // ENOUGH_UPDATES)
    while 2 * num_steps * num_envs <= largest:
        num_steps *= 2
    return num_steps
