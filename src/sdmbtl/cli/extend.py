"""`sdmbtl extend`: another space or objective for a study that has policies."""

from __future__ import annotations

import typer

from sdmbtl.checks import known_name
from sdmbtl.cli.options import JsonOption, StudyArgument, TrustOption
from sdmbtl.cli.output import ArgumentError, print_json, print_lines
from sdmbtl.cli.parsing import parse_settings
from sdmbtl.cli.signals import stoppable


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
    evaluate: str = typer.Option(
        "chosen",
        metavar="chosen|all",
        help="all: every policy on every new target, now. chosen: by the next run.",
    ),
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Change the space or the objective of a study; its policies stay.

    Returns on targets of both spaces are kept. A dimension may be added,
    and none may be removed.
    """
    from sdmbtl.studies import Study

    known_name("--evaluate", evaluate, ("chosen", "all"), error=ArgumentError)
    if space is None and objective is None:
        raise ArgumentError("Nothing changes. Pass --space, --objective, or both.")
    counts = {}
    with stoppable(f"Interrupted. Continue with: sdmbtl evaluate {path} --missing") as signals:
        study = Study.open(path, trust=trust)
        defaults = parse_settings(default, "--default")
        changes = study.extend(space, defaults=defaults, objective=objective)
        if evaluate == "all":
            counts = study.evaluate_missing([lambda _: signals.check()])
    if as_json:
        print_json({"path": str(path), "changes": changes, **counts})
        return
    lines = [f"✓ {change}" for change in changes]
    print_lines(*lines, "", f"  Continue    sdmbtl resume {path}", hanging=2)
