"""`sdmbtl forget`: take back what was recorded of a policy."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

import typer

from sdmbtl.cli.options import JsonOption, ReasonOption, StudyArgument
from sdmbtl.cli.output import print_json, print_lines, result_console
from sdmbtl.studies.describe import status_lines


def forget(
    path: StudyArgument,
    number: Annotated[int, typer.Argument(metavar="ID", help="Which policy.", show_default=False)],
    reason: ReasonOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a finished policy back: its row was wrong, or it should not count.

    It covers nothing, is not in the portfolio and not evidence for later
    choices, and its context may be chosen again. Its row is kept, as
    'sdmbtl status --json' shows; 'sdmbtl tell --replace' undoes this.
    """
    from sdmbtl.studies import Study

    study = Study.open(path)
    trial = study.forget(number, reason=reason)
    if as_json:
        print_json(study.status())
        return
    place = quote(str(path))
    print_lines(
        result_console(),
        f"Policy {trial.id}, {study.space.in_words(trial.source)}: forgotten; its row is kept.",
        f"To undo it: sdmbtl tell {place} ROW.json --id {trial.id} --replace",
        *status_lines(study.snapshot())[1:],
    )
