"""One network for all contexts: told its context, or with a memory that finds it out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.contexts.dimension import Dimension, dimension_from_dict
from sdmbtl.errors import ContextError, PolicyError
from sdmbtl.policies.base import Policy
from sdmbtl.policies.mlp import OBSERVATION_LIMIT, MlpPolicy

if TYPE_CHECKING:
    from gymnasium import spaces

Array = NDArray[np.float32]


class GatedUnit(NamedTuple):
    """Weights of a gated recurrent unit with H hidden numbers, for I inputs.

    Attributes:
        shift: (I,) subtracted from the inputs, and
        scale: (I,) multiplied with the difference.
        inputs: (I, 3H) weights on them: of the reset gate, the update gate and the candidate.
        hidden: (H, 3H) weights on the hidden numbers.
        bias: (3H,) biases.
        candidate_bias: (H,) bias inside of the reset gate.
    """

    shift: Array
    scale: Array
    inputs: Array
    hidden: Array
    bias: Array
    candidate_bias: Array

    @property
    def size(self) -> int:
        """H, the hidden numbers."""
        return len(self.candidate_bias)

    def __call__(self, x: Array, h: Array) -> Array:
        """Return the next (..., H) hidden numbers, for (..., I) inputs and those before."""
        x = np.minimum(np.maximum((x - self.shift) * self.scale, -LIMIT), LIMIT)
        size = self.size
        from_x = x @ self.inputs + self.bias
        from_h = h @ self.hidden
        both = from_x[..., : 2 * size] + from_h[..., : 2 * size]
        gates = 1.0 / (1.0 + np.exp(-both))
        reset, update = gates[..., :size], gates[..., size:]
        inner = from_h[..., 2 * size :] + self.candidate_bias
        candidate = np.tanh(from_x[..., 2 * size :] + reset * inner)
        following: Array = candidate + update * (h - candidate)
        return following


#: Largest size of inputs, as a number of 32 bits.
LIMIT = np.float32(OBSERVATION_LIMIT)


class DistilledPolicy(Policy):
    """Acts with a state that it carries through an episode.

    A network that sees its context has the context's unit coordinates as its state. One that is
    not has a memory: the hidden numbers of a gated recurrent unit, and its own last action.

    >>> network = DistilledPolicy.load("network.safetensors")  # doctest: +SKIP
    >>> state = network.start({"length": 0.6})  # doctest: +SKIP
    >>> action, state = network.act(observation, state)  # doctest: +SKIP

    Args:
        head: The last layers: from observation and context, or from the hidden numbers, to the
            action. It has an action space.
        dimensions: The context's dimensions by name, in order, if the network sees it.
        memory: The recurrent unit, if it is not.
        observation_space: Space of observations that are not vectors of floats: they are
            flattened.
        sees_context: Observations are vectors that end with the unit coordinates of the context;
            `flatten` gives the entries before those.

    Raises:
        PolicyError: If these do not fit together.
    """

    kind = "distilled"

    def __init__(
        self,
        head: MlpPolicy,
        *,
        dimensions: Mapping[str, Dimension] | None = None,
        memory: GatedUnit | None = None,
        observation_space: spaces.Space[Any] | None = None,
        sees_context: bool = False,
    ) -> None:
        from sdmbtl.environments.flattening import FlatObservations
        from sdmbtl.policies.action_code import ActionCode

        if (dimensions is None) == (memory is None) or head.action_space is None:
            raise PolicyError(
                "A distilled policy has an action space, and either dimensions of a context or a "
                f"memory. Got {dimensions}, {memory} and {head.action_space}."
            )
        self.head, self.memory = head, memory
        self.sees_context, self.remembers = bool(sees_context), memory is not None
        self.dimensions = None if dimensions is None else dict(dimensions)
        self.observation_space = observation_space
        self.code = ActionCode(head.action_space)
        self._flatten = None if observation_space is None else FlatObservations(observation_space)
        self.state_size = (
            sum(d.columns for d in (self.dimensions or {}).values())
            if memory is None
            else memory.size + self.code.size
        )
        if memory is None:
            self.observation_size = head.observation_size - self.state_size
        else:
            inputs, size = len(memory.shift), memory.size
            gates = 3 * size
            wanted = [(inputs,)] * 2 + [(inputs, gates), (size, gates), (gates,), (size,)]
            found = [weights.shape for weights in memory]
            if found != wanted or head.observation_size != size:
                raise PolicyError(
                    f"A memory of {size} hidden numbers has weights of shapes {wanted}, and the "
                    f"layer after it takes {size}. Got {found} and {head.observation_size}."
                )
            self.observation_size = inputs - self.code.size
        sized = self.observation_size if self._flatten is None else self._flatten.size
        fits = sized <= self.observation_size if sees_context else sized == self.observation_size
        if not fits or self.observation_size < 0:
            raise PolicyError(
                f"The network is made for {self.observation_size} observed numbers, and the "
                f"observation space has {sized}."
            )

    def start(self, context: Mapping[str, float] | None = None) -> Array:
        """Return the (S,) state in which an episode begins.

        Args:
            context: The context, for a network that sees it; features that it does not know
                are ignored.

        Raises:
            ContextError: If it is needed, and missing or incomplete.
        """
        if self.dimensions is None:
            return np.zeros(self.state_size, np.float32)
        missing = [name for name in self.dimensions if name not in (context or {})]
        if missing or context is None:
            raise ContextError(
                f"This network is told its context: {', '.join(self.dimensions)}. Missing: "
                f"{', '.join(missing)}. Call start(context)."
            )
        units = [d.encode(np.array(d.read(context[name]))) for name, d in self.dimensions.items()]
        return np.concatenate(units).astype(np.float32)

    def act(self, observation: ArrayLike, state: ArrayLike | None = None) -> Any:
        """Return the action and the next state, for one observation or a batch of them.

        Args:
            observation: (O,) or (n, O); with an `observation_space` one of that, or a batch as
                Gymnasium's vector environments give it.
            state: (S,) or (n, S) the state of each, from `start` or the step before. A network
                with a memory begins an episode if it is left out.

        Raises:
            PolicyError: If a shape does not fit.
            ContextError: If the network sees its context, and there is no state.
        """
        # Observations with the context are vectors already.
        flatten = partial(np.asarray, dtype=np.float32) if self.sees_context else self.flatten
        x: Array = flatten(observation)
        if state is None:
            state = np.broadcast_to(self.start(), (*x.shape[:-1], self.state_size))
        state = np.asarray(state, np.float32)
        sizes = x.shape[-1:], state.shape
        if sizes != ((self.observation_size,), (*x.shape[:-1], self.state_size)):
            raise PolicyError(
                f"This policy takes observations of {self.observation_size} numbers and states of "
                f"{self.state_size}, one each or a batch. Got shapes {x.shape} and {state.shape}."
            )
        if self.memory is None:
            return self.head.act(np.concatenate((x, state), axis=-1)), state
        size = self.memory.size
        seen = np.concatenate((x, state[..., size:]), axis=-1)
        hidden = self.memory(seen, state[..., :size])
        action = self.head.act(hidden)
        return action, np.concatenate((hidden, self.code(action)), axis=-1)

    def predict(
        self,
        observation: ArrayLike,
        state: ArrayLike | None = None,
        episode_start: ArrayLike | None = None,
        deterministic: bool = True,  # noqa: ARG002 (it always is)
    ) -> Any:
        """Act as policies of stable-baselines3 do, such as in its `evaluate_policy`.

        Args:
            observation: As for `act`.
            state: As for `act`.
            episode_start: (n,) True where an episode begins, and with it a new memory.
            deterministic: Ignored.
        """
        if self.memory is not None and state is not None and episode_start is not None:
            state = np.where(np.asarray(episode_start)[..., None], self.start(), state)
        return self.act(observation, state)

    def flatten(self, observation: Any) -> Array:
        """Turn a plain observation, or a batch, into vectors to which the context is appended."""
        if self._flatten is not None:
            return self._flatten(observation)
        return np.asarray(observation, np.float32)

    def acting(self) -> DistilledPolicy:
        """Return the policy without critic and statistics."""
        return DistilledPolicy(
            self.head.acting(),
            dimensions=self.dimensions,
            memory=self.memory,
            observation_space=self.observation_space,
            sees_context=self.sees_context,
        )

    def to_onnx(self) -> bytes:
        """Return the policy as an ONNX file; see `make_distilled_onnx`."""
        from sdmbtl.policies.onnx_graph import make_distilled_onnx

        return make_distilled_onnx(self)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the weights by name."""
        named = self.head.arrays()
        if self.memory is not None:
            named |= {f"memory_{name}": a for name, a in self.memory._asdict().items()}
        return named

    def description(self) -> dict[str, Any]:
        """Return the layers, the spaces and the dimensions of the context."""
        from sdmbtl.policies.spaces import space_to_json

        observed = self.observation_space
        told = {"sees_context": True} if self.sees_context else {}
        return {
            **told,
            "head": self.head.description(),
            "dimensions": None
            if self.dimensions is None
            else [{"name": name, **d.to_dict()} for name, d in self.dimensions.items()],
            "observation_space": None if observed is None else space_to_json(observed),
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], description: Mapping[str, Any]
    ) -> Self:
        """Make the policy again."""
        from sdmbtl.policies.spaces import space_from_json

        listed, observed = description["dimensions"], description["observation_space"]
        dimensions = memory = None
        if listed is None:
            memory = GatedUnit(*[arrays[f"memory_{name}"] for name in GatedUnit._fields])
        else:
            dimensions = {each["name"]: dimension_from_dict(each) for each in listed}
        return cls(
            MlpPolicy.from_arrays(arrays, description["head"]),
            dimensions=dimensions,
            memory=memory,
            observation_space=None if observed is None else space_from_json(observed),
            sees_context=description.get("sees_context", False),
        )
