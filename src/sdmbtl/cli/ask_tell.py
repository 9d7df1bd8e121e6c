"""`sdmbtl ask` and `sdmbtl tell`: training elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.text import Text

from sdmbtl.cli import arguments
from sdmbtl.cli.arguments import ArgumentError
from sdmbtl.cli.output import (
    JsonOption,
    add_context_columns,
    context_cells,
    figure,
    note_console,
    plain_table,
    print_json,
    print_line,
    result_console,
    shown,
)
from sdmbtl.cli.status import summary
from sdmbtl.cli.study import StudyArgument
from sdmbtl.errors import DuplicateTellError

if TYPE_CHECKING:
    from sdmbtl.studies import Study


def ask(
    path: StudyArgument,
    space: Annotated[
        str | None,
        typer.Option(metavar="FILE.toml", help="Make a study of these contexts if there is none."),
    ] = None,
    selector: Annotated[
        str | None, typer.Option(help="What chooses the contexts of a new study.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of a new study.", min=0)] = None,
    n: Annotated[int | None, typer.Option("-n", help="How many at once.", min=1)] = None,
) -> None:
    """Choose a context to be trained elsewhere; printed as JSON.

    It is pending until 'sdmbtl tell' reports what became of it.
    """
    from sdmbtl.studies import Study

    if space is None and (selector is not None or seed is not None):
        raise ArgumentError(
            "--selector and --seed belong to a new study: give --space FILE.toml too. A study that "
            "is there keeps its own."
        )
    if space is None:
        study = Study.open(path)
    else:
        study = Study.open(path, space=space, selector=selector or "auto", seed=seed or 0)
    keys = ("id", "context", "strategy", "structure", "reason", "numbers")
    asked = [{key: getattr(c, key) for key in keys} for c in study.ask(n or 1)]
    console = note_console()
    if console.is_terminal:
        for found in asked:
            console.print(Text(f"Train on {shown(found['context'])}"))
            console.print(Text(f"Why: {found['reason']}"))
            command = f"sdmbtl tell {quote(str(path))} ROW.json --id {found['id']}"
            console.print(Text(f"Then: {command}"), soft_wrap=True)
    print_json(asked[0] if n is None else asked)


def targets(path: StudyArgument, as_json: JsonOption = False) -> None:
    """List the targets, in the order of a row, and the best policy on each so far."""
    from sdmbtl.studies import Study

    study = Study.open(path)
    policies = [None if p < 0 else int(p) for p in study.selector.best_trials]
    returns = [None if np.isnan(v) else float(v) for v in study.selector.rows.best]
    listed = list(zip(study.space, policies, returns, strict=True))
    if as_json:
        print_json(
            [
                {"target": number, "context": context, "policy": policy, "mean_return": value}
                for number, (context, policy, value) in enumerate(listed)
            ]
        )
        return
    table = plain_table()
    table.add_column("target", justify="right")
    add_context_columns(table, study.space.names)
    for name in ("policy", "mean return"):
        table.add_column(name, justify="right", no_wrap=True)
    for number, (context, policy, value) in enumerate(listed):
        best = "-" if policy is None else str(policy)
        table.add_row(str(number), *context_cells(context), best, figure(value))
    result_console().print(table)


def tell(
    path: StudyArgument,
    row: Annotated[
        str | None,
        typer.Argument(
            metavar="ROW.json",
            help="A return for each target (null: not evaluated), or a list of episodes for each, "
            'or {"id": ..., "returns": [...], "source_return": ...}; - reads the standard input.',
            show_default=False,
        ),
    ] = None,
    number: Annotated[
        int | None, typer.Option("--id", help="Which candidate; needed if several are pending.")
    ] = None,
    context: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JSON|KEY=VALUE", help="The context instead, also one that was never asked."
        ),
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="The training failed.")] = False,
    error: Annotated[str | None, typer.Option(help="Why it failed.")] = None,
    cancelled: Annotated[
        bool, typer.Option("--cancelled", help="It was stopped; the context may be chosen again.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Report what became of a context that was trained elsewhere."""
    from sdmbtl.studies import Study

    _check_told(row, failed=failed, cancelled=cancelled, error=error)
    told = _told(row)
    study = Study.open(path)
    if context:
        candidate: int | dict[str, Any] = arguments.context(context)
    else:
        candidate = _candidate(study, number, told)
    try:
        study.tell(
            candidate,
            told.get("returns"),
            status="failed" if failed else "cancelled" if cancelled else "finished",
            source_return=told.get("source_return"),
            error=error,
        )
    except DuplicateTellError:
        raise ArgumentError(
            f"This was told before; 'sdmbtl status {path}' shows what is recorded. A policy is "
            "told once."
        ) from None
    found = study.status()
    if as_json:
        print_json(found)
        return
    what = "failed" if failed else "cancelled" if cancelled else "finished"
    console = result_console()
    for line in (f"Recorded as {what}.", *summary(found)[1:]):
        print_line(console, line)


def _check_told(row: str | None, *, failed: bool, cancelled: bool, error: str | None) -> None:
    if failed and cancelled:
        raise ArgumentError("A training has either --failed or was --cancelled, not both.")
    if error is not None and not failed:
        raise ArgumentError("--error says why a training failed: give --failed too.")
    if row is None and not (failed or cancelled):
        raise ArgumentError(
            "What are its returns? Give a JSON file, or - for the standard input; or --failed, or "
            "--cancelled."
        )
    if row is not None and (failed or cancelled):
        raise ArgumentError("A training that did not finish has no returns. Leave the file out.")


def _told(row: str | None) -> dict[str, Any]:
    """What a file says, as an object with "returns"."""
    if row is None:
        return {}
    data = arguments.json_file(row)
    if isinstance(data, list):
        return {"returns": data}
    if not isinstance(data, dict) or not isinstance(data.get("returns"), list):
        raise ArgumentError(
            "A row is a list with a return for each target, or an object with such a list as "
            f"'returns'. Got {type(data).__name__ if not isinstance(data, dict) else list(data)} "
            "instead."
        )
    return data


def _candidate(study: Study, number: int | None, told: Mapping[str, Any]) -> int | dict[str, Any]:
    """Which candidate is meant: by number, by context, or the only one that is pending."""
    if number is not None:
        return number
    if isinstance(told.get("id"), int):
        return int(told["id"])
    if isinstance(told.get("context"), dict):
        return dict(told["context"])
    pending = study.selector.pending
    if len(pending) == 1:
        return pending[0].id
    place = quote(str(study.path))
    if not pending:
        raise ArgumentError(
            f"No candidate is pending. Ask for one with 'sdmbtl ask {place}', or give the context "
            "of a policy that was trained without being asked: --context."
        )
    listed = "".join(f"\n  --id {c.id}  {shown(c.context)}" for c in pending)
    raise ArgumentError(f"{len(pending)} candidates are pending. Say which one it is:{listed}")
