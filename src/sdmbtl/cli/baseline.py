"""`sdmbtl baseline`: the worth of a study, compared with one policy of the same steps."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from sdmbtl.checks import known_name
from sdmbtl.cli.distill import StepProgress
from sdmbtl.cli.options import AcceptChangesOption, JsonOption, StudyArgument, TrustOption
from sdmbtl.cli.output import ArgumentError, print_json, print_lines
from sdmbtl.cli.signals import stoppable

if TYPE_CHECKING:
    from sdmbtl.portfolio.distillation.network import Knowledge


def baseline(
    path: StudyArgument,
    context: str = typer.Option(
        "hidden",
        metavar="hidden|told",
        help="told: the policy sees the context. hidden: it does not.",
    ),
    accept_changes: AcceptChangesOption = False,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare a study with one policy that has the same number of steps.

    The policy is trained on random contexts with all steps of the study,
    evaluation included. The same command continues after an interruption.
    """
    from sdmbtl.studies import Study
    from sdmbtl.studies.describe import baseline_line
    from sdmbtl.studies.networks import CONTEXTS

    known_name("--context", context, CONTEXTS, error=ArgumentError)
    knowledge: Knowledge = "told" if context == "told" else "hidden"
    with stoppable("Interrupted. The same command continues.") as signals:
        study = Study.open(path, accept_changes=accept_changes, trust=trust)
        made = study.baseline(knowledge, progress=StepProgress(signals, quiet=as_json))
    if as_json:
        levels = {"coverage": made.mean_return, "study_coverage": made.study_return}
        shares = {name: study.share(level) for name, level in levels.items()}
        print_json({"path": str(path), **shares, **asdict(made)})
        return
    print_lines(f"✓ {baseline_line(study.snapshot(), made)}", hanging=2)
