"""The commands, their options and their help."""

import subprocess
import sys

import pytest
import typer
from typer.core import TyperGroup

from sdmbtl.cli import app

PRODUCT = {
    *("run", "resume", "status", "evaluate", "doctor", "portfolio", "play", "report"),
    *("compare", "ask", "tell", "environments", "trainers", "distill", "baseline"),
    "extend",
}

#: Commands without --json, and why.
WITHOUT_JSON = {"ask": "prints JSON always"}


def all_commands(group, before=()):
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from all_commands(command, (*before, name))
        else:
            yield " ".join((*before, name)), command


COMMANDS = dict(all_commands(typer.main.get_command(app)))


def test_there_are_few_commands_with_few_options():
    assert {name for name in COMMANDS if " " not in name} == PRODUCT
    assert len(COMMANDS["run"].params) <= 26


def test_every_command_has_json_or_a_reason():
    options = {name: {o for p in COMMANDS[name].params for o in p.opts} for name in PRODUCT}
    assert {name for name, opts in options.items() if "--json" not in opts} == set(WITHOUT_JSON)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_is_plain(command, name):
    text = command(*name.split(), "--help").stdout
    assert command(*name.split(), "-h").stdout == text
    assert max(map(len, text.splitlines())) <= 80
    for noise in ("<bool>", "<int", "{", "()", "range>"):
        assert noise not in text
    for parameter in COMMANDS[name].params:
        assert parameter.opts[0] in text or parameter.metavar in text
        assert parameter.help, parameter.name


def test_brackets_in_help_are_no_markup(command):
    assert "[default: runs/ENV]" in command("run", "--help").stdout


def test_the_list_of_commands(command):
    text = command("--help").stdout
    assert "Train elsewhere:" in text
    assert all(f"  {name} " in text for name in PRODUCT)
    assert command("--version").stdout.startswith("sdmbtl ")
    assert "Did you mean 'status'?" in command.error("statsu")


def test_help_imports_little():
    """Heavy packages are imported by the commands that need them."""
    program = (
        "import sys; sys.argv = ['sdmbtl', '--help']\n"
        "from sdmbtl.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "Train a few policies" in done.stdout
    loaded = {name for name in done.stderr.split() if name.count(".") < 2}
    heavy = {"jax", "torch", "gymnasium", "stable_baselines3", "matplotlib", "safetensors"}
    rooms = ("environments", "plots", "portfolio", "training")
    assert not loaded & heavy
    assert not loaded & {f"sdmbtl.{room}" for room in rooms}
