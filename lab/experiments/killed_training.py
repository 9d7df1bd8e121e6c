"""Kill training runs again and again: what is lost each time, and is the outcome the same?

    python lab/experiments/killed_training.py [--kills 50] [--form host] [--seconds 1] [--work DIR]

A process trains one policy of Gymnasium's Pendulum (stepped by Python) or of CartPole (compiled)
with checkpoints, and is killed with SIGKILL at a random moment after its first report; the next one
continues. A run that comes to its end is compared, byte by byte, with one that was left alone, and
the next run begins with another seed, until there were enough kills; the last run is then left to
come to its end. Every kill is written down in the working directory, so that the campaign itself
can be interrupted and continues when the same command is given again. The result is
results/killed-training.json.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from sdmbtl import ContextSpace
from sdmbtl.environments import FactoryFamily, make_family
from sdmbtl.files import write_atomically
from sdmbtl.policies import policy_bytes
from sdmbtl.software import CORE, TRAINING, versions
from sdmbtl.training import (
    Checkpoints,
    Report,
    TrainerSpec,
    Training,
    TrainingJob,
    make_trainer,
    train,
)

RESULT = Path(__file__).parents[2] / "results" / "killed-training.json"
#: Steps of a run, of either form: some tens of seconds.
STEPS = {"host": 400_000, "batched": 1_200_000}
#: So long between two checkpoints that there is none.
NEVER = 1e9


def make_pendulum(context: dict[str, float]) -> gymnasium.Env[Any, Any]:
    """Gymnasium's Pendulum with another gravity."""
    return gymnasium.make("Pendulum-v1", g=context["gravity"])


def specification(form: str) -> TrainerSpec:
    """What is trained."""
    family = make_family("CartPole")
    if form == "host":
        family = FactoryFamily(make_pendulum, ContextSpace(gravity=[5.0, 10.0, 15.0]))
    steps = STEPS[form]
    return TrainerSpec.of(make_trainer("ppo", family, family.space(), total_timesteps=steps))


def run_to_the_end(form: str, seed: int, folder: Path, seconds: float) -> None:
    """Train, and print every report, then the hash of the policy."""
    spec = specification(form)
    job = TrainingJob(spec.make_trainer().space.targets[:1], seed)

    def show(report: Report) -> None:
        print(report.stage, report.steps, time.process_time(), flush=True)

    (training,) = train(spec, [job], show, Checkpoints(folder, seconds))
    if not isinstance(training, Training):
        raise SystemExit(f"It failed: {training.error}")
    print("ended", hashlib.sha256(policy_bytes(training.policy)).hexdigest(), 0, flush=True)


@dataclass(frozen=True)
class Life:
    """What a process did before it ended, or was killed.

    Attributes:
        times: By steps, when they were reported: the time, and the CPU time of the process.
        continued: Steps at which it continued; 0 if it began anew.
        ended: When it was gone, in the same two times.
        outcome: Hash of the policy, if it came to its end.
    """

    times: dict[int, NDArray[np.float64]]
    continued: int
    ended: NDArray[np.float64]
    outcome: str | None


def live(form: str, seed: int, folder: Path, seconds: float, kill_after: float | None) -> Life:
    """A process that trains, and is killed some seconds after its first steps."""
    command = [sys.executable, __file__, "--form", form, "--seconds", str(seconds)]
    process = subprocess.Popen(  # noqa: S603 - this script itself
        [*command, "--child", str(folder), str(seed)],
        stdout=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            # Compiling takes longer than what is measured, and gives the same each time.
            "JAX_COMPILATION_CACHE_DIR": str(folder.parent / "compiled"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        },
    )
    times: dict[int, NDArray[np.float64]] = {}
    continued, outcome, killer = 0, None, None
    for line in process.stdout or ():  # which ends when the process does
        stage, value, cpu = line.split()
        if stage == "ended":
            outcome = value
        elif stage != "compiling":
            times[int(value)] = np.array([time.monotonic(), float(cpu)])
            continued = int(value) if stage == "continued" else continued
        if stage == "training" and kill_after is not None and killer is None:
            killer = threading.Timer(kill_after, os.kill, (process.pid, signal.SIGKILL))
            killer.start()
    now = time.monotonic()
    if killer is not None:
        killer.cancel()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, -signal.SIGKILL):
        raise SystemExit(f"The training process ended with status {process.returncode}.")
    return Life(times, continued, np.array([now, used.ru_utime + used.ru_stime]), outcome)


