"""`sdmbtl detect`: which structure policies have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from sdmbtl.cli.options import JsonOption
from sdmbtl.cli.output import figure, plain_table, print_json, print_lines, result_console
from sdmbtl.errors import MatrixError
from sdmbtl.wording import counted

if TYPE_CHECKING:
    from sdmbtl.detection import Detection
    from sdmbtl.transfer import ObservedRows


def detect(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH", help="A study, or an npz file of TransferMatrices or ObservedRows."
        ),
    ],
    as_json: JsonOption = False,
) -> None:
    """Detect the structure of trained policies: is it a Mountain, and why."""
    from sdmbtl.detection import MountainDetector

    rows = _rows(path)
    detection = MountainDetector().detect(rows)
    if as_json:
        slopes = None if detection.slopes is None else detection.slopes.to_dict()
        data = {"path": str(path), "policies": len(rows), "targets": len(rows.space)}
        print_json({**data, **detection.to_dict(), "slopes": slopes})
        return
    _print_detection(detection, rows)


def _rows(path: Path) -> ObservedRows:
    if (path / "matrix.npz").is_file():
        return _rows_of_file(path / "matrix.npz")
    if path.is_dir():
        from sdmbtl.studies import Study

        return Study.open(path).selector.rows
    return _rows_of_file(path)


def _rows_of_file(path: Path) -> ObservedRows:
    from sdmbtl.matrices import TransferDataset, TransferMatrices
    from sdmbtl.transfer import ObservedRows
    from sdmbtl.transfer.storage import kind_of

    try:
        kind = kind_of(path)
    except FileNotFoundError:
        raise MatrixError(
            f"There is no {str(path)!r}. Give the directory of a study or of a matrix, or a file "
            "written by TransferMatrices.save, TransferDataset.save or ObservedRows.save."
        ) from None
    if kind == "rows":
        return ObservedRows.load(path)
    data = kind == "transfer data set"
    matrices = TransferDataset.load(path).matrices if data else TransferMatrices.load(path)
    return ObservedRows(matrices.space, matrices.space.targets, matrices.mean())


def _print_detection(detection: Detection, rows: ObservedRows) -> None:
    console = result_console()
    size = f"{counted(len(rows), 'policy', 'policies')}, {counted(len(rows.space), 'target')}"
    print_lines(console, f"structure: {detection.structure}  ({size})")
    for criterion in detection.criteria:
        answer = "holds" if criterion.passed else "does not hold"
        print_lines(console, f"{criterion.name} {answer}: {criterion.explanation}")
    slopes = detection.slopes
    if slopes is None:
        return
    console.print()
    heading = "Change of return across the whole range of a dimension, by side of the source:"
    print_lines(console, heading)
    table = plain_table()
    table.add_column("dimension")
    table.add_column("source below target", justify="right")
    table.add_column("source above target", justify="right")
    for name, left, right, known in zip(
        slopes.names, slopes.left, slopes.right, slopes.known, strict=True
    ):
        values = (figure(float(left), "+.4g"), figure(float(right), "+.4g"))
        table.add_row(Text(name), *(values if known else ("not known", "not known")))
    console.print(table)
