"""Teachers: in each context the policy that the portfolio chooses for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.errors import PolicyError
from sdmbtl.policies import MlpPolicy
from sdmbtl.policies.action_code import ActionCode
from sdmbtl.portfolio.member import Actor, ContextPolicy


def label(teacher: Actor, observations: Any, code: ActionCode) -> NDArray[np.float32]:
    """(T, K) codes of a teacher's actions for a batch of T observations.

    Of discrete actions they are the probabilities with which the teacher drew them in its training,
    if it knows them: these also say how much an action matters.
    """
    if isinstance(teacher, ContextPolicy) and teacher.policy.remembers:
        raise PolicyError("A policy with a memory cannot teach. Export the portfolio instead.")
    if code.sizes is not None:
        policy = teacher
        if isinstance(teacher, ContextPolicy):
            policy, observations = teacher.policy, teacher.observed(observations)
        if isinstance(policy, MlpPolicy):
            outputs = policy.outputs(observations)
            parts = np.split(outputs, np.cumsum(code.sizes)[:-1], axis=-1)
            return np.concatenate([_softmax(part) for part in parts], axis=-1)
    return code(teacher.act(observations))


def _softmax(outputs: NDArray[np.float32]) -> NDArray[np.float32]:
    weights = np.exp(outputs - outputs.max(axis=-1, keepdims=True))
    probabilities: NDArray[np.float32] = weights / weights.sum(axis=-1, keepdims=True)
    return probabilities
