"""Judge the default selector by its goals, beside the paper's selectors.

    python lab/experiments/run_scoreboard.py                         # an hour on two cores
    python lab/experiments/run_scoreboard.py --parts development     # one part
    python lab/experiments/run_scoreboard.py --show                  # print what there is, run nothing

Parts that the result file has from the same settings and code are not run again; the others are
put into it one by one. Interrupted, it continues where it was when the same command is given again.
Written to results/selectors.json.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from scoreboard.parts import COMPARED, MATRICES, PARTS, Scope, made_from, part_names
from scoreboard.scoreboard import Scoreboard
from sdmbtl.errors import SdmbtlError
from sdmbtl_lab.benchmarks.journal import Journal
from sdmbtl_lab.cli.bar import WorkBar

INTERRUPTED = 130


def run_part(name: str, scope: Scope, path: Path, jobs: int) -> None:
    """Run a part, if its result is not there, and put it into the file."""
    notes = Console(stderr=True)
    benchmark = scope.benchmark(name)
    sources = made_from(benchmark)
    if Scoreboard.load(path).has(name, sources):
        notes.print(f"{name} is finished: kept as it is.")
        return
    journal = Journal(path.with_name(f"{path.stem}-{name}.partial.jsonl"), benchmark.heading)
    if len(journal):
        notes.print(f"Continuing with {len(journal)} results of an interrupted run.")
    with WorkBar(notes, name) as bar:
        result = benchmark.run(journal, jobs=jobs, progress=bar)
    Scoreboard.load(path).with_part(name, sources, result).save(path)
    journal.remove()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the parts that are asked for, then print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default="", help=f"some of {', '.join(PARTS)}; all if left out")
    parser.add_argument("--selectors", default=",".join(COMPARED), help="names, with commas")
    parser.add_argument("--trials", type=int, help="matrices of each synthetic problem")
    parser.add_argument("--matrices", type=int, default=MATRICES, help="drawn from real data")
    parser.add_argument("--data", default="", help="names or paths of real matrices, with commas")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--show", action="store_true", help="only print what the file has")
    given = parser.parse_args(arguments)
    try:
        scope = Scope(_names(given.selectors), given.trials, given.matrices, _names(given.data))
        path = given.out / f"{scope.name}.json"
        for name in () if given.show else part_names(_names(given.parts)):
            run_part(name, scope, path, given.jobs)
        width = Console().width
        for table in Scoreboard.load(path).tables():
            print(table.to_text(width))
    except SdmbtlError as error:
        sys.exit(f"Error: {error}")
    except KeyboardInterrupt:
        print("Interrupted. Give the same command again to continue.", file=sys.stderr)
        sys.exit(INTERRUPTED)


def _names(text: str) -> tuple[str, ...]:
    """Names separated by commas, each once."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


if __name__ == "__main__":
    main()
