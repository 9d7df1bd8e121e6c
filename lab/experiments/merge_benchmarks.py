"""Put the data sets of one benchmark result into another, in place of older ones of the same name.

    python lab/experiments/merge_benchmarks.py results/real.json real-bipedal-walker.json
    python lab/experiments/merge_benchmarks.py results/selectors.json selectors-x.json --part real

When one matrix is made anew, the others need not be measured again: every data set is measured by
itself. Aggregates are computed anew. Their means are what one run of everything would give, but
for the digits that the files do not have; their intervals are those of independent means, because
the single matrices are not in the files.
Both results must have the same selectors, numbers of policies and number of matrices.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from math import hypot
from pathlib import Path

from scoreboard.scoreboard import Scoreboard
from sdmbtl.errors import BenchmarkError
from sdmbtl_lab.benchmarks import BenchmarkResult
from sdmbtl_lab.benchmarks.columns import MULTI_TASK, MYOPIC, RANDOM
from sdmbtl_lab.benchmarks.result import Aggregate, ProblemResult

#: What has to be the same in both.
ALIKE = ("title", "trials", "policies", "least_margin")


def merge(into: BenchmarkResult, added: BenchmarkResult) -> BenchmarkResult:
    """A result with the problems of both; those that are added come in place of older ones.

    Raises:
        BenchmarkError: If they were not measured alike.
    """
    for name in ALIKE:
        if getattr(into, name) != getattr(added, name):
            raise BenchmarkError(
                f"Results can be merged that have the same {name!r}. "
                f"Got {getattr(into, name)!r} and {getattr(added, name)!r}."
            )
    missing = set(into.selectors) - set(added.selectors) - {MULTI_TASK}
    if missing:
        raise BenchmarkError(f"The result to be added has nothing of {', '.join(sorted(missing))}.")
    problems = {p.name: p for p in (*into.problems, *added.problems)}
    names = [p.name for p in added.problems]
    note = f"Measured later, with code {added.code}: {', '.join(names)}."
    settings = {**into.settings["problems"], **added.settings["problems"]}
    merged = replace(
        into,
        problems=tuple(problems[name] for name in sorted(problems)),
        settings={**into.settings, "problems": dict(sorted(settings.items()))},
        notes=(*into.notes, note),
    )
    return replace(merged, aggregated=aggregate(merged))


def aggregate(result: BenchmarkResult) -> dict[int, dict[str, dict[str, Aggregate]]]:
    """The paper's aggregate for every number of policies, selector and metric."""
    return {
        k: {
            name: {
                metric: _aggregate(result.entering(k), name, k, metric)
                for metric in ("final", "auc")
            }
            for name in result.selectors
        }
        for k in result.policies
    }


def _aggregate(problems: tuple[ProblemResult, ...], name: str, k: int, metric: str) -> Aggregate:
    """Over the problems that enter; those that lack a value are left out and named."""
    scores = {p.name: _score(p, name, k, metric) for p in problems}
    known = [score for score in scores.values() if score is not None]
    if not known:
        return Aggregate(None, why="It is known for no problem that enters.")
    widths = [width for _, width in known if width is not None]
    return Aggregate(
        sum(mean for mean, _ in known) / len(known),
        hypot(*widths) / len(known) if widths else None,
        without=tuple(problem for problem, score in scores.items() if score is None),
    )


def _score(
    problem: ProblemResult, name: str, k: int, metric: str
) -> tuple[float, float | None] | None:
    """Mean and half width on the scale where random choice is 0 and the oracle 1."""
    found = problem.statistics(name, k, metric)
    ends = [problem.statistics(end, k, metric) for end in (RANDOM, MYOPIC)]
    if found is None or ends[0] is None or ends[1] is None:
        return None
    low, high = (end.mean for end in ends if end is not None)
    width = None if found.half_width is None else found.half_width / (high - low)
    return (found.mean - low) / (high - low), width


def merge_part(into: Scoreboard, added: Scoreboard, part: str) -> Scoreboard:
    """The same for a part of the scoreboard, which a full run would measure again."""
    sources = {**into.made_from[part], "merged with": added.made_from[part]}
    merged = merge(into.benchmarks[part], added.benchmarks[part])
    return into.with_part(part, sources, merged)


def main() -> None:
    """Merge two files into the first."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("into", type=Path)
    parser.add_argument("added", type=Path)
    parser.add_argument("--part", help="of a scoreboard")
    given = parser.parse_args()
    try:
        if given.part:
            board = Scoreboard.load(given.into)
            merge_part(board, Scoreboard.load(given.added), given.part).save(given.into)
        else:
            result = BenchmarkResult.load(given.into)
            merge(result, BenchmarkResult.load(given.added)).save(given.into)
    except BenchmarkError as error:
        sys.exit(f"Error: {error}")


if __name__ == "__main__":
    main()
