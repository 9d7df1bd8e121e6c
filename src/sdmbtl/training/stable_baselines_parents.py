"""Training runs of Stable-Baselines3 that start from another policy."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm

from sdmbtl.checks import short_text
from sdmbtl.errors import TrainerError
from sdmbtl.policies import Policy
from sdmbtl.policies.stable_baselines import Architecture, StableBaselinesPolicy


def start_from_parent(model: BaseAlgorithm, parent: Policy, usual_steps: int) -> None:
    """Give a new model the weights and the statistics of a parent.

    It explores as one from scratch: the noise of actions, the weight of SAC's entropy and DQN's
    share of random actions begin as always, and so do optimisers and the replay buffer.

    Args:
        model: The model, with its environments; changed in place.
        parent: Where it starts from. What an exported one lacks stays as in the new model.
        usual_steps: Observations that a parent's statistics stand for if it is not known.

    Raises:
        TrainerError: If the parent is of another kind.
    """
    fresh = StableBaselinesPolicy.from_model(model)
    own = _check_parent(parent, fresh)
    known = own.weights()
    weights = fresh.weights()
    for name in weights:
        # An exported policy has no target networks: they begin as copies.
        source = name if name in known else name.replace("_target.", ".")
        if source in known and name.rpartition(".")[2] != "log_std":
            weights[name] = known[source]
    model.policy.load_state_dict(weights)
    if hasattr(model, "weights"):  # ARS searches around a vector of its own
        model.weights = torch.nn.utils.parameters_to_vector(model.policy.parameters()).detach()
    _restore_statistics(model, own, usual_steps)


def _check_parent(parent: Policy, fresh: StableBaselinesPolicy) -> StableBaselinesPolicy:
    if not isinstance(parent, StableBaselinesPolicy):
        raise TrainerError(
            "The trainer 'sb3' starts from its own policies. "
            f"Got {short_text(parent)} instead. Start from scratch, or use the trainer 'ppo'."
        )
    for name in (field.name for field in fields(Architecture)):
        theirs, ours = (getattr(p.architecture, name) for p in (parent, fresh))
        if theirs != ours:
            raise TrainerError(
                f"Training cannot start from a policy with {name}={short_text(theirs)}, for here "
                f"it is {short_text(ours)}. Make the trainer with the settings of that policy, or "
                "start from scratch."
            )
    normalized = fresh.normalization is not None
    if (parent.normalization is not None) != normalized:
        raise TrainerError(
            f"The parent was trained with another norm_obs (here {normalized}), so training cannot "
            "start from it. Make the trainer with its settings, or start from scratch."
        )
    return parent


def _restore_statistics(
    model: BaseAlgorithm, parent: StableBaselinesPolicy, usual_steps: int
) -> None:
    normalizing = model.get_vec_normalize_env()
    if normalizing is None:
        return
    observations: Any = normalizing.obs_rms
    if parent.normalization is not None:
        seen = parent.normalization.seen
        observations.mean = parent.normalization.mean.copy()
        observations.var = parent.normalization.variance.copy()
        observations.count = float(usual_steps) if seen is None else seen
    if parent.returns is not None and normalizing.norm_reward:
        normalizing.ret_rms.mean = np.array(parent.returns.mean)
        normalizing.ret_rms.var = np.array(parent.returns.variance)
        normalizing.ret_rms.count = parent.returns.seen
