"""`sdmbtl bench`: compare selectors on known transfer matrices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from sdmbtl.benchmarks import (
    real_results,
    selectors_benchmark,
    selectors_results,
    synthetic_results,
)
from sdmbtl.benchmarks.journal import Journal
from sdmbtl.benchmarks.published import Metric
from sdmbtl.benchmarks.real_benchmark import BUDGETS, MATRICES, REAL_SELECTORS, RealBenchmark
from sdmbtl.benchmarks.results import load_result, save_result
from sdmbtl.benchmarks.runner import Benchmark, journal_path
from sdmbtl.benchmarks.selectors_benchmark import COMPARED, PARTS, SelectorsBenchmark, part_names
from sdmbtl.benchmarks.summary import EPSILONS
from sdmbtl.benchmarks.synthetic import further_configurations
from sdmbtl.benchmarks.synthetic_benchmark import DEFAULT_SELECTORS, SyntheticBenchmark
from sdmbtl.benchmarks.tables import Table
from sdmbtl.cli import arguments
from sdmbtl.cli.bar import WorkBar
from sdmbtl.cli.output import INTERRUPTED

bench = typer.Typer(help="Compare selectors on known transfer matrices.", no_args_is_help=True)


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


@bench.command("synthetic")
def bench_synthetic(
    dim: Annotated[int, typer.Option(help="Dimensions: 3, 5 or 7.")] = 3,
    noise: Annotated[float, typer.Option(help="Standard deviation of the noise.")] = 5.0,
    trials: Annotated[
        int | None, typer.Option(help="Trials W; the paper's number if left out.")
    ] = None,
    rounds: Annotated[int, typer.Option(help="Rounds K: trained policies.")] = 50,
    selectors: Annotated[
        str, typer.Option(help="Names of selectors, separated by commas.")
    ] = ",".join(DEFAULT_SELECTORS),
    data: Annotated[
        Data,
        typer.Option(help="The paper's matrices, or further ones (quadratic, smooth, random)."),
    ] = Data.paper,
    jobs: Annotated[int, typer.Option(help="Processes.", min=1)] = 2,
    out: Annotated[Path, typer.Option(help="Folder for the result file.")] = Path("results"),
    output_format: Annotated[
        Format, typer.Option("--format", help="How to print the table.")
    ] = Format.text,
    auc: Annotated[bool, typer.Option("--auc", help="Print the area under the curve too.")] = False,
) -> None:
    """Reproduce the paper's tables on synthetic data, beside the printed values.

    Interrupted, it goes on where it was when the same command is given again.
    """
    notes = Console(stderr=True)
    benchmark = SyntheticBenchmark(
        dim=dim,
        noise=noise,
        trials=trials,
        rounds=rounds,
        selectors=_names(selectors),
        configurations=further_configurations(dim) if data is Data.further else (),
    )
    if noise == 0 and trials not in (None, 1):
        notes.print("Without noise all trials are equal: one is run.")
    with _finished(benchmark.name, benchmark, jobs, out, notes) as journal:
        result = synthetic_results.summarise(benchmark, journal)
        path = out / f"{benchmark.name}.json"
        save_result(result, path)
    _print_tables(result, output_format, auc=auc)
    notes.print(f"Written to {path}", soft_wrap=True)


@bench.command("real")
def bench_real(
    data: Annotated[
        str,
        typer.Option(
            help="Names of shipped matrices, or paths, separated by commas.", show_default="all"
        ),
    ] = "",
    matrices: Annotated[
        int, typer.Option(help="Matrices drawn from the seeds of each data set.", min=1)
    ] = MATRICES,
    budgets: Annotated[
        str, typer.Option(help="Numbers of policies K, separated by commas.")
    ] = ",".join(map(str, BUDGETS)),
    selectors: Annotated[
        str, typer.Option(help="Names of selectors, separated by commas.")
    ] = ",".join(REAL_SELECTORS),
    jobs: Annotated[int, typer.Option(help="Processes.", min=1)] = 2,
    out: Annotated[Path, typer.Option(help="Folder for the result file.")] = Path("results"),
    output_format: Annotated[
        Format, typer.Option("--format", help="How to print the tables.")
    ] = Format.text,
    auc: Annotated[bool, typer.Option("--auc", help="Print the area under the curve too.")] = False,
) -> None:
    """Run the paper's experiment on matrices of real training.

    Interrupted, it goes on where it was when the same command is given again.
    """
    notes = Console(stderr=True)
    benchmark = RealBenchmark(
        data=_names(data),
        matrices=matrices,
        budgets=arguments.whole_numbers(budgets, "--budgets"),
        selectors=_names(selectors),
    )
    with _finished(benchmark.name, benchmark, jobs, out, notes) as journal:
        result = real_results.summarise(benchmark, journal)
        path = out / f"{benchmark.name}.json"
        save_result(result, path)
    _print_tables(result, output_format, auc=auc)
    notes.print(f"Written to {path}", soft_wrap=True)


@bench.command("selectors")
def bench_selectors(
    parts: Annotated[
        str,
        typer.Option(
            help=f"Parts to run, separated by commas: {', '.join(PARTS)}.", show_default="all"
        ),
    ] = "",
    selectors: Annotated[
        str, typer.Option(help="Names of selectors, separated by commas.")
    ] = ",".join(COMPARED),
    trials: Annotated[
        int | None,
        typer.Option(help="Trials W of synthetic data; the usual numbers if left out.", min=1),
    ] = None,
    matrices: Annotated[
        int, typer.Option(help="Matrices drawn from the seeds of each real data set.", min=1)
    ] = selectors_benchmark.MATRICES,
    data: Annotated[
        str,
        typer.Option(
            help="Real matrices: names of shipped ones, or paths, separated by commas.",
            show_default="all",
        ),
    ] = "",
    jobs: Annotated[int, typer.Option(help="Processes.", min=1)] = 2,
    out: Annotated[Path, typer.Option(help="Folder for the result file.")] = Path("results"),
    output_format: Annotated[
        Format, typer.Option("--format", help="How to print the tables.")
    ] = Format.text,
) -> None:
    """Judge the default selector by its goals, beside the paper's selectors.

    Parts that the result file has from the same settings and code are not run again; the others
    are put into it one by one. Interrupted, it goes on where it was when the same command is given
    again.
    """
    notes = Console(stderr=True)
    wanted = part_names(_names(parts))
    benchmark = SelectorsBenchmark(_names(selectors), trials, matrices, _names(data))
    path = out / f"{benchmark.name}.json"
    for part in map(benchmark.part, wanted):
        if selectors_results.is_kept(part, path):
            notes.print(f"{part.name} is finished: kept as it is.")
            continue
        name = f"{benchmark.name}-{part.name}"
        with _finished(name, part.benchmark, jobs, out, notes) as journal:
            selectors_results.keep(part, journal, path)
    _print_tables(load_result(path), output_format, auc=False)
    notes.print(f"Written to {path}", soft_wrap=True)


@bench.command("show")
def bench_show(
    files: Annotated[list[Path], typer.Argument(help="Result files.", exists=True, dir_okay=False)],
    output_format: Annotated[
        Format, typer.Option("--format", help="How to print the table.")
    ] = Format.text,
    auc: Annotated[bool, typer.Option("--auc", help="Print the area under the curve too.")] = False,
    statistic: Annotated[
        Statistic, typer.Option(help="Mean over the trials, median or interquartile mean.")
    ] = Statistic.mean,
    rounds_to: Annotated[
        bool, typer.Option("--rounds-to", help="Print the rounds to near-optimal too.")
    ] = False,
) -> None:
    """Print the tables of finished benchmarks again, in any format."""
    for path in files:
        result = load_result(path)
        _print_tables(result, output_format, auc=auc, statistic=statistic)
        if rounds_to:
            for table in _rounds_tables(result):
                _print_table(table, output_format)


def _print_tables(
    result: dict[str, Any],
    output_format: Format,
    *,
    auc: bool,
    statistic: Statistic = Statistic.mean,
) -> None:
    metrics: tuple[Metric, ...] = ("final", "auc") if auc else ("final",)
    match result["benchmark"]:
        case "real":
            tables = _real_tables(result, metrics, statistic)
        case "synthetic":
            tables = _synthetic_tables(result, metrics, statistic)
        case _:
            tables = selectors_results.tables(result)
    for table in _notes_once(tables):
        _print_table(table, output_format)


def _rounds_tables(result: dict[str, Any]) -> Iterator[Table]:
    """Rounds to near-optimal; a result about selectors is about other things."""
    modules = {"real": real_results, "synthetic": synthetic_results}
    module = modules.get(result["benchmark"])
    if module is not None:
        for epsilon in EPSILONS:
            yield module.rounds_table(result, epsilon)


def _notes_once(tables: Iterable[Table]) -> Iterator[Table]:
    """Tables without the notes that stood below an earlier one."""
    seen: set[str] = set()
    for table in tables:
        yield replace(table, notes=tuple(n for n in table.notes if n not in seen))
        seen.update(table.notes)


def _synthetic_tables(
    result: dict[str, Any], metrics: Iterable[Metric], statistic: str
) -> Iterator[Table]:
    for metric in metrics:
        yield synthetic_results.performance_table(result, metric, statistic)
    shares = synthetic_results.share_table(result)
    if shares is not None:
        yield shares


def _real_tables(
    result: dict[str, Any], metrics: Iterable[Metric], statistic: str
) -> Iterator[Table]:
    yield real_results.margin_table(result)
    for metric in metrics:
        for budget in result["budgets"]:
            yield real_results.performance_table(result, budget, metric, statistic)
        if set(real_results.ABLATION) & set(result["selectors"]):
            for budget in result["budgets"]:
                yield real_results.performance_table(
                    result, budget, metric, statistic, ablation=True
                )
    yield from real_results.strategy_tables(result)


def _print_table(table: Table, output_format: Format) -> None:
    typer.echo(_formatted(table, output_format).rstrip("\n") + "\n")


@contextmanager
def _finished(
    name: str, benchmark: Benchmark, jobs: int, out: Path, notes: Console
) -> Iterator[Journal]:
    """Run a benchmark to its end; its records are deleted once they stand in the results."""
    journal = Journal(journal_path(out, name), benchmark.settings)
    if journal.note:
        notes.print(journal.note)
    if len(journal):
        notes.print(f"Going on with {len(journal)} results of an interrupted run.")
    with WorkBar(notes, name) as bar:
        try:
            benchmark.run(journal, jobs=jobs, progress=bar)
        except KeyboardInterrupt:
            notes.print(
                f"Interrupted; {len(journal)} results are kept. "
                "Give the same command again to go on."
            )
            raise typer.Exit(INTERRUPTED) from None
    yield journal
    journal.remove()


def _names(text: str) -> tuple[str, ...]:
    """Names separated by commas, each once."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _formatted(table: Table, output_format: Format) -> str:
    match output_format:
        case Format.text:
            return table.to_text()
        case Format.markdown:
            return table.to_markdown()
        case Format.latex:
            return table.to_latex()
        case Format.csv:
            return table.to_csv()
