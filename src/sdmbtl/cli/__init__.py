"""The command line. Commands import what they need when they run: `--help` must be quick."""

from __future__ import annotations

from typing import Annotated

import typer

from sdmbtl import __version__, plugins
from sdmbtl.cli.ask_tell import ask, renew, targets, tell
from sdmbtl.cli.compare import compare
from sdmbtl.cli.curves import curves
from sdmbtl.cli.detect import detect
from sdmbtl.cli.environments import environments
from sdmbtl.cli.forget import forget
from sdmbtl.cli.output import ErrorsInWords, say
from sdmbtl.cli.play import play
from sdmbtl.cli.plot import plot
from sdmbtl.cli.portfolio import portfolio
from sdmbtl.cli.report import report, watch
from sdmbtl.cli.run import resume, run
from sdmbtl.cli.status import status
from sdmbtl.cli.study import doctor, evaluate
from sdmbtl.cli.trainers import trainers

app = typer.Typer(
    cls=ErrorsInWords,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        say(f"sdmbtl {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Train a few policies that together solve a family of tasks."""


for _panel, _commands in {
    "Train": (run, resume, status, curves, evaluate, portfolio),
    "Show": (report, watch, plot, play),
    "Train elsewhere": (ask, tell, renew, forget, targets),
    "Look around": (environments, trainers, detect, doctor),
    "Compare": (compare,),
}.items():
    for _command in _commands:
        app.command(rich_help_panel=_panel)(_command)
for _name in plugins.installed("commands"):
    _plugin = plugins.load("commands", _name)
    if _plugin is not None:
        app.add_typer(_plugin, name=_name, rich_help_panel="Plug-ins")
