"""What `sdmbtl ask` prints and `sdmbtl tell` takes, done on a study: here or by its owner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any

from sdmbtl.cli import arguments
from sdmbtl.cli.arguments import ArgumentError
from sdmbtl.contexts import Source
from sdmbtl.errors import BusyError, DuplicateTellError, SdmbtlError

if TYPE_CHECKING:
    from sdmbtl.selectors import Trial
    from sdmbtl.selectors.base import TellOptions
    from sdmbtl.studies import Study

#: What is printed of a trial that was asked for.
ASKED = ("id", "context", "strategy", "structure", "model", "reason", "numbers", "attributes")

#: What is printed besides, unless it is a point that is trained from scratch as usual.
ASKED_OF_REGIONS = ("width", "region", "parent", "steps")


def describe_asked(study: Study, trial: Trial) -> dict[str, Any]:
    """What is printed of a trial: of a region, or a start from a parent, more than of a point."""
    asked = {key: getattr(trial, key) for key in ASKED}
    usual = {} if trial.width else {"width", "region"}
    more = {key: getattr(trial, key) for key in ASKED_OF_REGIONS if key not in usual}
    more["lease"] = study.lease_of(trial)
    return asked | {key: value for key, value in more.items() if value is not None}


def tell_reports(
    study: Study,
    reports: Sequence[Mapping[str, Any]],
    error: str | None,
    how: TellOptions,
    attributes: Mapping[str, Any],
) -> list[str]:
    """Record what became of trials; what was recorded, in words, a line for each.

    Args:
        study: The study.
        reports: Each with "returns", and what names the policy.
        error: Why they failed, if they did.
        how: Keywords of `Study.tell`.
        attributes: What is to be remembered of each.

    Raises:
        SdmbtlError: If one cannot be recorded; those before it are.
    """
    recorded = []
    for place, report in enumerate(reports):
        try:
            trial = _tell(study, report, error, how)
            if attached := {**report.get("attributes", {}), **attributes}:
                study.annotate(trial, **attached)
        except SdmbtlError as problem:
            raise _with_place(problem, place, len(reports)) from None
        lease = study.store.leases().get(trial.id)
        is_late = lease is not None and report.get("lease", lease.token) != lease.token
        became = "stale: its lease had run out" if is_late else how["status"]
        source = study.space.in_words(trial.source)
        recorded.append(f"Policy {trial.id}, {source}: recorded as {became}.")
    return recorded


def _tell(study: Study, report: Mapping[str, Any], error: str | None, how: TellOptions) -> Trial:
    trial = _meant(study, report)
    if how["repeat"] and isinstance(trial, int):
        trial = next((t.source for t in study.trials if t.id == trial), trial)
    options: TellOptions = {**how, "source_return": report.get("source_return")}
    try:
        return study.tell(
            trial, report["returns"], error=error, lease=report.get("lease"), **options
        )
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
