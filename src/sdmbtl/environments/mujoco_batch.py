"""Gymnasium's robots without Gymnasium's Python around each step.

`mj_step` in a loop, with observations and rewards of all slots at once. Steps through
`mujoco.rollout` are not bit-identical to Gymnasium's.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from numpy.typing import NDArray

from sdmbtl.environments.env_batch import BatchStep

if TYPE_CHECKING:
    from sdmbtl.environments.mujoco_families import MujocoFamily

Floats = NDArray[np.float64]


class _Simulation:
    """Model and data of one slot, with views of the data."""

    def __init__(self, model: Any) -> None:
        self.model, self.data = model, mujoco.MjData(model)
        self.context: Mapping[str, float] | None = None
        self.ctrl, self.qpos, self.qvel = self.data.ctrl, self.data.qpos, self.data.qvel


class MujocoBatch(ABC):
    """Robots of one kind, each with the model of its context; see `EnvBatch`.

    A subclass has the formulas of one environment of Gymnasium, in its order of operations.

    Args:
        family: Changes a model to that of a context.
        size: Number of slots.
    """

    observation_space: spaces.Box[Any]
    reset_noise: float

    def __init__(self, family: MujocoFamily, size: int) -> None:
        env: Any = family.make_usual(None)
        self._family, self._model = family, env.unwrapped.model
        self._frame_skip, self._dt = env.unwrapped.frame_skip, env.unwrapped.dt
        self._limit = env.spec.max_episode_steps
        self.observation_space = env.observation_space
        env.close()
        self._simulations: list[_Simulation | None] = [None] * size
        self._elapsed = np.zeros(size, np.int64)
        self._x = np.zeros(size)
        self.qpos = np.zeros((size, self._model.nq))
        self.qvel = np.zeros((size, self._model.nv))

    def reset(self, slot: int, context: Mapping[str, float], seed: int) -> Floats:
        """Begin an episode, as Gymnasium's environment does with this seed."""
        simulation = self._simulations[slot]
        if simulation is None or simulation.context != context:
            simulation = self._simulations[slot] = _Simulation(copy.copy(self._model))
            self._family.change_model(simulation.model, simulation.data, context)
            simulation.context = dict(context)
        model, data = simulation.model, simulation.data
        mujoco.mj_resetData(model, data)
        rng, _ = seeding.np_random(seed)
        noise = self.reset_noise
        data.qpos[:] = model.qpos0 + rng.uniform(low=-noise, high=noise, size=model.nq)
        data.qvel[:] = self.draw_velocity(rng, model.nv)
        mujoco.mj_forward(model, data)
        self._elapsed[slot] = 0
        self.read(slot, simulation)
        self._x[slot] = self.x_position([slot])[0]
        first: Floats = self.observe([slot])[0]
        return first

    def step(self, slots: Sequence[int], actions: NDArray[Any]) -> BatchStep:
        """Take (n, A) actions in n slots."""
        for slot, action in zip(slots, actions, strict=True):
            simulation = self._simulations[slot]
            assert simulation is not None  # noqa: S101 (reset before the first step)
            simulation.ctrl[:] = action
            mujoco.mj_step(simulation.model, simulation.data, self._frame_skip)
            self.read(slot, simulation)
        x = self.x_position(slots)
        reward, terminated = self.judge(slots, (x - self._x[slots]) / self._dt, actions)
        self._x[slots] = x
        self._elapsed[slots] += 1
        return BatchStep(
            self.observe(slots), reward, terminated, self._elapsed[slots] >= self._limit
        )

    def close(self) -> None:
        """Free the simulations."""
        self._simulations.clear()

    def read(self, slot: int, simulation: _Simulation) -> None:
        """Copy what observations and rewards need from a simulation."""
        self.qpos[slot], self.qvel[slot] = simulation.qpos, simulation.qvel

    def x_position(self, slots: Sequence[int]) -> Floats:
        """Return the (n,) positions whose change is rewarded."""
        return self.qpos[slots, 0]

    def draw_velocity(self, rng: np.random.Generator, size: int) -> Floats:
        """Draw the velocities at the start of an episode."""
        return self.reset_noise * rng.standard_normal(size)

    def observe(self, slots: Sequence[int]) -> Floats:
        """Return (n, I) observations."""
        return np.concatenate((self.qpos[slots, 1:], self.qvel[slots]), axis=1)

    @abstractmethod
    def judge(
        self, slots: Sequence[int], speed: Floats, actions: NDArray[Any]
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Return (n,) rewards and where episodes ended, for (n,) speeds in the x direction."""


class HopperBatch(MujocoBatch):
    """Hopper-v5."""

    reset_noise = 5e-3

    def draw_velocity(self, rng: np.random.Generator, size: int) -> Floats:
        """Draw the velocities at the start of an episode."""
        return rng.uniform(low=-self.reset_noise, high=self.reset_noise, size=size)

    def observe(self, slots: Sequence[int]) -> Floats:
        """Return positions and clipped velocities."""
        clipped = np.clip(self.qvel[slots], -10, 10)
        return np.concatenate((self.qpos[slots, 1:], clipped), axis=1)

    def judge(
        self, slots: Sequence[int], speed: Floats, actions: NDArray[Any]
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Reward speed and being upright."""
        height, angle = self.qpos[slots, 1], self.qpos[slots, 2]
        moderate = (np.abs(self.qpos[slots, 2:]) < 100).all(axis=1)
        moderate &= (np.abs(self.qvel[slots]) < 100).all(axis=1)
        healthy = moderate & (height > 0.7) & (height < np.inf) & (np.abs(angle) < 0.2)
        return speed + healthy - 1e-3 * np.square(actions).sum(axis=1), ~healthy


class HalfCheetahBatch(MujocoBatch):
    """HalfCheetah-v5."""

    reset_noise = 0.1

    def judge(
        self, slots: Sequence[int], speed: Floats, actions: NDArray[Any]
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Reward speed; no episode ends before its time limit."""
        return speed - 0.1 * np.square(actions).sum(axis=1), np.zeros(len(slots), np.bool_)


class AntBatch(MujocoBatch):
    """Ant-v5, which sees the forces of contacts."""

    reset_noise = 0.1

    def __init__(self, family: MujocoFamily, size: int) -> None:
        super().__init__(family, size)
        self._torso_x = np.zeros(size)
        self._forces = np.zeros((size, self._model.nbody * 6))

    def read(self, slot: int, simulation: _Simulation) -> None:
        """Copy the position of the torso and the contact forces too."""
        super().read(slot, simulation)
        if simulation.data.time:  # a step leaves these forces to be computed; a reset has none
            mujoco.mj_rnePostConstraint(simulation.model, simulation.data)
        self._torso_x[slot] = simulation.data.xpos[1, 0]
        self._forces[slot] = np.clip(simulation.data.cfrc_ext, -1.0, 1.0).ravel()

    def x_position(self, slots: Sequence[int]) -> Floats:
        """Return the position of the torso, which is that of the last substep's beginning."""
        return self._torso_x[slots]

    def observe(self, slots: Sequence[int]) -> Floats:
        """Return positions, velocities and the contact forces on all bodies but the world."""
        return np.concatenate(
            (self.qpos[slots, 2:], self.qvel[slots], self._forces[slots, 6:]), axis=1
        )

    def judge(
        self, slots: Sequence[int], speed: Floats, actions: NDArray[Any]
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Reward speed and standing; contacts cost."""
        height = self.qpos[slots, 2]
        healthy = np.isfinite(self.qpos[slots]).all(axis=1)
        healthy &= np.isfinite(self.qvel[slots]).all(axis=1) & (height >= 0.2) & (height <= 1.0)
        contact_cost = 5e-4 * np.square(self._forces[slots]).sum(axis=1)
        cost = 0.5 * np.square(actions).sum(axis=1) + contact_cost
        return speed + healthy - cost, ~healthy
