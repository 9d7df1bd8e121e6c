"""Episodes that a student plays, many side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.contextual import close_quietly
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.functional import FunctionalEnvironment
from sdmbtl.errors import TrainingError
from sdmbtl.policies.distilled import DistilledPolicy
from sdmbtl.portfolio.distillation.network import Student, StudentForm, act_once, read_policy
from sdmbtl.training.environment_errors import name_context_in_errors

#: Steps after which an episode is cut that nothing else ends.
ENDLESS = 100_000


class Episode(NamedTuple):
    """An episode of a student.

    Attributes:
        observations: Its T observations as the environment gives them, as a batch.
        inputs: (T, I) inputs of the student.
        total: The return.
    """

    observations: Any
    inputs: NDArray[np.float32]
    total: float

    def __len__(self) -> int:
        return len(self.inputs)


class JaxPlayer:
    """Plays in environments that are pure functions; everything is compiled."""

    def __init__(
        self,
        environment: FunctionalEnvironment,
        space: ContextSpace,
        form: StudentForm,
        max_episode_steps: int | None = None,
    ) -> None:
        self._environment, self._space, self._form = environment, space, form
        self._max_steps = min(environment.max_steps, max_episode_steps or environment.max_steps)
        self._play = jax.jit(self._play_all)

    def play(
        self, policy: DistilledPolicy, contexts: NDArray[np.float64], seeds: Sequence[int]
    ) -> list[Episode]:
        """Play one episode in each of (n, D) contexts; each follows from its seed alone."""
        parameters = self._environment.parameters(self._space.names, contexts)
        extra = first_extra(self._form, self._space, contexts)
        keys = np.stack([np.asarray(jax.random.PRNGKey(seed % 2**32)) for seed in seeds])
        played = self._play(read_policy(policy), parameters, extra, keys)
        size = self._environment.observation_size
        return [
            Episode(own[:length, :size], own[:length].copy(), float(total))
            for own, length, total in zip(*map(np.asarray, played), strict=True)
        ]

    def _play_all(
        self,
        student: Student,
        parameters: jax.Array,
        extra: jax.Array,
        keys: jax.Array,
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Return (n, T, I) inputs, of which (n,) count, and (n,) returns."""
        environment, form = self._environment, self._form
        n = len(parameters)
        states = jax.vmap(environment.reset)(keys, parameters)

        def step(carry: _Carry, _: None) -> tuple[_Carry, tuple[jax.Array, jax.Array]]:
            states, h, extra, done, total = carry
            seen = jax.vmap(environment.observe)(states, parameters)
            x = jnp.concatenate([seen, extra], axis=-1)
            outputs, h = act_once(student, x, h)
            code, action = self._best(outputs)
            states, rewards, terminated = jax.vmap(environment.step)(states, action, parameters)
            total = total + jnp.where(done, 0.0, rewards)
            extra = code if form.memory else extra
            return (states, h, extra, done | terminated, total), (x, ~done)

        begin = (states, jnp.zeros((n, form.memory)), extra, jnp.zeros(n, bool), jnp.zeros(n))
        end, (inputs, alive) = jax.lax.scan(step, begin, None, length=self._max_steps)
        return inputs.swapaxes(0, 1), alive.sum(axis=0), end[-1]

    def _best(self, outputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the codes of the best actions, and the actions."""
        code, space = self._form.code, self._environment.actions
        if isinstance(space, spaces.Discrete):
            best = outputs.argmax(axis=-1)
            return jax.nn.one_hot(best, code.size), best
        best = jnp.clip(outputs, space.low, space.high)
        return (best - code.centre) / code.half_width, best


_Carry = tuple[Any, jax.Array, jax.Array, jax.Array, jax.Array]


class GymnasiumPlayer:
    """Plays in Gymnasium environments, which Python steps one after another."""

    def __init__(
        self,
        family: EnvironmentFamily,
        space: ContextSpace,
        form: StudentForm,
        max_episode_steps: int | None = None,
    ) -> None:
        self._family, self._space, self._form = family, space, form
        self._max_steps = max_episode_steps or ENDLESS

    def play(
        self, policy: DistilledPolicy, contexts: NDArray[np.float64], seeds: Sequence[int]
    ) -> list[Episode]:
        """Play one episode in each of (n, D) contexts; each follows from its seed alone."""
        form, space = self._form, self._form.observations.space
        state = np.zeros((len(contexts), policy.state_size), np.float32)
        if not form.memory:
            state[:] = first_extra(form, self._space, contexts)
        slots: list[_Slot] = []
        try:
            for vector, seed in zip(contexts, seeds, strict=True):
                slots.append(_Slot(self._family, self._space.context(vector), seed))
            # All slots act at every step: the last digits of a product depend on the size of a
            # batch, and an episode must not depend on when others end.
            while any(not slot.done for slot in slots):
                batch = _stack([slot.observation for slot in slots], space)
                inputs = np.concatenate(
                    [form.observations(batch), state[:, form.memory :]], axis=-1
                )
                actions, state = policy.act(batch, state)
                for slot, own, action in zip(slots, inputs, actions, strict=True):
                    if not slot.done:
                        slot.step(own, action)
                        slot.done |= len(slot.inputs) >= self._max_steps
        finally:
            for slot in slots:
                close_quietly(slot.env)
        return [Episode(_stack(s.observations, space), np.stack(s.inputs), s.total) for s in slots]


class _Slot:
    """An environment in which one episode is played, with all that was seen before each step."""

    def __init__(self, family: EnvironmentFamily, context: dict[str, float], seed: int) -> None:
        self.context, self.done, self.total = context, False, 0.0
        self.observations: list[Any] = []
        self.inputs: list[NDArray[np.float32]] = []
        with name_context_in_errors(context):
            self.env = family.make(context)
            self.observation, _ = self.env.reset(seed=seed)

    def step(self, inputs: NDArray[np.float32], action: Any) -> None:
        """Take a step."""
        self.observations.append(self.observation)
        self.inputs.append(inputs)
        with name_context_in_errors(self.context):
            self.observation, reward, terminated, truncated, _ = self.env.step(action)
        self.total += float(reward)
        if not math.isfinite(self.total):
            raise TrainingError(f"The return is {self.total} in the context {self.context}.")
        self.done = terminated or truncated


def _stack(observations: Sequence[Any], space: spaces.Space[Any]) -> Any:
    """Return observations as a batch, as Gymnasium's vector environments give it."""
    empty: Any = create_empty_array(space, len(observations))
    return concatenate(space, observations, empty)


def first_extra(
    form: StudentForm, space: ContextSpace, contexts: NDArray[np.float64]
) -> NDArray[np.float32]:
    """(n, E) inputs after the observation when an episode begins in (n, D) contexts."""
    if form.memory:
        return np.zeros((len(contexts), form.n_extra), np.float32)
    return space.to_unit(contexts).astype(np.float32)
