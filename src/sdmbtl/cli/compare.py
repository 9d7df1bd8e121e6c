"""`sdmbtl compare`: several studies on the same targets."""

from __future__ import annotations

import math
from pathlib import Path

import typer

from sdmbtl.cli.options import JsonOption
from sdmbtl.cli.output import note, plain_table, print_json, print_lines
from sdmbtl.console import PlainConsole
from sdmbtl.wording import counted


def compare(
    paths: list[Path] = typer.Argument(
        ..., metavar="DIR", help="Studies, or directories of studies seed-*; each is a method."
    ),
    out: Path | None = typer.Option(
        None, "--out", "-o", metavar="FILE", help="Figure: a .png, .svg or .pdf file."
    ),
    as_json: JsonOption = False,
) -> None:
    """Compare studies on the same targets: coverage for the same number of steps.

    Several seeds give intervals: '--seed 3 --out runs/auto/seed-3' of 'run'.
    Coverage is corrected for choosing the best of several noisy policies.
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
    measure = "Coverage" if comparison.is_share else "Mean return"
    tasks = counted(comparison.targets, "task")
    print_lines(f"{measure} of {tasks}, mean and 95 % interval over studies:")
    marks = comparison.marks
    table = plain_table("method", "studies", *(f"{mark:,.0f} {comparison.unit}" for mark in marks))
    for m in comparison.methods:
        table.add_row(m.name, str(len(m.curves)), *(_estimate(*m.at(mark)) for mark in marks))
    PlainConsole().print(table)
    print_lines("", *comparison.verdicts())


def _estimate(mean: float, half_width: float) -> str:
    if math.isnan(mean):
        return "–"
    return f"{mean:.4g}" + ("" if math.isnan(half_width) else f" ± {half_width:.3g}")
