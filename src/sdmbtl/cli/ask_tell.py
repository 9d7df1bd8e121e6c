"""`sdmbtl ask`, `sdmbtl tell` and `sdmbtl renew`: training elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace as replace_fields
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.text import Text

from sdmbtl.checks import known_options, short_text
from sdmbtl.cli.options import ContextOption, JsonOption, StudyArgument, WaitOption
from sdmbtl.cli.output import (
    ArgumentError,
    note,
    note_console,
    print_json,
    print_lines,
    result_console,
)
from sdmbtl.cli.parsing import (
    match_shown_target,
    parse_context,
    parse_seconds,
    parse_settings,
    read_json_documents,
)
from sdmbtl.contexts import Source
from sdmbtl.errors import BusyError, DuplicateTellError, SdmbtlError
from sdmbtl.wording import counted

if TYPE_CHECKING:
    from sdmbtl.selectors import Trial
    from sdmbtl.selectors.base import TellOptions
    from sdmbtl.studies import Study

#: Fields of a trial that `ask` prints; those of regions only for a region or a parent.
ASKED = ("id", "context", "strategy", "structure", "model", "reason", "numbers", "attributes")
ASKED_OF_REGIONS = ("width", "region", "parent", "steps")

#: Keys of a row: everything that `ask` prints, and results.
_ROW_KEYS = (*ASKED, *ASKED_OF_REGIONS, "returns", "source_return", "lease")

AttributeOption = Annotated[
    list[str] | None,
    typer.Option("--attribute", metavar="KEY=VALUE", help="Note to keep, such as job=4711."),
]


def ask(
    path: StudyArgument,
    space: Annotated[
        str | None, typer.Option(metavar="FILE.toml", help="Context space of a new study.")
    ] = None,
    selector: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Selection strategy of a new study.", show_default="auto"
        ),
    ] = None,
    selector_option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Setting of the selector.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed of a new study.", min=0, show_default="0")
    ] = None,
    n: Annotated[int, typer.Option("-n", metavar="N", help="Number of contexts.", min=1)] = 1,
    lease: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Time until the context is given to the next asker, unless reported or renewed.",
        ),
    ] = None,
    attribute: AttributeOption = None,
    wait: WaitOption = 30.0,
) -> None:
    """Choose contexts to be trained elsewhere.

    Each is printed as one line of JSON: 'sdmbtl ask DIR -n 4 | jq .context'.
    It is pending until 'sdmbtl tell' reports it, for example with the same
    line plus "returns". With --lease the line has the number of the "lease";
    results of an expired lease are kept but not counted. A line may also have
    a "region" to train on, a "parent" to start from, and "steps".
    """
    from sdmbtl.studies import Study

    options = parse_settings(selector_option, "--selector-option")
    if space is None and (selector is not None or seed is not None or options):
        raise ArgumentError(
            "--selector, --selector-option and --seed belong to a new study: give --space "
            "FILE.toml too. A recorded study keeps its own."
        )
    attributes = parse_settings(attribute, "--attribute")
    seconds = None if lease is None else parse_seconds(lease, "--lease")
    made: dict[str, Any] = {
        "space": space,
        "selector": selector or "auto",
        "selector_options": options,
        "seed": seed or 0,
    }
    study = Study.open(path, wait=wait, **({} if space is None else made))
    trials = study.ask(n, lease=seconds, attributes=attributes)
    console = note_console()
    for trial in trials:
        if console.is_terminal:
            console.print(Text(f"Train on {study.space.describe(trial.source)}"))
            console.print(Text(f"Why: {trial.reason}"))
            command = f"sdmbtl tell {quote(str(study.path))} ROW.json --id {trial.id}"
            console.print(Text(f"Then: {command}"), soft_wrap=True)
        print_json(_asked_fields(study, trial), in_one_line=True)
    if len(trials) < n:
        note(f"Only {counted(len(trials), 'context')} of {n} could be chosen: no others are left.")


def _asked_fields(study: Study, trial: Trial) -> dict[str, Any]:
    """Return the fields of a trial that `ask` prints."""
    hidden = () if trial.width else ("width", "region")
    more = {key: getattr(trial, key) for key in ASKED_OF_REGIONS if key not in hidden}
    more["lease"] = study.lease_of(trial)
    asked = {key: getattr(trial, key) for key in ASKED}
    return asked | {key: value for key, value in more.items() if value is not None}


def renew(
    path: StudyArgument,
    number: Annotated[int, typer.Option("--id", metavar="N", help="Number of the policy.")],
    lease: Annotated[
        int, typer.Option(metavar="N", help="Number of the lease, as 'ask --lease' printed it.")
    ],
    wait: WaitOption = 30.0,
) -> None:
    """Extend a lease by its time from now on; fail if it is lost."""
    from sdmbtl.studies import Study

    if not Study.open(path, wait=wait).renew(number, lease):
        raise ArgumentError(
            f"Lease {lease} of policy {number} is lost: it expired and was given to another "
            "asker, or the policy was reported. Stop training it: its result would not count."
        )


def tell(
    path: StudyArgument,
    row: Annotated[
        str | None,
        typer.Argument(
            metavar="ROW.json",
            help="Return on each target (null: not evaluated), or a list of episodes for each, "
            "or lines of 'ask' with \"returns\" added; - for the standard input.",
            show_default=False,
        ),
    ] = None,
    number: Annotated[
        int | None,
        typer.Option("--id", metavar="N", help="Number of the policy, if several are pending."),
    ] = None,
    context: ContextOption = None,
    failed: Annotated[bool, typer.Option("--failed", help="Report of a failed run.")] = False,
    cancelled: Annotated[
        bool, typer.Option("--cancelled", help="Report of a stopped run; may be chosen again.")
    ] = False,
    repeat: Annotated[
        bool, typer.Option("--repeat", help="One more policy trained on the same context.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Correction of an earlier or forgotten row.")
    ] = False,
    forget: Annotated[
        bool, typer.Option("--forget", help="Withdrawal of a finished policy; its row is kept.")
    ] = False,
    reason: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Reason of --failed, --replace or --forget."),
    ] = None,
    attribute: AttributeOption = None,
    lease: Annotated[
        int | None, typer.Option(metavar="N", help="Number of the lease, unless the row has it.")
    ] = None,
    wait: WaitOption = 30.0,
    as_json: JsonOption = False,
) -> None:
    """Report the result of a context that was trained elsewhere.

    The context is named by --id, by --context (it need not have been asked
    for), by "id" or "context" in the file, or is the only one pending. The
    file may also have "source_return" and "attributes". A policy that is
    forgotten covers nothing; 'tell --replace' brings it back.
    """
    from sdmbtl.studies import Study
    from sdmbtl.studies.describe import status_lines

    chosen = [
        name
        for name, given in {
            "--failed": failed,
            "--cancelled": cancelled,
            "--repeat": repeat,
            "--replace": replace,
            "--forget": forget,
        }.items()
        if given
    ]
    if len(chosen) > 1:
        raise ArgumentError(f"{' and '.join(chosen)} exclude each other. Give one of them.")
    without_row = failed or cancelled or forget
    if row is None and not without_row:
        raise ArgumentError(
            "The returns are missing. Give a JSON file, or - for the standard input; or "
            "--failed, --cancelled or --forget."
        )
    if row is not None and without_row:
        raise ArgumentError(f"{chosen[0]} has no returns. Leave the file out.")
    if reason is not None and not (failed or replace or forget):
        raise ArgumentError("--reason belongs to --failed, --replace or --forget. Give one too.")
    attributes = parse_settings(attribute, "--attribute")
    reports = _read_rows(row, number, context, lease)
    study = Study.open(path, wait=wait)
    if forget:
        trial = study.forget(_named_policy(study, reports[0]), reason=reason)
        again = f"sdmbtl tell {quote(str(path))} ROW.json --id {trial.id} --replace"
        source = study.space.describe(trial.source)
        recorded = [f"Policy {trial.id}, {source}: forgotten; its row is kept. Undo: {again}"]
    else:
        status: Literal["finished", "failed", "cancelled"] = (
            "failed" if failed else "cancelled" if cancelled else "finished"
        )
        how: TellOptions = {"status": status, "repeat": repeat, "correct": replace}
        if replace:
            how["reason"] = reason
        error = reason if failed else None
        recorded = _tell_rows(study, reports, error, how, attributes)
    if as_json:
        print_json(study.status())
    else:
        print_lines(result_console(), *recorded, *status_lines(study.snapshot())[1:])


def _read_rows(
    row: str | None, number: int | None, context: list[str] | None, lease: int | None
) -> list[dict[str, Any]]:
    """Return the rows to report, completed by the options that name the only one."""
    documents = [{"returns": None}] if row is None else read_json_documents(row)
    only = documents[0] if len(documents) == 1 else None
    if isinstance(only, list) and only and all(isinstance(inner, dict) for inner in only):
        documents = only
    rows = [_check_row(document) for document in documents]
    named: dict[str, Any] = {
        "id": number,
        "context": parse_context(context) if context else None,
        "lease": lease,
    }
    named = {key: value for key, value in named.items() if value is not None}
    if named and len(rows) > 1:
        raise ArgumentError(
            "--id, --context and --lease name one policy. Write 'id' into each row instead."
        )
    for key, value in named.items():
        if rows[0].get(key, value) != value:
            raise ArgumentError(
                f"--{key} and the row name different policies: {short_text(value)} and "
                f"{short_text(rows[0][key])}. Leave one of them out, or correct it."
            )
    return [{**rows[0], **named}] if named else rows


def _check_row(document: Any) -> dict[str, Any]:
    """Return a row as an object with "returns"; refuse what is neither that nor a list."""
    if isinstance(document, list):
        return {"returns": document}
    if not isinstance(document, dict) or not isinstance(document.get("returns", ""), list | None):
        got = list(document) if isinstance(document, dict) else type(document).__name__
        raise ArgumentError(
            "A row is a list with a return for each target, or an object with such a list as "
            f"'returns'. Got {got} instead."
        )
    known_options("a row", document, _ROW_KEYS, error=ArgumentError)
    for key, kind, what in (
        ("id", int, "the whole number of a policy"),
        ("lease", int, "the whole number of a lease"),
        ("context", dict, "an object with a value for each dimension"),
        ("attributes", dict, "an object"),
    ):
        value = document.get(key, kind())
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ArgumentError(
                f"The {key!r} of a row is {what}, as 'sdmbtl ask' printed it. "
                f"Got {short_text(value)} instead."
            )
    return document


def _tell_rows(
    study: Study,
    rows: Sequence[Mapping[str, Any]],
    error: str | None,
    how: TellOptions,
    attributes: Mapping[str, Any],
) -> list[str]:
    """Record rows and return a sentence for each.

    Raises:
        SdmbtlError: If one cannot be recorded; those before it are.
    """
    recorded = []
    for place, row in enumerate(rows):
        before = study.trials
        try:
            named = _named_policy(study, row)
            if how["repeat"] and isinstance(named, int):
                named = study.trials[named].source
            options: TellOptions = {**how, "source_return": row.get("source_return")}
            trial = study.tell(
                named, row["returns"], error=error, lease=row.get("lease"), **options
            )
            attached = {**row.get("attributes", {}), **attributes}
            if attached and not any(trial is known for known in before):
                study.annotate(trial, **attached)
        except SdmbtlError as problem:
            if isinstance(problem, DuplicateTellError):
                problem = _explain_duplicate(study, named)
            if len(rows) == 1:
                raise problem from None
            kept = f"; {place} before it {'is' if place == 1 else 'are'} recorded" if place else ""
            kind = BusyError if isinstance(problem, BusyError) else ArgumentError
            raise kind(f"Row {place + 1} of {len(rows)}{kept}: {problem}") from None
        became = f"recorded as {how['status']}"
        if any(trial is known for known in before):  # nothing was recorded
            lease = study.store.leases().get(trial.id)
            is_late = lease is not None and row.get("lease", lease.token) != lease.token
            became = "stale, because its lease had expired" if is_late else "was reported before"
        recorded.append(f"Policy {trial.id}, {study.space.describe(trial.source)}: {became}.")
    return recorded


def _explain_duplicate(study: Study, named: int | Source) -> ArgumentError:
    """Return an error for a policy that was reported before."""
    if isinstance(named, int) and study.trials[named].status == "forgotten":
        return ArgumentError(f"Policy {named} was forgotten. To record it again, give --replace.")
    return ArgumentError(
        f"This was reported before; 'sdmbtl status {quote(str(study.path))}' shows what is "
        "recorded. To replace it, give --replace; for another policy of its context, --repeat."
    )


def _named_policy(study: Study, row: Mapping[str, Any]) -> int | Source:
    """Return the policy of a row: by number, by its source, or the only one that is pending.

    Raises:
        ArgumentError: If there is none, or its number and its source differ.
    """
    source = None
    if "context" in row:
        center = match_shown_target(dict(row["context"]), study.space)
        how = {key: row[key] for key in ("width", "parent", "steps") if key in row}
        source = Source.at(study.space.vector(center), **how)
    if "id" in row:
        number: int = row["id"]
        if not 0 <= number < len(study.trials):
            raise ArgumentError(
                f"There is no policy {number} in this study. 'sdmbtl status "
                f"{quote(str(study.path))}' lists them."
            )
        trial = study.trials[number]
        if source is not None and not _has_source(study, trial, source):
            raise ArgumentError(
                f"Policy {number} is the one for {study.space.describe(trial.source)}, but "
                f"the row is for {study.space.describe(source)}. Correct the id or the context."
            )
        return number
    if source is not None:
        return source
    pending = study.pending
    if len(pending) == 1:
        return pending[0].id
    if not pending:
        raise ArgumentError(
            f"No policy is pending. Ask for one with 'sdmbtl ask {quote(str(study.path))}', or "
            "give the context of a policy that was trained without being asked for: --context."
        )
    listed = "".join(f"\n  --id {t.id}  {study.space.describe(t.source)}" for t in pending)
    raise ArgumentError(f"{len(pending)} policies are pending. Name one:{listed}")


def _has_source(study: Study, trial: Trial, source: Source) -> bool:
    """Return whether a row's source is that of a trial; without a width its centre is enough."""
    if source == Source(source.center):
        source = replace_fields(trial.source, center=source.center)
    return trial in study.selector.history.with_source(source)
