"""`sdmbtl ask` and `sdmbtl tell`: training elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer
from rich.text import Text

from sdmbtl.checks import known_options, short_text
from sdmbtl.cli import arguments
from sdmbtl.cli.arguments import ArgumentError
from sdmbtl.cli.options import (
    AttributeOption,
    ContextOption,
    InitOption,
    JsonOption,
    LeaseOption,
    ReasonOption,
    SpecialistStepsOption,
    StudyArgument,
    WaitOption,
    WidthOption,
)
from sdmbtl.cli.output import (
    context_cells,
    context_table,
    note_console,
    print_json,
    print_lines,
    result_console,
)
from sdmbtl.cli.reports import ASKED_OF_REGIONS, describe_asked, tell_reports
from sdmbtl.studies.describe import status_lines
from sdmbtl.wording import figure

if TYPE_CHECKING:
    from sdmbtl.selectors import Trial
    from sdmbtl.selectors.base import TellOptions
    from sdmbtl.studies import Study

#: What became of a training run.
Outcome = Literal["finished", "failed", "cancelled"]

#: What an object that is reported may have: also all that `sdmbtl ask` prints.
_REPORT_KEYS = (
    *("id", "context", "returns", "source_return", "attributes", "lease"),
    *("strategy", "structure", "model", "reason", "numbers"),
    *ASKED_OF_REGIONS,
)


#: Which of two policies is which, where rows are partial.
_PARTIAL = (
    "Policy: the best of those that were evaluated on the target. Predicted: the best of all, "
    "those not evaluated there included, with the return that is predicted of it."
)


def ask(
    path: StudyArgument,
    space: Annotated[
        str | None,
        typer.Option(metavar="FILE.toml", help="Make a study of these contexts if there is none."),
    ] = None,
    selector: Annotated[
        str | None, typer.Option(help="What chooses the contexts of a new study.")
    ] = None,
    width: WidthOption = "auto",
    init: InitOption = "auto",
    specialist_steps: SpecialistStepsOption = None,
    seed: Annotated[int | None, typer.Option(help="Seed of a new study.", min=0)] = None,
    n: Annotated[int, typer.Option("-n", help="How many at once.", min=1)] = 1,
    lease: LeaseOption = None,
    attribute: AttributeOption = None,
    wait: WaitOption = 30.0,
) -> None:
    """Choose contexts to be trained elsewhere.

    Each is printed as one line of JSON, however many there are:
    'sdmbtl ask DIR -n 4 | jq .context'. It is pending until 'sdmbtl tell'
    reports what became of it; one way is to send the same line back with
    "returns" added. With --lease the line has the number of the "lease" too,
    and what comes after it has run out is kept, but does not count.
    With --selector generalist-first, or a --width above 0,
    a line may also have a "region" to train on, a "parent" to start from,
    and "steps".
    """
    from sdmbtl.studies import Study
    from sdmbtl.studies.spool import Spool, is_spool

    how = (width, init, specialist_steps) != ("auto", "auto", None)
    if space is None and (selector is not None or seed is not None or how):
        raise ArgumentError(
            "--selector, --width, --init, --specialist-steps and --seed belong to a new study: "
            "give --space FILE.toml too. A study that is there keeps its own."
        )
    attributes = arguments.settings(attribute or (), "--attribute")
    seconds = None if lease is None else arguments.seconds(lease, "--lease")
    if is_spool(path):
        asked = {"do": "ask", "n": n, "lease": seconds, "attributes": attributes}
        for line in Spool(path).request(asked, wait):
            print_json(line, in_one_line=True)
        return
    made: dict[str, Any] = {
        "selector": selector or "auto",
        "width": arguments.width(width),
        "init": arguments.init(init),
        "specialist_steps": specialist_steps,
        "seed": seed or 0,
    }
    study = Study.open(path, space=space, wait=wait, **({} if space is None else made))
    for trial in study.ask(n, lease=seconds, attributes=attributes):
        _explain(trial, study)
        print_json(describe_asked(study, trial), in_one_line=True)


def renew(
    path: StudyArgument,
    number: Annotated[int, typer.Option("--id", help="Which policy.")],
    lease: Annotated[int, typer.Option(help="The number that 'sdmbtl ask --lease' printed.")],
    wait: WaitOption = 30.0,
) -> None:
    """Hold a lease for its time from now on; fails if it was given to somebody else."""
    from sdmbtl.studies import Study
    from sdmbtl.studies.spool import Spool, is_spool

    if is_spool(path):
        is_held = Spool(path).request({"do": "renew", "id": number, "lease": lease}, wait)
    else:
        is_held = Study.open(path, wait=wait).renew(number, lease)
    if not is_held:
        raise ArgumentError(
            f"Lease {lease} of policy {number} has run out and was given to somebody else, or the "
            "policy was reported. Stop training it: its result would not count."
        )


def _explain(trial: Trial, study: Study) -> None:
    """Say on a terminal what to do with a trial."""
    console = note_console()
    if console.is_terminal:
        console.print(Text(f"Train on {study.space.in_words(trial.source)}"))
        console.print(Text(f"Why: {trial.reason}"))
        command = f"sdmbtl tell {quote(str(study.path))} ROW.json --id {trial.id}"
        console.print(Text(f"Then: {command}"), soft_wrap=True)


def targets(path: StudyArgument, as_json: JsonOption = False) -> None:
    """List the targets, in the order of a row, and the best policy on each so far."""
    from sdmbtl.studies import Study
    from sdmbtl.studies.tables import best_policies

    study = Study.open(path)
    listed = best_policies(study)
    if as_json:
        print_json(listed)
        return
    partial = bool(np.isnan(study.selector.rows.returns).any())
    failed = any(entry["failed_evaluations"] for entry in listed)
    last = ["policy", "mean return", *(["predicted", "its return"] if partial else [])]
    table = context_table(["target"], study.space.names, [*last, *(["failed"] if failed else [])])
    for entry in listed:
        cells = _policy_cells(entry, "policy", "mean_return")
        cells += _policy_cells(entry, "predicted_policy", "predicted_return") if partial else []
        cells += [str(entry["failed_evaluations"])] if failed else []
        table.add_row(str(entry["target"]), *context_cells(entry["context"]), *cells)
    console = result_console()
    console.print(table)
    if partial:
        print_lines(console, "", _PARTIAL)
    if failed:
        text = f"Failed: policies that could not be evaluated there. {_first_error(study)}"
        print_lines(console, "", text)


def _policy_cells(entry: Mapping[str, Any], policy: str, value: str) -> list[str]:
    return ["-" if entry[policy] is None else str(entry[policy]), figure(entry[value])]


def _first_error(study: Study) -> str:
    """The first error on the first target that has one."""
    from sdmbtl.studies.evaluation import errors_by_target

    errors = errors_by_target(study)
    target = min(errors)
    policy, error = next(iter(errors[target].items()))
    return f"Policy {policy} on target {target}: {error}"


def tell(
    path: StudyArgument,
    row: Annotated[
        str | None,
        typer.Argument(
            metavar="ROW.json",
            help="A return for each target (null: not evaluated), or a list of episodes for each, "
            "or what 'ask' printed with \"returns\" added, one line for each policy; - reads the "
            "standard input.",
            show_default=False,
        ),
    ] = None,
    number: Annotated[
        int | None, typer.Option("--id", help="Which policy; needed if several are pending.")
    ] = None,
    context: ContextOption = None,
    failed: Annotated[bool, typer.Option("--failed", help="The training run failed.")] = False,
    error: Annotated[str | None, typer.Option(help="Why it failed.")] = None,
    cancelled: Annotated[
        bool, typer.Option("--cancelled", help="It was stopped; the context may be chosen again.")
    ] = False,
    repeat: Annotated[
        bool, typer.Option("--repeat", help="It is one more policy trained on that context.")
    ] = False,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Replace what was reported before, or forgotten."),
    ] = False,
    reason: ReasonOption = None,
    attribute: AttributeOption = None,
    lease: Annotated[
        int | None, typer.Option(help="The lease it was asked with, unless the file says so.")
    ] = None,
    wait: WaitOption = 30.0,
    as_json: JsonOption = False,
) -> None:
    """Report what became of a context that was trained elsewhere.

    Name the context with --id, with --context (it need not have been asked
    for), or with "id" or "context" in the file; if only one is pending, it is
    meant. The file may also have "source_return" and "attributes".
    """
    from sdmbtl.studies import Study
    from sdmbtl.studies.spool import Spool, is_spool

    what: Outcome = "failed" if failed else "cancelled" if cancelled else "finished"
    _check_options(row, what, error, both=failed and cancelled, twice=repeat and replace)
    _check_reason(reason, replace=replace)
    reports = _reports(row, number, context, lease)
    attributes = arguments.settings(attribute or (), "--attribute")
    how: TellOptions = {"status": what, "repeat": repeat, "correct": replace, "reason": reason}
    if is_spool(path):
        told = {"do": "tell", "reports": reports, "error": error, "how": how}
        print_lines(
            result_console(), *Spool(path).request({**told, "attributes": attributes}, wait)
        )
        return
    study = Study.open(path, wait=wait)
    _show(study, tell_reports(study, reports, error, how, attributes), as_json=as_json)


def _show(study: Study, recorded: list[str], *, as_json: bool) -> None:
    """What was recorded, and where the study stands now."""
    if as_json:
        print_json(study.status())
    else:
        print_lines(result_console(), *recorded, *status_lines(study.snapshot())[1:])


def _check_options(
    row: str | None, what: str, error: str | None, *, both: bool, twice: bool
) -> None:
    if both:
        raise ArgumentError("A training run is either --failed or --cancelled, not both.")
    if twice:
        raise ArgumentError("A row is either one more (--repeat) or another one (--replace).")
    if error is not None and what != "failed":
        raise ArgumentError("--error says why a training run failed: give --failed too.")
    if row is None and what == "finished":
        raise ArgumentError(
            "What are its returns? Give a JSON file, or - for the standard input; or --failed, or "
            "--cancelled."
        )
    if row is not None and what != "finished":
        raise ArgumentError("A run that did not finish has no returns. Leave the file out.")


def _check_reason(reason: str | None, *, replace: bool) -> None:
    if reason is not None and not replace:
        raise ArgumentError("--reason says why a row is replaced: give --replace too.")


def _reports(
    row: str | None, number: int | None, context: list[str] | None, lease: int | None
) -> list[dict[str, Any]]:
    """What is to be reported, as objects; what the options say of the only one comes first."""
    documents = [{"returns": None}] if row is None else arguments.json_documents(row)
    only = documents[0] if len(documents) == 1 else None
    if isinstance(only, list) and only and all(isinstance(inner, dict) for inner in only):
        documents = only
    reports = [_report(document) for document in documents]
    named: dict[str, Any] = {} if number is None else {"id": number}
    named |= {"context": arguments.context(context)} if context else {}
    named |= {} if lease is None else {"lease": lease}
    if not named:
        return reports
    if len(reports) > 1:
        raise ArgumentError(
            "--id, --context and --lease name one policy. Write 'id' into each row instead."
        )
    for key, value in named.items():
        if reports[0].get(key, value) != value:
            raise ArgumentError(
                f"--{key} and the row name different policies: {short_text(value)} and "
                f"{short_text(reports[0][key])}. Leave one of them out, or correct it."
            )
    return [{**reports[0], **named}]


def _report(document: Any) -> dict[str, Any]:
    if isinstance(document, list):
        return {"returns": document}
    if (
        not isinstance(document, dict)
        or not isinstance(document.get("returns", ""), list | None)
        or not isinstance(document.get("attributes", {}), dict)
    ):
        got = list(document) if isinstance(document, dict) else type(document).__name__
        raise ArgumentError(
            "A row is a list with a return for each target, or an object with such a list as "
            f"'returns'. Got {got} instead."
        )
    known_options("a row", document, _REPORT_KEYS, error=ArgumentError)
    for key, what in (("id", "a policy"), ("lease", "its lease")):
        number = document.get(key, 0)
        if not isinstance(number, int) or isinstance(number, bool):
            raise ArgumentError(
                f"The {key!r} of a row is the whole number of {what}, as 'sdmbtl ask' printed it. "
                f"Got {short_text(number)} instead."
            )
    if not isinstance(document.get("context", {}), dict):
        raise ArgumentError(
            "The 'context' of a row is an object with a value for each dimension. "
            f"Got {short_text(document['context'])} instead."
        )
    return document
