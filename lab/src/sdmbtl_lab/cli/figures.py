"""`sdmbtl lab figures`: the paper's figures of matrices and benchmarks, as files."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sdmbtl.cli.options import JsonOption
from sdmbtl.cli.output import note, print_json
from sdmbtl.files import write_atomically
from sdmbtl_lab.cli.progress import parse_names

if TYPE_CHECKING:
    from sdmbtl_lab.figures import PaperFigure

#: Selector on resampled matrices, and its number of policies.
SELECTOR, POLICIES = "m/gp-mbtl", 12
#: Selectors whose CPU time is measured.
TIMED = ("m-mbtl", "gp-mbtl", "m/gp-mbtl", "predictive")
#: Stands for the paper's synthetic matrices among the names of data sets.
SYNTHETIC = "synthetic"


class Format(StrEnum):
    """Format of the files."""

    pdf = "pdf"
    svg = "svg"
    png = "png"


def figures(
    results: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RESULT",
            help="Result files of 'sdmbtl lab bench'; none draws the transfer matrices alone.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Data sets, or paths of matrices, separated by commas; 'synthetic' for the "
            "paper's synthetic ones; '' for none.",
            show_default="all",
        ),
    ] = None,
    matrices: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Matrices drawn from the seeds of each data set for M/GP-MBTL; 0 for no figure.",
        ),
    ] = 100,
    timed: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="K",
            help="Policies to choose while CPU time is measured; 0 for no figure.",
        ),
    ] = 30,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Directory of the figures.")
    ] = Path("figures"),
    kind: Annotated[
        Format, typer.Option("--format", metavar="pdf|svg|png", help="Format of the files.")
    ] = Format.pdf,
    as_json: JsonOption = False,
) -> None:
    """Draw the paper's figures, of transfer matrices and of benchmarks.

    Each file is named by its content; captions.txt has their captions, with
    the number of the paper's figure where there is one. Data without anything
    to show in a figure are left out of it, and listed.
    """
    from sdmbtl.plots import save_axes

    # Everything is read before anything is written: a wrong name costs nothing then.
    found = [*_of_matrices(data, matrices, timed), *_of_benchmarks(results or [])]
    out.mkdir(parents=True, exist_ok=True)
    captions, left_out = {}, [figure.left_out for figure in found if figure.left_out]
    for figure in found:
        if figure.draw is not None:
            path = out / f"{figure.name}.{kind.value}"
            save_axes(figure.draw().axes[0], path)
            captions[path] = figure.caption
            if not as_json:
                note(f"Drawn: {path}")
    lines = "".join(f"{path.name}: {caption}\n" for path, caption in captions.items())
    write_atomically(out / "captions.txt", lines.encode())
    if as_json:
        drawn = [{"file": str(path), "caption": caption} for path, caption in captions.items()]
        print_json({"figures": drawn, "left_out": left_out})
        return
    for text in left_out:
        note(f"Left out: {text}.")
    note(f"The captions are in {out / 'captions.txt'}.")


def _of_matrices(data: str | None, matrices: int, timed: int) -> Iterator[PaperFigure]:
    from sdmbtl_lab.benchmarks import illustrated_configurations
    from sdmbtl_lab.figures import PaperFigure, transfer_figures
    from sdmbtl_lab.figures.benchmark_figures import cpu_time_figure, distribution_figure
    from sdmbtl_lab.figures.transfer_figures import synthetic_matrices_figure
    from sdmbtl_lab.matrices import load_matrix, matrix_names

    names = (*matrix_names(), SYNTHETIC) if data is None else parse_names(data)
    datasets = [load_matrix(name) for name in names if name != SYNTHETIC]
    if SYNTHETIC in names:
        draw = partial(synthetic_matrices_figure, illustrated_configurations())
        yield PaperFigure("transfer-matrices", SYNTHETIC, draw)
    if timed and datasets:
        draw = partial(cpu_time_figure, datasets, TIMED, timed)
        yield PaperFigure("cpu-time", "selectors", draw)
    for dataset in datasets:
        yield from transfer_figures(dataset)
        if matrices:
            numbers = {"policies": min(POLICIES, len(dataset.space)), "matrices": matrices}
            draw = partial(distribution_figure, dataset, SELECTOR, **numbers)
            several = len(dataset.matrices) > 1
            yield PaperFigure("seeds-and-drawn", dataset.name, draw if several else None)


def _of_benchmarks(paths: list[Path]) -> Iterator[PaperFigure]:
    from sdmbtl_lab.benchmarks import BenchmarkResult
    from sdmbtl_lab.figures import benchmark_figures

    for path in paths:
        yield from benchmark_figures(BenchmarkResult.load(path))
