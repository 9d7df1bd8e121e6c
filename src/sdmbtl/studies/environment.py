"""The environments that a study was made with: edits of their code are noticed."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sdmbtl.checks import short_text
from sdmbtl.errors import ConfigurationError, DamagedStudyError
from sdmbtl.studies.leases import LeaseKeeper

if TYPE_CHECKING:
    from sdmbtl.studies.trial_log import TrialLog
    from sdmbtl.training import Trainer, TrainerSpec

#: Under this name the identities are kept, the present one last.
ENVIRONMENTS = "environments"


def first_identity(training: TrainerSpec | None) -> dict[str, Any]:
    """Return the facts about the environments of a new study; none if training is the caller's."""
    if training is None:
        return {}
    return {ENVIRONMENTS: [{"policies": 0, "changes": [], "identity": _identify(training)}]}


def accepted_changes(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List changes of the environments, and after how many policies, in order."""
    return [{k: r[k] for k in ("policies", "changes")} for r in recorded_environments(facts)[1:]]


def recorded_environments(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the record of the environments, the present ones last.

    Raises:
        DamagedStudyError: If it is something else.
    """
    records = facts.get(ENVIRONMENTS, [])
    try:
        for record in records:
            compare(record["identity"], record["identity"])
            int(record["policies"]), "; ".join(record["changes"])
    except (AttributeError, LookupError, TypeError, ValueError):
        raise DamagedStudyError(
            "What the study has on record of its environments is damaged. Put it back from a "
            f"copy, or start a new study in another directory. Got {short_text(records)}."
        ) from None
    return list(records)


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


def check_identity(
    log: TrialLog,
    training: TrainerSpec,
    recorded: Mapping[str, Any],
    *,
    accept: bool,
) -> None:
    """Compare the environments with those on record.

    Edits of one's own code must be accepted, which adds the present code to the record.

    Args:
        log: The trials of the study.
        training: How its policies are trained.
        recorded: The last entry of the record.
        accept: Whether changes are accepted.

    Raises:
        ConfigurationError: If something has changed and is not accepted.
        BusyError: If changes are accepted while another process runs the study.
    """
    from sdmbtl.training import Checkpoints

    now, path = _identify(training), log.store.path.parent
    changes = compare(recorded["identity"], now)
    if changes and not accept:
        raise ConfigurationError(
            f"The environments of the study in {str(path)!r} have changed since its policies were "
            "trained:\n"
            + "\n".join(f"  {line}" for line in changes)
            + "\nUndo the changes, or use another directory. If returns stay comparable, continue "
            "with --accept-changes, or Study.open(path, accept_changes=True)."
        )
    if changes:
        with LeaseKeeper(log.store):  # a run at work trains in the old ones
            new = {"policies": log.n_finished, "changes": changes, "identity": now}
            with log.store.transaction():
                log.store.set_fact(ENVIRONMENTS, [*log.store.facts()[ENVIRONMENTS], new])
            # What was half trained in the old environments would continue in the new ones.
            Checkpoints.of_study(path).clear()


def _identify(training: TrainerSpec) -> dict[str, Any]:
    from sdmbtl.contexts import ContextSpace
    from sdmbtl.environments.identity import identify

    return identify(training.make_family(), ContextSpace.from_dict(training.space).middle())


def warn_of_missing_time_limit(trainer: Trainer) -> None:
    """Warn if episodes might never end, where they are evaluated on the host."""
    if not trainer.evaluates_on_host or trainer.max_episode_steps is not None:
        return
    from sdmbtl.environments.checks import find_missing_time_limit

    try:
        remark = find_missing_time_limit(trainer.family, trainer.space)
    except (Exception, SystemExit):  # noqa: BLE001 (an environment that fails: training says how)
        return
    if remark is not None:
        warnings.warn(
            f"{remark} Or set the trainer's 'max_episode_steps'. Evaluations end one as failed "
            f"after {trainer.endless_after:,} steps ('endless_after').",
            stacklevel=4,
        )
