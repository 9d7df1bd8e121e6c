"""`sdmbtl plot` and `sdmbtl compare`: figures of one study or several."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from sdmbtl.checks import known_name
from sdmbtl.cli.options import ContextOption, JsonOption, StudyArgument
from sdmbtl.cli.output import (
    ArgumentError,
    check_output,
    note,
    print_json,
    print_lines,
    write_output,
)
from sdmbtl.cli.parsing import parse_context
from sdmbtl.console import PlainConsole
from sdmbtl.wording import counted

_FIGURES = ("map", "coverage", "rows", "curves")


def plot(
    path: StudyArgument,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Figure: a .png, .svg or .pdf file.")
    ],
    what: Annotated[
        str, typer.Option(metavar="WHAT", help=f"Subject: {', '.join(_FIGURES)}.")
    ] = "map",
    x: Annotated[
        str | None, typer.Option(metavar="NAME", help="Horizontal dimension of a map.")
    ] = None,
    y: Annotated[
        str | None, typer.Option(metavar="NAME", help="Vertical dimension of a map.")
    ] = None,
    context: ContextOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draw a figure of a study, also while it runs.

    A map shows which policy serves which target. With more than two
    dimensions, it is the slice through --context, or through the worst target.
    """
    from sdmbtl.plots import save_axes
    from sdmbtl.studies import Study

    known_name("--what", what, _FIGURES, error=ArgumentError)
    check_output(out)
    of_map: dict[str, Any] = {"x": x, "y": y, "at": parse_context(context) if context else None}
    given = {name: value for name, value in of_map.items() if value is not None}
    if given and what != "map":
        raise ArgumentError(f"--x, --y and --context belong to a map. Got --what {what}.")
    axes = getattr(Study.open(path).plot, what)(**given)
    write_output(out, partial(save_axes, axes))
    if as_json:
        print_json({"path": str(path), "what": what, "figure": str(out)})
    else:
        note(f"Wrote {out}.")


def compare(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...", help="Studies, or directories of 'run --seeds'; each is a method."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Figure: a .png, .svg or .pdf file."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare studies on the same targets: coverage for the same number of steps.

    Several seeds give intervals: sdmbtl run CartPole --seeds 5 --out runs/auto.
    Coverage is corrected for choosing the best of several noisy policies.
    """
    from sdmbtl.studies.comparison import compare_studies

    if out is not None:
        check_output(out)
    comparison = compare_studies(paths)
    if out is not None:
        from sdmbtl.plots import save_axes
        from sdmbtl.plots.comparison_figure import draw_comparison

        write_output(out, partial(save_axes, draw_comparison(comparison)))
        note(f"Wrote {out}.")
    if as_json:
        print_json(comparison.to_dict())
        return
    measure = "Coverage" if comparison.is_share else "Mean return"
    head = ["method", "studies", *(f"{mark:,.0f} {comparison.unit}" for mark in comparison.marks)]
    rows = [
        [m.name, str(len(m.curves)), *(str(m.at(mark)) for mark in comparison.marks)]
        for m in comparison.methods
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *rows)
    ]
    targets = counted(comparison.targets, "target")
    lines = [f"{measure} of {targets}, mean and 95 % interval over studies:", *lines]
    print_lines(PlainConsole(), *lines, "", *comparison.verdicts())
