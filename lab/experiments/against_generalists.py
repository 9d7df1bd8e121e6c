"""What else could be done with the steps: coverage against total steps, by real training.

    python lab/experiments/against_generalists.py [--data "CartPole wide"] [--only generalist-first]
        [--seeds 5] [--work runs/generalists]

On six data sets, the default study (a generalist first, then what adds most) beside: one policy
trained on the whole space, the same seeing the context, the same on prioritised contexts; a
committee of policies for groups of targets; policies on the medoids of the targets; points chosen
by `auto`, by M/GP-MBTL and at random; regions at random. One unit is what the trainer takes for one
policy by default. The policy for each target is chosen by 10 recorded episodes and measured on 10
new ones, as a share of the range of returns.

Every measurement is kept in the work directory as soon as it is there, and not repeated. Those of
the default study count for the code they were made with only. Written to results/generalists.json,
where measurements stay until the same method is measured again with as many seeds.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

from generalists.data_sets import DATA_SETS, DataSet
from generalists.measuring import save
from generalists.methods import METHODS, Method
from generalists.results import collect, current_code, folder_of
from sdmbtl.files import write_atomically

RESULT = Path(__file__).parents[2] / "results" / "generalists.json"


def measure(data: DataSet, method: Method, seeds: int, work: Path) -> bool:
    """Measure a method with the seeds that are missing; whether there were any."""
    folder = folder_of(work, data, method, current_code())
    missing = [seed for seed in range(seeds) if not (folder / f"{seed}.json").exists()]
    begun, done = time.monotonic(), 0
    for seed, measured in method.run(data, missing, folder) if missing else ():
        save(folder, data, seed, measured)
        done += 1
        means = json.loads((folder / f"{seed}.json").read_text())["coverage"]
        shown = " ".join(f"{mark}: {share:.3f}" for mark, share in means.items())
        print(f"{data.name}, {method.name}, seed {seed}: {shown}", flush=True)
    if done:
        print(f"  {time.monotonic() - begun:.0f} s for {done} seeds", flush=True)
    return done > 0


def main() -> None:
    """Measure what is not measured yet, and write everything down."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    data_names, method_names = [d.name for d in DATA_SETS], [m.name for m in METHODS]
    parser.add_argument("--data", nargs="+", choices=data_names, default=data_names)
    parser.add_argument("--only", nargs="+", choices=method_names, default=method_names)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--work", type=Path, default=Path("runs") / "generalists")
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--code", help="collect studies of another code, by its fingerprint")
    parser.add_argument("--tiny", action="store_true", help="a trial of the script itself")
    given = parser.parse_args()
    data_sets = [replace(data, tiny=given.tiny) for data in DATA_SETS]
    command = "python lab/experiments/against_generalists.py"
    earlier = json.loads(given.out.read_text()) if given.out.exists() else None

    def write_down() -> None:
        result = collect(given.work, data_sets, command, given.code or current_code(), earlier)
        write_atomically(given.out, (json.dumps(result, indent=1) + "\n").encode())

    # To collect what another code has measured, nothing is to be measured by this one.
    for data in () if given.code else data_sets:
        for method in METHODS:
            wanted = data.name in given.data and method.name in given.only
            if wanted and measure(data, method, given.seeds, given.work):
                write_down()
    write_down()


if __name__ == "__main__":
    main()
