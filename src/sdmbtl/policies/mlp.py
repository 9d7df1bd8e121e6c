"""A multilayer perceptron that acts with NumPy alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.checks import check_int
from sdmbtl.errors import PolicyError
from sdmbtl.policies.base import Policy

if TYPE_CHECKING:
    from gymnasium import spaces

    from sdmbtl.policies.images import ImageShape

#: Largest size of observations that are normalised in training.
OBSERVATION_LIMIT = 10.0


class ReturnStatistics(NamedTuple):
    """Statistics of the discounted returns of training, by which rewards are scaled."""

    mean: float
    variance: float
    number: float


class MlpPolicy(Policy):
    """Tanh layers; the largest output is a discrete action, or the outputs are a continuous one.

    Args:
        weights: For each layer its (inputs, outputs) matrix; before these for each convolution
            its (k, k, channels, outputs) kernels, if there is an `image`.
        biases: For each layer its (outputs,) vector.
        shift: (O,) subtracted from an observation, and
        scale: (O,) multiplied with the difference, before the first layer.
        bounds: Lowest and highest continuous action; None for discrete ones.
        limit: Largest size of an entry that the first layer sees; None for any.
        critic: For each layer of the critic its matrix and vector, for further training; none if
            it is not known.
        observations_seen: Number of observations in the statistics of shift and scale, if known.
        return_statistics: Statistics by which rewards were scaled in training, if they were.
        observation_space: Space of observations that are not vectors of floats: they are
            flattened, without the context if that is seen.
        action_space: Space of actions that are neither numbers from 0, nor vectors with the same
            `bounds` in each entry.
        sees_context: Observations are vectors that end with the unit coordinates of the context;
            `flatten` gives the entries before those.
        image: Shape of the image that observations begin with; None if nothing is convolved.
    """

    kind = "mlp"

    def __init__(
        self,
        weights: Sequence[NDArray[np.float32]],
        biases: Sequence[NDArray[np.float32]],
        shift: NDArray[np.float32],
        scale: NDArray[np.float32],
        bounds: tuple[float, float] | None = None,
        limit: float | None = None,
        *,
        critic: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]] = (),
        observations_seen: float | None = None,
        return_statistics: ReturnStatistics | None = None,
        observation_space: spaces.Space[Any] | None = None,
        action_space: spaces.Space[Any] | None = None,
        sees_context: bool = False,
        image: ImageShape | None = None,
    ) -> None:
        self.weights = [np.asarray(w, dtype=np.float32) for w in weights]
        self.biases = [np.asarray(b, dtype=np.float32) for b in biases]
        self.shift = np.asarray(shift, dtype=np.float32)
        self.scale = np.asarray(scale, dtype=np.float32)
        self.bounds = bounds
        self.limit = limit
        self.critic = [(np.asarray(w, np.float32), np.asarray(b, np.float32)) for w, b in critic]
        self.observations_seen = observations_seen
        self.return_statistics = return_statistics
        self.observation_space, self.action_space = observation_space, action_space
        self.sees_context, self.image = bool(sees_context), image
        if self.shift.ndim != 1 or self.scale.shape != self.shift.shape:
            raise PolicyError(
                "'shift' and 'scale' must be one number each for each entry of an observation. "
                f"Got shapes {self.shift.shape} and {self.scale.shape} instead."
            )
        if not self.weights or len(self.weights) != len(self.biases):
            raise PolicyError(
                "A policy needs one or more layers, each with weights and biases. Got "
                f"{len(self.weights)} weights and {len(self.biases)} biases instead."
            )
        layers = {"critic": self.critic, "actor": [*zip(self.weights, self.biases, strict=True)]}
        for what, each in layers.items():
            outputs = _count_outputs(what, each, self.observation_size, image)
        self._flat: Callable[[Any], NDArray[np.float32]] = _as_floats
        self._actions: Callable[[NDArray[np.float32]], Any] = self._plain_actions
        if observation_space is not None or action_space is not None:
            from sdmbtl.environments.flattening import FlatObservations
            from sdmbtl.policies.action_code import ActionCode

            sizes = self.observation_size, outputs
            if observation_space is not None:
                flat = FlatObservations(observation_space)
                self._flat, sizes = flat, (flat.size, sizes[1])
            if action_space is not None:
                actions = ActionCode(action_space)
                self._actions, sizes = actions.best, (sizes[0], actions.size)
            n_coordinates = self.observation_size - sizes[0]  # which are those of the context
            if (n_coordinates and not sees_context) or n_coordinates < 0 or sizes[1] != outputs:
                raise PolicyError(
                    f"The spaces have {sizes[0]} observed numbers and {sizes[1]} outputs, and the "
                    f"network is made for {self.observation_size} and {outputs}."
                )

    @property
    def observation_size(self) -> int:
        """O, the number of entries of an observation, after it was flattened."""
        return len(self.shift)

    def act(self, observation: Any) -> Any:
        """Return the action for one observation, or the actions for a batch of them.

        Args:
            observation: (O,) or (n, O); with an `observation_space` one of that, or a batch as
                Gymnasium's vector environments give it. A policy that sees the context always
                takes vectors, with its coordinates at the end.
        """
        return self._actions(self.outputs(observation))

    def outputs(self, observation: Any) -> NDArray[np.float32]:
        """Return the (K,) or (n, K) outputs for one observation, or for a batch of them."""
        x = _as_floats(observation) if self.sees_context else self._flat(observation)
        if x.ndim not in (1, 2) or x.shape[-1] != self.observation_size:
            raise PolicyError(
                f"This policy takes observations of {self.observation_size} numbers, one or a "
                f"batch. Got shape {x.shape} instead."
            )
        x = (x - self.shift) * self.scale
        if self.limit is not None:
            x = np.clip(x, -self.limit, self.limit)
        layers = list(zip(self.weights, self.biases, strict=True))
        outputs: NDArray[np.float32] = forward(layers, x, self.image)
        return outputs

    def flatten(self, observation: Any) -> NDArray[np.float32]:
        """Turn a plain observation, or a batch, into vectors to which the context is appended."""
        return self._flat(observation)

    def _plain_actions(self, output: NDArray[np.float32]) -> Any:
        if self.bounds is not None:
            return np.clip(output, *self.bounds)
        chosen = output.argmax(axis=-1)
        return int(chosen) if chosen.ndim == 0 else chosen

    def to_onnx(self) -> bytes:
        """Return the policy as an ONNX file; see `make_onnx`."""
        from sdmbtl.policies.onnx_graph import make_onnx

        return make_onnx(self)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the weights by name."""
        named = {f"weight_{i}": w for i, w in enumerate(self.weights)}
        named |= {f"bias_{i}": b for i, b in enumerate(self.biases)}
        named |= {"shift": self.shift, "scale": self.scale}
        for i, (weight, bias) in enumerate(self.critic):
            named |= {f"critic_weight_{i}": weight, f"critic_bias_{i}": bias}
        if self.observations_seen is not None:
            named["observations_seen"] = np.array([self.observations_seen])
        if self.return_statistics is not None:
            named["return_statistics"] = np.array(self.return_statistics)
        return named

    def acting(self) -> MlpPolicy:
        """Return the policy without critic and statistics."""
        parts = ("weight", "bias", "shift", "scale")
        kept = {name: array for name, array in self.arrays().items() if name.startswith(parts)}
        return self.from_arrays(kept, self.description())

    def description(self) -> dict[str, Any]:
        """Return the number of layers, the bounds, spaces that are not plain, and what is seen."""
        described: dict[str, Any] = {
            "layers": len(self.weights),
            "bounds": None if self.bounds is None else list(self.bounds),
            "limit": self.limit,
        }
        for name in ("observation_space", "action_space"):
            space = getattr(self, name)
            if space is not None:
                from sdmbtl.policies.spaces import space_to_json

                described[name] = space_to_json(space)
        if self.sees_context:
            described["sees_context"] = True
        if self.image is not None:
            described["image"] = list(astuple(self.image))
        return described

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], description: Mapping[str, Any]
    ) -> Self:
        """Make the policy again."""
        bounds = description["bounds"]
        layers = range(check_int("layers", description["layers"], low=1, error=PolicyError))
        critic = [i for i in range(len(arrays)) if f"critic_weight_{i}" in arrays]
        seen, statistics = arrays.get("observations_seen"), arrays.get("return_statistics")
        given: dict[str, Any] = {}
        if "image" in description:
            from sdmbtl.policies.images import ImageShape

            given["image"] = ImageShape(*description["image"])
        for name in ("observation_space", "action_space"):
            if name in description:
                from sdmbtl.policies.spaces import space_from_json

                given[name] = space_from_json(description[name])
        return cls(
            [arrays[f"weight_{i}"] for i in layers],
            [arrays[f"bias_{i}"] for i in layers],
            arrays["shift"],
            arrays["scale"],
            None if bounds is None else (float(bounds[0]), float(bounds[1])),
            description["limit"],
            critic=[(arrays[f"critic_weight_{i}"], arrays[f"critic_bias_{i}"]) for i in critic],
            observations_seen=None if seen is None else float(seen[0]),
            return_statistics=None
            if statistics is None
            else ReturnStatistics(*statistics.astype(float).tolist()),
            sees_context=description.get("sees_context", False),
            **given,
        )


