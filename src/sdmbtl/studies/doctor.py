"""What is wrong with the directory of a study, and what can be saved."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import DamagedStudyError, PolicyError, SdmbtlError, StudyError
from sdmbtl.files import free_name, is_leftover, obstacle
from sdmbtl.policies import load_notes
from sdmbtl.selectors import Trial
from sdmbtl.studies.database import StudyDatabase
from sdmbtl.studies.records import Kind, Record
from sdmbtl.studies.study import Study

Level = Literal["ok", "note", "problem"]

#: The kinds of records that a trial has.
_OF_A_TRIAL: tuple[Kind, ...] = ("trial", "episodes", "errors", "seconds", "lease")


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
        _examine_copy(database, diagnosis)
        _examine_parents(study, diagnosis)
        _examine_policies(study, diagnosis)
        _examine_environment(study, diagnosis)
        _examine_pending(study, diagnosis)
    else:
        diagnosis.add("problem", trouble, _rescue(path, database))
        _list_policies(path, diagnosis)
    for _, found in _obstacles(path):
        diagnosis.add("problem", f"{found}. It is not opened.", "--repair gives it another name.")
    for leftover in _leftovers(path):
        found = f"{leftover.name} is left over from an interrupted write."
        diagnosis.add("note", found, "--repair deletes it.")
    return diagnosis


def repair(path: str | Path) -> Diagnosis:
    """Put right what can be put right; what is replaced is kept under another name.

    A database that is damaged is replaced by its copy from the last finished policy, with every
    later record that is intact. No returns are given up: those of a policy whose file is missing
    stay, and it can be trained again with `Study.run(retrain_missing=True)`. What cannot be done is
    said, and the rest is done all the same.

    Raises:
        BusyError: If another process runs the study, or writes to it.
    """
    path = _study_directory(path)
    work = _Work()
    database = StudyDatabase(path / "study.db")
    for place, found in _obstacles(path):  # a lock that is none is not held by anybody
        work.attempt(partial(_move_aside, place, found))
    with database.running(), database.locked():
        if _trouble(database) is not None:
            work.attempt(partial(_restore, path, database))
        if _trouble(database) is None:
            work.attempt(database.make_backup)
        for leftover in _leftovers(path):
            work.attempt(partial(_delete, leftover))
    diagnosis = examine(path)
    diagnosis.repaired = work.done
    diagnosis.findings += work.failures
    return diagnosis


@dataclass
class _Work:
    """What a repair has done, and what it could not do."""

    done: list[str] = field(default_factory=list)
    failures: list[Finding] = field(default_factory=list)

    def attempt(self, step: Callable[[], list[str] | None]) -> None:
        """Do one step; the others do not depend on whether it succeeds."""
        try:
            self.done += step() or []
        except (OSError, SdmbtlError) as error:
            self.failures.append(Finding("problem", f"Could not be repaired: {error}"))


def _study_directory(path: str | Path) -> Path:
    path = Path(path)
    names = ("study.db", "study.backup.db", "policies")
    if not any(os.path.lexists(path / name) for name in names):
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


def _copy_trouble(copy: StudyDatabase) -> str | None:
    """Why a copy is of no use, None if it is."""
    try:
        return _trouble(copy)
    except StudyError as error:  # such as one of another release
        return str(error)


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


def _examine_copy(database: StudyDatabase, diagnosis: Diagnosis) -> None:
    copy = StudyDatabase(database.backup_path)
    problem = _copy_trouble(copy)
    if problem is not None:
        diagnosis.add("note", f"The copy of the database: {problem}", "--repair makes a new one.")
    elif database.is_behind(copy):
        diagnosis.add(
            "problem",
            "The copy of the database has later records than the database: an older file was put "
            "in its place.",
            f"To continue from the copy, move {database.path.name} away, then use --repair. "
            "--repair as it is keeps the copy under another name.",
        )


def _examine_pending(study: Study, diagnosis: Diagnosis) -> None:
    if study.configuration.family is None:
        return
    for numbers, text, remedy in (
        ([t.id for t in study.pending if t.run is not None], "To be trained still", ""),
        ([t.id for t in study.pending if t.run is None], "Asked for elsewhere", " --adopt-pending"),
    ):
        if numbers:
            left = ", ".join(map(str, numbers))
            diagnosis.add("note", f"{text}: policy {left}.", f"sdmbtl resume {study.path}{remedy}")


def _examine_policies(study: Study, diagnosis: Diagnosis) -> None:
    states = {trial.id: study.policy_state(trial) for trial in study.trained}
    for number, state in states.items():
        if state != "intact":
            found = obstacle(study.policy_path(number), study.path)
            why = "" if found is None else f" ({found})"
            diagnosis.add(
                "problem",
                f"The policy file {study.policy_path(number).name} is {state}{why}; its returns "
                "are recorded.",
                "Bring it back, or have the same policy trained again: sdmbtl resume "
                f"{study.path} --retrain-missing. Until then the portfolio leaves it out.",
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
    if _copy_trouble(copy) is not None:
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
        f"{_counted(kept)}{lost}, unless they can still be read. What is lost is trained again "
        "when the study is resumed."
    )


def _list_policies(path: Path, diagnosis: Diagnosis) -> None:
    for file in _policy_files(path):
        if obstacle(file, path) is not None:
            continue  # listed with the others
        try:
            notes = load_notes(file)
        except (OSError, PolicyError) as error:
            diagnosis.add("problem", str(error))
        else:
            diagnosis.add("note", f"{file.name} is intact: trained on {notes.get('context')}.")


def _policy_files(path: Path) -> list[Path]:
    return sorted(p for p in (path / "policies").glob("*.safetensors") if p.stem.isdigit())


def _leftovers(path: Path) -> list[Path]:
    folders = (path, path / "policies", path / "checkpoints")
    real = [folder for folder in folders if obstacle(folder / "any", path) is None]
    return sorted(p for folder in real for p in folder.glob(".*.tmp*") if is_leftover(p))


def _obstacles(path: Path) -> Iterator[tuple[Path, str]]:
    """What is in the place of a file or folder of the study and is none, and its description."""
    names = ["study.db", "study.backup.db", "study.lock", "study.run.lock"]
    places = [path / f"{name}{end}" for name in names for end in ("", "-journal", "-wal", "-shm")]
    for folder in (path / "policies", path / "checkpoints"):
        if (found := obstacle(folder / "any", path)) is not None:
            yield folder, found
        elif folder.is_dir():
            places += [p for p in sorted(folder.iterdir()) if p.suffix in (".safetensors", ".npz")]
    for place in places:
        if (found := obstacle(place, path)) is not None:
            yield place, found


def _move_aside(place: Path, found: str) -> list[str]:
    """Give what is in the place of a file another name; a link is moved, not followed."""
    aside = free_name(place.with_name(f"{place.name}.damaged"))
    place.rename(aside)
    return [f"{found}: kept as {aside.name}."]


def _delete(leftover: Path) -> list[str]:
    leftover.unlink()
    return [f"Deleted {leftover.name}."]


def _restore(path: Path, database: StudyDatabase) -> list[str]:
    """Put the copy in the place of the database, with what is intact of that."""
    copy = StudyDatabase(database.backup_path)
    if _copy_trouble(copy) is not None:
        return []
    known = copy.intact_records()
    records = _joined(known, database.intact_records())
    later = sum(key[0] != "seal" and known.get(key) != record for key, record in records.items())
    done = []
    for name in ("study.db", "study.db-journal"):  # the journal belongs to the damaged file
        if os.path.lexists(path / name):
            aside = free_name(path / f"damaged-{name}")
            (path / name).rename(aside)
            done.append(f"Kept the damaged {name} as {aside.name}.")
    database.rebuild(records.values())
    done.append("Put the copy of the database in its place.")
    if later:
        done.append(f"Took over {later} later records, which were intact.")
    return done


def _joined(
    copy: dict[tuple[Kind, Any], Record], damaged: dict[tuple[Kind, Any], Record]
) -> dict[tuple[Kind, Any], Record]:
    """The records of a copy, and those of the damaged file where they are later.

    A trial and what belongs to it are of the same time. A row that the copy has is not given up for
    a trial without. Trials behind a gap have no place.
    """
    joined = copy | {key: r for key, r in damaged.items() if key[0] in ("fact", "seal")}
    number = 0
    while ("trial", number) in damaged or ("trial", number) in copy:
        trial = damaged.get(("trial", number))
        known = copy.get(("trial", number))
        if trial is not None and (known is None or known[4] is None or trial[4] is not None):
            same = known is None or known[2] == trial[2]
            for kind in _OF_A_TRIAL:
                key = (kind, number)
                if not same:
                    joined.pop(key, None)
                if key in damaged:
                    joined[key] = damaged[key]
        number += 1
    return joined
