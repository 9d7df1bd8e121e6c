"""The command line. Commands import what they need when they run: `--help` must be quick."""

from __future__ import annotations

import warnings
from typing import Annotated

import typer

from sdmbtl import __version__, plugins
from sdmbtl.cli.ask_tell import ask, renew, tell
from sdmbtl.cli.environments import environments, trainers
from sdmbtl.cli.evaluate import doctor, evaluate
from sdmbtl.cli.output import FriendlyErrorGroup, PlainHelpCommand, note, say
from sdmbtl.cli.play import play
from sdmbtl.cli.plot import compare, plot
from sdmbtl.cli.portfolio import portfolio
from sdmbtl.cli.report import report
from sdmbtl.cli.run import resume, run
from sdmbtl.cli.status import status

app = typer.Typer(
    cls=FriendlyErrorGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        say(f"sdmbtl {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Version."),
    ] = False,
) -> None:
    """Train a few policies that together solve a family of tasks."""


for _panel, _commands in {
    "Train": (run, resume, status, evaluate, doctor),
    "Use": (portfolio, play),
    "Show": (report, plot, compare),
    "Train elsewhere": (ask, tell, renew),
    "Names and settings": (environments, trainers),
}.items():
    for _command in _commands:
        app.command(cls=PlainHelpCommand, rich_help_panel=_panel)(_command)

with warnings.catch_warnings(record=True) as _caught:
    warnings.simplefilter("always")
    for _name in plugins.installed("commands"):
        _plugin = plugins.load("commands", _name)
        if _plugin is not None:
            app.add_typer(_plugin, name=_name, rich_help_panel="Plug-ins")
for _warning in _caught:
    note(f"Note: {_warning.message}")
