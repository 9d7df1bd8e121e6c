"""The environments that a study was made with: edits of their code are noticed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdmbtl import __version__
from sdmbtl.errors import ConfigurationError, StudyError

if TYPE_CHECKING:
    from sdmbtl.training import TrainerSpec

#: Under this name the identities are kept, the present one last.
ENVIRONMENTS = "environments"


def recorded_environments(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the record of the environments, the present ones last."""
    records = facts.get(ENVIRONMENTS, [])
    try:
        for record in records:
            compare(record["identity"], record["identity"])
            int(record["policies"]), "; ".join(record["changes"])
    except (AttributeError, LookupError, TypeError, ValueError):
        raise made_by_another_version("environments", facts) from None
    return list(records)


def made_by_another_version(what: str, facts: Mapping[str, Any]) -> StudyError:
    """Return the error for a record that this version of sdmbtl does not read."""
    versions = facts.get("versions")
    made_by = versions.get("sdmbtl", "unknown") if isinstance(versions, Mapping) else "unknown"
    return StudyError(
        f"Another version of sdmbtl made this study ({made_by}; this is {__version__}): its record "
        f"of the {what} has another form. Use the version that made it, or start a new study in "
        "another directory."
    )


def compare(recorded: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """List the differences between two identities, in words."""
    changes = []
    for part in ("source", "content"):
        before, after = recorded[part], now[part]
        for name in sorted({*before, *after}):
            if before.get(name) != after.get(name):
                how = "has changed" if name in before else "is new"
                changes.append(f"{part} of {name} {how if name in after else 'is no longer used'}")
    return changes


def find_changes(
    path: Path, training: TrainerSpec, recorded: Mapping[str, Any], *, accept: bool
) -> dict[str, Any] | None:
    """Compare the environments with the last ones on record, and refuse changes unless accepted.

    Returns:
        Changes and present identity, to be recorded; None if nothing has changed.
    """
    now = identity_of(training)
    changes = compare(recorded["identity"], now)
    if changes and not accept:
        raise ConfigurationError(
            f"The environments of the study in {str(path)!r} have changed since its policies were "
            "trained:\n"
            + "\n".join(f"  {line}" for line in changes)
            + "\nUndo the changes, or use another directory. If returns stay comparable, continue "
            "with --accept-changes, or Study.open(path, accept_changes=True)."
        )
    return {"changes": changes, "identity": now} if changes else None


def identity_of(training: TrainerSpec) -> dict[str, Any]:
    """Return the identity of environments: hashes of their code and files."""
    from sdmbtl.contexts import ContextSpace
    from sdmbtl.environments.identity import identify

    return identify(training.make_family(), ContextSpace.from_dict(training.space).middle())
