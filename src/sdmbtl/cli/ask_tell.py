"""`sdmbtl ask` and `sdmbtl tell`: training elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from shlex import quote
from typing import TYPE_CHECKING, Any

import typer

from sdmbtl.checks import check_int, known_options
from sdmbtl.cli.options import ContextOption, JsonOption, StudyArgument, WaitOption
from sdmbtl.cli.output import ArgumentError, note, print_json, print_lines, say
from sdmbtl.cli.parsing import (
    parse_context,
    parse_seconds,
    parse_settings,
    parse_text,
)
from sdmbtl.contexts import Source
from sdmbtl.errors import DuplicateTellError, LostLeaseError
from sdmbtl.foreign import parse_json, read_text
from sdmbtl.wording import counted, shown_context

if TYPE_CHECKING:
    from sdmbtl.studies import Study

#: Fields of a trial that `ask` prints; those of regions only for a region or a parent.
_ASKED = ("id", "context", "strategy", "structure", "model", "reason", "numbers")
_ASKED_OF_REGIONS = ("width", "region", "parent", "steps")

#: Keys of a row: everything that `ask` prints, and results.
_ROW_KEYS = (*_ASKED, *_ASKED_OF_REGIONS, "returns", "source_return", "lease")


def ask(
    path: StudyArgument,
    space: str | None = typer.Option(
        None, metavar="FILE.toml", help="Context space of a new study."
    ),
    selector: str | None = typer.Option(
        None, metavar="NAME", help="Selection strategy of a new study.", show_default="auto"
    ),
    selector_option: list[str] | None = typer.Option(
        None, metavar="KEY=VALUE", help="Setting of the selector."
    ),
    seed: int | None = typer.Option(
        None, metavar="N", help="Seed of a new study.", min=0, show_default="0"
    ),
    n: int = typer.Option(1, "-n", metavar="N", help="Number of contexts.", min=1),
    lease: str | None = typer.Option(
        None,
        metavar="TIME",
        help="Time until the context is given to the next asker, unless reported or renewed.",
    ),
    wait: WaitOption = 30.0,
) -> None:
    """Choose contexts to be trained elsewhere.

    Each is printed as one line of JSON: 'sdmbtl ask DIR -n 4 | jq .context'.
    It is pending until 'sdmbtl tell' reports it, for example with the same
    line plus "returns". With --lease the line has the number of the "lease";
    results of an expired lease are refused. A line may also have a "region" to
    train on, a "parent" to start from, and "steps".
    """
    from sdmbtl.studies import Study

    options = parse_settings(selector_option, "--selector-option")
    given = {"selector": selector, "selector_options": options or None, "seed": seed}
    made: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if space is None and made:
        raise ArgumentError(
            "--selector, --selector-option and --seed belong to a new study: give --space "
            "FILE.toml too. A recorded study keeps its own."
        )
    seconds = None if lease is None else parse_seconds(lease, "--lease")
    study = Study.open(path, space=space, wait=wait, **made)
    trials = study.ask(n, lease=seconds)
    for trial in trials:
        asked = {key: getattr(trial, key) for key in _ASKED}
        more = {key: getattr(trial, key) for key in _ASKED_OF_REGIONS}
        if not trial.width:
            more |= {"width": None, "region": None}
        more["lease"] = study.lease_of(trial)
        print_json(asked | {k: v for k, v in more.items() if v is not None}, in_one_line=True)
    if len(trials) < n:
        note(f"Only {counted(len(trials), 'context')} of {n} could be chosen: no others are left.")


def tell(
    path: StudyArgument,
    row: str | None = typer.Argument(
        None,
        metavar="ROW.json",
        help="Return on each target (null: not evaluated), or a list of episodes for each, "
        "or lines of 'ask' with \"returns\" added; - for the standard input.",
        show_default=False,
    ),
    number: int | None = typer.Option(
        None, "--id", metavar="N", help="Number of the policy, if several are pending."
    ),
    context: ContextOption = None,
    failed: bool = typer.Option(False, "--failed", help="Report of a failed run."),
    cancelled: bool = typer.Option(
        False, "--cancelled", help="Report of a stopped run; may be chosen again."
    ),
    replace: bool = typer.Option(
        False, "--replace", help="Correction of an earlier or forgotten row."
    ),
    forget: bool = typer.Option(
        False, "--forget", help="Withdrawal of a finished policy; its row is kept."
    ),
    renew: bool = typer.Option(
        False, "--renew", help="More time for --lease of --id; fails if it is lost."
    ),
    reason: str | None = typer.Option(
        None, metavar="TEXT", help="Reason of --failed, --replace or --forget."
    ),
    lease: int | None = typer.Option(
        None, metavar="N", help="Number of the lease, unless the row has it."
    ),
    wait: WaitOption = 30.0,
    as_json: JsonOption = False,
) -> None:
    """Report the result of a context that was trained elsewhere.

    The context is named by --id, by --context (it need not have been asked
    for), by "id" or "context" in the file, or is the only one pending. The
    file may also have "source_return". A policy that is forgotten covers
    nothing; 'tell --replace' brings it back.
    """
    from sdmbtl.studies import Study
    from sdmbtl.studies.describe import status_lines

    if failed + cancelled + replace + forget + renew > 1:
        raise ArgumentError(
            "--failed, --cancelled, --replace, --forget and --renew exclude each other. Give one."
        )
    if (row is None) != (failed or cancelled or forget or renew):
        raise ArgumentError(
            "Give either returns, as a JSON file or - for the standard input, or one of --failed, "
            "--cancelled, --forget and --renew, which have no returns."
        )
    if reason is not None and not (failed or replace or forget):
        raise ArgumentError("--reason belongs to --failed, --replace or --forget. Give one too.")
    names = {"id": number, "lease": lease, "context": parse_context(context or ()) or None}
    named = {key: value for key, value in names.items() if value is not None}
    rows: list[dict[str, Any]] = [{"returns": None}] if row is None else _read_rows(row)
    if named and len(rows) > 1:
        raise ArgumentError("--id, --context and --lease name one policy. Give 'id' in each row.")
    if any(rows[0].get(key, value) != value for key, value in named.items()):
        raise ArgumentError("The options and the row name different policies. Correct one of them.")
    rows[0] |= named
    study = Study.open(path, wait=wait)
    if renew:
        if number is None or lease is None:
            raise ArgumentError("--renew needs --id and --lease, as 'ask --lease' printed them.")
        if not study.renew(number, lease):
            raise ArgumentError(
                f"Lease {lease} of policy {number} is lost: it expired and was given to another "
                "asker, or the policy was reported. Stop training it: its result would not count."
            )
        return
    late: list[LostLeaseError] = []
    for each in rows:
        policy, before = _find_policy(study, each), study.trials
        if forget:
            trial = study.forget(policy, reason=reason)
            again = f"sdmbtl tell {quote(str(path))} ROW.json --id {trial.id} --replace"
            became = f"forgotten; its row is kept. Undo: {again}"
        else:
            try:
                trial = study.tell(
                    policy,
                    each["returns"],
                    error=reason if failed else None,
                    lease=each.get("lease"),
                    status="failed" if failed else "cancelled" if cancelled else "finished",
                    source_return=each.get("source_return"),
                    correct=replace,
                    reason=reason if replace else None,
                )
            except DuplicateTellError:
                raise ArgumentError(
                    "This policy was reported before. To replace its row, give --replace."
                ) from None
            except LostLeaseError as error:
                late.append(error)
                continue
            became = f"recorded as {trial.status}."
            if any(trial is known for known in before):
                became = "not recorded; the same was reported before."
        if not as_json:
            say(f"Policy {trial.id}, {study.space.describe(trial.source)}: {became}")
    if as_json:
        print_json(study.status())
    else:
        print_lines(*status_lines(study.snapshot())[1:])
    if late:
        raise late[0]


def _read_rows(name: str) -> list[dict[str, Any]]:
    """Return the rows of a file, each as an object with "returns"; "-" is the standard input."""
    what = "The standard input" if name == "-" else f"The file {name!r}"
    try:
        text = sys.stdin.read() if name == "-" else read_text(name)
    except UnicodeDecodeError:
        raise ArgumentError(f"{what} is not text in UTF-8. Give JSON.") from None
    try:
        documents = [parse_json(line, what) for line in text.splitlines() if line.strip()]
    except ValueError:  # one document in several lines
        documents = []
    documents = documents or [parse_text(text, what)]
    rows = []
    for document in documents:
        row = {"returns": document} if isinstance(document, list) else document
        if not isinstance(row, dict) or "returns" not in row:
            got = list(row) if isinstance(row, dict) else type(row).__name__
            raise ArgumentError(
                "A row is a list with a return for each target, or an object with such a list as "
                f"'returns'. Got {got} instead."
            )
        known_options("a row", row, _ROW_KEYS, error=ArgumentError)
        for key in ("id", "lease"):
            if key in row:
                check_int(key, row[key], low=0, error=ArgumentError)
        if not isinstance(row.get("context", {}), dict):
            raise ArgumentError("The 'context' of a row is an object, as 'ask' printed it.")
        rows.append(row)
    return rows


def _find_policy(study: Study, row: Mapping[str, Any]) -> int | Source:
    """Return the policy of a row: by number, by its source, or the only one that is pending."""
    space, trials = study.space, study.trials
    if "context" in row:
        center = space.vector(row["context"])
        number = row.get("id")
        if number is None:
            how = {key: row[key] for key in ("width", "parent", "steps") if key in row}
            return Source.at(center, **how)
        if 0 <= number < len(trials):  # a row of another study would be recorded here otherwise
            asked, given = trials[number].context, space.context(center)
            if shown_context(asked) != shown_context(given):
                raise ArgumentError(
                    f"Policy {number} is the one for {shown_context(asked)}, but the row is for "
                    f"{shown_context(given)}. Correct the id or the context."
                )
    if "id" in row:
        return int(row["id"])
    pending = study.pending
    if len(pending) == 1:
        return pending[0].id
    listed = "".join(f"\n  --id {t.id}  {space.describe(t.source)}" for t in pending)
    raise ArgumentError(
        f"{counted(len(pending), 'policy is', 'policies are')} pending. Name one by --id, or the "
        f"context of a policy that was not asked for by --context.{listed}"
    )
