"""`sdmbtl lab bench`: compare selectors on known transfer matrices."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sdmbtl.cli.options import JsonOption
from sdmbtl.cli.output import (
    INTERRUPTED,
    FriendlyErrorGroup,
    PlainHelpCommand,
    note,
    print_json,
    say,
)
from sdmbtl.console import PlainConsole
from sdmbtl.errors import BenchmarkError
from sdmbtl_lab.cli.progress import WorkBar, parse_names, parse_whole_numbers

if TYPE_CHECKING:
    from sdmbtl_lab.benchmarks import Benchmark, BenchmarkResult

bench = typer.Typer(
    cls=FriendlyErrorGroup,
    help="""Compare selectors on known transfer matrices.

    A transfer matrix holds the return of every policy on every target, so
    nothing is trained. Performance is the mean best return, scaled to 0..1.
    Normalised, 0 is random choice and 1 the Myopic Oracle, which knows the
    matrix and takes the best next context each time.""",
    no_args_is_help=True,
    rich_markup_mode=None,
)
OLDER_CODE = "Made by older code. Run the benchmark again for the numbers of today's."
_command = partial(bench.command, cls=PlainHelpCommand)


class Format(StrEnum):
    """Format of printed tables."""

    text = "text"
    markdown = "markdown"
    latex = "latex"


class Data(StrEnum):
    """Kinds of synthetic matrices."""

    paper = "paper"
    further = "further"


Selectors = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help="Selectors to compare, separated by commas: names, your 'module:Class', or "
        "'name?key=value&key=value'; 'paper' stands for the paper's.",
        show_default="paper and predictive",
    ),
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", metavar="N", help="Processes.", min=1)]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Directory of the result file.")]
OutputFormat = Annotated[
    Format, typer.Option("--format", metavar="text|markdown|latex", help="Format of the tables.")
]
Auc = Annotated[bool, typer.Option("--auc", help="Mean over 1 to K policies too.")]


@_command("synthetic")
def bench_synthetic(
    dim: Annotated[int, typer.Option(metavar="D", help="Context dimensions: 3, 5 or 7.")] = 3,
    noise: Annotated[
        float, typer.Option(metavar="X", help="Standard deviation of the noise on the returns.")
    ] = 5.0,
    matrices: Annotated[
        int | None,
        typer.Option(metavar="N", help="Matrices of each kind.", show_default="as in the paper"),
    ] = None,
    rounds: Annotated[
        int, typer.Option(metavar="K", help="Number of policies, the paper's K.")
    ] = 50,
    selectors: Selectors = "",
    data: Annotated[
        Data,
        typer.Option(
            metavar="paper|further",
            help="The paper's kinds of matrices, or further ones of our own.",
        ),
    ] = Data.paper,
    jobs: Jobs = 2,
    out: Out = Path("results"),
    output_format: OutputFormat = Format.text,
    auc: Auc = False,
    as_json: JsonOption = False,
) -> None:
    """Reproduce the paper's tables on synthetic data.

    Each table has our values, and in brackets those printed in the paper. An
    interrupted run continues when the same command is given again.
    """
    from sdmbtl_lab.benchmarks import further_configurations, synthetic_benchmark
    from sdmbtl_lab.benchmarks.paper_benchmarks import SYNTHETIC_SELECTORS

    benchmark = synthetic_benchmark(
        dim,
        noise,
        matrices,
        rounds,
        _selectors(selectors, SYNTHETIC_SELECTORS),
        further_configurations(dim) if data is Data.further else (),
    )
    if noise == 0 and matrices not in (None, 1):
        note("Without noise all matrices of a kind are equal: one is used.")
    _run(benchmark, jobs, out, output_format, auc=auc, as_json=as_json)


@_command("real")
def bench_real(
    data: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Data sets, or paths of matrices, separated by commas.",
            show_default="all shipped ones",
        ),
    ] = "",
    matrices: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Matrices for each data set; each row is drawn from one of its seeds.",
            min=1,
        ),
    ] = 100,
    policies: Annotated[
        str,
        typer.Option(metavar="NUMBERS", help="Numbers of policies to report, separated by commas."),
    ] = "6,12,50",
    selectors: Selectors = "",
    jobs: Jobs = 2,
    out: Out = Path("results"),
    output_format: OutputFormat = Format.text,
    auc: Auc = False,
    as_json: JsonOption = False,
) -> None:
    """Repeat the paper's experiment on matrices made by real training.

    An interrupted run continues when the same command is given again.
    """
    from sdmbtl_lab.benchmarks import real_benchmark
    from sdmbtl_lab.benchmarks.paper_benchmarks import REAL_SELECTORS

    benchmark = real_benchmark(
        parse_names(data),
        matrices,
        parse_whole_numbers(policies, "--policies"),
        _selectors(selectors, REAL_SELECTORS),
    )
    _run(benchmark, jobs, out, output_format, auc=auc, as_json=as_json)


@_command("show")
def bench_show(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULT", help="Result files of earlier runs.", exists=True, dir_okay=False
        ),
    ],
    output_format: OutputFormat = Format.text,
    auc: Auc = False,
) -> None:
    """Print the tables of finished benchmarks again, in any format.

    A note marks results that were made by older code.
    """
    from dataclasses import replace

    from sdmbtl_lab.benchmarks import BenchmarkResult
    from sdmbtl_lab.benchmarks.benchmark import made_by_older_code

    for path in files:
        result = BenchmarkResult.load(path)
        if made_by_older_code(result):
            result = replace(result, notes=(OLDER_CODE, *result.notes))
        try:
            _print_tables(result, output_format, auc=auc)
        except (ArithmeticError, LookupError, TypeError) as error:
            raise BenchmarkError(
                f"{path} is not a complete result ({error!r}). Run the benchmark again."
            ) from None


def _run(
    benchmark: Benchmark,
    jobs: int,
    out: Path,
    output_format: Format,
    *,
    auc: bool,
    as_json: bool,
) -> None:
    """Run a benchmark to its end; its journal is deleted once the result file is written."""
    journal = benchmark.journal(out)
    if journal.note:
        note(journal.note)
    if len(journal):
        note(f"Continuing with {len(journal)} results of an interrupted run.")
    with WorkBar(PlainConsole(stderr=True), benchmark.name) as bar:
        try:
            result = benchmark.run(journal, jobs=jobs, progress=bar)
        except KeyboardInterrupt:
            note(f"Interrupted; {len(journal)} results are kept. The same command continues.")
            raise typer.Exit(INTERRUPTED) from None
    path = out / f"{benchmark.name}.json"
    result.save(path)
    journal.remove()
    if as_json:
        print_json({"result": str(path), "aggregated": result.aggregated})
        return
    _print_tables(result, output_format, auc=auc)
    note(f"Written to {path}")


def _print_tables(result: BenchmarkResult, output_format: Format, *, auc: bool) -> None:
    from dataclasses import replace

    from sdmbtl_lab.benchmarks.paper_tables import paper_tables

    seen: set[str] = set()
    for table in paper_tables(result, auc=auc):
        notes = tuple(note for note in table.notes if note not in seen)  # each of them once
        seen.update(notes)
        table = replace(table, notes=notes)
        if output_format is Format.text:
            text = table.to_text(PlainConsole().width)
        else:
            text = getattr(table, f"to_{output_format.value}")()
        say(text.rstrip("\n") + "\n")


def _selectors(text: str, paper: tuple[str, ...]) -> tuple[str, ...]:
    """Return the named selectors: by default the paper's and `predictive`."""
    from sdmbtl_lab.benchmarks.columns import PREDICTIVE

    names = parse_names(text) or ("paper", PREDICTIVE)
    every = (one for name in names for one in (paper if name == "paper" else (name,)))
    return tuple(dict.fromkeys(every))
