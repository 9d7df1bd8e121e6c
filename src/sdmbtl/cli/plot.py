"""`sdmbtl plot`: one figure of a study as a file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from sdmbtl.cli import arguments
from sdmbtl.cli.arguments import ArgumentError
from sdmbtl.cli.options import ContextOption, JsonOption, StudyArgument
from sdmbtl.cli.output import note, print_json


class What(StrEnum):
    """The figures of a study."""

    map = "map"
    coverage = "coverage"
    forecasts = "forecasts"
    rows = "rows"
    curves = "curves"


def plot(
    path: StudyArgument,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="A .png, .svg or .pdf file.")
    ],
    what: Annotated[What, typer.Option(help="Which figure.")] = What.map,
    x: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of a map: the dimension across.")
    ] = None,
    y: Annotated[str | None, typer.Option(metavar="NAME", help="The dimension up.")] = None,
    context: ContextOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draw a figure of a study, also while it runs.

    A map shows which policy serves which target; of more than two dimensions
    it shows the slice through --context, or else through the worst target.
    """
    from sdmbtl.plots import save_axes
    from sdmbtl.studies import Study

    of_map: dict[str, Any] = {"x": x, "y": y, "at": arguments.context(context) if context else None}
    given = {name: value for name, value in of_map.items() if value is not None}
    if given and what is not What.map:
        raise ArgumentError(f"--x, --y and --context belong to a map. Got --what {what.value}.")
    axes = getattr(Study.open(path).plot, what.value)(**given)
    save_axes(axes, out)
    if as_json:
        print_json({"path": str(path), "what": what.value, "figure": str(out)})
    else:
        note(f"Wrote {out}.")
