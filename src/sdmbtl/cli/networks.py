"""`sdmbtl distill` and `sdmbtl baseline`: one network instead of several policies."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sdmbtl.checks import known_name
from sdmbtl.cli.options import JsonOption, StudyArgument, TrustOption
from sdmbtl.cli.output import ArgumentError, note, print_json, print_lines
from sdmbtl.cli.signals import StopSignals, stoppable
from sdmbtl.wording import clock, figure, level_figure

if TYPE_CHECKING:
    from sdmbtl.portfolio.network import Knowledge
    from sdmbtl.training import Report

#: Seconds between two lines of progress; on a terminal there is one for each round.
LOG_EVERY = 30.0


def distill(
    path: StudyArgument,
    context: str = typer.Option(
        "told",
        metavar="told|hidden",
        help="told: the network sees the context. hidden: it has a memory instead.",
    ),
    steps: int | None = typer.Option(
        None, metavar="N", help="Environment steps.", min=1, show_default="30 % of the study's"
    ),
    out: Path | None = typer.Option(
        None, metavar="DIR", help="Directory for the network.", show_default="networks in the study"
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
    from sdmbtl.studies.networks import distill_study

    knowledge = _check_context(context)
    with stoppable("Interrupted. The same command continues.") as signals:
        study = Study.open(path, trust=trust)
        file = distill_study(study, knowledge, steps, out, StepProgress(signals, quiet=as_json))
    record = read_record(file)
    assert record is not None  # noqa: S101 (it was just written)
    coverage = study.share(record.mean_return)
    if as_json:
        print_json({"file": str(file), "coverage": coverage, **asdict(record)})
        return
    own = level_figure(record.mean_return, coverage)
    portfolio = level_figure(record.portfolio_return, study.share(record.portfolio_return))
    lines = [f"✓ one network, context {record.context}: {own}, portfolio {portfolio}"]
    if study.return_range is not None:
        error = record.standard_error / study.return_span
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
    from sdmbtl.portfolio.network import CONTEXTS

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
