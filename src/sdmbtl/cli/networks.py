"""`sdmbtl distill` and `sdmbtl baseline`: one network instead of several policies."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sdmbtl.checks import known_name
from sdmbtl.cli.options import (
    JsonOption,
    PortfolioArgument,
    StudyArgument,
    TrustOption,
)
from sdmbtl.cli.output import ArgumentError, note, print_json, print_lines
from sdmbtl.cli.portfolio import open_portfolio
from sdmbtl.cli.signals import StopSignals, stoppable
from sdmbtl.transfer import share_of_range
from sdmbtl.wording import clock, figure, level_figure

if TYPE_CHECKING:
    from sdmbtl.portfolio.distillation.network import Knowledge
    from sdmbtl.training import Report

#: Seconds between two lines of progress; on a terminal there is one for each round.
LOG_EVERY = 30.0
#: Environment steps for a portfolio, which does not know how long it was trained.
PORTFOLIO_STEPS = 100_000


def distill(
    path: PortfolioArgument,
    context: str = typer.Option(
        "told",
        metavar="told|hidden",
        help="told: the network sees the context. hidden: it has a memory instead.",
    ),
    steps: int | None = typer.Option(
        None,
        metavar="N",
        help="Environment steps.",
        min=1,
        show_default="30 % of the study's, 100000 for a portfolio",
    ),
    out: Path | None = typer.Option(
        None,
        metavar="DIR",
        help="Directory for the network.",
        show_default="DIR/networks of a study",
    ),
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make one network that does what all the policies do.

    The network plays, and the policy for each context labels the right action.
    The same command continues after an interruption.
    """
    from sdmbtl.portfolio.network import read_record
    from sdmbtl.studies import Study
    from sdmbtl.studies.networks import distill_study, network_path
    from sdmbtl.studies.store import has_database

    knowledge = _check_context(context)
    with stoppable("Interrupted. The same command continues.") as signals:
        progress = StepProgress(signals, quiet=as_json)
        if has_database(path):
            study = Study.open(path, trust=trust)
            file = distill_study(study, knowledge, steps, out, progress)
            return_range = study.return_range
        else:
            found, trusted = open_portfolio(path, trust=trust)
            if out is None:
                raise ArgumentError(
                    f"{str(path)!r} is not a study. Give a directory for the network: --out DIR"
                )
            from sdmbtl.portfolio.distillation import Distiller, distill_to_file

            file = network_path(out, context)
            family = found.make_family("pass --trust.", trust=trusted)
            distiller = Distiller(found, family, knowledge)
            distill_to_file(file, distiller, steps or PORTFOLIO_STEPS, progress=progress)
            return_range = found.return_range
    record = read_record(file)
    assert record is not None  # noqa: S101 (it was just written)
    coverage = share_of_range(record.mean_return, return_range)
    if as_json:
        print_json({"file": str(file), "coverage": coverage, **asdict(record)})
        return
    own = level_figure(record.mean_return, coverage)
    teacher = share_of_range(record.portfolio_return, return_range)
    portfolio = level_figure(record.portfolio_return, teacher)
    lines = [f"✓ one network, context {record.context}: {own}, portfolio {portfolio}"]
    if return_range is not None:
        error = record.standard_error / (return_range[1] - return_range[0])
        lines.append(f"  Standard error of the difference: {100 * error:.1f} points.")
    played = f"{record.steps:,} steps, and {record.evaluation_steps:,} to measure it"
    lines += [f"  {played}", f"  Written to {file}; in Python: load_policy({str(file)!r})"]
    print_lines(*lines, hanging=2)


def baseline(
    path: StudyArgument,
    context: str = typer.Option(
        "hidden",
        metavar="hidden|told",
        help="told: the policy sees the context. hidden: it does not.",
    ),
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare a study with one policy that has the same number of steps.

    The policy is trained on random contexts with all steps of the study,
    evaluation included. The same command continues after an interruption.
    """
    from sdmbtl.studies import Study
    from sdmbtl.studies.describe import baseline_line

    knowledge = _check_context(context)
    with stoppable("Interrupted. The same command continues.") as signals:
        study = Study.open(path, trust=trust)
        made = study.baseline(knowledge, progress=StepProgress(signals, quiet=as_json))
    if as_json:
        own, ours = study.share(made.mean_return), study.share(made.study_return)
        print_json({"path": str(path), "coverage": own, "study_coverage": ours, **asdict(made)})
        return
    print_lines(f"✓ {baseline_line(study.snapshot(), made)}", hanging=2)


def _check_context(context: str) -> Knowledge:
    """Return what a network knows of its context."""
    from sdmbtl.studies.networks import CONTEXTS

    known_name("--context", context, CONTEXTS, error=ArgumentError)
    return "hidden" if context == "hidden" else "told"


class StepProgress:
    """Prints the progress of one training run, and ends it at a signal."""

    def __init__(self, signals: StopSignals, *, quiet: bool) -> None:
        self._signals, self._quiet = signals, quiet
        self._begun, self._due = time.monotonic(), 0.0

    def __call__(self, report: Report) -> None:
        """Print a line, if that is due."""
        self._signals.check()
        now = time.monotonic()
        if self._quiet or (report.stage == "training" and now < self._due):
            return
        self._due = now + (0.0 if sys.stderr.isatty() else LOG_EVERY)
        if report.stage == "compiling":
            note("compiling (once, 5–30 s)")
            return
        done = f"{report.steps:,} of {report.total_steps:,} steps"
        note(f"{done} · return {figure(report.mean_return)} · {clock(now - self._begun)} elapsed")
