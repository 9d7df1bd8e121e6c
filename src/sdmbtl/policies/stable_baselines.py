"""Policies of Stable-Baselines3, kept as weights and JSON."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from sdmbtl.checks import short_text
from sdmbtl.errors import MissingPackageError, PolicyError
from sdmbtl.foreign import DAMAGED, MAX_BYTES, check_size
from sdmbtl.policies.base import MISFITS, Policy
from sdmbtl.policies.spaces import space_from_json, space_to_json

try:
    import stable_baselines3  # noqa: F401 (its name is that of the error if it is missing)
    import torch
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.policies import BasePolicy
    from stable_baselines3.common.preprocessing import (
        is_image_space,
        is_image_space_channels_first,
    )
    from stable_baselines3.common.vec_env import VecNormalize, VecTransposeImage
except ModuleNotFoundError as _error:
    if _error.name not in ("stable_baselines3", "torch"):
        raise
    raise MissingPackageError(
        "This policy needs stable-baselines3, which is not installed. Install it with: "
        "pip install 'sdmbtl[sb3]'",
        name=_error.name,
    ) from None

from sdmbtl.policies.allocation_guard import AllocationGuard
from sdmbtl.policies.stable_baselines_names import (
    classes_from_names,
    names_from_classes,
    policy_class_of,
    policy_name_of,
)

#: Of the arguments of a policy, those that only training needs.
_FOR_TRAINING = ("optimizer_class", "optimizer_kwargs")

#: How the names of weights begin that acting does not need, in the policies of all algorithms.
_NOT_ACTING = (
    *("value_net.", "mlp_extractor.value_net.", "vf_features_extractor.", "log_std"),
    *("critic.", "critic_target.", "actor_target.", "q_net_target.", "quantile_net_target."),
)

#: Names of arrays: those of the network, and the statistics of observations and of returns.
_NETWORK, _MEAN, _VARIANCE = "network.", "observation_mean", "observation_variance"
_SEEN, _RETURNS = "observations_seen", "return_statistics"


@dataclass(frozen=True)
class Normalization:
    """How observations are normalised before the network sees them.

    Attributes:
        mean: Mean of each entry.
        variance: Variance of each entry.
        epsilon: Added to the variances.
        clip: Largest size of a normalised entry.
        seen: Number of observations that these are statistics of; None if it is not known.
    """

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    epsilon: float
    clip: float
    seen: float | None = None

    @classmethod
    def of(cls, environment: VecNormalize) -> Self | None:
        """The statistics at this moment, or None if observations are not normalised."""
        if not environment.norm_obs:
            return None
        moments: Any = environment.obs_rms
        if isinstance(moments, dict):
            raise PolicyError("Normalised observations must be one array, not a dictionary.")
        return cls(
            np.array(moments.mean, dtype=np.float64),
            np.array(moments.var, dtype=np.float64),
            float(environment.epsilon),
            float(environment.clip_obs),
            float(moments.count),
        )

    def __call__(self, observation: NDArray[Any]) -> NDArray[np.float32]:
        """Normalise an observation or a batch, exactly as VecNormalize does."""
        scaled = (observation - self.mean) / np.sqrt(self.variance + self.epsilon)
        return np.clip(scaled, -self.clip, self.clip).astype(np.float32)


@dataclass(frozen=True)
class ReturnStatistics:
    """Running statistics of discounted returns, by which rewards were normalised in training.

    Attributes:
        mean: Their mean.
        variance: Their variance.
        seen: How many there were.
    """

    mean: float
    variance: float
    seen: float

    @classmethod
    def of(cls, environment: VecNormalize) -> Self | None:
        """The statistics at this moment, or None if rewards are not normalised."""
        if not environment.norm_reward:
            return None
        moments = environment.ret_rms
        return cls(float(moments.mean), float(moments.var), float(moments.count))


@dataclass(frozen=True)
class Architecture:
    """What a network is made from.

    Attributes:
        algorithm: Name of the algorithm, for example "PPO".
        policy: Stable-Baselines3's short name of the policy, for example "MlpPolicy", or
            "module:Class" for one of the user's own.
        policy_kwargs: Arguments of the policy as JSON data; classes by name.
        observation_space: As the network sees it.
        action_space: As the environment has it.
    """

    algorithm: str
    policy: str
    policy_kwargs: Mapping[str, Any]
    observation_space: spaces.Space[Any]
    action_space: spaces.Space[Any]

    def build(self, weights: Mapping[str, torch.Tensor]) -> BasePolicy:
        """Make the network with these weights; those that acting does not need may be missing.

        Raises:
            PolicyError: If the weights or the arguments do not fit it.
        """
        policy_class = policy_class_of(self.algorithm, self.policy)
        arguments = classes_from_names(self.policy_kwargs)
        if self.algorithm == "DDPG":  # which is TD3 with a single critic
            arguments.setdefault("n_critics", 1)
        # ARS learns without gradients, so its policies take no schedule of learning rates.
        schedule = () if self.algorithm == "ARS" else (lambda _: 0.0,)
        try:
            # A network draws its first weights from the global generator, which is not ours.
            with torch.random.fork_rng(devices=[]), AllocationGuard.of(weights.values()):
                network = policy_class(
                    self.observation_space, self.action_space, *schedule, **arguments
                )
            missing, unknown = network.load_state_dict(dict(weights), strict=False)
            lacking = [name for name in missing if self.needs_to_act(name)]
            if lacking or unknown:
                raise ValueError(f"missing {lacking}, unknown {unknown}")
        except MISFITS as error:
            raise PolicyError(
                f"The weights are not those of a {self.policy} of {self.algorithm} with "
                f"policy_kwargs={short_text(dict(self.policy_kwargs))}: {error}"
            ) from None
        network.set_training_mode(False)
        # Every prediction sets the mode again, module by module, for a third of its time.
        network.set_training_mode = lambda _: None  # type: ignore[assignment,method-assign]
        return network

    def needs_to_act(self, name: str) -> bool:
        """Whether the weights of this name are needed to act; of one's own class all are."""
        return ":" in self.policy or not name.startswith(_NOT_ACTING)


