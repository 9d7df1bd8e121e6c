"""`sdmbtl environments` and `sdmbtl trainers`: names and settings for `sdmbtl run`."""

from __future__ import annotations

import inspect
import json
from dataclasses import asdict
from textwrap import fill
from typing import TYPE_CHECKING, Any

import typer

from sdmbtl.cli.options import JsonOption, make_family
from sdmbtl.cli.output import ArgumentError, print_json, say
from sdmbtl.errors import TrainerError

if TYPE_CHECKING:
    from sdmbtl.environments import EnvironmentFamily


def environments(as_json: JsonOption = False) -> None:
    """List the environment families, their features, spaces and trainers."""
    from sdmbtl import environments as known

    found = [_describe_family(known.make_family(name)) for name in known.family_names()]
    if as_json:
        print_json(found)
        return
    for family in found:
        features = ", ".join(f"{name}={value:g}" for name, value in family["features"].items())
        say(f"{family['name']}  (trainer {family['trainer']})")
        say(fill(f"features: {features}", 78, initial_indent="  ", subsequent_indent="    "))
        for name, space in family["spaces"].items():
            say(f"  space {name}: {space['targets']} tasks")
            for dimension, d in space["dimensions"].items():
                values = f"{d['levels']} values, {d['low']:g} to {d['high']:g}"
                say(f"    {dimension}: {values}{' (log)' if d['scale'] == 'log' else ''}")
        say()
    say("With --space FILE.toml also gym:NAME of Gymnasium, or your own module:function.")


def _describe_family(family: EnvironmentFamily) -> dict[str, Any]:
    from sdmbtl.training.registry import recommended_trainer

    spaces = {}
    for name in family.ranges:
        space = family.space(name)
        dimensions = {
            n: {"low": d.low, "high": d.high, "levels": len(d.knots), "scale": d.scale}
            for n, d in space.dimensions.items()
        }
        spaces[name] = {"targets": len(space), "dimensions": dimensions}
    return {
        "name": family.name,
        "features": dict(family.defaults),
        "return_range": family.return_range,
        "trainer": recommended_trainer(),
        "spaces": spaces,
    }


def trainers(
    name: str | None = typer.Argument(None, metavar="NAME", help="Trainer, for its settings."),
    env: str | None = typer.Argument(None, metavar="ENV", help="Family, for recommended settings."),
    space: str | None = typer.Option(
        None, metavar="FILE.toml", help="Context space of gym:NAME or module:function."
    ),
    algorithm: str | None = typer.Option(
        None, metavar="NAME", help="Algorithm of sb3, for hyperparameters."
    ),
    as_json: JsonOption = False,
) -> None:
    """List the trainers, or the settings of one with defaults and meanings.

    '--set NAME=VALUE' of 'sdmbtl run' changes a setting. With an environment,
    the value recommended for it is listed too; it replaces the default.
    """
    from sdmbtl.training.registry import AUTO, list_settings, recommended_trainer, trainer_names

    if name is None:
        listed = [_describe_trainer(known) for known in trainer_names() if known != AUTO]
        if as_json:
            print_json(listed)
            return
        for trainer in listed:
            say(f"{trainer['name']}\n{_wrap(trainer['purpose'])}\n")
        say("sdmbtl trainers NAME lists the settings of one, and with ENV those recommended.")
        return
    if env is None and space is not None:
        raise ArgumentError(f"--space {space} is for an environment. Give ENV after NAME.")
    family = None if env is None else make_family(env, space)
    found = list_settings(recommended_trainer() if name == AUTO else name, family, algorithm)
    if as_json:
        print_json([asdict(setting) for setting in found])
        return
    for setting in found:
        value = "not set" if setting.default is None else json.dumps(setting.default)
        if family is not None and setting.recommended is not None:
            value += f"  ({family.name}: {json.dumps(setting.recommended)})"
        say(f"{setting.name} = {value}\n{_wrap(setting.meaning)}")


def _describe_trainer(name: str) -> dict[str, Any]:
    from sdmbtl.training.registry import trainer_class

    try:
        found = trainer_class(name)
    except TrainerError as error:  # its package is missing
        return {"name": name, "purpose": str(error), "starts_from_parent": None}
    purpose = (inspect.getdoc(found) or "").partition("\n")[0]
    return {"name": name, "purpose": purpose, "starts_from_parent": found.starts_from_parent}


def _wrap(text: str) -> str:
    return fill(text, 78, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
