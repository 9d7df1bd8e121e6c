"""Every command whose result is data gives it as one JSON document, too."""

import typer
from typer.core import TyperGroup

from sdmbtl.cli import app

#: Commands without --json, and why.
WITHOUT = {
    "ask": "prints JSON always",
    "curves": "writes CSV, which is data",
    "renew": "says by its exit status whether the lease holds",
    "serve": "answers requests until it is ended",
    "watch": "serves a page until it is ended",
    "bench synthetic": "writes a JSON file; its tables have --format",
    "bench real": "writes a JSON file; its tables have --format",
    "bench show": "prints the tables of a JSON file",
}


def commands(group, before=()):
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from commands(command, (*before, name))
        else:
            yield " ".join((*before, name)), {o for p in command.params for o in p.opts}


def test_every_command_has_it_or_a_reason():
    found = dict(commands(typer.main.get_command(app)))
    assert {name for name, options in found.items() if "--json" not in options} == set(WITHOUT)
