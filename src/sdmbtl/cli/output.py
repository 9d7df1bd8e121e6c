"""What every command prints in the same way: results, notes and errors."""

from __future__ import annotations

import json
import sqlite3
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from sdmbtl.checks import short_text
from sdmbtl.console import PlainConsole
from sdmbtl.errors import BusyError, SdmbtlError
from sdmbtl.json_data import as_json
from sdmbtl.wording import printable, shown_context

#: Exit status of a program that was interrupted.
INTERRUPTED = 130

#: Exit status if another process is at work: the same command succeeds later (EX_TEMPFAIL).
TRY_AGAIN = 75

#: Which extra installs a package that a command may need.
_EXTRAS = {
    "gymnasium": "environments",
    "safetensors": "environments",
    "jax": "jax",
    "jaxlib": "jax",
    "matplotlib": "plots",
    "stable_baselines3": "sb3",
    "torch": "sb3",
}

#: Dimensions whose columns would be wider than this together stand in one column.
_CONTEXT_WIDTH = 28


class ErrorsInWords(TyperGroup):
    """Commands whose expected errors are a sentence and exit status 2 or 75, never a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except BusyError as error:
            fail(str(error), TRY_AGAIN)
        except typer.BadParameter as error:
            error.message += _wrong_value(error)
            raise
        except SdmbtlError as error:
            fail(str(error))
        except BrokenPipeError:  # of `| head`; Typer ends quietly
            raise
        except OSError as error:
            fail(_system_error(error))
        except sqlite3.Error as error:
            fail(f"The study's database cannot be used: {error}. Is it yours to read and write?")
        except ModuleNotFoundError as error:
            fail(_missing_package(error))
        except MemoryError as error:
            fail(f"There is not enough memory for this ({error}). Ask for less, or fewer.")
        except KeyboardInterrupt:
            note("Interrupted.")
            raise typer.Exit(INTERRUPTED) from None


def fail(message: str, status: int = 2) -> NoReturn:
    """Say what is wrong and end."""
    say("Error: ", fg="red", bold=True, err=True, nl=False)
    note(message)
    raise typer.Exit(status)


def note(message: str) -> None:
    """Say something beside the result."""
    say(message, err=True)


def say(message: str = "", **style: Any) -> None:
    """Print a text of one or several lines; it may hold names and errors from anywhere.

    Args:
        message: The text.
        **style: As of `typer.secho`.
    """
    typer.secho(printable(message, keep="\n"), **style)


def print_json(data: Any, *, in_one_line: bool = False) -> None:
    """Print one document; what is not finite is null, for JSON has no NaN."""
    say(json.dumps(as_json(data), indent=None if in_one_line else 2, allow_nan=False))


def result_console() -> Console:
    """Where results are printed."""
    return PlainConsole()


def note_console() -> Console:
    """Where progress is shown."""
    return PlainConsole(stderr=True)


def print_lines(console: Console, *lines: str, hanging: int = 0) -> None:
    """Print lines: wrapped between words on a terminal, elsewhere not, for other programs.

    Args:
        console: Where to.
        *lines: The lines.
        hanging: How far the second and later rows of a wrapped line stand to the right.
    """
    for line in map(printable, lines):
        rows = [line]
        if hanging and console.is_terminal:
            indent = " " * hanging
            rows = textwrap.wrap(
                line, console.width, subsequent_indent=indent, break_on_hyphens=False
            )
        for row in rows:
            console.print(Text(row), soft_wrap=not console.is_terminal)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Show what the package warns of as notes, without the lines of code."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        finally:
            for warning in caught:
                if issubclass(warning.category, UserWarning):
                    note(f"Note: {warning.message}")


def plain_table() -> Table:
    """A table without lines, as wide as it must be."""
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")


def context_table(first: Sequence[str], dimensions: Iterable[str], last: Sequence[str]) -> Table:
    """A plain table with a column for each dimension, or one for all if they would be too wide."""
    table = plain_table()
    for name in first:
        table.add_column(name, justify="right")
    if _too_wide(dimensions):
        table.add_column("context")
        dimensions = ()
    for name in (*dimensions, *last):
        table.add_column(Text(name), justify="right", no_wrap=True)
    return table


def source_table(first: Sequence[str], last: Sequence[str]) -> Table:
    """A plain table with one column for what is trained on, which may take several lines."""
    table = plain_table()
    for name in first:
        table.add_column(name, justify="right")
    table.add_column("trained on", overflow="fold")
    for name in last:
        table.add_column(Text(name), justify="right", no_wrap=True)
    return table


def context_cells(context: Mapping[str, float]) -> list[Text]:
    """The cells of a context below those columns."""
    if _too_wide(context):
        return [Text(shown_context(context))]
    return [Text(f"{value:.4g}") for value in context.values()]


def _too_wide(names: Iterable[str]) -> bool:
    return sum(max(len(name), 6) + 2 for name in names) > _CONTEXT_WIDTH


def _wrong_value(error: typer.BadParameter) -> str:
    """The value of an option that was refused, if Typer's sentence lacks it."""
    list_errors = getattr(error.__cause__, "errors", None)  # Pydantic, of newer releases
    if list_errors is None:
        return ""
    return f". Got {short_text(list_errors()[0]['input'])} instead."


def _system_error(error: OSError) -> str:
    if error.strerror is None:  # raised by this package, in words
        return str(error)
    where = "" if error.filename is None else f" {str(error.filename)!r}"
    return f"Cannot use{where}: {error.strerror}." if where else f"{error.strerror}."


def _missing_package(error: ModuleNotFoundError) -> str:
    """How to install what is missing; an import that no option needs is a defect."""
    package = (error.name or "").partition(".")[0]
    if "pip install" in str(error):
        return str(error)
    if package not in _EXTRAS:
        raise error
    return (
        f"This needs {package}, which is not installed. Install it with: "
        f"pip install 'sdmbtl[{_EXTRAS[package]}]'"
    )
