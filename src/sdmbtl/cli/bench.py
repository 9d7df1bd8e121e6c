"""`sdmbtl bench`: compare selectors on known transfer matrices."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sdmbtl.cli import arguments
from sdmbtl.cli.bar import WorkBar
from sdmbtl.cli.output import INTERRUPTED, note_console, result_console

if TYPE_CHECKING:
    from sdmbtl.benchmarks import Benchmark, BenchmarkResult

bench = typer.Typer(
    help="Compare selectors on known transfer matrices.",
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
    """What stands for the trials."""

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
        help="Separated by commas; 'paper' for the paper's.",
        show_default="paper and auto",
    ),
]
Jobs = Annotated[int, typer.Option(help="Processes.", min=1)]
Out = Annotated[Path, typer.Option(metavar="DIR", help="For the result file.")]
OutputFormat = Annotated[Format, typer.Option("--format", help="Of the tables.")]
Auc = Annotated[bool, typer.Option("--auc", help="Area under the curve, too.")]


@bench.command("synthetic")
def bench_synthetic(
    dim: Annotated[int, typer.Option(help="Dimensions: 3, 5 or 7.")] = 3,
    noise: Annotated[float, typer.Option(help="Its standard deviation.")] = 5.0,
    trials: Annotated[
        int | None, typer.Option(help="Matrices of each kind.", show_default="the paper's")
    ] = None,
    rounds: Annotated[int, typer.Option(help="Trained policies.")] = 50,
    selectors: Selectors = "",
    data: Annotated[Data, typer.Option(help="Kinds of matrices.")] = Data.paper,
    jobs: Jobs = 2,
    out: Out = Path("results"),
    output_format: OutputFormat = Format.text,
    auc: Auc = False,
) -> None:
    """Reproduce the paper's tables on synthetic data.

    The printed values stand beside ours. An interrupted run continues when
    the same command is given again.
    """
    from sdmbtl.benchmarks import further_configurations, synthetic_benchmark
    from sdmbtl.benchmarks.paper_benchmarks import SYNTHETIC_SELECTORS

    benchmark = synthetic_benchmark(
        dim,
        noise,
        trials,
        rounds,
        _selectors(selectors, SYNTHETIC_SELECTORS),
        further_configurations(dim) if data is Data.further else (),
    )
    if noise == 0 and trials not in (None, 1):
        note_console().print("Without noise all trials are equal: one is run.")
    _run(benchmark, jobs, out, output_format, auc=auc)


@bench.command("real")
def bench_real(
    data: Annotated[
        str,
        typer.Option(metavar="NAMES", help="Or paths, with commas.", show_default="all shipped"),
    ] = "",
    matrices: Annotated[int, typer.Option(help="Drawn from the seeds.", min=1)] = 100,
    policies: Annotated[str, typer.Option(metavar="NUMBERS", help="With commas.")] = "6,12,50",
    selectors: Selectors = "",
    jobs: Jobs = 2,
    out: Out = Path("results"),
    output_format: OutputFormat = Format.text,
    auc: Auc = False,
) -> None:
    """Run the paper's experiment on matrices of real training.

    An interrupted run continues when the same command is given again.
    """
    from sdmbtl.benchmarks import real_benchmark
    from sdmbtl.benchmarks.paper_benchmarks import REAL_SELECTORS

    benchmark = real_benchmark(
        _names(data),
        matrices,
        arguments.whole_numbers(policies, "--policies"),
        _selectors(selectors, REAL_SELECTORS),
    )
    _run(benchmark, jobs, out, output_format, auc=auc)


@bench.command("show")
def bench_show(
    files: Annotated[list[Path], typer.Argument(help="Result files.", exists=True, dir_okay=False)],
    output_format: OutputFormat = Format.text,
    auc: Auc = False,
    statistic: Annotated[Statistic, typer.Option(help="Over the trials.")] = Statistic.mean,
    rounds_to: Annotated[
        bool, typer.Option("--rounds-to", help="Rounds to near-optimal, too.")
    ] = False,
) -> None:
    """Print the tables of finished benchmarks again, in any format."""
    from sdmbtl.benchmarks import BenchmarkResult

    for path in files:
        result = BenchmarkResult.load(path)
        _print_tables(result, output_format, auc=auc, statistic=statistic, rounds_to=rounds_to)


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
    from sdmbtl.benchmarks.result import EPSILONS

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
        typer.echo(text.rstrip("\n") + "\n")


def _selectors(text: str, paper: tuple[str, ...]) -> tuple[str, ...]:
    """The selectors that are meant: by default the paper's and the default selector."""
    from sdmbtl.benchmarks.columns import DEFAULT

    names = _names(text) or ("paper", DEFAULT)
    every = (one for name in names for one in (paper if name == "paper" else (name,)))
    return tuple(dict.fromkeys(every))


def _names(text: str) -> tuple[str, ...]:
    """Names separated by commas, each once."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
