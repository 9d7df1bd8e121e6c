"""`sdmbtl figures`: the paper's figures, of matrices and of benchmarks, as files."""

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

if TYPE_CHECKING:
    from sdmbtl.plots import PaperFigure

#: What is run on drawn matrices, and for how many policies.
SELECTOR, POLICIES = "m/gp-mbtl", 12
#: Whose CPU time is measured.
TIMED = ("m-mbtl", "gp-mbtl", "m/gp-mbtl", "auto")
#: The name that stands for the paper's synthetic matrices among those of data sets.
SYNTHETIC = "synthetic"


class Format(StrEnum):
    """The format of the files."""

    pdf = "pdf"
    svg = "svg"
    png = "png"


def figures(
    results: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RESULT]...",
            help="Result files of 'sdmbtl bench'; none draws the transfer matrices alone.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Data sets, or paths of matrices, separated by commas; 'synthetic' for the "
            "paper's synthetic ones; '' for none.",
            show_default="all that come with sdmbtl, and the synthetic ones",
        ),
    ] = None,
    matrices: Annotated[
        int,
        typer.Option(
            min=0,
            help="Matrices drawn from the seeds of each data set that has several, on which "
            "M/GP-MBTL is run; 0 leaves that figure out.",
        ),
    ] = 100,
    timed: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="K",
            help="Policies that selectors choose on each data set while their CPU time is "
            "measured; 0 leaves that figure out.",
        ),
    ] = 30,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Where the figures are written.")
    ] = Path("figures"),
    kind: Annotated[Format, typer.Option("--format", help="Of the files.")] = Format.pdf,
    as_json: JsonOption = False,
) -> None:
    """Draw the paper's figures, of transfer matrices and of benchmarks.

    Each file is named by what it shows; captions.txt has their captions, with
    the number of the paper's figure where there is one.
    """
    # Everything is read before anything is written: a wrong name costs nothing then.
    found = [*_of_matrices(data, matrices, timed), *_of_benchmarks(results or [])]
    captions = {}
    for path, caption in _draw(found, out, kind):
        captions[path] = caption
        if not as_json:
            note(f"Drawn: {path}")
    lines = "".join(f"{path.name}: {caption}\n" for path, caption in captions.items())
    write_atomically(out / "captions.txt", lines.encode())
    if as_json:
        print_json({"figures": [{"file": str(p), "caption": c} for p, c in captions.items()]})
    else:
        note(f"The captions are in {out / 'captions.txt'}.")


def _draw(figures: list[PaperFigure], out: Path, kind: Format) -> Iterator[tuple[Path, str]]:
    """Write each figure: its file and its caption."""
    from sdmbtl.plots import save_axes

    out.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        path = out / f"{figure.name}.{kind.value}"
        save_axes(figure.draw().axes[0], path)
        yield path, " ".join(figure.caption.split())


def _of_matrices(data: str | None, matrices: int, timed: int) -> Iterator[PaperFigure]:
    from sdmbtl.plots import (
        cpu_time_figure,
        distribution_figure,
        synthetic_figure,
        transfer_figures,
    )
    from sdmbtl_lab.benchmarks import (
        illustrated_configurations,
        measure_cpu_time,
        measure_distribution,
    )
    from sdmbtl_lab.matrices import load_matrix, matrix_names

    every = [*matrix_names(), SYNTHETIC]
    names = every if data is None else [n.strip() for n in data.split(",") if n.strip()]
    datasets = [load_matrix(name) for name in names if name != SYNTHETIC]
    if SYNTHETIC in names:
        yield synthetic_figure(illustrated_configurations())
    if timed and datasets:
        yield cpu_time_figure(
            lambda: [
                measure_cpu_time(dataset, TIMED, policies=min(timed, len(dataset.space)))
                for dataset in datasets
            ]
        )
    for dataset in datasets:
        yield from transfer_figures(dataset)
        if matrices and len(dataset.matrices) > 1:
            policies = min(POLICIES, len(dataset.space))
            measure = partial(
                measure_distribution, dataset, SELECTOR, policies=policies, matrices=matrices
            )
            yield distribution_figure(dataset.name, measure)


def _of_benchmarks(paths: list[Path]) -> Iterator[PaperFigure]:
    from sdmbtl_lab.benchmarks import BenchmarkResult
    from sdmbtl_lab.figures import benchmark_figures
    from sdmbtl_lab.figures.benchmark_data import benchmark_data

    for path in paths:
        result = BenchmarkResult.load(path)
        yield from benchmark_figures(result, benchmark_data(result))
