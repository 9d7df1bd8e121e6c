"""Commands of the lab: `sdmbtl lab bench`, `matrix`, `describe` and `figures`."""

from __future__ import annotations

import typer

from sdmbtl.cli.output import PlainHelpCommand
from sdmbtl_lab.cli.bench import bench
from sdmbtl_lab.cli.describe import describe
from sdmbtl_lab.cli.figures import figures
from sdmbtl_lab.cli.matrix import matrix

app = typer.Typer(no_args_is_help=True, help="Benchmarks, transfer matrices, figures.")
app.add_typer(bench, name="bench")
for _command in (matrix, describe, figures):
    app.command(cls=PlainHelpCommand)(_command)
