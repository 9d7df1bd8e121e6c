"""Configuration of a study: everything that decides which policies it will train."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sdmbtl.checks import (
    MAX_COUNT,
    check_int,
    check_return_range,
    known_name,
    short_text,
)
from sdmbtl.contexts import ContextSpace, read_space
from sdmbtl.errors import ConfigurationError, DamagedStudyError, StudyError
from sdmbtl.json_data import differences
from sdmbtl.machine import CORE, TRAINING, versions
from sdmbtl.selectors import GeneralistFirstSelector, Selector, make_selector
from sdmbtl.selectors.make import resolve_auto, split_options
from sdmbtl.trust import ORIGIN

if TYPE_CHECKING:
    from sdmbtl.environments import EnvironmentFamily
    from sdmbtl.training import Trainer, TrainerSpec

Evaluate = Literal["all", "chosen"]

#: Parts of a configuration that have a name, and the key of their settings.
PARTS = {"selector": "options", "family": "options", "trainer": "settings"}


@dataclass(frozen=True)
class Configuration:
    """The configuration of a study, as JSON data; the same one gives the same study.

    Other attributes are as in `Study.open`.

    Attributes:
        space: The context space, `ContextSpace.to_dict()`.
        family: The environments, as in `TrainerSpec`; None if training is the caller's and the
            study is used by ask and tell only.
        trainer: Name and settings of the trainer; None as above.
        selector: Name and options of the selector.
        return_range: Lowest and highest return of an episode, if known.
    """

    space: dict[str, Any]
    family: dict[str, Any] | None = None
    trainer: dict[str, Any] | None = None
    selector: dict[str, Any] = field(default_factory=lambda: {"name": "predictive", "options": {}})
    seed: int = 0
    episodes: int = 10
    evaluate: Evaluate = "all"
    batch: int = 1
    retries: int = 1
    return_range: list[float] | None = None
    region_contexts: int = 64

    def __post_init__(self) -> None:
        lows = {"seed": 0, "episodes": 1, "batch": 1, "retries": 0, "region_contexts": 1}
        for name, low in lows.items():
            high = None if name == "seed" else MAX_COUNT
            check_int(name, getattr(self, name), low=low, high=high, error=StudyError)
        known_name("evaluate", self.evaluate, ("all", "chosen"), error=StudyError)
        if self.return_range is not None:
            check_return_range(self.return_range, error=StudyError)
        for name, settings in PARTS.items():
            match getattr(self, name):
                case None if name != "selector":
                    pass
                case {"name": str(), **others} if isinstance(others.get(settings), dict):
                    pass
                case given:
                    raise StudyError(
                        f"The {name!r} of a study must have a 'name' and {settings!r}, a "
                        f"dictionary. Got {short_text(given)} instead."
                    )

    @classmethod
    def recorded(cls, facts: Mapping[str, Any], path: object) -> Configuration:
        """Read the configuration among the facts of a study in a directory."""
        try:
            return cls(**facts["configuration"])
        except (KeyError, TypeError, StudyError) as error:
            raise DamagedStudyError(
                f"The configuration of the study in {str(path)!r} is damaged ({error}). "
                f"Run: sdmbtl doctor {path}"
            ) from None

    def set_up(self) -> Setup:
        """Make the parts of a recorded configuration; environments and trainer when needed."""
        space = ContextSpace.from_dict(self.space)
        chosen = self.selector
        try:
            selector = make_selector(chosen["name"], space, seed=self.seed, **chosen["options"])
        except TypeError as error:
            raise StudyError(
                f"The selector {chosen['name']!r} does not take the recorded options "
                f"{short_text(chosen['options'])}: {error}."
            ) from None
        if self.family is None or self.trainer is None:
            return Setup(self, selector, None)
        from sdmbtl.training import TrainerSpec

        spec = TrainerSpec(self.family, self.space, self.trainer["name"], self.trainer["settings"])
        return Setup(self, selector, spec)

    def check_same(self, recorded: Configuration, path: object) -> None:
        """Refuse to continue a study that was made with another configuration."""
        if self != recorded:
            lines = differences(asdict(recorded), asdict(self))
            raise ConfigurationError(
                f"The study in {str(path)!r} was made with another configuration:\n"
                + "\n".join(f"  {line}" for line in lines)
                + "\nContinue with the recorded one (sdmbtl resume, or Study.open(path) alone), or "
                "choose another directory."
            )


class Setup(NamedTuple):
    """Parts of a study, made once; without training, that is the caller's."""

    configuration: Configuration
    selector: Selector
    training: TrainerSpec | None

    def facts(self) -> dict[str, Any]:
        """Return what is recorded of a new study."""
        facts = {"configuration": asdict(self.configuration), ORIGIN: secrets.token_hex(16)}
        packages = CORE if self.training is None else (*CORE, *TRAINING)
        return {**facts, "versions": versions(packages)}


