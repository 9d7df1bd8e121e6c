"""`sdmbtl compare`: several studies on the same targets."""

from __future__ import annotations

from pathlib import Path

import typer

from sdmbtl.cli.options import JsonOption
from sdmbtl.cli.output import plain_table, print_json, print_lines
from sdmbtl.console import PlainConsole
from sdmbtl.wording import counted


def compare(
    paths: list[Path] = typer.Argument(
        ..., metavar="DIR", help="Studies, or directories of studies seed-*; each is a method."
    ),
    as_json: JsonOption = False,
) -> None:
    """Compare studies on the same targets: coverage for the same number of steps.

    Several seeds give intervals: '--seed 3 --out runs/auto/seed-3' of 'run'.
    Coverage is corrected for choosing the best of several noisy policies.
    """
    from sdmbtl.studies.comparison import compare_studies, estimate_text

    comparison = compare_studies(list(dict.fromkeys(paths)))
    if as_json:
        print_json(comparison.to_dict())
        return
    measure = "Coverage in %" if comparison.is_share else "Mean return"
    tasks = counted(comparison.targets, "task")
    print_lines(f"{measure}, {tasks}, mean and 95 % interval over studies:")
    marks = comparison.marks
    table = plain_table("method", "studies", *(f"{mark:,.0f} {comparison.unit}" for mark in marks))
    for m in comparison.methods:
        cells = (estimate_text(*m.at(mark), is_share=comparison.is_share) for mark in marks)
        table.add_row(m.name, str(len(m.curves)), *cells)
    PlainConsole().print(table)
    print_lines("", *comparison.verdicts(), hanging=2)
