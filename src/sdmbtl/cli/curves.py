"""`sdmbtl curves`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sdmbtl.cli.options import StudyArgument
from sdmbtl.cli.output import note, say
from sdmbtl.files import write_atomically


def curves(
    path: StudyArgument,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE", help="Write them there.", show_default="print them"),
    ] = None,
) -> None:
    """Write the learning curves of all trained policies as CSV, also while a study runs."""
    from sdmbtl.studies import Study
    from sdmbtl.studies.tables import curves_as_csv

    text = curves_as_csv(Study.open(path))
    if csv is None:
        say(text, nl=False)
    else:
        write_atomically(csv, text.encode())
        note(f"Wrote {csv}.")