def set_up(
    env: str | EnvironmentFamily | Callable[..., Any] | None,
    *,
    space: str | Path | ContextSpace | None,
    return_range: tuple[float, float] | None,
    selector: Mapping[str, Any],
    trainer: Mapping[str, Any],
    evaluate: Evaluate | None,
    **numbers: Any,
) -> Setup:
    """Make what a user describes, and complete the description to a configuration.

    Wrong names are noticed here, and environments that cannot be made.
    """
    training = made_trainer = None
    parts: dict[str, Any] = {}
    if env is None:
        targets, extras = read_space(space)  # type: ignore[arg-type]
        known_range = extras.get("return_range")
    else:
        from sdmbtl.training import TrainerSpec, make_trainer

        family, targets = _make_family(env, space)
        made_trainer = make_trainer(trainer["name"], family, targets, **trainer["options"])
        made_trainer.check_environment()  # if nothing could be trained, no study is made
        training, known_range = TrainerSpec.of(made_trainer), family.return_range
        settings = {"name": training.trainer, "settings": training.settings}
        parts = {"family": training.environment, "trainer": settings}
    if return_range is not None:
        known_range = check_return_range(return_range, error=StudyError)
    chosen = _choose_selector(selector["name"], selector["options"], made_trainer)
    if evaluate is None:
        regions = env is not None and chosen["name"] == GeneralistFirstSelector.name
        evaluate = "chosen" if regions else "all"
    made = Configuration(
        space=targets.to_dict(),
        selector=chosen,
        return_range=None if known_range is None else list(known_range),
        evaluate=evaluate,
        **parts,
        **numbers,
    )
    try:  # as it will be read back: a tuple becomes a list
        configuration = Configuration(**json.loads(json.dumps(asdict(made))))
    except TypeError as error:
        raise StudyError(
            f"The settings of a study are kept as JSON: numbers, texts, lists. {error}."
        ) from None
    made_selector = make_selector(chosen["name"], targets, seed=made.seed, **chosen["options"])
    return Setup(configuration, made_selector, training)


def _choose_selector(
    name: str, options: Mapping[str, Any], trainer: Trainer | None
) -> dict[str, Any]:
    """Return name and options of the selector; without a trainer, training is the caller's.

    "auto" is a generalist and specialists where policies can start from others, and single contexts
    otherwise.
    """
    regions = trainer is not None and trainer.starts_from_parent
    name, own_options = split_options(name)
    chosen, given = resolve_auto(name, regions=regions), {**own_options, **options}
    if trainer is None or chosen != GeneralistFirstSelector.name:
        return {"name": chosen, "options": given}
    if not regions:
        raise StudyError(
            f"The trainer {trainer.name!r} cannot start from another policy, which the selector "
            f"{chosen!r} needs. Use the trainer 'ppo', or the selector 'predictive'."
        )
    usual = {
        "steps": trainer.settings().get("total_timesteps"),
        "sees_context": "both" if trainer.adds_context else "never",
    }
    # The weights of policies that were trained elsewhere are not here.
    return {"name": chosen, "options": {**usual, **given, "reported_parents": False}}


def _make_family(
    env: str | EnvironmentFamily | Callable[..., Any], space: str | Path | ContextSpace | None
) -> tuple[EnvironmentFamily, ContextSpace]:
    from sdmbtl.environments import EnvironmentFamily, FactoryFamily, make_family

    if isinstance(env, EnvironmentFamily):
        if space is None or (isinstance(space, str) and space in env.ranges):
            return env, env.space(space)
        return env, read_space(space)[0]
    if isinstance(env, str):
        family = make_family(env, space=space)
    elif space is not None:
        family = FactoryFamily(env, space)
    else:
        raise StudyError(
            "A function that makes environments needs a context space: "
            "Study.open(path, function, space=...), a ContextSpace or the path of a TOML file."
        )
    return family, family.space()
