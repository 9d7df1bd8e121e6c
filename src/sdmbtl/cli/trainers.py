"""`sdmbtl trainers`: what trains policies, and every setting of it."""

from __future__ import annotations

import inspect
import json
from dataclasses import asdict
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sdmbtl.cli import arguments
from sdmbtl.cli.arguments import ArgumentError
from sdmbtl.cli.options import JsonOption
from sdmbtl.cli.output import print_json, say
from sdmbtl.errors import TrainerError

if TYPE_CHECKING:
    from sdmbtl.environments import EnvironmentFamily
    from sdmbtl.training.registry import Setting

NameArgument = Annotated[
    str | None,
    typer.Argument(metavar="[NAME]", help="A trainer, whose settings are listed.", show_default=""),
]
FamilyArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[ENV]", help="A family, whose recommended settings are listed.", show_default=""
    ),
]
SpaceOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE.toml",
        help="The context space, without which gym:NAME and module:function cannot be made.",
        show_default="",
    ),
]
AlgorithmOption = Annotated[
    str | None, typer.Option(help="An algorithm of sb3, whose hyperparameters are listed.")
]


def trainers(
    name: NameArgument = None,
    env: FamilyArgument = None,
    space: SpaceOption = None,
    algorithm: AlgorithmOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the trainers; of one of them every setting, its default and its meaning.

    A setting is given as '--set NAME=VALUE' to 'sdmbtl run'. With an
    environment, the value that is recommended for it is listed too; it
    comes before the default.
    """
    if name is None:
        _list_trainers(as_json=as_json)
        return
    from sdmbtl.training.registry import AUTO, list_settings, recommended_trainer

    family = _family(env, space)
    if name == AUTO:
        name = recommended_trainer()
    found = list_settings(name, family, algorithm)
    if as_json:
        print_json([asdict(setting) for setting in found])
        return
    for setting in found:
        _print_setting(setting, None if family is None else family.name)


def _family(env: str | None, space: str | None) -> EnvironmentFamily | None:
    if env is None:
        if space is not None:
            raise ArgumentError(f"--space {space} is for an environment. Give ENV after NAME.")
        return None
    return arguments.family(env, space, None, None, None)


def _list_trainers(*, as_json: bool) -> None:
    found = [_described(name) for name in _names()]
    if as_json:
        print_json(found)
        return
    for trainer in found:
        say(f"{trainer['name']}\n{_wrapped(trainer['purpose'])}\n")
    say("sdmbtl trainers NAME lists the settings of one, and with ENV what suits a family.")


def _names() -> list[str]:
    from sdmbtl.training.registry import AUTO, trainer_names

    return [name for name in trainer_names() if name != AUTO]


def _described(name: str) -> dict[str, Any]:
    from sdmbtl.training.registry import trainer_class

    try:
        found = trainer_class(name)
    except TrainerError as error:  # its package is missing
        return {"name": name, "purpose": str(error), "starts_from_parent": None}
    purpose = (inspect.getdoc(found) or "").partition("\n")[0]
    return {"name": name, "purpose": purpose, "starts_from_parent": found.starts_from_parent}


def _print_setting(setting: Setting, family: str | None) -> None:
    value = "not set" if setting.default is None else _shown(setting.default)
    if family is not None and setting.recommended is not None:
        value += f"  ({family}: {_shown(setting.recommended)})"
    say(f"{setting.name} = {value}\n{_wrapped(setting.meaning)}")


def _shown(value: object) -> str:
    """A value as --set takes it."""
    return value if isinstance(value, str) else json.dumps(value)


def _wrapped(text: str) -> str:
    return fill(text, 78, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
