"""Compare ways to spend training steps: coverage against total steps, by real training.

    python lab/experiments/against_generalists.py [--data "CartPole wide"] [--only generalist-first]
        [--seeds 5] [--work runs/generalists]

The methods: the default study; one policy for the whole space, also with the context observed or on
prioritised contexts. One unit is the trainer's default number of steps for
one policy. Every environment step of a study counts: training, evaluations, random actions. One
policy needs no evaluations and pays for none; the scores of the prioritised contexts are free.
Four new episodes on each target measure the policy that is chosen for it, as a share of the range
of returns.

Measurements are kept in the work directory and not repeated; those of the default study are valid
only for the code version that produced them. Written to results/generalists.json.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

from experiment import STUDY_CODE, read_result, save_result
from generalists.data_sets import DATA_SETS, DataSet
from generalists.measuring import save
from generalists.methods import METHODS, Method
from generalists.results import collect, folder_of


def measure(data: DataSet, method: Method, seeds: int, work: Path) -> bool:
    """Measure a method with the missing seeds; return whether there were any."""
    folder = folder_of(work, data, method)
    missing = [seed for seed in range(seeds) if not (folder / f"{seed}.json").exists()]
    together = [missing] if data.is_compiled and missing else [[seed] for seed in missing]
    for some in together:
        for seed, measured in method.run(data, some, folder):
            save(folder, data, seed, measured)
            means = json.loads((folder / f"{seed}.json").read_text())["coverage"]
            shown = " ".join(f"{mark}: {share:.3f}" for mark, share in means.items())
            print(f"{data.name}, {method.name}, seed {seed}: {shown}", flush=True)
    return bool(missing)


def main() -> None:
    """Measure what is missing, and write everything."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    data_names, method_names = [d.name for d in DATA_SETS], [m.name for m in METHODS]
    parser.add_argument("--data", nargs="+", choices=data_names, default=data_names)
    parser.add_argument("--only", nargs="+", choices=method_names, default=method_names)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--work", type=Path, default=Path("runs") / "generalists")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--tiny", action="store_true", help="a trial of the script itself")
    given = parser.parse_args()
    data_sets = [replace(data, tiny=given.tiny) for data in DATA_SETS]
    earlier = read_result("generalists", given.out)
    for data in data_sets:
        for method in METHODS:
            wanted = data.name in given.data and method.name in given.only
            wanted = wanted and (data.is_foreign or not method.for_foreign)
            if wanted and measure(data, method, given.seeds, given.work):
                content = collect(given.work, data_sets, earlier)
                save_result("generalists", content, given.out, code=STUDY_CODE)


if __name__ == "__main__":
    main()
