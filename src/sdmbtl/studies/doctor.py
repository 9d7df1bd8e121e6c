"""What is wrong with the directory of a study, and what can be saved."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import DamagedStudyError, PolicyError, SdmbtlError, StudyError
from sdmbtl.files import write_atomically
from sdmbtl.policies import load_notes
from sdmbtl.selectors import Trial
from sdmbtl.selectors.trial import TrainingRun
from sdmbtl.studies.database import StudyDatabase
from sdmbtl.studies.study import Study

Level = Literal["ok", "note", "problem"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        level: "ok"; "note": harmless; "problem": something is lost, or the study cannot continue.
        text: What was found.
        remedy: What to do about it.
    """

    level: Level
    text: str
    remedy: str | None = None


@dataclass
class Diagnosis:
    """Everything that was found, and what was done about it."""

    findings: list[Finding] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)

    @property
    def healthy(self) -> bool:
        """Whether no problem was found."""
        return all(f.level != "problem" for f in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """The diagnosis as JSON data."""
        return {"healthy": self.healthy, **asdict(self)}

    def add(self, level: Level, text: str, remedy: str | None = None) -> None:
        """One more finding."""
        self.findings.append(Finding(level, text, remedy))


def examine(path: str | Path) -> Diagnosis:
    """Look at every file of a study; nothing is changed.

    Raises:
        StudyError: If the directory is not a study at all.
    """
    path = _study_directory(path)
    diagnosis = Diagnosis()
    database = StudyDatabase(path / "study.db")
    trouble = _trouble(database)
    if trouble is None:
        study = Study(path)
        diagnosis.add("ok", f"The database is intact: {_counted(study.trials)}.")
        problem = _trouble(StudyDatabase(database.backup_path))
        if problem is not None:
            remedy = "--repair makes a new one."
            diagnosis.add("note", f"The copy of the database: {problem}", remedy)
        _examine_parents(study, diagnosis)
        _examine_policies(study, diagnosis)
        _examine_environment(study, diagnosis)
        if study.pending and study.configuration.family is not None:
            left = ", ".join(str(t.id) for t in study.pending)
            diagnosis.add("note", f"To be trained still: policy {left}.", f"sdmbtl resume {path}")
    else:
        diagnosis.add("problem", trouble, _rescue(path, database))
        _list_policies(path, diagnosis)
    for leftover in _leftovers(path):
        found = f"{leftover.name} is left over from an interrupted write."
        diagnosis.add("note", found, "--repair deletes it.")
    return diagnosis


def repair(path: str | Path) -> Diagnosis:
    """Put right what can be put right; what is replaced is kept under another name.

    A database that is damaged is replaced by its copy from the last finished policy. A policy
    whose file is lost is marked to be trained again with the same seed. It comes out the same,
    but for rounding if several were trained at once.
    """
    path = _study_directory(path)
    done: list[str] = []
    database = StudyDatabase(path / "study.db")
    with database.locked():
        if _trouble(database) is not None:
            done += _restore(path, database)
        if _trouble(database) is None:
            done += _mark_lost_policies(Study(path))
            database.make_backup()
        for leftover in _leftovers(path):
            leftover.unlink()
            done.append(f"Deleted {leftover.name}.")
    diagnosis = examine(path)
    diagnosis.repaired = done
    return diagnosis


def _study_directory(path: str | Path) -> Path:
    path = Path(path)
    if not any((path / name).exists() for name in ("study.db", "study.backup.db", "policies")):
        raise StudyError(f"There is not a study in {str(path)!r}.")
    return path


def _trouble(database: StudyDatabase) -> str | None:
    """How a database is damaged, None if it is not.

    Raises:
        StudyError: If it cannot be read for another reason, or is of another release.
    """
    try:
        database.check()
    except DamagedStudyError as error:
        return str(error).split(" Run: ")[0].split(" What is left, and how")[0]
    return None


def _counted(trials: Sequence[Trial]) -> str:
    counts = {s: sum(t.status == s for t in trials) for s in ("finished", "pending", "failed")}
    return ", ".join(f"{n} {status}" for status, n in counts.items() if n) or "no policies yet"


def _examine_parents(study: Study, diagnosis: Diagnosis) -> None:
    for trial in study.trials:
        if trial.parent is not None and trial.parent >= trial.id:
            diagnosis.add(
                "problem",
                f"Policy {trial.id} starts from policy {trial.parent}, which is not an earlier "
                "one.",
                "The record was changed from outside; start a new study in another directory.",
            )


def _examine_policies(study: Study, diagnosis: Diagnosis) -> None:
    states = {trial.id: study.policy_state(trial) for trial in study.trained}
    # One policy alone is computed in another order than several at once.
    rounding = ", but for rounding" if study.configuration.batch > 1 else ""
    for number, state in states.items():
        if state != "intact":
            diagnosis.add(
                "problem",
                f"The policy file {study.policy_path(number).name} is {state}; its returns are "
                "recorded.",
                "--repair marks it to be trained again when the study is resumed: the same policy"
                f"{rounding}. Until then the portfolio leaves it out.",
            )
    if set(states.values()) == {"intact"}:
        diagnosis.add("ok", f"All {len(states)} policy files are intact.")


def _examine_environment(study: Study, diagnosis: Diagnosis) -> None:
    family = study.configuration.family
    if family is None:
        return
    name, code = family["name"], study.trust.code
    if code:
        _examine_trust(study, code, diagnosis)
    # Code from somewhere, which one may not want to run to look at its results.
    if code or ":" in name or not family.get("importable", True):
        diagnosis.add("note", f"The environment {name!r} is your own; it was not tried.")
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            study.family.make(study.space.target(0)).close()
    except (SdmbtlError, ImportError) as error:
        diagnosis.add(
            "problem",
            f"The environment {name!r} cannot be made here: {error}",
            "Install what is missing, or resume where it is installed; the recorded results are "
            "not touched by this.",
        )
    else:
        diagnosis.add("ok", f"The environment {study.family.name} can be made.")


def _examine_trust(study: Study, code: list[str], diagnosis: Diagnosis) -> None:
    """Say what of the user's, or of somebody else's, would be imported."""
    used = f"To train or evaluate, this is imported, called or written to: {', '.join(code)}."
    if study.trust.holds:
        diagnosis.add("note", f"{used} You made this study here, so it is trusted.")
        return
    diagnosis.add(
        "note",
        f"{used} This study was made elsewhere, moved or copied, so it is not trusted.",
        "If you know this code: sdmbtl resume, evaluate and portfolio take --trust.",
    )


def _rescue(path: Path, database: StudyDatabase) -> str:
    copy = StudyDatabase(database.backup_path)
    if _trouble(copy) is not None:
        return (
            "There is no intact copy of it either, so nothing can be repaired. The policies listed "
            "below can be loaded one by one with sdmbtl.policies.load_policy; start a new study in "
            "another directory."
        )
    space = ContextSpace.from_dict(copy.facts()["configuration"]["space"])
    kept = copy.trials(space)
    later = [p for p in _policy_files(path) if int(p.stem) >= len(kept)]
    lost = f"; lost are the records of {len(later)} later policies" if later else ""
    return (
        "--repair puts the copy from the last finished policy in its place: "
        f"{_counted(kept)}{lost}. What is lost is trained again when the study is resumed."
    )


def _list_policies(path: Path, diagnosis: Diagnosis) -> None:
    for file in _policy_files(path):
        try:
            notes = load_notes(file)
        except PolicyError as error:
            diagnosis.add("problem", str(error))
        else:
            diagnosis.add("note", f"{file.name} is intact: trained on {notes.get('context')}.")


def _policy_files(path: Path) -> list[Path]:
    return sorted(p for p in (path / "policies").glob("*.safetensors") if p.stem.isdigit())


def _leftovers(path: Path) -> list[Path]:
    folders = (path, path / "policies", path / "checkpoints")
    return sorted(leftover for folder in folders for leftover in folder.glob(".*.tmp*"))


def _restore(path: Path, database: StudyDatabase) -> list[str]:
    if _trouble(StudyDatabase(database.backup_path)) is not None:
        return []
    done = []
    for name in ("study.db", "study.db-journal"):  # the journal belongs to the damaged file
        if (path / name).exists():
            aside = _free_name(path / f"damaged-{name}")
            (path / name).rename(aside)
            done.append(f"Kept the damaged {name} as {aside.name}.")
    write_atomically(database.path, database.backup_path.read_bytes())
    done.append("Put the copy of the database in its place.")
    return done


def _free_name(path: Path) -> Path:
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}.{number}")
    return candidate


def _mark_lost_policies(study: Study) -> list[str]:
    done = []
    for trial in study.trained:
        is_needed = trial.status in ("finished", "pending")
        if trial.run is None or not is_needed or study.policy_state(trial) == "intact":
            continue
        run = TrainingRun(trial.run.attempt, trial.run.errors)
        study.record(trial.updated(status="pending", row=None, run=run))
        done.append(f"Policy {trial.id} will be trained again when the study is resumed.")
    return done
