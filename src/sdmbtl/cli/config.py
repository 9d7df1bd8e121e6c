"""`--config FILE.toml`: the options of a command from a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sdmbtl.checks import did_you_mean, short_text
from sdmbtl.cli.arguments import ArgumentError


def read_options(context: typer.Context, path: Path | None) -> Path | None:
    """Take options that are not given from the table [run] of a file.

    A file that describes a context space as well is the space, if no other is named.

    Raises:
        ArgumentError: If the file is not one, or has something that the command does not take.
    """
    if path is None:
        return None
    from sdmbtl.contexts.toml import read_toml

    try:
        data = read_toml(path)
    except OSError as error:
        raise ArgumentError(f"--config {str(path)!r} cannot be read: {error.strerror}.") from None
    table = data.get("run", {})
    if not isinstance(table, Mapping):
        raise ArgumentError(f"{path}: [run] is a table. Got {short_text(table)} instead.")
    known = _known_options(context)
    defaults: dict[str, Any] = {}
    for key, value in table.items():
        name = known.get(key.replace("_", "-"))
        if name is None:
            raise ArgumentError(
                f"{path}: [run] has {key!r}, which 'sdmbtl {context.info_name}' does not take."
                f"{did_you_mean(key, known)}"
            )
        defaults[name] = _as_words(value)
    if "dimensions" in data:
        defaults.setdefault("space", str(path))
    if "space" in table and table["space"].endswith(".toml"):
        defaults["space"] = str(path.parent / table["space"])
    context.default_map = {**defaults, **(context.default_map or {})}
    return path


def _known_options(context: typer.Context) -> dict[str, str]:
    """The options and arguments of a command, as they are written, and what they are called."""
    known = {}
    for parameter in context.command.params:
        written = [word.lstrip("-") for word in parameter.opts if word.startswith("--")]
        for word in written or [str(parameter.name)]:
            known[word] = str(parameter.name)
    return known


def _as_words(value: Any) -> Any:
    """A value as the command line would have it; a table is KEY=VALUE for each entry."""
    if isinstance(value, Mapping):
        return [f"{key}={_as_word(entry)}" for key, entry in value.items()]
    return value if isinstance(value, bool) else _as_word(value)


def _as_word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE.toml",
        help="Options from the table [run] of a file, which may describe the space too.",
        callback=read_options,
        is_eager=True,
    ),
]
