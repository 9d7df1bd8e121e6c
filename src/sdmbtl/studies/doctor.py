"""Check the files of a study, and put a damaged database right from its copy."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from sdmbtl.errors import DamagedStudyError, StudyError
from sdmbtl.files import find_leftovers, free_name, sync_directory, unsafe_path_reason
from sdmbtl.studies.leases import LeaseKeeper
from sdmbtl.studies.store import StudyStore
from sdmbtl.studies.study import Study


@dataclass(frozen=True)
class Finding:
    """One result of an examination.

    Attributes:
        level: "ok"; "note": harmless; "problem": something is lost, or the study cannot continue.
        text: What was found.
        remedy: What to do about it.
    """

    level: Literal["ok", "note", "problem"]
    text: str
    remedy: str | None = None


@dataclass
class Diagnosis:
    """Everything that was found, and what was done about it."""

    findings: list[Finding] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)

    @property
    def healthy(self) -> bool:
        """True if no problem was found."""
        return all(f.level != "problem" for f in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as JSON data."""
        return {"healthy": self.healthy, **asdict(self)}


def examine(path: str | Path) -> Diagnosis:
    """Check the database with SQLite and the policy files by their hashes; nothing is changed."""
    path = _study_directory(path)
    trouble, copy_trouble = (_trouble(path / f"study{end}.db") for end in ("", ".backup"))
    findings = []
    if trouble is None:
        study = Study.open(path)
        counts = Counter(t.status for t in study.trials)
        shown = [f"{n} {s}" for s in ("finished", "pending", "failed") if (n := counts[s])]
        text = f"The database is intact: {', '.join(shown) or 'no policies yet'}."
        findings.append(Finding("ok", text))
        if copy_trouble is not None:
            text = f"Copy of the database: {copy_trouble}"
            findings.append(Finding("note", text, "--repair makes one."))
        states = {trial.id: study.files.state(trial) for trial in study.trained}
        for number, state in states.items():
            if state != "intact":
                text = f"The policy file {study.files.path(number).name} is {state}; its returns "
                remedy = (
                    f"Bring it back. Or withdraw it: sdmbtl tell {path} --id {number} --forget. "
                    "Until then the portfolio leaves it out."
                )
                findings.append(Finding("problem", f"{text}are recorded.", remedy))
        if set(states.values()) == {"intact"}:
            findings.append(Finding("ok", f"All {len(states)} policy files are intact."))
        study.close()
    elif copy_trouble is None:
        remedy = "--repair puts the copy in its place; what is lost is trained again by resume."
        findings.append(Finding("problem", trouble, remedy))
    else:
        remedy = (
            "There is no intact copy of it either. Policies can be loaded one by one with "
            "sdmbtl.policies.load_policy; start a new study in another directory."
        )
        findings.append(Finding("problem", trouble, remedy))
    for leftover in _leftovers(path):
        text = f"{leftover.name} is left over from an interrupted write."
        findings.append(Finding("note", text, "--repair deletes it."))
    return Diagnosis(findings)


def repair(path: str | Path) -> Diagnosis:
    """Replace a damaged database by its copy, and keep it under another name."""
    path, done = _study_directory(path), list[str]()
    failures: list[Finding] = []
    copy = path / "study.backup.db"
    try:
        if _trouble(path / "study.db") is not None and _trouble(copy) is None:
            for end in ("", "-journal", "-wal", "-shm"):  # they belong to the damaged file
                if os.path.lexists(path / f"study.db{end}"):
                    aside = free_name(path / f"damaged-study.db{end}")
                    (path / f"study.db{end}").rename(aside)  # a link is moved, not followed
                    done.append(f"Kept the damaged study.db{end} as {aside.name}.")
            copy.rename(path / "study.db")
            sync_directory(path)
            done.append("Put the copy of the database in its place.")
        if _trouble(path / "study.db") is None:
            store = StudyStore(path / "study.db")
            with LeaseKeeper(store):
                store.back_up(always=True)
            store.close()
        for leftover in _leftovers(path):
            leftover.unlink(missing_ok=True)
            done.append(f"Deleted {leftover.name}.")
    except OSError as error:
        failures.append(Finding("problem", f"Could not be repaired: {error}"))
    return Diagnosis([*examine(path).findings, *failures], done)


def _study_directory(path: str | Path) -> Path:
    path = Path(path).absolute()
    names = ("study.db", "study.backup.db", "policies")
    if not any(os.path.lexists(path / name) for name in names):
        raise StudyError(f"There is not a study in {str(path)!r}.")
    return path


def _trouble(path: Path) -> str | None:
    """Describe how a database is damaged; None if it is not."""
    try:
        store = StudyStore(path)
        try:
            store.check()
            Study(path.parent, store)
        finally:
            store.close()
    except DamagedStudyError as error:
        return str(error).split(" Run: ")[0].split(" What is left, and how")[0]
    return None


def _leftovers(path: Path) -> list[Path]:
    folders = (path, path / "policies", path / "checkpoints")
    safe = [folder for folder in folders if unsafe_path_reason(folder / "any", path) is None]
    return [leftover for folder in safe for leftover in find_leftovers(folder)]
