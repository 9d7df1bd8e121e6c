"""`sdmbtl compare`: several studies on one space in one table and one figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sdmbtl.cli.options import JsonOption
from sdmbtl.cli.output import note, print_json, print_lines, result_console
from sdmbtl.wording import counted

if TYPE_CHECKING:
    from sdmbtl.studies.comparison import Comparison


def compare(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...", help="Studies, or directories of 'run --seeds'; each is a method."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Draw it: a .png, .svg or .pdf file."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare studies on the same targets: coverage for the same number of steps.

    Make several of each: sdmbtl run CartPole --seeds 5 --out runs/auto. Coverage
    is that to be expected, corrected for choosing the best of several policies.
    """
    from sdmbtl.studies.comparison import compare_studies

    comparison = compare_studies(paths)
    if out is not None:
        from sdmbtl.plots import save_axes
        from sdmbtl.plots.comparison_figure import draw_comparison

        save_axes(draw_comparison(comparison), out)
        note(f"Wrote {out}.")
    if as_json:
        print_json(comparison.to_dict())
        return
    print_lines(result_console(), *_table(comparison), "", *comparison.verdicts())


def _table(comparison: Comparison) -> list[str]:
    measure = "coverage" if comparison.is_share else "mean return"
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
    return [f"{measure.capitalize()} of {targets}, mean and 95 % interval over studies:", *lines]
