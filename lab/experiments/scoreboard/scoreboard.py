"""The results of all parts in one file: each is put in when it is finished, the others stay."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from scoreboard import real_scores
from scoreboard.cost_benchmark import CostResult
from scoreboard.goals import REAL_K, REAL_POLICIES, goal_table
from scoreboard.parts import PARTS, VARIATION_PARTS
from sdmbtl.errors import BenchmarkError
from sdmbtl.files import write_atomically
from sdmbtl.json_data import as_json, from_json
from sdmbtl_lab.benchmarks import BenchmarkResult
from sdmbtl_lab.benchmarks.result import DIGITS
from sdmbtl_lab.benchmarks.tables import Table


@dataclass(frozen=True)
class Scoreboard:
    """The parts that were run.

    Attributes:
        benchmarks: Part -> its result.
        cost: What a round costs; None if it was not measured.
        made_from: Part -> what its result depends on, as JSON data.
    """

    benchmarks: Mapping[str, BenchmarkResult] = field(default_factory=dict)
    cost: CostResult | None = None
    made_from: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def has(self, part: str, made_from: Mapping[str, Any]) -> bool:
        """Whether a part is there, made from the same settings and code."""
        return part in self.made_from and self.made_from[part] == as_json(made_from)

    def with_part(
        self, part: str, made_from: Mapping[str, Any], result: BenchmarkResult | CostResult
    ) -> Scoreboard:
        """The same with the result of a part in place of an older one, in the order of parts."""
        sources = {**self.made_from, part: as_json(made_from)}
        sources = {name: sources[name] for name in PARTS if name in sources}
        if isinstance(result, CostResult):
            return replace(self, cost=result, made_from=sources)
        results = {**self.benchmarks, part: result}
        results = {name: results[name] for name in PARTS if name in results}
        return replace(self, benchmarks=results, made_from=sources)

    def save(self, path: Path) -> None:
        """Write the file, atomically."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, (json.dumps(as_json(self, DIGITS), indent=1) + "\n").encode())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the file; nothing was run if there is none.

        Raises:
            BenchmarkError: If it is another's.
        """
        if not path.exists():
            return cls()
        try:
            board: Self = from_json(cls, json.loads(path.read_text()))
        except (OSError, AttributeError, TypeError, ValueError) as error:
            raise BenchmarkError(f"{path} is not a scoreboard: {error}.") from None
        return board

    def tables(self) -> Iterator[Table]:
        """The goals, then the parts in detail."""
        goals = goal_table(self.benchmarks, self.cost)
        yield replace(goals, notes=goals.notes + self._notes_on_code())
        if "real" in self.benchmarks:
            real = self.benchmarks["real"]
            for k in REAL_POLICIES:
                yield real.score_table(k)
            for last in (REAL_POLICIES[-1], real.policies[-1]):
                yield real_scores.lowest_table(real, last)
            yield real_scores.behind_table(real, REAL_K)
        for part in VARIATION_PARTS:
            if part in self.benchmarks:
                yield self.benchmarks[part].score_table()
                yield self.benchmarks[part].performance_table(metric="ahead")
        if self.cost is not None:
            yield self.cost.table()

    def _notes_on_code(self) -> tuple[str, ...]:
        """Which parts were made by the same code, if not all were."""
        by_code: dict[str, list[str]] = {}
        for part, sources in self.made_from.items():
            by_code.setdefault(sources["code"], []).append(part)
        if len(by_code) < 2:
            return ()
        groups = "; ".join(f"{', '.join(names)} ({code})" for code, names in by_code.items())
        return (f"The parts were made by different code: {groups}.",)