class Campaign:
    """The kills of one form, and where they are written down.

    Args:
        form: "host" or "batched".
        work: Working directory.
        seconds: Between two checkpoints.
        longest: Time until a kill, at most.
    """

    def __init__(self, form: str, work: Path, seconds: float, longest: float) -> None:
        self.form, self.work = form, work / form
        self.seconds, self.longest = seconds, longest
        self.work.mkdir(parents=True, exist_ok=True)
        self._journal = self.work / "kills.jsonl"
        lines = self._journal.read_text().splitlines() if self._journal.exists() else []
        self.records: list[dict[str, Any]] = [json.loads(line) for line in lines]

    def run(self, kills: int) -> dict[str, Any]:
        """Kill as often as is missing, let the last run end, and sum up."""
        last: Life | None = None
        while self._count("lost") < kills or not self.records[-1].get("outcome"):
            seed = self._count("outcome")
            number = len(self.records)
            wait = float(np.random.default_rng([seed, number]).uniform(0.0, self.longest))
            enough = self._count("lost") >= kills
            folder = self.work / f"seed-{seed}"
            life = live(self.form, seed, folder, self.seconds, None if enough else wait)
            if last is not None and last.outcome is None:
                self._write({"seed": seed, "lost": _lost(last, life)})
            if life.outcome is not None:
                alone = live(self.form, seed, self.work / "alone", NEVER, None).outcome
                self._write({"seed": seed, "outcome": life.outcome, "alone": alone})
            last = life
        lost = np.array([record["lost"] for record in self.records if "lost" in record])
        runs = [record for record in self.records if "outcome" in record]
        return {
            "kills": len(lost),
            "runs": len(runs),
            "steps_of_a_run": STEPS[self.form],
            "seconds_between_checkpoints": self.seconds,
            "most_seconds_lost": float(lost[:, 0].max()),
            "mean_seconds_lost": round(float(lost[:, 0].mean()), 3),
            "most_cpu_seconds_lost": float(lost[:, 1].max()),
            "mean_cpu_seconds_lost": round(float(lost[:, 1].mean()), 3),
            "same_bytes": all(run["outcome"] == run["alone"] for run in runs),
        }

    def _count(self, kind: str) -> int:
        return sum(kind in record for record in self.records)

    def _write(self, record: dict[str, Any]) -> None:
        self.records.append(record)
        with self._journal.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(self.form, self._count("lost"), record, flush=True)


def _lost(killed: Life, following: Life) -> list[float]:
    """Seconds, and CPU seconds, from where the next process continues to where the last one was.

    A checkpoint is written when its steps have been reported. On a machine that is busy with other
    things, little work is done in many seconds.
    """
    since = killed.times.get(following.continued, next(iter(killed.times.values())))
    return [round(seconds, 3) for seconds in (killed.ended - since).tolist()]


def main() -> None:
    """Measure both forms, or one of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--form", choices=list(STEPS), action="append")
    parser.add_argument("--seconds", type=float, default=1.0, help="between two checkpoints")
    parser.add_argument("--longest", type=float, default=3.0, help="time until a kill, at most")
    parser.add_argument("--work", type=Path, default=Path("runs/killed-training"))
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    forms = given.form or list(STEPS)
    if given.child is not None:
        folder, seed = given.child
        run_to_the_end(forms[0], int(seed), Path(folder), given.seconds)
        return
    for form in forms:
        campaign = Campaign(form, given.work, given.seconds, given.longest)
        summary = campaign.run(given.kills)
        print(form, summary)
        # Read only now: the other form may have been measured meanwhile.
        result = json.loads(RESULT.read_text()) if RESULT.exists() else {"forms": {}}
        asked = f"--form {form} --kills {given.kills}"
        times = f"--seconds {given.seconds:g} --longest {given.longest:g}"
        command = f"python lab/experiments/killed_training.py {asked} {times}"
        result["forms"][form] = {"command": command, **summary}
        result["versions"] = versions((*CORE, *TRAINING))
        write_atomically(RESULT, (json.dumps(result, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
