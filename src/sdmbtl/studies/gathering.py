"""The finished policies of a study as a portfolio."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from sdmbtl.errors import StudyError
from sdmbtl.portfolio import Member, Portfolio

if TYPE_CHECKING:
    from sdmbtl.studies.study import Study


def gather_portfolio(study: Study) -> Portfolio:
    """The policies as one object; see `Study.portfolio`.

    Raises:
        StudyError: If there is none yet, or the study names a policy class and is not trusted.
    """
    members = _gather_members(study)
    if not members and study.n_finished:
        raise StudyError(
            f"The files of all {study.n_finished} policies of the study in {str(study.path)!r} are "
            "missing or damaged; their returns are recorded. Bring them back, or have them trained "
            f"again: sdmbtl resume {study.path} --retrain-missing"
        )
    if not members:
        way_out = (
            "Continue with: sdmbtl resume" if study.configuration.trainer else "See: sdmbtl tell"
        )
        raise StudyError(
            f"The study in {str(study.path)!r} has no finished policies yet. {way_out} {study.path}"
        )
    return Portfolio(
        study.space,
        members,
        family=study.configuration.family_settings(),
        return_range=study.return_range,
    )


def _gather_members(study: Study) -> list[Member]:
    """The finished policies, without those whose file is missing or damaged."""
    finished = [t for t in study.trials if t.row is not None]
    trained = {t.id for t in study.log.trained}
    members = []
    episodes = study.episodes() if finished else {}
    for trial in finished:
        if trial.id in trained and (state := study.files.state(trial)) != "intact":
            warnings.warn(
                f"The policy file {study.files.path(trial.id)} is {state}; policy {trial.id} "
                f"is left out. Run: sdmbtl doctor {study.path}",
                stacklevel=4,
            )
            continue
        policy = study.files.load(trial.id) if trial.id in trained else None
        members.append(Member(trial.id, trial.context, policy, episodes[trial.id], trial.source))
    return members
