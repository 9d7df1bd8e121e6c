"""`sdmbtl serve`: the owner of a study answers jobs that cannot use its database themselves."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sdmbtl.cli.options import QuietOption, StudyArgument
from sdmbtl.cli.output import note
from sdmbtl.cli.reports import describe_asked, tell_reports
from sdmbtl.cli.signals import StopSignals
from sdmbtl.errors import StudyError
from sdmbtl.json_data import as_json

if TYPE_CHECKING:
    from sdmbtl.selectors.base import TellOptions
    from sdmbtl.studies import Study


def serve(
    path: StudyArgument,
    spool: Annotated[
        Path, typer.Option(metavar="DIR", help="A directory that the jobs see; made if missing.")
    ],
    once: Annotated[bool, typer.Option("--once", help="Answer what is there, then end.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Answer 'sdmbtl ask DIR', 'tell DIR' and 'renew DIR' of jobs on other machines.

    The database of a study is safe on a disk of this machine, but not on a
    network file system. So the study stays here, and jobs give the spool
    directory in the place of the study. Ends with Ctrl-C; requests wait until
    it is started again.
    """
    from sdmbtl.studies import Study
    from sdmbtl.studies.spool import LOOK_EVERY, Spool

    study, place = Study.open(path), Spool.make(spool)
    signals = StopSignals()
    with signals.ending_with(lambda: "Ended; requests wait until it is started again."):
        if not quiet:
            note(f"Answering requests in {spool} for the study in {path}.")
        while True:
            place.serve(lambda number, request: as_json(handle(study, number, request)))
            if once:
                return
            signals.check()
            time.sleep(LOOK_EVERY)


def handle(study: Study, number: str, request: dict[str, Any]) -> Any:
    """Do a request once: one that comes again, after a kill, gets the same answer.

    Args:
        study: The study.
        number: Number of the request.
        request: What `sdmbtl ask`, `sdmbtl tell` or `sdmbtl renew` wants.

    Raises:
        StudyError: If it is something else.
    """
    study.refresh()
    if request.get("do") == "ask":
        done = [t for t in study.trials if t.attributes.get("request") == number]
        attributes = {**request["attributes"], "request": number}
        trials = done or study.ask(request["n"], lease=request["lease"], attributes=attributes)
        return [describe_asked(study, trial) for trial in trials]
    if request.get("do") == "tell":
        how = cast("TellOptions", request["how"])
        how["skip_if_finished"] = not how["correct"]
        return tell_reports(study, request["reports"], request["error"], how, request["attributes"])
    if request.get("do") == "renew":
        return study.renew(request["id"], request["lease"])
    raise StudyError(f"A request is 'ask', 'tell' or 'renew'. Got {request.get('do')!r} instead.")
