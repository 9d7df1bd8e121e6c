"""Kill `sdmbtl run CartPole` at random moments and see that nothing is lost or done twice.

`kill_campaign.py PATH KILLS JOBS SEED` runs studies below PATH. Each run is killed with SIGKILL
after a random time and started again, until it ends by itself; then the next study begins. With one
job every study must end as one that was not killed: the same contexts, policies and returns. With
several the budget must be exact, and every policy on record once and intact.
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from sdmbtl.studies import Study
from sdmbtl.studies.doctor import examine

BUDGET = 6


def start(path: Path, jobs: int) -> subprocess.Popen[str]:
    """Start a study, or continue it."""
    words: list[object] = ["run", "CartPole", "--budget", BUDGET, "--steps", 4096, "--episodes", 2]
    words += ["--seed", 3, "--out", path, "--quiet"] + (["--jobs", jobs] if jobs > 1 else [])
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "sdmbtl", *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def errors_of(process: subprocess.Popen[str]) -> str:
    """Return what a process that has ended wrote as errors."""
    return "" if process.stderr is None else process.stderr.read()


def outcome(path: Path) -> tuple[str, bytes]:
    """Return all that must be the same however often a study of one job was killed."""
    study = Study.open(path)
    files = sorted((path / "policies").glob("*.safetensors"))
    policies = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    contexts = [(trial.context, trial.source.to_dict()) for trial in study.trials]
    return json.dumps([policies, contexts]), study.returns.tobytes()


def faults(path: Path) -> list[str]:
    """List the faults of a study that has ended, whatever its number of jobs."""
    study = Study.open(path)
    found = [f.text for f in examine(path).findings if f.level == "problem"]
    found += [f"{study.n_finished} finished of {BUDGET}"] if study.n_finished != BUDGET else []
    found += ["pending trials"] if study.pending else []
    sources = [json.dumps(trial.source.to_dict()) for trial in study.trials]
    found += ["a source was trained twice"] if len(set(sources)) < len(sources) else []
    found += (
        ["policy files of nothing"] if len(list((path / "policies").glob("0*"))) > BUDGET else []
    )
    return found


def main(place: Path, kills: int, jobs: int, seed: int) -> None:
    """Kill runs until there are enough, and print what is wrong."""
    begun = time.monotonic()
    first = start(place / "reference", jobs)
    if first.wait():
        raise RuntimeError(errors_of(first))
    seconds, reference = time.monotonic() - begun, outcome(place / "reference")
    rng, killed, studies = np.random.default_rng(seed), 0, 0
    wrong: list[str] = []
    while killed < kills:
        studies += 1
        path = place / f"study-{studies}"
        while True:
            process = start(path, jobs)
            limit = rng.uniform(0.0, seconds) if killed < kills else None
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired:
                os.kill(process.pid, signal.SIGKILL)  # its workers are left to notice
                process.wait()
                killed += 1
                continue
            if status:
                raise RuntimeError(errors_of(process))
            break
        wrong += faults(path)
        wrong += ["another outcome"] if jobs == 1 and outcome(path) != reference else []
        shutil.rmtree(path)
        print(f"{killed} killed, {studies} studies, wrong: {wrong}", file=sys.stderr, flush=True)
    print(json.dumps({"jobs": jobs, "killed": killed, "studies": studies, "wrong": wrong}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:5]))
