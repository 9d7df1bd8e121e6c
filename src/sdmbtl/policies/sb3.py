"""Policies of stable-baselines3 and sb3-contrib, kept as weights and JSON.

The network is made again with the library's own policy class. Classes in a file are looked up
among a few known ones, never imported: a file from elsewhere runs no code.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, NamedTuple, Self

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from sdmbtl.checks import known_name, short_text
from sdmbtl.errors import MissingPackageError, PolicyError
from sdmbtl.foreign import DAMAGED, MAX_BYTES, check_size
from sdmbtl.policies.base import Policy
from sdmbtl.policies.mlp import ReturnStatistics
from sdmbtl.policies.spaces import space_from_json, space_to_json

try:
    import stable_baselines3
    import torch
    from stable_baselines3.common import torch_layers
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.policies import BasePolicy
except ModuleNotFoundError as _error:
    if _error.name not in ("stable_baselines3", "torch"):
        raise
    raise MissingPackageError(
        "This policy needs stable-baselines3, which is not installed. Install it with: "
        "pip install 'sdmbtl[sb3]'",
        name=_error.name,
    ) from None

ALGORITHMS = ("PPO", "A2C", "SAC", "TD3", "DDPG", "DQN")
#: Algorithms of the package sb3-contrib. Recurrent and maskable ones need more than an observation.
CONTRIB_ALGORITHMS = ("TRPO", "TQC", "CrossQ", "QRDQN", "ARS")

#: Modules whose classes JSON data may name; no other name is ever looked up.
_CLASS_MODULES = {module.__name__: module for module in (torch.nn, torch.optim, torch_layers)}
#: Arguments of a policy that only training needs.
_FOR_TRAINING = ("optimizer_class", "optimizer_kwargs")
#: Numbers above this in a policy's arguments must be sizes of weights; at most this many numbers.
LARGEST_UNSEEN, MOST_SIZES = 4096, 64

#: Names of arrays: those of the network, and the statistics of observations and of returns.
_NETWORK, _MEAN, _VARIANCE = "network.", "observation_mean", "observation_variance"
_SEEN, _RETURNS = "observations_seen", "return_statistics"


class Normalization(NamedTuple):
    """Statistics of `seen` observations, as VecNormalize has them."""

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    epsilon: float
    clip: float
    seen: float

    def __call__(self, observation: NDArray[Any]) -> NDArray[np.float32]:
        """Normalise an observation or a batch, as VecNormalize does."""
        scaled = (observation - self.mean) / np.sqrt(self.variance + self.epsilon)
        return np.clip(scaled, -self.clip, self.clip).astype(np.float32)


class SB3Policy(Policy):
    """A network of stable-baselines3, and the statistics by which it sees observations.

    Args:
        algorithm: Name of the algorithm, for example "PPO".
        policy: Short name of the policy, for example "MlpPolicy".
        policy_kwargs: Arguments of the policy as JSON data; classes by name.
        observation_space: Observations as the network sees them.
        action_space: Actions of the environment.
        weights: State dict.
        normalization: Normalisation of observations, if there is one.
        returns: Statistics by which rewards were normalised, for further training.
        sees_context: Observations end with the unit coordinates of the context.

    Raises:
        PolicyError: If the weights do not fit.
    """

    kind = "stable-baselines3"

    def __init__(
        self,
        algorithm: str,
        policy: str,
        policy_kwargs: Mapping[str, Any],
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        weights: Mapping[str, torch.Tensor],
        normalization: Normalization | None = None,
        returns: ReturnStatistics | None = None,
        *,
        sees_context: bool = False,
    ) -> None:
        self.algorithm, self.policy, self.policy_kwargs = algorithm, policy, dict(policy_kwargs)
        self.observation_space, self.action_space = observation_space, action_space
        self.normalization, self.returns = normalization, returns
        self.sees_context = bool(sees_context)
        self._network = self._build(weights)

    @classmethod
    def from_model(
        cls,
        model: BaseAlgorithm,
        policy: str = "MlpPolicy",
        policy_kwargs: Any = None,
        *,
        sees_context: bool = False,
    ) -> Self:
        """Copy a model's policy as it is now, with the statistics of its VecNormalize.

        The short name and the arguments of the policy are those that the model was made with.
        """
        used = {k: v for k, v in (policy_kwargs or {}).items() if k not in _FOR_TRAINING}
        if model.use_sde:
            used["use_sde"] = True
        normalizing: Any = model.get_vec_normalize_env()
        normalization = returns = None
        if normalizing is not None and normalizing.norm_obs:
            moments = normalizing.obs_rms
            mean, variance = (np.array(m, dtype=np.float64) for m in (moments.mean, moments.var))
            constants = (float(normalizing.epsilon), float(normalizing.clip_obs))
            normalization = Normalization(mean, variance, *constants, float(moments.count))
        if normalizing is not None and normalizing.norm_reward:
            moments = normalizing.ret_rms
            returns = ReturnStatistics(*map(float, (moments.mean, moments.var, moments.count)))
        made = type(model).__name__, policy, used, model.observation_space, model.action_space
        statistics = model.policy.state_dict(), normalization, returns
        return cls(*made, *statistics, sees_context=sees_context)

    def _build(self, weights: Mapping[str, torch.Tensor]) -> BasePolicy:
        """Make the network with these weights."""
        policy_class = policy_class_of(self.algorithm, self.policy)
        arguments = classes_from_names(self.policy_kwargs)
        if self.algorithm == "DDPG":  # which is TD3 with a single critic
            arguments.setdefault("n_critics", 1)
        # ARS learns without gradients, so its policies take no schedule of learning rates.
        schedule = () if self.algorithm == "ARS" else (lambda _: 0.0,)
        try:
            _check_sizes(self.policy_kwargs, weights)
            # A network draws its first weights from the global generator, which is not ours.
            with torch.random.fork_rng(devices=[]):
                network = policy_class(
                    self.observation_space, self.action_space, *schedule, **arguments
                )
            network.load_state_dict(dict(weights))
        except DAMAGED as error:
            reason = str(error).strip().rpartition("\n")[2].strip()  # torch begins with a heading
            raise PolicyError(
                f"The weights are not those of a {self.policy} of {self.algorithm} with "
                f"policy_kwargs={short_text(self.policy_kwargs)}: {reason}"
            ) from None
        network.set_training_mode(False)
        # Every prediction sets the mode again, module by module, for a third of its time.
        network.set_training_mode = lambda _: None  # type: ignore[assignment,method-assign]
        return network

    def act(self, observation: ArrayLike) -> Any:
        """Return the action for one observation, or for a batch (one more leading axis)."""
        seen: Any = np.asarray(observation)
        try:
            if self.normalization is not None:
                seen = self.normalization(seen)
            actions, _ = self._network.predict(seen, deterministic=True)
        except ValueError:
            raise PolicyError(
                f"This policy takes observations of shape {self.observation_space.shape}, one or a "
                f"batch. Got shape {np.shape(observation)} instead."
            ) from None
        is_single = isinstance(self.action_space, spaces.Discrete) and not np.ndim(actions)
        return int(actions) if is_single else actions

    def weights(self) -> dict[str, torch.Tensor]:
        """Return the state dict. Its tensors are those of the network: copy what you change."""
        return {name: tensor.detach() for name, tensor in self._network.state_dict().items()}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the network's weights and the statistics, by name."""
        named = {f"{_NETWORK}{name}": t.cpu().numpy() for name, t in self.weights().items()}
        if self.normalization is not None:
            named |= {_MEAN: self.normalization.mean, _VARIANCE: self.normalization.variance}
            named[_SEEN] = np.array([self.normalization.seen])
        if self.returns is not None:
            named[_RETURNS] = np.array(self.returns)
        return named

    def description(self) -> dict[str, Any]:
        """Return what the network is made from, and the constants of the normalisation."""
        scaled = self.normalization
        described = {
            "algorithm": self.algorithm,
            "policy": self.policy,
            "policy_kwargs": self.policy_kwargs,
            "observation_space": space_to_json(self.observation_space),
            "action_space": space_to_json(self.action_space),
            "normalization": scaled and {"epsilon": scaled.epsilon, "clip": scaled.clip},
        }
        return {**described, "sees_context": True} if self.sees_context else described

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], description: Mapping[str, Any]
    ) -> Self:
        """Make the policy again."""
        observed = space_from_json(description["observation_space"])
        normalization = None
        if description["normalization"] is not None:
            mean, variance = (arrays[name].reshape(observed.shape) for name in (_MEAN, _VARIANCE))
            seen = float(arrays[_SEEN][0])
            normalization = Normalization(mean, variance, **description["normalization"], seen=seen)
        return cls(
            description["algorithm"],
            description["policy"],
            description["policy_kwargs"],
            observed,
            space_from_json(description["action_space"]),
            {
                name.removeprefix(_NETWORK): torch.tensor(array)
                for name, array in arrays.items()
                if name.startswith(_NETWORK)
            },
            normalization,
            ReturnStatistics(*arrays[_RETURNS].tolist()) if _RETURNS in arrays else None,
            sees_context=description.get("sees_context", False),
        )


