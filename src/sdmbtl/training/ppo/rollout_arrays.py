"""What is played in one iteration on the host, in arrays that several processes can share."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray


@dataclass(frozen=True)
class RolloutShape:
    """The sizes of a rollout.

    Attributes:
        steps: T, of each environment.
        slots: S, places for agents: one in each environment, or several.
        inputs: I, entries of an observation as the networks see it.
        choices: D, entries of an action as it is learned.
        continuous: Whether these are numbers, or else choices.
        action_shape: Of one action as the environment takes it.
        action_dtype: Of such an action.
    """

    steps: int
    slots: int
    inputs: int
    choices: int
    continuous: bool
    action_shape: tuple[int, ...]
    action_dtype: str

    @property
    def arrays(self) -> dict[str, tuple[tuple[int, ...], DTypeLike]]:
        """Shape and type of each of the `RolloutArrays`."""
        steps, slots = self.steps, self.slots
        chosen = np.float32 if self.continuous else np.int32
        return {
            "obs": ((steps + 1, slots, self.inputs), np.float32),
            "last_obs": ((steps, slots, self.inputs), np.float32),
            "action": ((steps, slots, self.choices), chosen),
            "reward": ((steps, slots), np.float32),
            "terminated": ((steps, slots), np.bool_),
            "truncated": ((steps, slots), np.bool_),
            "present": ((steps + 1, slots), np.bool_),
            "env_action": ((slots, *self.action_shape), self.action_dtype),
        }


class RolloutArrays(NamedTuple):
    """What is played: T steps in S slots.

    Attributes:
        obs: (T + 1, S, I) observations before each action, and after the last.
        last_obs: (T, S, I) the observation in which a truncated episode ended; elsewhere anything.
        action: (T, S, D) as they are learned.
        reward: (T, S).
        terminated: (T, S) whether an agent came to its end.
        truncated: (T, S) whether an agent was cut off.
        present: (T + 1, S) whether there is an agent that acts on the observation.
        env_action: (S, ...) the actions of this step as the environments take them.
    """

    obs: NDArray[np.float32]
    last_obs: NDArray[np.float32]
    action: NDArray[Any]
    reward: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    present: NDArray[np.bool_]
    env_action: NDArray[Any]


def allocate_arrays(shape: RolloutShape) -> RolloutArrays:
    """Arrays of this process."""
    return RolloutArrays(**{n: np.zeros(size, kind) for n, (size, kind) in shape.arrays.items()})


def allocate_memory(shape: RolloutShape, make: Callable[[Any, int], Any]) -> dict[str, Any]:
    """Memory for the arrays, by name.

    Args:
        shape: Of the rollout.
        make: Called as `RawArray(type, size)` of a multiprocessing context.
    """
    return {
        name: make(ctypes.c_byte, max(1, math.prod(size) * np.dtype(kind).itemsize))
        for name, (size, kind) in shape.arrays.items()
    }


def view_memory(shape: RolloutShape, memory: dict[str, Any]) -> RolloutArrays:
    """The arrays in memory that several processes have."""
    return RolloutArrays(
        **{
            name: np.frombuffer(memory[name], kind, count=math.prod(size)).reshape(size)
            for name, (size, kind) in shape.arrays.items()
        }
    )
