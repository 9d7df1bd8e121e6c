"""Commands of the lab: `sdmbtl lab bench`, `matrix`, `describe` and `figures`."""

from __future__ import annotations

import typer

from sdmbtl.cli.output import FriendlyErrorGroup, PlainHelpCommand
from sdmbtl_lab.cli.bench import bench
from sdmbtl_lab.cli.describe import describe
from sdmbtl_lab.cli.figures import figures
from sdmbtl_lab.cli.matrix import matrix

app = typer.Typer(
    cls=FriendlyErrorGroup,
    help="Benchmarks of selectors, transfer matrices, the paper's tables and figures.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(bench, name="bench")
for _command in (matrix, describe, figures):
    app.command(cls=PlainHelpCommand)(_command)