def read_archive(path: Path) -> dict[str, torch.Tensor]:
    """Read the weights in an archive of stable-baselines3; nothing in it is unpickled but tensors.

    Raises:
        PolicyError: If it is damaged, or something else.
        LimitError: If it is too large.
        FileNotFoundError: If it is not there.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            check_size(path, archive.getinfo("policy.pth").file_size, MAX_BYTES)
            content = io.BytesIO(archive.read("policy.pth"))
        weights: dict[str, torch.Tensor] = torch.load(content, "cpu", weights_only=True)
        return weights
    except FileNotFoundError:
        raise
    except UnpicklingError:  # its advice is to read the file without these precautions
        raise PolicyError(
            f"{str(path)!r} holds more than weights, or something else, and is not read. Save the "
            "model again with stable-baselines3."
        ) from None
    except DAMAGED as error:
        raise PolicyError(
            f"{str(path)!r} is not an archive of stable-baselines3, or it is damaged ({error})."
        ) from None


def _check_sizes(arguments: Mapping[str, Any], weights: Mapping[str, torch.Tensor]) -> None:
    """Refuse arguments of some bytes that ask for a network that nobody has weights for."""
    known = {size for tensor in weights.values() for size in tensor.shape}
    sizes = [int(number) for number in re.findall(r"\d+", json.dumps(arguments))]
    if len(sizes) > MOST_SIZES or any(n > LARGEST_UNSEEN and n not in known for n in sizes):
        raise PolicyError(f"the network would be larger than its weights: {short_text(arguments)}")


def algorithm_class(name: str) -> type[BaseAlgorithm]:
    """Find an algorithm by name; a `PolicyError` if it is unknown or not installed."""
    known_name("algorithm", name, (*ALGORITHMS, *CONTRIB_ALGORITHMS), error=PolicyError)
    try:
        package = stable_baselines3 if name in ALGORITHMS else import_module("sb3_contrib")
    except ModuleNotFoundError:
        raise PolicyError(
            f"The algorithm {name!r} needs sb3-contrib, which is not installed. Install it with: "
            "pip install 'sdmbtl[contrib]'"
        ) from None
    found: type[BaseAlgorithm] = getattr(package, name)
    return found


def policy_class_of(algorithm: str, policy: str) -> type[BasePolicy]:
    """Find the policy class that an algorithm has under a short name, or raise `PolicyError`."""
    aliases = algorithm_class(algorithm).policy_aliases
    known_name("policy", policy, aliases, has=f"{algorithm} has", error=PolicyError)
    return aliases[policy]


def classes_from_names(arguments: Any) -> Any:
    """Copy arguments of a policy with the class instead of each name, or raise `PolicyError`."""
    if isinstance(arguments, Mapping):
        return {key: classes_from_names(inner) for key, inner in arguments.items()}
    if isinstance(arguments, list | tuple):
        return [classes_from_names(inner) for inner in arguments]
    if not isinstance(arguments, str):
        return arguments
    module, _, name = arguments.rpartition(".")
    found = getattr(_CLASS_MODULES.get(module), name, None)
    if not isinstance(found, type):
        raise PolicyError(
            f"Unknown class {arguments!r} in 'policy_kwargs'. Name an activation as "
            "'torch.nn.ReLU', an optimizer as 'torch.optim.AdamW', or a features extractor as "
            f"'{torch_layers.__name__}.NatureCNN'."
        )
    return found
