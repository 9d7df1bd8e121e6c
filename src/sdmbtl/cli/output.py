"""Printing and writing: results, notes, errors, help texts, tables and output files."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import sys
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from sdmbtl.checks import short_text
from sdmbtl.console import PlainConsole
from sdmbtl.errors import BusyError, SdmbtlError
from sdmbtl.json_data import as_json
from sdmbtl.wording import printable

#: Exit status of a program that was interrupted.
INTERRUPTED = 130

#: Exit status if another process is at work: the same command succeeds later (EX_TEMPFAIL).
TRY_AGAIN = 75


class ArgumentError(SdmbtlError, ValueError):
    """An argument of a command is not usable."""


# -- errors and help -------------------------------------------------------------------------------


class FriendlyErrorGroup(TyperGroup):
    """Commands whose expected errors are a sentence and exit status 2 or 75, never a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except BusyError as error:
            fail(str(error), TRY_AGAIN)
        except typer.BadParameter as error:
            list_errors = getattr(error.__cause__, "errors", None)  # Pydantic, of newer releases
            if list_errors is not None:
                got = short_text(list_errors()[0]["input"])
                said = error.message.removeprefix("Value error, ").rstrip(".")
                error.message = f"{said}." if got in said else f"{said}. Got {got} instead."
            raise
        except SdmbtlError as error:
            fail(str(error))
        except BrokenPipeError:  # of `| head`; Typer ends quietly
            raise
        except OSError as error:
            if error.strerror is None:  # raised by this package, with a sentence
                fail(str(error))
            where = "" if error.filename is None else f"Cannot use {str(error.filename)!r}: "
            fail(f"{where}{error.strerror}.")
        except sqlite3.Error as error:
            fail(f"The study's database cannot be used: {error}. Check who may read and write it.")
        except KeyboardInterrupt:
            note("Interrupted.")
            raise typer.Exit(INTERRUPTED) from None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each panel of commands."""
        self.list_commands(ctx)  # with those of plug-ins
        rows = [
            (command, name, command.get_short_help_str(limit=200))
            for name, command in self.commands.items()
        ]
        _write_panels(formatter, "Commands", rows)


class PlainHelpCommand(TyperCommand):
    """A command whose help is plain text: names, metavariables, defaults, and no types."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words after the name of the command."""
        return [re.sub("[{}]", "", piece) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each panel of options."""
        parameters = self.get_params(ctx)
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            rows = [(p, *help_row(p)) for p in parameters if p.param_type_name == kind]
            _write_panels(formatter, title, rows)


def _write_panels(formatter: Any, usual: str, rows: list[tuple[Any, str, str]]) -> None:
    """Write commands or parameters, with their names and texts, in a section for each panel."""
    panels: dict[str, list[tuple[str, str]]] = {}
    for owner, name, text in rows:
        panel = getattr(owner, "rich_help_panel", None)
        panels.setdefault(panel if isinstance(panel, str) else usual, []).append((name, text))
    for title, listed in panels.items():
        with formatter.section(title):
            formatter.write_dl(listed)


def help_row(parameter: Any) -> tuple[str, str]:
    """Return the names of a parameter and its help text, with the default."""
    metavar = parameter.metavar or str(parameter.name).upper()
    if parameter.param_type_name != "option":
        return metavar, parameter.help or ""
    names = ", ".join(sorted(parameter.opts, key=len))
    if not getattr(parameter, "is_flag", False):
        names += f" {metavar}"
    default = parameter.show_default if isinstance(parameter.show_default, str) else ""
    if not default and isinstance(parameter.default, str | int | float | Path):
        default = "" if isinstance(parameter.default, bool) else str(parameter.default)
    return names, f"{parameter.help or ''}{f'  [default: {default}]' if default else ''}"


def fail(message: str, status: int = 2) -> NoReturn:
    """Print an error and end."""
    say("Error: ", fg="red", bold=True, err=True, nl=False)
    note(message)
    raise typer.Exit(status)


# -- text ------------------------------------------------------------------------------------------


def note(message: str) -> None:
    """Print something that is not the result."""
    say(message, err=True)


def say(message: str = "", **style: Any) -> None:
    """Print a text, which may hold names and errors from anywhere, in a style of `typer.secho`."""
    typer.secho(printable(message, keep="\n"), **style)


def print_json(data: Any, *, in_one_line: bool = False) -> None:
    """Print one document; numbers that are not finite become null, for JSON has no NaN."""
    say(json.dumps(as_json(data), indent=None if in_one_line else 2, allow_nan=False))


def print_lines(*lines: str, hanging: int = 0, console: Console | None = None) -> None:
    """Print lines: wrapped between words on a terminal, with an indent, and else unwrapped."""
    where = console or PlainConsole()
    wrap = partial(textwrap.wrap, width=where.width, break_on_hyphens=False)
    for line in map(printable, lines):
        is_wrapped = line and hanging and where.is_terminal
        for row in wrap(line, subsequent_indent=" " * hanging) if is_wrapped else [line]:
            where.print(Text(row), soft_wrap=not where.is_terminal)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Show warnings for users as notes, each once, without lines of code and colours."""
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        text = re.sub(r"\x1b\[\d+m(WARN: )?", "", str(message))  # some environments warn every step
        if issubclass(category, UserWarning) and text not in shown:
            shown.add(text)
            note(f"Note: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


@contextmanager
def prints_as_notes() -> Iterator[None]:
    """Have what environments print, here and in workers, on the standard error."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


# -- tables ----------------------------------------------------------------------------------------


def plain_table(*columns: str) -> Table:
    """Return a table without lines, as wide as it must be; the first column is on the left."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for place, name in enumerate(columns):
        table.add_column(Text(name), justify="right" if place else "left", no_wrap=True)
    return table