class StableBaselinesPolicy(Policy):
    """A network of Stable-Baselines3, and the statistics by which it sees observations.

    Args:
        architecture: What the network is made from.
        weights: Its state dict; what only training needs may be missing.
        normalization: How observations are normalised; None if they are not.
        returns: How rewards were normalised, for who trains the policy further; None if they
            were not, or it is not known.

    Raises:
        PolicyError: If the weights do not fit the architecture.
    """

    kind = "stable-baselines3"

    def __init__(
        self,
        architecture: Architecture,
        weights: Mapping[str, torch.Tensor],
        normalization: Normalization | None = None,
        returns: ReturnStatistics | None = None,
    ) -> None:
        self.architecture = architecture
        self.normalization = normalization
        self.returns = returns
        self._network = architecture.build(weights)
        self._kept = frozenset(weights)

    @classmethod
    def from_model(cls, model: BaseAlgorithm) -> Self:
        """A copy of a model's policy as it is now, with the statistics of its VecNormalize.

        Raises:
            PolicyError: If the class of its policy, or what that is made with, has no name.
        """
        used = {k: v for k, v in model.policy_kwargs.items() if k not in _FOR_TRAINING}
        if model.use_sde:
            used["use_sde"] = True
        architecture = Architecture(
            type(model).__name__,
            policy_name_of(model),
            names_from_classes(used),
            model.observation_space,
            model.action_space,
        )
        normalizing = model.get_vec_normalize_env()
        return cls(
            architecture,
            model.policy.state_dict(),
            None if normalizing is None else Normalization.of(normalizing),
            None if normalizing is None else ReturnStatistics.of(normalizing),
        )

    @classmethod
    def from_archive(
        cls,
        path: str | Path,
        environment: Any,
        algorithm: str = "PPO",
        policy: str = "MlpPolicy",
        policy_kwargs: Mapping[str, Any] | None = None,
        normalization: Normalization | None = None,
    ) -> Self:
        """Read the policy of an archive that `model.save()` wrote, without executing any of it.

        Of the archive only the weights are read. What else it says is pickled, and a pickle can
        run anything; so the arguments have to say how the model was made.

        Args:
            path: The .zip file.
            environment: The family, or an environment with the same spaces.
            algorithm: Its name.
            policy: The policy's short name.
            policy_kwargs: As the model had them; classes by name, for example
                {"activation_fn": "torch.nn.ReLU"}.
            normalization: Statistics of the model's VecNormalize, if it had one.

        Raises:
            PolicyError: If the file does not hold such a policy, or holds more than weights.
            FileNotFoundError: If there is no file.
        """
        environment = environment.make() if hasattr(environment, "make") else environment
        observed = environment.observation_space
        if is_image_space(observed) and not is_image_space_channels_first(observed):
            observed = VecTransposeImage.transpose_space(observed)
        architecture = Architecture(
            algorithm, policy, dict(policy_kwargs or {}), observed, environment.action_space
        )
        return cls(architecture, _read_archive(path), normalization)

    def act(self, observation: ArrayLike) -> Any:
        """The action for one observation, or for a batch of them (one more leading axis)."""
        seen = np.asarray(observation)
        expected = self.architecture.observation_space.shape or ()
        leading = seen.ndim - len(expected)
        if leading not in (0, 1) or not self._fits(seen.shape[leading:]):
            raise PolicyError(
                f"This policy takes observations of shape {expected}, one or a batch. "
                f"Got shape {seen.shape} instead."
            )
        if self.normalization is not None:
            seen = self.normalization(seen)
        actions, _ = self._network.predict(seen, deterministic=True)
        if leading == 0 and isinstance(self.architecture.action_space, spaces.Discrete):
            return int(actions)
        return actions

    def to_stable_baselines3(self, path: str | Path) -> list[Path]:
        """Write the policy as a model of Stable-Baselines3, which its own `load` reads.

        The statistics of normalised observations go into a second file beside it, for
        `VecNormalize.load`. Both are in that library's formats, which have pickles: whoever gets
        them has to trust you. Weights that an exported policy no longer has are drawn anew.

        Args:
            path: The file of the model, a .zip.

        Returns:
            The files that were written.
        """
        from sdmbtl.policies.stable_baselines_model import save_model

        return save_model(self, path)

    def weights(self) -> dict[str, torch.Tensor]:
        """The state dict of the network; of an exported policy, without what only training needs.

        Its tensors are those of the network: copy what you change.
        """
        state = self._network.state_dict()
        return {name: tensor.detach() for name, tensor in state.items() if name in self._kept}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The network's weights and the statistics, by name."""
        named = {f"{_NETWORK}{name}": t.cpu().numpy() for name, t in self.weights().items()}
        if self.normalization is not None:
            named |= {_MEAN: self.normalization.mean, _VARIANCE: self.normalization.variance}
            if self.normalization.seen is not None:
                named[_SEEN] = np.array([self.normalization.seen])
        if self.returns is not None:
            named[_RETURNS] = np.array(astuple(self.returns))
        return named

    def acting(self) -> StableBaselinesPolicy:
        """The policy without critics, target networks, exploration and counts."""
        kept = {n: t for n, t in self.weights().items() if self.architecture.needs_to_act(n)}
        normalized = self.normalization
        return StableBaselinesPolicy(
            self.architecture, kept, None if normalized is None else replace(normalized, seen=None)
        )

    def description(self) -> dict[str, Any]:
        """The architecture, and the constants of the normalisation."""
        made, normalized = self.architecture, self.normalization
        return {
            **vars(made),
            "policy_kwargs": dict(made.policy_kwargs),
            "observation_space": space_to_json(made.observation_space),
            "action_space": space_to_json(made.action_space),
            "normalization": None
            if normalized is None
            else {"epsilon": normalized.epsilon, "clip": normalized.clip},
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], description: Mapping[str, Any]
    ) -> Self:
        """Make the policy again."""
        constants = description["normalization"]
        observed = space_from_json(description["observation_space"])
        return cls(
            Architecture(
                description["algorithm"],
                description["policy"],
                description["policy_kwargs"],
                observed,
                space_from_json(description["action_space"]),
            ),
            {
                name.removeprefix(_NETWORK): torch.tensor(array)
                for name, array in arrays.items()
                if name.startswith(_NETWORK)
            },
            None if constants is None else _normalization(arrays, constants, observed.shape),
            ReturnStatistics(*arrays[_RETURNS].tolist()) if _RETURNS in arrays else None,
        )

    def _fits(self, shape: tuple[int, ...]) -> bool:
        space = self.architecture.observation_space
        if is_image_space(space) and (shape[-1], *shape[:-1]) == space.shape:
            return True  # channels last, which Stable-Baselines3 transposes
        return shape == (space.shape or ())


