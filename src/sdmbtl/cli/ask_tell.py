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
from sdmbtl.contexts import Source
from sdmbtl.errors import BusyError, DuplicateTellError, SdmbtlError
from sdmbtl.summary import summary
from sdmbtl.wording import figure

if TYPE_CHECKING:
    from sdmbtl.selectors import Trial
    from sdmbtl.selectors.base import TellOptions
    from sdmbtl.studies import Study

#: What became of a training run.
Outcome = Literal["finished", "failed", "cancelled"]

#: What is printed of a trial that was asked for.
ASKED = ("id", "context", "strategy", "structure", "model", "reason", "numbers", "attributes")

#: What is printed besides, unless it is a point that is trained from scratch as usual.
ASKED_OF_REGIONS = ("width", "region", "parent", "steps")

#: What an object that is reported may have: also all that `sdmbtl ask` prints.
_REPORT_KEYS = (
    *("id", "context", "returns", "source_return", "attributes"),
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
    attribute: AttributeOption = None,
    wait: WaitOption = 30.0,
) -> None:
    """Choose contexts to be trained elsewhere.

    Each is printed as one line of JSON, however many there are:
    'sdmbtl ask DIR -n 4 | jq .context'. It is pending until 'sdmbtl tell'
    reports what became of it; one way is to send the same line back with
    "returns" added. With --selector generalist-first, or a --width above 0,
    a line may also have a "region" to train on, a "parent" to start from,
    and "steps".
    """
    from sdmbtl.studies import Study

    how = (width, init, specialist_steps) != ("auto", "auto", None)
    if space is None and (selector is not None or seed is not None or how):
        raise ArgumentError(
            "--selector, --width, --init, --specialist-steps and --seed belong to a new study: "
            "give --space FILE.toml too. A study that is there keeps its own."
        )
    attributes = arguments.settings(attribute or (), "--attribute")
    if space is None:
        study = Study.open(path, wait=wait)
    else:
        study = Study.open(
            path,
            space=space,
            selector=selector or "auto",
            width=arguments.width(width),
            init=arguments.init(init),
            specialist_steps=specialist_steps,
            seed=seed or 0,
            wait=wait,
        )
    for trial in study.ask(n):
        if attributes:
            trial = study.annotate(trial, **attributes)
        _explain(trial, study)
        print_json(_asked(trial), in_one_line=True)


def _asked(trial: Trial) -> dict[str, Any]:
    """What is printed of a trial: of a region, or a start from a parent, more than of a point."""
    asked = {key: getattr(trial, key) for key in ASKED}
    usual = {} if trial.width else {"width", "region"}
    more = {key: getattr(trial, key) for key in ASKED_OF_REGIONS if key not in usual}
    return asked | {key: value for key, value in more.items() if value is not None}


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
    from sdmbtl.studies.best_policies import best_policies

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
    wait: WaitOption = 30.0,
    as_json: JsonOption = False,
) -> None:
    """Report what became of a context that was trained elsewhere.

    Name the context with --id, with --context (it need not have been asked
    for), or with "id" or "context" in the file; if only one is pending, it is
    meant. The file may also have "source_return" and "attributes".
    """
    from sdmbtl.studies import Study

    what: Outcome = "failed" if failed else "cancelled" if cancelled else "finished"
    _check_options(row, what, error, both=failed and cancelled, twice=repeat and replace)
    _check_reason(reason, replace=replace)
    reports = _reports(row, number, context)
    attributes = arguments.settings(attribute or (), "--attribute")
    study = Study.open(path, wait=wait)
    how: TellOptions = {"status": what, "repeat": repeat, "correct": replace, "reason": reason}
    recorded = []
    for place, report in enumerate(reports):
        try:
            trial = _tell(study, report, error, how)
            if attached := {**report.get("attributes", {}), **attributes}:
                study.annotate(trial, **attached)
        except SdmbtlError as problem:
            raise _with_place(problem, place, len(reports)) from None
        source = study.space.in_words(trial.source)
        recorded.append(f"Policy {trial.id}, {source}: recorded as {what}.")
    _show(study, recorded, as_json=as_json)


