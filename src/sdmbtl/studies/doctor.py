"""Check the files of a study, and repair what can be repaired."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from sdmbtl.errors import DamagedStudyError, PolicyError, SdmbtlError, StudyError
from sdmbtl.files import find_leftovers, free_name, sync_directory, unsafe_path_reason
from sdmbtl.policies import load_notes
from sdmbtl.studies.leases import LeaseKeeper
from sdmbtl.studies.store import StudyStore
from sdmbtl.studies.study import Study

Level = Literal["ok", "note", "problem"]


@dataclass(frozen=True)
class Finding:
    """One result of an examination.

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
        """True if no problem was found."""
        return all(f.level != "problem" for f in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as JSON data."""
        return {"healthy": self.healthy, **asdict(self)}

    def add(self, level: Level, text: str, remedy: str | None = None) -> None:
        """Add a finding."""
        self.findings.append(Finding(level, text, remedy))


def examine(path: str | Path) -> Diagnosis:
    """Look at every file of a study; nothing is changed."""
    path, diagnosis = _study_directory(path), Diagnosis()
    trouble = _trouble(path / "study.db")
    copy_trouble = _trouble(path / "study.backup.db")
    if trouble is None:
        study = Study.open(path)
        counts = Counter(t.status for t in study.trials)
        shown = [f"{n} {s}" for s in ("finished", "pending", "failed") if (n := counts[s])]
        diagnosis.add("ok", f"The database is intact: {', '.join(shown) or 'no policies yet'}.")
        if copy_trouble is not None:
            diagnosis.add("note", f"Copy of the database: {copy_trouble}", "--repair makes one.")
        _examine_policies(study, diagnosis)
        _examine_environment(study, diagnosis)
        study.close()
    elif copy_trouble is None:
        with_copy = "--repair puts the copy in its place; what is lost is trained again by resume."
        diagnosis.add("problem", trouble, with_copy)
    else:
        diagnosis.add(
            "problem",
            trouble,
            "There is no intact copy of it either. The policies listed below can be loaded one by "
            "one with sdmbtl.policies.load_policy; start a new study in another directory.",
        )
        for file in sorted((path / "policies").glob("*.safetensors")):
            if unsafe_path_reason(file, path) is None:  # others are listed anyway
                try:
                    context = load_notes(file).get("context")
                    diagnosis.add("note", f"{file.name} is intact: trained on {context}.")
                except (OSError, PolicyError) as error:
                    diagnosis.add("problem", str(error))
    for _, found in _unsafe_paths(path):
        diagnosis.add("problem", f"{found}. It is not opened.", "--repair gives it another name.")
    for leftover in _leftovers(path):
        found = f"{leftover.name} is left over from an interrupted write."
        diagnosis.add("note", found, "--repair deletes it.")
    return diagnosis


def repair(path: str | Path) -> Diagnosis:
    """Put right what can be put right; what is replaced is kept under another name.

    A database that is damaged is replaced by its copy. Returns of a policy whose file is missing
    stay, and it can be trained again with `Study.run(retrain_missing=True)`.
    """
    path, done = _study_directory(path), list[str]()
    failures: list[Finding] = []
    try:
        for place, found in _unsafe_paths(path):
            aside = free_name(place.with_name(f"{place.name}.damaged"))
            place.rename(aside)  # a link is moved, not followed
            done.append(f"{found}: kept as {aside.name}.")
        if _trouble(path / "study.db") is not None and _trouble(path / "study.backup.db") is None:
            for end in ("", "-journal", "-wal", "-shm"):  # they belong to the damaged file
                if os.path.lexists(path / f"study.db{end}"):
                    aside = free_name(path / f"damaged-study.db{end}")
                    (path / f"study.db{end}").rename(aside)
                    done.append(f"Kept the damaged study.db{end} as {aside.name}.")
            (path / "study.backup.db").rename(path / "study.db")
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
    diagnosis = examine(path)
    diagnosis.repaired = done
    diagnosis.findings += failures
    return diagnosis


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


def _examine_policies(study: Study, diagnosis: Diagnosis) -> None:
    """Compare policy files with the record, and name what is pending."""
    states = {trial.id: study.files.state(trial) for trial in study.trained}
    for number, state in states.items():
        if state != "intact":
            diagnosis.add(
                "problem",
                f"The policy file {study.files.path(number).name} is {state}; its returns are "
                "recorded.",
                f"Bring it back, or have it trained again: sdmbtl resume {study.path} "
                "--retrain-missing. Until then the portfolio leaves it out.",
            )
    if set(states.values()) == {"intact"}:
        diagnosis.add("ok", f"All {len(states)} policy files are intact.")
    for trial in study.trials:
        if trial.parent is not None and trial.parent >= trial.id:
            diagnosis.add(
                "problem",
                f"Policy {trial.id} starts from policy {trial.parent}, which is not earlier.",
                "The record was changed from outside; start a new study in another directory.",
            )
    if study.configuration.family is None:
        return
    own = [str(t.id) for t in study.pending if t.run is not None]
    others = [str(t.id) for t in study.pending if t.run is None]
    resume = f"sdmbtl resume {study.path}"
    if own:
        diagnosis.add("note", f"To be trained still: policy {', '.join(own)}.", resume)
    if others:
        text = f"Asked for elsewhere: policy {', '.join(others)}."
        diagnosis.add("note", text, f"{resume} --adopt-pending")


def _examine_environment(study: Study, diagnosis: Diagnosis) -> None:
    family = study.configuration.family
    if family is None:
        return
    name, code = family["name"], study.trust.code
    if code:
        made = "You made this study here, so it is trusted."
        remedy = None
        if not study.trust.holds:
            made = "This study was made elsewhere, moved or copied, so it is not trusted."
            remedy = "If you know this code: sdmbtl resume, evaluate and portfolio take --trust."
        used = f"To train or evaluate, this is imported, called or written to: {', '.join(code)}."
        diagnosis.add("note", f"{used} {made}", remedy)
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


def _leftovers(path: Path) -> list[Path]:
    folders = (path, path / "policies", path / "checkpoints")
    safe = [folder for folder in folders if unsafe_path_reason(folder / "any", path) is None]
    return [leftover for folder in safe for leftover in find_leftovers(folder)]


def _unsafe_paths(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield what is in the place of a file or folder of the study and is none."""
    places = [
        path / f"{name}{end}"
        for name in ("study.db", "study.backup.db")
        for end in ("", "-journal", "-wal", "-shm")
    ]
    for folder in (path / "policies", path / "checkpoints"):
        if (found := unsafe_path_reason(folder / "any", path)) is not None:
            yield folder, found
        elif folder.is_dir():
            places += [p for p in sorted(folder.iterdir()) if p.suffix in (".safetensors", ".npz")]
    for place in places:
        if (found := unsafe_path_reason(place, path)) is not None:
            yield place, found