def _normalization(
    arrays: Mapping[str, NDArray[Any]], constants: Mapping[str, Any], shape: tuple[int, ...] | None
) -> Normalization:
    """The statistics in a file, which must fit the observations."""
    seen = float(arrays[_SEEN][0]) if _SEEN in arrays else None
    made = Normalization(arrays[_MEAN], arrays[_VARIANCE], **constants, seen=seen)
    if not made.mean.shape == made.variance.shape == shape:
        raise PolicyError(
            f"Mean and variance must have the shape of observations, {shape}. Got shapes "
            f"{made.mean.shape} and {made.variance.shape} instead."
        )
    if not (made.variance >= 0).all() or not made.epsilon > 0 or not made.clip > 0:
        raise PolicyError(
            "A variance must be >= 0, and 'epsilon' and 'clip' above 0. Got a variance of "
            f"{made.variance.min():g}, {made.epsilon!r} and {made.clip!r} instead."
        )
    return made


# -- archives ----------------------------------------------------------------------------


def _read_archive(path: str | Path) -> dict[str, torch.Tensor]:
    """The state dict of a policy in an archive; the pickled rest is not opened."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no archive {str(path)!r}.")
    try:
        with zipfile.ZipFile(path) as archive:
            check_size(path, archive.getinfo("policy.pth").file_size, MAX_BYTES)
            content = archive.read("policy.pth")
    except DAMAGED as error:
        raise PolicyError(
            f"{path} is not an archive of Stable-Baselines3, as model.save() writes ({error})."
        ) from None
    try:
        _check_stored(content)
        weights = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, AssertionError, *DAMAGED) as error:
        reason = str(error).partition("\n")[0]
        raise PolicyError(
            f"The weights in {path} are damaged, or hold more than weights, which is not opened "
            f"({reason})."
        ) from None
    if not isinstance(weights, Mapping) or not all(
        isinstance(name, str) and isinstance(tensor, torch.Tensor)
        for name, tensor in weights.items()
    ):
        raise PolicyError(f"The weights in {path} are not tensors with names.")
    for name, tensor in weights.items():
        if not torch.isfinite(tensor).all():
            raise PolicyError(f"The weights {name!r} in {path} are not finite.")
    return dict(weights)


def _check_stored(content: bytes) -> None:
    """Refuse weights that are packed again: torch does not do that, and unpacks anything."""
    with zipfile.ZipFile(io.BytesIO(content)) as inner:
        entries = inner.infolist()
    packed = [entry.filename for entry in entries if entry.compress_type != zipfile.ZIP_STORED]
    if packed:
        raise ValueError(f"{packed[0]!r} in its weights is compressed")
    if sum(entry.file_size for entry in entries) > len(content):
        raise ValueError("its weights are larger than the file")
