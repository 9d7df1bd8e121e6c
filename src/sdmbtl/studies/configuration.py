"""What a study is about: everything that decides which policies it will train."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdmbtl.checks import short_text, whole_number
from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import ConfigurationError, StudyError
from sdmbtl.selectors import make_selector

if TYPE_CHECKING:
    from sdmbtl.environments import EnvironmentFamily

_ABSENT = object()


@dataclass(frozen=True)
class Configuration:
    """The configuration of a study, as JSON data; the same one gives the same study.

    Attributes:
        space: The context space, `ContextSpace.to_dict()`.
        family: The environments, `EnvironmentFamily.settings()` without the space; None if
            training is the caller's and the study is only asked and told.
        trainer: Name and settings of the trainer; None as above.
        selector: Name and options of the selector.
        seed: Root of every random number.
        episodes: Episodes for each policy on each target.
        batch: Policies that are chosen, and trained, at once.
        retries: How often a failed training is tried again, each time with another seed.
        return_range: Lowest and highest return of an episode, if known.
    """

    space: dict[str, Any]
    family: dict[str, Any] | None = None
    trainer: dict[str, Any] | None = None
    selector: dict[str, Any] = field(default_factory=lambda: {"name": "auto", "options": {}})
    seed: int = 0
    episodes: int = 10
    batch: int = 1
    retries: int = 1
    return_range: list[float] | None = None

    def __post_init__(self) -> None:
        for name, low in (("seed", 0), ("episodes", 1), ("batch", 1), ("retries", 0)):
            whole_number(name, getattr(self, name), low=low, error=StudyError)

    def family_settings(self) -> dict[str, Any] | None:
        """Name and options of the environments, the space among them, for `make_family`."""
        if self.family is None:
            return None
        options = {**self.family["options"], "space": self.space}
        return {"name": self.family["name"], "options": options}

    def to_dict(self) -> dict[str, Any]:
        """The configuration as JSON data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Configuration:
        """Read it back."""
        return cls(**data)

    def check_same(self, recorded: Configuration, path: object) -> None:
        """Refuse to go on with a study that was made with another configuration.

        Raises:
            ConfigurationError: With every difference, one a line.
        """
        lines = _differences("", recorded.to_dict(), self.to_dict())
        if lines:
            raise ConfigurationError(
                f"The study in {str(path)!r} was made with another configuration:\n"
                + "\n".join(f"  {line}" for line in lines)
                + "\nGo on with the recorded one (sdmbtl resume, or Study.open(path) alone), or "
                "choose another directory."
            )


def _differences(path: str, recorded: object, given: object) -> list[str]:
    """Where two pieces of JSON data differ, in words."""
    if recorded == given:
        return []
    if isinstance(recorded, Mapping) and isinstance(given, Mapping):
        lines = []
        for key in dict.fromkeys([*recorded, *given]):
            inner = f"{path}.{key}" if path else str(key)
            lines += _differences(inner, recorded.get(key, _ABSENT), given.get(key, _ABSENT))
        return lines
    return [f"{path}: recorded {_shown(recorded)}, now {_shown(given)}"]


def _shown(value: object) -> str:
    return "nothing" if value is _ABSENT else short_text(value)


def configured(
    env: str | EnvironmentFamily | None,
    *,
    space: str | Path | ContextSpace | None,
    selector: str,
    selector_options: Mapping[str, Any],
    trainer: str,
    trainer_options: Mapping[str, Any],
    **numbers: Any,
) -> Configuration:
    """Complete what a user gave to a configuration; wrong names are noticed here."""
    targets, returns, parts = (
        _space_alone(space) if env is None else _trained(env, space, trainer, trainer_options)
    )
    make_selector(selector, targets, **selector_options)
    made = Configuration(
        space=targets.to_dict(),
        selector={"name": selector, "options": dict(selector_options)},
        return_range=None if returns is None else list(returns),
        **parts,
        **numbers,
    )
    try:  # as it will be read back: a tuple becomes a list
        return Configuration.from_dict(json.loads(json.dumps(made.to_dict())))
    except TypeError as error:
        raise StudyError(
            f"The settings of a study are kept as JSON: numbers, texts, lists. {error}."
        ) from None


_Parts = tuple[ContextSpace, tuple[float, float] | None, dict[str, Any]]


def _space_alone(space: str | Path | ContextSpace | None) -> _Parts:
    """For training of one's own: the space, and the range of returns if its file names it."""
    if isinstance(space, ContextSpace):
        return space, None, {}
    from sdmbtl.contexts import load_space

    targets, extras = load_space(str(space))
    return targets, extras.get("return_range"), {}


def _trained(
    env: str | EnvironmentFamily,
    space: str | Path | ContextSpace | None,
    trainer: str,
    options: Mapping[str, Any],
) -> _Parts:
    from sdmbtl.environments import make_family
    from sdmbtl.trainers import make_trainer

    family = make_family(env, space=space) if isinstance(env, str) else env
    targets = _targets(family, None if isinstance(env, str) else space)
    family.make(targets.target(0)).close()  # if it cannot be made, no study is
    made = make_trainer(trainer, family, targets, **options)
    settings = family.settings()
    settings["options"].pop("space", None)  # recorded by itself, however it was named
    parts = {
        "family": settings,
        "trainer": {"name": made.name, "settings": made.settings()},
    }
    return targets, family.return_range, parts


def _targets(family: EnvironmentFamily, space: str | Path | ContextSpace | None) -> ContextSpace:
    if space is None or (isinstance(space, str) and space in family.ranges):
        return family.space(space)
    from sdmbtl.contexts import read_space

    return read_space(space)[0]


def versions(configuration: Configuration) -> dict[str, str]:
    """The software that a study is made with."""
    names = ["sdmbtl", "numpy", "scipy"]
    if configuration.family is not None:
        names += ["gymnasium", "jax", "jaxlib", "stable-baselines3", "torch"]
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
