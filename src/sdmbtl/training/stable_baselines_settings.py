"""Settings of Stable-Baselines3's algorithms: their names, and what fits the number of steps."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import Any

from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

from sdmbtl.checks import check_float, known_name, short_text
from sdmbtl.errors import SdmbtlError, TrainerError
from sdmbtl.policies.stable_baselines_names import algorithm_class, classes_from_names

#: Arguments of an algorithm that are not hyperparameters: ours to give, for output, or classes.
_RESERVED = frozenset(
    {
        *("policy", "env", "seed", "_init_setup_model"),
        *("verbose", "tensorboard_log"),
        *("rollout_buffer_class", "replay_buffer_class"),
    }
)

#: Names of hyperparameters that all trainers share, and those of Stable-Baselines3.
COMMON_NAMES = {
    "learning_rate": "learning_rate",
    "num_steps": "n_steps",
    "minibatch_size": "batch_size",
    "update_epochs": "n_epochs",
    "gamma": "gamma",
    "gae_lambda": "gae_lambda",
    "clip_coef": "clip_range",
    "ent_coef": "ent_coef",
    "vf_coef": "vf_coef",
    "max_grad_norm": "max_grad_norm",
}

#: A rollout is so short that there are at least this many updates.
LEAST_UPDATES = 25

#: Of an off-policy algorithm, at most this share of the steps is taken before it learns.
LEARNING_STARTS = 0.1


# -- names ---------------------------------------------------------------------------------


def is_on_policy(algorithm: str) -> bool:
    """Whether an algorithm learns from rollouts of the present policy only."""
    return issubclass(algorithm_class(algorithm), OnPolicyAlgorithm)


def argument_defaults(algorithm: str) -> dict[str, Any]:
    """The hyperparameters of an algorithm, as Stable-Baselines3 calls them, and their defaults."""
    arguments = inspect.signature(algorithm_class(algorithm)).parameters
    defaults = {name: a.default for name, a in arguments.items() if name not in _RESERVED}
    return {**defaults, "device": "cpu"}  # small networks are faster there, and always the same


def common_names(algorithm: str) -> dict[str, str]:
    """Our names of an algorithm's hyperparameters, and its own."""
    arguments = argument_defaults(algorithm)
    names = {ours: theirs for ours, theirs in COMMON_NAMES.items() if theirs in arguments}
    if not is_on_policy(algorithm):
        names.pop("num_steps", None)  # there "n_steps" is something else: that of n-step returns
    return names


# -- checks --------------------------------------------------------------------------------


def check_hyperparameters(algorithm: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that only this algorithm has, as JSON data.

    Raises:
        TrainerError: If one is unknown, has a name of ours, or is not JSON data.
    """
    common = {theirs: ours for ours, theirs in common_names(algorithm).items()}
    known = list(argument_defaults(algorithm))
    for name in given:
        known_name("hyperparameter", name, known, has=f"{algorithm} has", error=TrainerError)
        if name in common:
            raise TrainerError(
                f"{algorithm}'s {name!r} is given as {common[name]!r}, not in 'hyperparameters'."
            )
    copied = copy_as_json(given)
    try:
        classes_from_names(copied.get("policy_kwargs") or {})
    except SdmbtlError as error:
        raise TrainerError(
            f"Hyperparameters must be JSON data. Got {short_text(dict(given))}: {error}"
        ) from None
    if copied.get("action_noise") is not None:
        check_float("action_noise", copied["action_noise"], low=0.0, error=TrainerError)
    return copied


def copy_as_json(given: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of hyperparameters as they are read back from JSON.

    Raises:
        TrainerError: If they are not JSON data.
    """
    try:
        copied: dict[str, Any] = json.loads(json.dumps(dict(given), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise TrainerError(
            f"Hyperparameters must be JSON data. Got {short_text(dict(given))}: {error}. "
            "Give classes by name."
        ) from None
    return copied


# -- what fits the number of steps -----------------------------------------------------------


def fitting_rollout(
    algorithm: str, given: Mapping[str, Any], num_envs: int, steps: int
) -> dict[str, int]:
    """Length of a rollout and of a minibatch for a training run of so many steps.

    Rollouts are as long as the algorithm's own of one environment, or shorter, for at least
    `LEAST_UPDATES` updates; minibatches divide them. A2C's rollouts are short as they are.

    Args:
        algorithm: Name of the algorithm.
        given: Arguments that the user gave, which are kept.
        num_envs: Environments that are played side by side.
        steps: Steps of the training run.

    Returns:
        The arguments that the user did not give.
    """
    usual = argument_defaults(algorithm)
    if not is_on_policy(algorithm) or "batch_size" not in usual:
        return {}
    longest = min(steps // LEAST_UPDATES, usual["n_steps"]) // num_envs
    # A rollout holds a minibatch; advantages are normalised, which takes two samples.
    shortest = -(-given.get("batch_size", 2) // num_envs)
    chosen = max(_power_of_two(longest), shortest)
    rollout = num_envs * given.get("n_steps", chosen)
    divisor = max(n for n in range(1, usual["batch_size"] + 1) if rollout % n == 0)
    fitting = {"n_steps": chosen, "batch_size": divisor}
    return {name: value for name, value in fitting.items() if name not in given}


def learning_start(algorithm: str, given: Mapping[str, Any], steps: int) -> dict[str, int]:
    """When an off-policy algorithm begins to learn in a training run of so many steps.

    Returns:
        The argument; nothing if the user gave it, or the algorithm has none.

    Raises:
        TrainerError: If all steps would be over by then.
    """
    usual = argument_defaults(algorithm).get("learning_starts")
    if usual is None:
        return {}
    if "learning_starts" not in given:
        return {"learning_starts": min(usual, int(LEARNING_STARTS * steps))}
    if given["learning_starts"] >= steps:
        raise TrainerError(
            f"{algorithm} would learn nothing: learning_starts={given['learning_starts']} is not "
            f"below the {steps:,} steps of a training run. Give more steps, or a smaller "
            "'hyperparameters.learning_starts'."
        )
    return {}


def steps_between_updates(
    algorithm: str, arguments: Mapping[str, Any], num_envs: int
) -> int | None:
    """Steps of all environments before each update; None if that depends on the episodes."""
    every = {**argument_defaults(algorithm), **arguments}
    if is_on_policy(algorithm):
        return num_envs * int(every["n_steps"])
    frequency = every.get("train_freq")
    if isinstance(frequency, list | tuple):
        frequency = frequency[0] if frequency[1] == "step" else None
    return None if frequency is None else num_envs * int(frequency)


def _power_of_two(number: int) -> int:
    """The largest power of two that is not above a number; 0 if there is none."""
    return 1 << (number.bit_length() - 1) if number > 0 else 0
