"""The command line. Commands import what they need when they run: `--help` must be quick."""

from __future__ import annotations

from typing import Any

import typer

from sdmbtl import __version__, plugins
from sdmbtl.cli.ask_tell import ask, tell
from sdmbtl.cli.compare import compare
from sdmbtl.cli.environments import environments, trainers
from sdmbtl.cli.evaluate import doctor, evaluate
from sdmbtl.cli.extend import extend
from sdmbtl.cli.networks import baseline, distill
from sdmbtl.cli.output import FriendlyErrorGroup, PlainHelpCommand, say, warnings_as_notes
from sdmbtl.cli.play import play
from sdmbtl.cli.portfolio import portfolio
from sdmbtl.cli.report import report
from sdmbtl.cli.run import resume, run
from sdmbtl.cli.status import status


class _PluginGroup(FriendlyErrorGroup):
    """The commands, with those of plug-ins, which are imported when they are asked for."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a name; None if there is none."""
        self._import_plugin(cmd_name)
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        for name in plugins.installed("commands"):
            self._import_plugin(name)
        return super().list_commands(ctx)

    def _import_plugin(self, name: str) -> None:
        if name in self.commands or name not in plugins.installed("commands"):
            return
        with warnings_as_notes():
            plugin = plugins.load("commands", name)
        if isinstance(plugin, typer.Typer):
            group = typer.main.get_group(plugin)
            group.name, group.rich_help_panel = name, "Plug-ins"
            self.commands[name] = group


app = typer.Typer(
    cls=_PluginGroup,
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
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Version."
    ),
) -> None:
    """Train a few policies that together solve a family of tasks."""


for _panel, _commands in {
    "Train": (run, resume, extend, status, evaluate, doctor),
    "Use": (portfolio, distill, play),
    "Show": (report, compare, baseline),
    "Train elsewhere": (ask, tell),
    "Names and settings": (environments, trainers),
}.items():
    for _command in _commands:
        app.command(cls=PlainHelpCommand, rich_help_panel=_panel)(_command)
