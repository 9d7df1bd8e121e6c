"""The help of every command as Markdown, from the command line itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer
from typer.core import TyperGroup

from sdmbtl.cli import app
from sdmbtl.cli.output import help_row

if TYPE_CHECKING:
    from typer._click import Command


def command_pages() -> str:
    """Return a section for each panel of `sdmbtl --help`, with a section for each command."""
    panels: dict[str, list[str]] = {}
    root = typer.Context(typer.main.get_command(app), info_name="sdmbtl")
    for panel, command, context in _commands(root):
        panels.setdefault(panel, []).append(_describe(command, context))
    return "\n\n".join(
        f"## {panel}\n\n" + "\n\n".join(commands) for panel, commands in panels.items()
    )


def _commands(
    parent: typer.Context, panel: str = ""
) -> Iterator[tuple[str, Command, typer.Context]]:
    """Yield every command with its panel and context; those of a group share its panel."""
    if not isinstance(parent.command, TyperGroup):
        return
    parent.command.list_commands(parent)  # with those of plug-ins
    for name, command in parent.command.commands.items():
        context = typer.Context(command, info_name=name, parent=parent)
        own = panel or str(getattr(command, "rich_help_panel", ""))
        yield own, command, context
        yield from _commands(context, own)


def _describe(command: Command, context: typer.Context) -> str:
    """Return heading, usage, description, and a table of options."""
    usage = " ".join(command.get_usage(context).split()).removeprefix("Usage: ")
    parts = [f"### {context.command_path}", f"```text\n{usage}\n```", _as_markdown(command.help)]
    records = [help_row(parameter) for parameter in command.params]
    rows = [f"| `{_cell(names)}` | {_cell(text)} |" for names, text in records]
    if rows:
        parts.append("\n".join(["| option | meaning |", "| --- | --- |", *rows]))
    return "\n\n".join(parts)


def _as_markdown(text: str | None) -> str:
    """Return a help text as paragraphs of one line."""
    paragraphs = (text or "").replace("\b", "").split("\n\n")
    return "\n\n".join(_plain(" ".join(paragraph.split())) for paragraph in paragraphs)


def _cell(text: str) -> str:
    """Return a text in one line, with bars escaped."""
    return " ".join(text.split()).replace("|", "\\|")


def _plain(text: str) -> str:
    """Return a text with markup escaped, except for code."""
    return re.sub(r"([<>*_\[\]])", r"\\\1", text)
