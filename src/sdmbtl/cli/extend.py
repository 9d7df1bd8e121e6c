"""`sdmbtl extend`: another space or objective for a study that has policies."""

from __future__ import annotations

import typer

from sdmbtl.cli.options import JsonOption, StudyArgument, TrustOption
from sdmbtl.cli.output import (
    ArgumentError,
    print_json,
    print_lines,
    prints_as_notes,
    warnings_as_notes,
)
from sdmbtl.cli.parsing import parse_settings


def extend(
    path: StudyArgument,
    space: str | None = typer.Option(None, metavar="NAME|FILE.toml", help="New context space."),
    default: list[str] | None = typer.Option(
        None,
        metavar="NAME=VALUE",
        help="Value of a new dimension in training so far; may be repeated.",
        show_default="as in the environment",
    ),
    objective: str | None = typer.Option(
        None, metavar="NAME", help="New objective: mean, cvar:SHARE, worst or share:LEVEL."
    ),
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Change the space or the objective of a study; its policies stay.

    Returns on targets of both spaces are kept. A dimension may be added,
    and none may be removed. The next run evaluates where policies may be the
    best; 'sdmbtl evaluate DIR --missing' evaluates all of them everywhere.
    """
    from sdmbtl.studies import Study

    if space is None and objective is None:
        raise ArgumentError("Nothing changes. Pass --space, --objective, or both.")
    defaults = parse_settings(default, "--default")
    with warnings_as_notes(), prints_as_notes():
        study = Study.open(path, trust=trust)
        changes = study.extend(space, defaults=defaults, objective=objective)
    if as_json:
        print_json({"path": str(path), "changes": changes})
        return
    lines = [f"✓ {change}" for change in changes]
    print_lines(*lines, "", f"  Continue    sdmbtl resume {path}", hanging=2)
