"""`sdmbtl detect`: which structure policies have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from sdmbtl.cli.options import JsonOption
from sdmbtl.cli.output import plain_table, print_json, print_lines, result_console
from sdmbtl.wording import counted, figure

if TYPE_CHECKING:
    from sdmbtl.selectors import Selector
    from sdmbtl.transfer import ObservedRows
    from sdmbtl.transfer.detection import Detection, Detector


def detect(
    path: Annotated[
        Path,
        typer.Argument(metavar="STUDY", help="Directory of the study."),
    ],
    as_json: JsonOption = False,
) -> None:
    """Detect the structure of trained policies: is it a Mountain, and why."""
    from sdmbtl.studies import Study

    selector = Study.open(path).selector
    rows = selector.rows
    detection = _detector(selector).detect(rows.scaled())
    if as_json:
        slopes = None if detection.slopes is None else detection.slopes.to_dict()
        data = {"path": str(path), "policies": len(rows), "targets": len(rows.space)}
        print_json({**data, "unit": rows.scale, **detection.to_dict(), "slopes": slopes})
        return
    _print_detection(detection, rows)
    if selector.evidence():
        console = result_console()
        console.print()
        print_lines(
            console,
            f"The selector of this study, {selector.name}, does not choose by the structure: it "
            "compares models, as sdmbtl status shows.",
        )


def _detector(selector: Selector) -> Detector:
    """The detector that a study chooses by, so that `status` says the same; else the usual one."""
    from sdmbtl.selectors import StructureDetectionSelector
    from sdmbtl.transfer.detection import MountainDetector

    if isinstance(selector, StructureDetectionSelector):
        return selector.detector
    return MountainDetector()


def _print_detection(detection: Detection, rows: ObservedRows) -> None:
    console = result_console()
    size = f"{counted(len(rows), 'policy', 'policies')}, {counted(len(rows.space), 'target')}"
    print_lines(console, f"Detected structure: {detection.structure} ({size})")
    if rows.scale != 1.0:
        print_lines(console, f"The returns are extreme: figures are in units of {rows.scale:.4g}.")
    for criterion in detection.criteria:
        answer = "holds" if criterion.passed else "does not hold"
        print_lines(console, f'Criterion "{criterion.name}" {answer}: {criterion.explanation}.')
    slopes = detection.slopes
    if slopes is None:
        return
    console.print()
    heading = "Change of the return across the full range of a dimension, for targets:"
    print_lines(console, heading)
    table = plain_table()
    table.add_column("dimension")
    table.add_column("above the source", justify="right")
    table.add_column("below the source", justify="right")
    for name, left, right, known in zip(
        slopes.names, slopes.left, slopes.right, slopes.known, strict=True
    ):
        values = (figure(float(left), "+.4g"), figure(float(right), "+.4g"))
        table.add_row(Text(name), *(values if known else ("not known", "not known")))
    console.print(table)
