"""Base class of trained policies, and the file they are kept in."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.checks import short_text
from sdmbtl.errors import MissingPackageError, PolicyError
from sdmbtl.files import write_atomically
from sdmbtl.foreign import DAMAGED, parse_json, read_bytes

VERSION = 1

#: Class of each kind of policy; imported when a file of that kind is loaded.
_KINDS = {
    "mlp": "sdmbtl.policies.mlp:MlpPolicy",
    "distilled": "sdmbtl.policies.distilled:DistilledPolicy",
    "stable-baselines3": "sdmbtl.policies.sb3:SB3Policy",
}

#: The one entry of a file's header: safetensors does not keep the order of several.
_HEADER = "sdmbtl"


class Policy(ABC):
    """Maps observations to actions, without chance.

    A policy is weights (named arrays) and a description (JSON data): nothing in its file is code.

    Attributes:
        sees_context: True if observations end with the unit coordinates of the context, as those
            of an environment that is made with `observe_context` do.
        remembers: True if `act` takes a state after the observation and returns the next one after
            the action; see `DistilledPolicy`.
    """

    kind: ClassVar[str]
    sees_context: bool = False
    remembers: bool = False

    @abstractmethod
    def act(self, observation: ArrayLike) -> Any:
        """The action for one observation, or for a batch of them (one more leading axis)."""

    def flatten(self, observation: Any) -> NDArray[Any]:
        """Turn a plain observation, or a batch, into vectors to which the context is appended."""
        return np.asarray(observation)

    def to_onnx(self) -> bytes:
        """The policy as an ONNX file, for programs that know nothing of this package.

        Raises:
            PolicyError: If this kind of policy cannot be one.
            MissingPackageError: If onnx is not installed.
        """
        raise PolicyError(
            f"A policy of the kind {self.kind!r} cannot be written as ONNX here. Use the exporter "
            "of the library that it comes from."
        )

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The weights by name."""

    @abstractmethod
    def description(self) -> dict[str, Any]:
        """Everything except the weights, as JSON data."""

    @classmethod
    @abstractmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], description: Mapping[str, Any]
    ) -> Self:
        """Make the policy again from `arrays()` and `description()`."""

    def acting(self) -> Policy:
        """Return the policy without arrays that only training needs."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Between processes a policy travels as its file: plain data, as on disk."""
        return policy_from_bytes, (policy_bytes(self),)


def policy_bytes(policy: Policy, notes: Mapping[str, Any] | None = None) -> bytes:
    """A policy and notes, any JSON data, as the content of a file; equal ones give equal bytes."""
    safetensors = _import_safetensors()
    header = {
        "version": VERSION,
        "kind": policy.kind,
        "description": policy.description(),
        "notes": dict(notes or {}),
    }
    arrays = {name: np.ascontiguousarray(array) for name, array in policy.arrays().items()}
    metadata = {_HEADER: json.dumps(header, sort_keys=True)}
    return bytes(safetensors.numpy.save(arrays, metadata=metadata))


def save_policy(path: str | Path, policy: Policy, notes: Mapping[str, Any] | None = None) -> None:
    """Write a policy to a file: a reader sees the old file or the new one, never half."""
    write_atomically(Path(path), policy_bytes(policy, notes))


def load_policy(path: str | Path) -> Policy:
    """Read a policy back; nothing from the file is executed.

    Raises:
        PolicyError: If the file is damaged, or not a policy of this package.
        LimitError: If it is too large.
        MissingPackageError: If safetensors is not installed.
        FileNotFoundError: If there is no file.
    """
    return policy_from_bytes(_read_bytes(path), str(path))


def policy_from_bytes(content: bytes, source: str = "This") -> Policy:
    """Make a policy again from `policy_bytes`; nothing in it is executed.

    Raises:
        PolicyError: If it is damaged, or not a policy of this package.
        LimitError: If it is too large.
    """
    header, arrays = _read_content(content, source)
    kind = header["kind"]
    if kind not in _KINDS:
        raise PolicyError(f"{source} holds a policy of kind {kind!r}; known: {', '.join(_KINDS)}.")
    module, _, name = _KINDS[kind].partition(":")
    policy_class: type[Policy] = getattr(import_module(module), name)
    try:
        for name, array in arrays.items():  # networks have numbers of 32 bits
            with np.errstate(over="ignore"):
                if not np.isfinite(array.astype(np.float32, copy=False)).all():
                    raise PolicyError(f"{name!r} has numbers that are not finite")
        return policy_class.from_arrays(arrays, header["description"])
    except DAMAGED as error:
        raise _damage_error(source, error) from None


def load_notes(path: str | Path) -> dict[str, Any]:
    """Read the notes that were kept with a policy."""
    header, _ = _read_content(_read_bytes(path), str(path))
    return dict(header["notes"])


def _read_bytes(path: str | Path) -> bytes:
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no policy file {str(path)!r}.")
    return read_bytes(path)


def _read_content(content: bytes, source: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays, each checked."""
    safetensors = _import_safetensors()
    try:
        arrays = safetensors.numpy.load(content)
        # The format: eight bytes of length, then as much JSON, which has the metadata.
        length = int.from_bytes(content[:8], "little")
        outer = parse_json(content[8 : 8 + length].decode(), source)
        header = parse_json(outer["__metadata__"][_HEADER], source)
        version = header["version"]
        for name, kind in (("kind", str), ("description", dict), ("notes", dict)):
            if not isinstance(header[name], kind):
                raise ValueError(f"{name!r} is {short_text(header[name])}")
    except (safetensors.SafetensorError, *DAMAGED) as error:
        raise _damage_error(source, error) from None
    if version != VERSION:
        raise PolicyError(f"{source} has format version {version!r}; this release reads {VERSION}.")
    return dict(header), arrays


def _import_safetensors() -> Any:
    """Import the package that policy files are read and written with."""
    try:
        import safetensors.numpy
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            "Policy files need safetensors, which is not installed. Install it with: "
            "pip install 'sdmbtl[environments]'",
            name=error.name,
        ) from None
    return safetensors


def _damage_error(source: str, error: Exception) -> PolicyError:
    return PolicyError(f"{source} is not a policy of sdmbtl, or it is damaged ({error}).")
