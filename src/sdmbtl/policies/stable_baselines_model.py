"""A policy as a model of Stable-Baselines3: the files that its own `load` reads."""

from __future__ import annotations

import inspect
import io
import tempfile
from pathlib import Path
from typing import Any

import gymnasium
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from sdmbtl.files import write_atomically
from sdmbtl.policies.stable_baselines import Architecture, StableBaselinesPolicy
from sdmbtl.policies.stable_baselines_names import (
    algorithm_class,
    classes_from_names,
    policy_class_of,
)

#: What stands instead of ".zip" in the name of the file with the statistics of observations.
STATISTICS = ".vecnormalize.pkl"


class _SpacesAlone(gymnasium.Env[Any, Any]):
    """What a model is made with: an environment that has spaces, and is never played."""

    def __init__(self, architecture: Architecture) -> None:
        self.observation_space = architecture.observation_space
        self.action_space = architecture.action_space


def save_model(policy: StableBaselinesPolicy, path: str | Path) -> list[Path]:
    """Write a policy as `model.save()` does, and its statistics as `VecNormalize.save()` does.

    Args:
        policy: The policy.
        path: The file of the model; ".zip" is added if it has another ending.

    Returns:
        The files: the model, and the statistics if observations were normalised.
    """
    file = Path(path)
    file = file if file.suffix == ".zip" else file.with_name(f"{file.name}.zip")
    content = io.BytesIO()
    make_model(policy).save(content)
    write_atomically(file, content.getvalue())
    normalizing = make_normalizing(policy)
    if normalizing is None:
        return [file]
    beside = file.with_name(file.stem + STATISTICS)
    with tempfile.TemporaryDirectory() as folder:
        normalizing.save(str(Path(folder) / beside.name))
        write_atomically(beside, (Path(folder) / beside.name).read_bytes())
    return [file, beside]


def make_model(policy: StableBaselinesPolicy) -> BaseAlgorithm:
    """A model with the weights of a policy; how it would be trained further is the usual way."""
    made = policy.architecture
    algorithm: Any = algorithm_class(made.algorithm)
    arguments = classes_from_names(made.policy_kwargs)
    known = inspect.signature(algorithm).parameters
    settings: dict[str, Any] = {"device": "cpu"}
    if "use_sde" in arguments:  # a setting of the algorithm, which passes it on
        settings["use_sde"] = arguments.pop("use_sde")
    if "buffer_size" in known:  # a million transitions, usually
        settings["buffer_size"] = 1
    # The first weights are drawn from the global generator, which is not ours.
    with torch.random.fork_rng(devices=[]):
        model: BaseAlgorithm = algorithm(
            policy_class_of(made.algorithm, made.policy),
            _spaces_of(made),
            policy_kwargs=arguments,
            **settings,
        )
    model.policy.load_state_dict(policy.weights(), strict=False)
    return model


def make_normalizing(policy: StableBaselinesPolicy) -> VecNormalize | None:
    """The wrapper that normalises observations as the policy does; None if it does not."""
    how = policy.normalization
    if how is None:
        return None
    normalizing = VecNormalize(
        _spaces_of(policy.architecture),
        training=False,
        norm_reward=policy.returns is not None,
        clip_obs=how.clip,
        epsilon=how.epsilon,
    )
    moments: Any = normalizing.obs_rms
    moments.mean, moments.var = how.mean.copy(), how.variance.copy()
    moments.count = moments.count if how.seen is None else how.seen
    if policy.returns is not None:
        returns = normalizing.ret_rms
        returns.mean, returns.var = policy.returns.mean, policy.returns.variance  # type: ignore[assignment]
        returns.count = policy.returns.seen
    return normalizing


def _spaces_of(architecture: Architecture) -> DummyVecEnv:
    return DummyVecEnv([lambda: _SpacesAlone(architecture)])