def _show(study: Study, recorded: list[str], *, as_json: bool) -> None:
    """What was recorded, and where the study stands now."""
    if as_json:
        print_json(study.status())
    else:
        print_lines(result_console(), *recorded, *summary(study.status())[1:])


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
    row: str | None, number: int | None, context: list[str] | None
) -> list[dict[str, Any]]:
    """What is to be reported, as objects; what the options say of the only one comes first."""
    documents = [{"returns": None}] if row is None else arguments.json_documents(row)
    only = documents[0] if len(documents) == 1 else None
    if isinstance(only, list) and only and all(isinstance(inner, dict) for inner in only):
        documents = only
    reports = [_report(document) for document in documents]
    if number is None and not context:
        return reports
    if len(reports) > 1:
        raise ArgumentError("--id and --context name one policy. Write 'id' into each row instead.")
    named: dict[str, Any] = {} if number is None else {"id": number}
    named |= {"context": arguments.context(context)} if context else {}
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
    number = document.get("id", 0)
    if not isinstance(number, int) or isinstance(number, bool):
        raise ArgumentError(
            "The 'id' of a row is the whole number of a policy, as 'sdmbtl ask' printed it. "
            f"Got {short_text(number)} instead."
        )
    if not isinstance(document.get("context", {}), dict):
        raise ArgumentError(
            "The 'context' of a row is an object with a value for each dimension. "
            f"Got {short_text(document['context'])} instead."
        )
    return document


def _tell(study: Study, report: Mapping[str, Any], error: str | None, how: TellOptions) -> Trial:
    trial = _meant(study, report)
    if how["repeat"] and isinstance(trial, int):
        trial = next((t.source for t in study.trials if t.id == trial), trial)
    options: TellOptions = {**how, "source_return": report.get("source_return")}
    try:
        return study.tell(trial, report["returns"], error=error, **options)
    except DuplicateTellError as problem:
        if isinstance(trial, int) and study.trials[trial].status == "forgotten":
            raise ArgumentError(
                f"Policy {trial} was forgotten. To record it again, give --replace."
            ) from problem
        raise ArgumentError(
            f"This was reported before; 'sdmbtl status {quote(str(study.path))}' shows what is "
            "recorded. To replace it, give --replace; if its context was trained once more, "
            "--repeat."
        ) from None


def _meant(study: Study, report: Mapping[str, Any]) -> int | Source:
    """Which policy is meant: by number, by its source, or the only one that is pending.

    Raises:
        ArgumentError: If none is meant, or the number and the source are not of the same policy.
    """
    source = _reported_source(study, report)
    if "id" in report:
        number: int = report["id"]
        known = {trial.id: trial for trial in study.trials}
        if source is not None and number in known and not _is_same(study, known[number], source):
            raise ArgumentError(
                f"Policy {number} is the one for {study.space.in_words(known[number].source)}, but "
                f"the row is for {study.space.in_words(source)}. Correct the id or the context."
            )
        return number
    if source is not None:
        return source
    pending = study.pending
    if len(pending) == 1:
        return pending[0].id
    place = quote(str(study.path))
    if not pending:
        raise ArgumentError(
            f"No policy is pending. Ask for one with 'sdmbtl ask {place}', or give the context "
            "of a policy that was trained without being asked for: --context."
        )
    listed = "".join(f"\n  --id {t.id}  {study.space.in_words(t.source)}" for t in pending)
    raise ArgumentError(f"{len(pending)} policies are pending. Say which one it is:{listed}")


def _reported_source(study: Study, report: Mapping[str, Any]) -> Source | None:
    """The source that a row names by its context, None if it has none."""
    if "context" not in report:
        return None
    center = arguments.as_shown(dict(report["context"]), study.space)
    how = {key: report[key] for key in ("width", "parent", "steps") if key in report}
    return Source.at(study.space.vector(center), **how)


def _is_same(study: Study, trial: Trial, source: Source) -> bool:
    """Whether a row's source is that of a trial, up to rounding; of a region its centre will do."""
    if source == Source(source.center):
        return study.selector.history.has_center(trial, source)
    return trial in study.selector.history.with_source(source)


def _with_place(problem: SdmbtlError, place: int, number: int) -> SdmbtlError:
    """Of several rows, which one has a problem; those before it are recorded."""
    if number == 1:
        return problem
    kept = f"; {place} before it {'is' if place == 1 else 'are'} recorded" if place else ""
    kind = BusyError if isinstance(problem, BusyError) else ArgumentError
    return kind(f"Row {place + 1} of {number}{kept}: {problem}")
