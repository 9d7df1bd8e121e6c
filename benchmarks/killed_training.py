"""Kill one training run again and again: what is lost each time, and is the outcome the same?

    python benchmarks/killed_training.py [--kills 50] [--form host] [--seconds 2]

A process trains one policy of Gymnasium's Pendulum (stepped by Python) or of CartPole (compiled)
with checkpoints, and is killed with SIGKILL at a random moment after its first report; the next
one continues. When all kills are done it runs to its end, and the bytes of its policy are compared
with those of a run that was left alone. Written to results/killed-training.json.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from sdmbtl import ContextSpace
from sdmbtl.environments import FactoryFamily, make_family
from sdmbtl.files import write_atomically
from sdmbtl.policies import policy_bytes
from sdmbtl.software import CORE, TRAINING, versions
from sdmbtl.trainers import Checkpoints, TrainerSpec, Training, TrainingJob, make_trainer, train

RESULT = Path(__file__).parent.parent / "results" / "killed-training.json"
#: Steps of the run, of either form: more than are taken between all kills.
STEPS = {"host": 2_000_000, "batched": 6_000_000}


def make_pendulum(context: dict[str, float]) -> gymnasium.Env[Any, Any]:
    """Gymnasium's Pendulum with another gravity."""
    return gymnasium.make("Pendulum-v1", g=context["gravity"])


def specification(form: str) -> TrainerSpec:
    """What is trained."""
    family = make_family("CartPole")
    if form == "host":
        family = FactoryFamily(make_pendulum, ContextSpace(gravity=[5.0, 10.0, 15.0]))
    steps = STEPS[form]
    return TrainerSpec.of(
        make_trainer("ppo", family, family.space(), total_timesteps=steps, processes=1)
    )


def run_to_the_end(form: str, folder: Path, seconds: float) -> None:
    """Train, and print the steps of every report, then the hash of the policy."""
    spec = specification(form)
    job = TrainingJob(spec.make_trainer().space.targets[:1], seed=0)

    def report(steps: int, *_: object) -> None:
        print(steps, flush=True)

    (training,) = train(spec, [job], report, Checkpoints(folder, seconds))
    if not isinstance(training, Training):
        raise SystemExit(f"It failed: {training.error}")
    print(hashlib.sha256(policy_bytes(training.policy)).hexdigest(), flush=True)


def start(form: str, folder: Path, seconds: float) -> subprocess.Popen[str]:
    """The training run in a process of its own."""
    command = [sys.executable, __file__, "--form", form, "--child", str(folder)]
    return subprocess.Popen(  # noqa: S603 - this script itself
        [*command, "--seconds", str(seconds)], stdout=subprocess.PIPE, text=True
    )


def kill_after(process: subprocess.Popen[str], wait: float) -> list[tuple[float, int]]:
    """Kill a run some seconds after its first report: times and steps of its reports.

    Raises:
        SystemExit: If it was at its end before.
    """
    reports: list[tuple[float, int]] = []
    for line in process.stdout or ():
        if not line.strip().isdigit():
            raise SystemExit("The run was at its end before all kills. Give fewer --kills.")
        if line.strip() != "0":  # which says that it compiles
            reports.append((time.monotonic(), int(line)))
            if reports[-1][0] - reports[0][0] >= wait:
                break
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return reports


def measure(form: str, kills: int, seconds: float, longest: float) -> dict[str, Any]:
    """Kill a run many times: what each kill cost, and whether the bytes are the same."""
    rng, lost, last = np.random.default_rng(0), [], 0
    with tempfile.TemporaryDirectory() as alone, tempfile.TemporaryDirectory() as folder:
        undisturbed, _ = start(form, Path(alone), 1e9).communicate()
        for number in range(kills):
            reports = kill_after(
                start(form, Path(folder), seconds), float(rng.uniform(0.0, longest))
            )
            if number and len(reports) > 1:
                pace = (reports[-1][1] - reports[0][1]) / (reports[-1][0] - reports[0][0])
                lost.append(max(last - reports[0][1], 0) / pace if pace > 0 else 0.0)
            last = reports[-1][1] if reports else last
            print(f"{form}: kill {number + 1} after {last:,} steps", flush=True)
        ended, _ = start(form, Path(folder), seconds).communicate()
    return {
        "kills": kills,
        "seconds_between_checkpoints": seconds,
        "most_seconds_lost": round(max(lost, default=0.0), 3),
        "mean_seconds_lost": round(float(np.mean(lost)) if lost else 0.0, 3),
        "same_bytes": undisturbed.split()[-1] == ended.split()[-1],
    }


def main() -> None:
    """Measure both forms, or one of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--form", choices=list(STEPS), action="append")
    parser.add_argument("--seconds", type=float, default=2.0, help="between two checkpoints")
    parser.add_argument("--longest", type=float, default=6.0, help="time until a kill, at most")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    forms = given.form or list(STEPS)
    if given.child is not None:
        run_to_the_end(forms[0], given.child, given.seconds)
        return
    result = json.loads(RESULT.read_text()) if RESULT.exists() else {"forms": {}}
    for form in forms:
        result["forms"][form] = measure(form, given.kills, given.seconds, given.longest)
        print(form, result["forms"][form])
    result["command"] = " ".join(["python", "benchmarks/killed_training.py", *sys.argv[1:]])
    result["versions"] = versions((*CORE, *TRAINING))
    write_atomically(RESULT, (json.dumps(result, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