def forward(layers: Sequence[tuple[Any, Any]], x: Any, image: ImageShape | None = None) -> Any:
    """Compute the outputs of a network of NumPy or JAX: tanh layers, of which the last is linear.

    Args:
        layers: Weights and biases; first those of convolutions, if the inputs begin with an image.
        x: (..., I) inputs.
        image: Shape of that image.
    """
    xp = x.__array_namespace__()
    if image is not None:
        from sdmbtl.policies.images import convolve

        x = convolve([layer for layer in layers if layer[0].ndim == 4], x, image)
        layers = [layer for layer in layers if layer[0].ndim == 2]
    for weight, bias in layers[:-1]:
        x = xp.tanh(x @ weight + bias)
    return x @ layers[-1][0] + layers[-1][1]


def _count_outputs(
    what: str,
    layers: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]],
    inputs: int,
    image: ImageShape | None,
) -> int:
    if image is not None:
        kernels = [weight.shape for weight, _ in layers if weight.ndim == 4]
        inputs += image.n_features(kernels) - image.size
    for number, (weight, bias) in enumerate(layers):
        if image is not None and weight.ndim == 4 and bias.shape == weight.shape[3:]:
            continue
        if weight.ndim != 2 or weight.shape[0] != inputs or bias.shape != weight.shape[1:]:
            raise PolicyError(
                f"Layer {number} of the {what} must have weights of shape ({inputs}, outputs) and "
                f"as many biases as outputs. Got shapes {weight.shape} and {bias.shape} instead."
            )
        inputs = weight.shape[1]
    return inputs


def _as_floats(observation: ArrayLike) -> NDArray[np.float32]:
    return np.asarray(observation, dtype=np.float32)
