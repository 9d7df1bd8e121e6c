"""Long paths, directories that cannot be written, disks that are full."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fault_parts.processes import Settings, finish, outcome, sdmbtl, start_driver


def disk_row(settings: Settings) -> dict[str, Any]:
    """Clear errors, and nothing is lost."""
    (settings.work / "space.toml").write_text("[dimensions.x]\nvalues = [0, 1, 2, 3]\n")
    found = {
        "a path of more than 200 characters": _long_path(settings),
        "a read-only file system": _read_only(settings),
        "a full disk": _full(settings),
        "a full disk under a run": _full_under_a_run(settings),
    }
    held = all(one["healthy"] and one["nothing_lost"] for one in found.values())
    messages = {what: one.pop("message") for what, one in found.items() if one.get("message")}
    return {
        "fault": f"{', '.join(found)}",
        "held": held,
        "ours": "the long path works; the others end with a message, and nothing is lost: "
        + "; ".join(f"“{_first_sentence(message)}”" for message in messages.values()),
        "numbers": {**found, "messages": messages},
    }


def _ask(settings: Settings, path: Path) -> subprocess.CompletedProcess[str]:
    return sdmbtl(settings, "ask", path, "--space", settings.work / "space.toml")


def _tell(settings: Settings, path: Path, job: str) -> subprocess.CompletedProcess[str]:
    report = json.dumps({**json.loads(job), "returns": [1.0] * 4})
    return sdmbtl(settings, "tell", path, "-", given=report)


def _message(settings: Settings, done: subprocess.CompletedProcess[str]) -> str:
    """What a command says when it fails; where is different each time."""
    if done.returncode == 0:
        raise SystemExit("A command should have failed and did not.")
    return " ".join(done.stderr.replace(str(settings.work), "…").split())


def _first_sentence(message: str) -> str:
    """What a message says before the way out, without the kind of error."""
    return message.partition(": ")[2].partition(". ")[0].rstrip(".") + "."


def _long_path(settings: Settings) -> dict[str, Any]:
    path = settings.work / ("a" * 100) / ("b" * 100)
    asked = _ask(settings, path)
    told = _tell(settings, path, asked.stdout)
    found = outcome(path)
    return {**found, "nothing_lost": told.returncode == 0 and found["finished"] == 1}


def _read_only(settings: Settings) -> dict[str, Any]:
    with _small_disk(settings, "read-only", "4m") as disk:
        path = disk / "study"
        asked = _ask(settings, path)
        _mount("-o", "remount,ro", disk)
        message = _message(settings, _tell(settings, path, asked.stdout))
        status = sdmbtl(settings, "status", path).returncode
        _mount("-o", "remount,rw", disk)
        told = _tell(settings, path, asked.stdout).returncode
        found = outcome(path)
    kept = told == 0 and found["finished"] == 1
    return {**found, "nothing_lost": kept, "status_works": status == 0, "message": message}


def _full(settings: Settings) -> dict[str, Any]:
    with _small_disk(settings, "full", "1m") as disk:
        path = disk / "study"
        asked = _ask(settings, path)
        _fill(disk)
        message = _message(settings, _tell(settings, path, asked.stdout))
        (disk / "filling").unlink()
        told = _tell(settings, path, asked.stdout).returncode
        found = outcome(path)
    return {**found, "nothing_lost": told == 0 and found["finished"] == 1, "message": message}


def _full_under_a_run(settings: Settings) -> dict[str, Any]:
    with _small_disk(settings, "run", "1m") as disk:
        path = disk / "study"
        driver = start_driver(settings, path, 6)
        before = 0
        for line in driver.stdout or ():
            before += line.startswith("finished")
            if before == 2 and line.startswith("finished"):
                _fill(disk)
        failed = finish(driver)
        message = (settings.work / "errors.txt").read_text().splitlines()[-1]
        (disk / "filling").unlink()
        again = finish(start_driver(settings, path, 6))
        found = outcome(path)
    kept = failed != 0 and again == 0 and found["finished"] == 6 and not found["policies_lost"]
    message = message.replace(str(settings.work), "…")
    return {**found, "nothing_lost": kept, "finished_before": before, "message": message}


@contextmanager
def _small_disk(settings: Settings, name: str, size: str) -> Iterator[Path]:
    """A file system of its own; needs root."""
    place = settings.work / name
    place.mkdir()
    _mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", place)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)  # noqa: S603, S607


def _mount(*words: str | Path) -> None:
    subprocess.run(["mount", *map(str, words)], check=True)  # noqa: S603, S607


def _fill(disk: Path) -> None:
    """Leave no room."""
    with (disk / "filling").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
