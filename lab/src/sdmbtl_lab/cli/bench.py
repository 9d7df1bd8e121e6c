"""`sdmbtl bench`: compare selectors on known transfer matrices."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sdmbtl.cli.output import INTERRUPTED, PlainHelpCommand, note_console, result_console, say
from sdmbtl.errors import BenchmarkError
from sdmbtl_lab.cli.bar import WorkBar
from sdmbtl_lab.cli.parsing import parse_whole_numbers

if TYPE_CHECKING:
    from sdmbtl_lab.benchmarks import Benchmark, BenchmarkResult

bench = typer.Typer(
    help="""Compare selectors on known transfer matrices.

    A transfer matrix holds the return of every policy on every target, so
    nothing is trained. Performance is the mean best return, scaled to 0..1.
    Normalised, 0 is random choice and 1 the Myopic Oracle, which knows the
    matrix and takes the best next context each time.""",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Format(StrEnum):
    """How a table is printed."""

    text = "text"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"


class Statistic(StrEnum):
    """What one number says of many matrices."""

    mean = "mean"
    median = "median"
    iqm = "iqm"


class Data(StrEnum):
    """Which kinds of synthetic matrices."""

    paper = "paper"
    further = "further"


Selectors = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help="Selectors to compare, separated by commas; 'paper' stands for the paper's.",
        show_default="paper and auto",
    ),
]
Jobs = Annotated[int, typer.Option(help="Number of processes.", min=1)]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Directory of the result file.")]
OutputFormat = Annotated[Format, typer.Option("--format", help="How the tables are printed.")]
Auc = Annotated[bool, typer.Option("--auc", help="Show the mean over 1 to K policies too.")]


@bench.command("synthetic", cls=PlainHelpCommand)
def bench_synthetic(
    dim: Annotated[int, typer.Option(help="Number of context dimensions: 3, 5 or 7.")] = 3,
    noise: Annotated[
        float, typer.Option(help="Standard deviation of the noise on the returns.")
    ] = 5.0,
    matrices: Annotated[
        int | None,
        typer.Option(help="Matrices of each kind.", show_default="as in the paper"),
    ] = None,
    rounds: Annotated[int, typer.Option(help="Number of policies, the paper's K.")] = 50,
    selectors: Selectors = "",
    data: Annotated[
        Data, typer.Option(help="The paper's kinds of matrices, or further ones of our own.")
    ] = Data.paper,
    jobs: Jobs = 2,
    out: Out = Path("results"),
    output_format: OutputFormat = Format.text,
    auc: Auc = False,
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
        note_console().print("Without noise all matrices of a kind are equal: one is used.")
    _run(benchmark, jobs, out, output_format, auc=auc)


@bench.command("real", cls=PlainHelpCommand)
def bench_real(
    data: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Data sets, or paths of matrices, separated by commas.",
            show_default="all that come with sdmbtl",
        ),
    ] = "",
    matrices: Annotated[
        int,
        typer.Option(
            help="Matrices for each data set; each row is drawn from one of its seeds.", min=1
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
) -> None:
    """Repeat the paper's experiment on matrices made by real training.

    An interrupted run continues when the same command is given again.
    """
    from sdmbtl_lab.benchmarks import real_benchmark
    from sdmbtl_lab.benchmarks.paper_benchmarks import REAL_SELECTORS

    benchmark = real_benchmark(
        _names(data),
        matrices,
        parse_whole_numbers(policies, "--policies"),
        _selectors(selectors, REAL_SELECTORS),
    )
    _run(benchmark, jobs, out, output_format, auc=auc)


@bench.command("show", cls=PlainHelpCommand)
def bench_show(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE.json", help="Result files of earlier runs.", exists=True, dir_okay=False
        ),
    ],
    output_format: OutputFormat = Format.text,
    auc: Auc = False,
    statistic: Annotated[
        Statistic, typer.Option(help="What is shown of many matrices; iqm: interquartile mean.")
    ] = Statistic.mean,
    rounds_to: Annotated[
        bool,
        typer.Option(
            "--rounds-to", help="Show after how many policies selection is near-optimal too."
        ),
    ] = False,
) -> None:
    """Print the tables of finished benchmarks again, in any format."""
    from sdmbtl_lab.benchmarks import BenchmarkResult

    for path in files:
        result = BenchmarkResult.load(path)
        try:
            _print_tables(result, output_format, auc=auc, statistic=statistic, rounds_to=rounds_to)
        except (ArithmeticError, LookupError, TypeError) as error:
            raise BenchmarkError(
                f"{path} has no complete result: its tables cannot be made ({error!r}). Run the "
                "benchmark again."
            ) from None


def _run(benchmark: Benchmark, jobs: int, out: Path, output_format: Format, *, auc: bool) -> None:
    """Run a benchmark to its end; its records are deleted once they stand in the result file."""
    notes = note_console()
    journal = benchmark.journal(out)
    if journal.note:
        notes.print(journal.note)
    if len(journal):
        notes.print(f"Continuing with {len(journal)} results of an interrupted run.")
    with WorkBar(notes, benchmark.name) as bar:
        try:
            result = benchmark.run(journal, jobs=jobs, progress=bar)
        except KeyboardInterrupt:
            notes.print(
                f"Interrupted; {len(journal)} results are kept. "
                "Give the same command again to continue."
            )
            raise typer.Exit(INTERRUPTED) from None
    path = out / f"{benchmark.name}.json"
    result.save(path)
    journal.remove()
    _print_tables(result, output_format, auc=auc)
    notes.print(f"Written to {path}", soft_wrap=True)


def _print_tables(
    result: BenchmarkResult,
    output_format: Format,
    *,
    auc: bool,
    statistic: Statistic = Statistic.mean,
    rounds_to: bool = False,
) -> None:
    from sdmbtl_lab.benchmarks.result import EPSILONS

    tables = [*result.tables(auc=auc, statistic=statistic)]
    if rounds_to:
        tables += [result.rounds_table(epsilon, statistic) for epsilon in EPSILONS]
    seen: set[str] = set()
    for table in tables:
        notes = tuple(note for note in table.notes if note not in seen)  # each of them once
        seen.update(notes)
        table = replace(table, notes=notes)
        if output_format is Format.text:
            text = table.to_text(result_console().width)
        else:
            text = getattr(table, f"to_{output_format.value}")()
        say(text.rstrip("\n") + "\n")


def _selectors(text: str, paper: tuple[str, ...]) -> tuple[str, ...]:
    """The selectors that are meant: by default the paper's and the default selector."""
    from sdmbtl_lab.benchmarks.columns import DEFAULT

    names = _names(text) or ("paper", DEFAULT)
    every = (one for name in names for one in (paper if name == "paper" else (name,)))
    return tuple(dict.fromkeys(every))


def _names(text: str) -> tuple[str, ...]:
    """Names separated by commas, each once."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
