"""Write docs/results.md and the tables in README.md from results/*.json.

python benchmarks/make_tables.py            # or: make tables
python benchmarks/make_tables.py --check    # only say whether they are up to date
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from scoreboard.goals import goals
from scoreboard.scoreboard import Scoreboard
from sdmbtl.benchmarks import BenchmarkResult
from sdmbtl.benchmarks.columns import TITLES
from sdmbtl.benchmarks.published import published_benchmarks, published_table
from sdmbtl.benchmarks.result import EPSILONS
from sdmbtl.wording import counted

ROOT = Path(__file__).parent.parent
RESULTS, DOCUMENT, README = ROOT / "results", ROOT / "docs" / "results.md", ROOT / "README.md"
BEGIN, END = "<!-- {} table, made by benchmarks/make_tables.py -->", "<!-- end -->"
SHOWN = ("gp-mbtl", "m-mbtl", "m/gp-mbtl")
#: Columns of the table of real matrices, and its number of policies.
REAL_SHOWN = ("independent", "multi-task", "random", *SHOWN, "myopic-oracle")
REAL_K = 12
#: Rows of the coverage table: name in the result file and in words.
METHODS = {
    "auto": "`auto`",
    "m/gp-mbtl": "`m/gp-mbtl`",
    "random": "`random`",
    "independent": "`independent`: the targets in turn",
    "multi-task": "multi-task: one policy that sees the context, as many steps in all",
    "m/gp-mbtl, context observed": "`m/gp-mbtl`, policies that see the context",
}


def synthetic_results() -> list[BenchmarkResult]:
    """All results on synthetic data, smallest first."""
    results = [BenchmarkResult.load(path) for path in RESULTS.glob("synthetic-*.json")]
    return sorted(results, key=lambda r: (r.settings["dim"], r.settings["noise"], r.name))


def is_further(result: BenchmarkResult) -> bool:
    """Whether a result is on matrices that the paper does not have."""
    return "-further" in result.name


def document(results: list[BenchmarkResult], real: BenchmarkResult, speed: dict[str, Any]) -> str:
    """The text of docs/results.md."""
    parts = [
        "# Results",
        "Made from `results/*.json` by `make tables`. Each table is printed by "
        "`sdmbtl bench synthetic --dim D --noise S` (3D: 100 trials, 5D and 7D: 5, as in the "
        "paper). The paper's values stand in brackets.",
    ]
    for result in results:
        kind = ", beyond the paper" if is_further(result) else ""
        dim, noise = result.settings["dim"], result.settings["noise"]
        parts.append(f"## {dim}D, noise {noise:g}{kind}")
        parts += [table.to_markdown().strip() for table in result.tables(auc=True)]
    parts += real_parts(real)
    parts += scoreboard_parts(Scoreboard.load(RESULTS / "selectors.json"))
    parts += knowledge_parts(_read("knowledge-bound.json"))
    parts += run_variance_parts(_read("run-variance-bound.json"))
    parts += prediction_parts(_read("predicted-rows.json"))
    parts += partial_parts(_read("partial-rows.json"))
    parts.append("## Time and memory of selection")
    parts.append(
        "CPU milliseconds per round of M/GP-MBTL on one thread and peak memory of the process, "
        "by `python benchmarks/selection_speed.py`; beside it a straightforward round with "
        "GPyTorch (ExactGP, 500 Adam steps), in the same run."
    )
    parts.append(speed_table(speed))
    return "\n\n".join(parts) + "\n"


def real_parts(result: BenchmarkResult) -> list[str]:
    """The sections on matrices of real training."""
    kinds: list[dict[str, Any]] = [
        *({"metric": "final"}, {"metric": "auc"}),
        *({"statistic": "median"}, {"statistic": "iqm"}),
        {"ablation": True},
    ]
    tables = [
        result.margin_table(),
        *[result.performance_table(k, **kind) for kind in kinds for k in result.policies],
        *[result.rounds_table(epsilon) for epsilon in EPSILONS],
        *result.strategy_tables(),
    ]
    return [
        "## Matrices of real training",
        "Printed by `sdmbtl bench real`; what the matrices look like is in "
        "[matrices.md](matrices.md).",
        *[table.to_markdown().strip() for table in tables],
    ]


def scoreboard_parts(board: Scoreboard) -> list[str]:
    """The sections on the default selector and its goals."""
    tables = [table.to_markdown().strip() for table in board.tables()]
    heading = "## The default selector and its goals"
    return [heading, "Printed by `python benchmarks/run_scoreboard.py`.", *tables]


def scoreboard_table(board: Scoreboard) -> str:
    """The goals of the default selector beside the paper's selectors, for the README."""
    every = goals(board.benchmarks, board.cost)
    wanted = [goal for goal in every if "ahead of" not in goal.text]
    names = ["auto", *(name for name in reversed(SHOWN) if name in wanted[0].values)]
    lines = [
        "| | goal | " + " | ".join(TITLES.get(n, f"`{n}`") for n in names) + " |",
        "| --- | ---: |" + " ---: |" * len(names),
    ]
    for goal in wanted:
        values = [goal.values.get(name) for name in names]
        cells = ["–" if value is None else _number(value) for value in values]
        if goal.reached():
            cells[0] = f"**{cells[0]}**"
        lines.append("| " + " | ".join([goal.text, goal.wanted, *cells]) + " |")
    return "\n".join(lines)


def _number(value: float) -> str:
    """Scores with three digits, counts and large numbers with none."""
    return f"{value:.0f}" if value == int(value) or value >= 10 else f"{value:.3f}"


def knowledge_parts(result: dict[str, Any]) -> list[str]:
    """The section on what full knowledge of the structure would be worth."""
    lines = [
        "| data | | informed, K = 12 | auto, K = 12 | informed, in the end | auto, in the end |",
        "| --- | --- |" + " ---: |" * 4,
    ]

    def line(part: str, what: str, entries: list[dict[str, Any]]) -> str:
        scores = [
            sum(entry["scores"][who][k] for entry in entries) / len(entries)
            for k in (11, -1)
            for who in ("informed", "auto")
        ]
        return "| " + " | ".join([part, what, *(f"{score:.2f}" for score in scores)]) + " |"

    for part, entries in result["parts"].items():
        trials = f"{entries[0]['trials']} trial{'s' if entries[0]['trials'] > 1 else ''}"
        lines.append(line(part, f"mean of {len(entries)}, {trials}", entries))
        if not part.startswith("synthetic"):
            lines += [line("", entry["name"], [entry]) for entry in entries]
    return [
        "## What full knowledge would be worth",
        "By `python benchmarks/knowledge_bound.py`. *Informed* knows everything but noise "
        "- on synthetic data the matrix without noise, on the variations twenty other trials - "
        "and chooses by expected improvement. The Myopic Oracle, score 1, has seen the very "
        "matrices it is tested on; with few trials it profits from their noise. The figures of "
        f"`auto` are those of the code of then ({result['code']}).",
        "\n".join(lines),
    ]


def run_variance_parts(result: dict[str, Any]) -> list[str]:
    """The section on what is out of reach of any prediction."""
    shown = (1, 2, 3, 6, 12)
    lines = [
        "| data | seeds | | " + " | ".join(f"K = {k}" for k in shown) + " |",
        "| --- | ---: | --- |" + " ---: |" * len(shown),
    ]
    for data in result["data"]:
        for who, curve in data["scores"].items():
            cells = [f"{curve[k - 1]:.2f}" for k in shown]
            lines.append("| " + " | ".join([data["name"], str(data["seeds"]), who, *cells]) + " |")
    return [
        "## What run-to-run variance leaves to any selector",
        "By `python benchmarks/run_variance_bound.py`. *Informed* knows the mean of the other "
        "training runs of every context: all there is to know about the matrix but how the runs it "
        "will get differ. The Myopic Oracle, score 1, has seen those very runs. What the informed "
        "selector misses is run-to-run variance, as far as a few runs can tell. "
        f"Mean over {result['matrices']} matrices.",
        "\n".join(lines),
    ]


def prediction_parts(result: dict[str, Any]) -> list[str]:
    """The section on how well models predict rows."""
    models = list(result["data"][0]["models"])
    lines = [
        "| data | " + " | ".join(models) + " |",
        "| --- |" + " ---: |" * len(models),
    ]
    for data in result["data"]:
        cells = [
            f"{score['error']:.2f} / {score['correlation']:.2f}"
            for score in data["models"].values()
        ]
        lines.append("| " + " | ".join([data["name"], *cells]) + " |")
    known = ", ".join(map(str, result["known"]))
    return [
        "## How well models predict rows",
        "By `python benchmarks/predicted_rows.py`: models fitted to some rows of a real matrix "
        f"({known} of them, drawn at random {result['draws']} times each) predict other rows. "
        "Squared error, relative to saying that every policy gets what the known ones get on "
        "average, and the correlation between the gains expected of contexts and those that "
        "would come.",
        "\n".join(lines),
    ]


def partial_parts(result: dict[str, Any]) -> list[str]:
    """The section on rows that are evaluated in part."""
    shares = list(result["data"][0]["auto"])
    lines = [
        "| data | " + " | ".join(f"{float(s):.0%}" for s in shares) + " | Random | Myopic Oracle |",
        "| --- |" + " ---: |" * (len(shares) + 2),
    ]
    for data in result["data"]:
        values = [*data["auto"].values(), data["random"], data["oracle"]]
        lines.append(f"| {data['name']} | " + " | ".join(f"{v:.3f}" for v in values) + " |")
    return [
        "## Rows in part",
        "By `python benchmarks/partial_rows.py`: `auto` with each policy evaluated on a share of "
        "the targets that it chooses itself; every target then gets the policy that is expected "
        f"to be best there. True performance with {result['rounds']} policies, as a share of the "
        f"range of returns, mean of {result['trials']} trials; Random and the oracle evaluate "
        "everything.",
        "\n".join(lines),
    ]


def real_table(result: BenchmarkResult) -> str:
    """Performance on real matrices, and the aggregate for each number of policies."""
    lines = [
        f"| {REAL_K} policies | N | seeds | margin, 6 policies | "
        + " | ".join(TITLES[n] for n in REAL_SHOWN)
        + " |",
        "| --- | ---: | ---: | ---: |" + " ---: |" * len(REAL_SHOWN),
    ]
    for problem in result.problems:
        found = [problem.statistics(n, REAL_K, "final") for n in REAL_SHOWN]
        cells = ["–" if value is None else f"{value.mean:.3f}" for value in found]
        margin = f"{problem.margin:.3f}" if problem.matters else f"({problem.margin:.3f})"
        lines.append("| " + " | ".join([*problem.labels.values(), margin, *cells]) + " |")
    for k in result.policies:
        means = [result.aggregated[k][n]["final"].mean for n in REAL_SHOWN]
        cells = ["–" if m is None else f"{round(m, 3) + 0.0:.3f}" for m in means]
        lines.append(f"| **aggregated, {k} policies** | | | | " + " | ".join(cells) + " |")
    paper = published_benchmarks().aggregated
    cells = [f"[{paper[n].mean:.3f}]" for n in REAL_SHOWN]
    lines.append("| the paper's four, aggregated | | | | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def speed_table(speed: dict[str, Any]) -> str:
    """The figures of benchmarks/selection_speed.py as Markdown."""
    lines = [
        "| targets | Mountain | not Mountain | slowest round | peak MiB | GPyTorch round | ratio |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for m in speed["measured"]:
        ratio = m.get("times_faster_than_gpytorch")
        compared = f"{m['gpytorch_round_ms']:.0f} | {ratio:.0f}" if ratio else "– | –"
        slowest = max(m["mountain"]["worst_ms"], m["not_mountain"]["worst_ms"])
        lines.append(
            f"| {m['targets']} | {m['mountain']['mean_ms']:.1f} | "
            f"{m['not_mountain']['mean_ms']:.1f} | {slowest:.0f} | {m['peak_mib']:.0f} | "
            f"{compared} |"
        )
    return "\n".join(lines)


def readme_table(results: list[BenchmarkResult]) -> str:
    """Aggregated performance, ours and the paper's."""
    lines = [
        "| synthetic data, K = 50 | GP-MBTL | M-MBTL | M/GP-MBTL | M/GP-MBTL, mean over k |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for result in results:
        dim, noise = result.settings["dim"], result.settings["noise"]
        published = published_table(dim, noise)
        if published is None or is_further(result):
            continue
        aggregated = result.aggregated[published.rows[0].rounds]
        cells = [
            f"{aggregated[name]['final'].mean:.3f} [{published.aggregated[name].mean:.3f}]"
            for name in SHOWN
        ]
        auc = f"{aggregated['m/gp-mbtl']['auc'].mean:.3f}"
        name = f"{dim}D, noise {noise:g}, {counted(result.trials, 'trial')}"
        lines.append("| " + " | ".join([name, *cells, auc]) + " |")
    return "\n".join(lines)


def coverage_table(result: dict[str, Any]) -> str:
    """Coverage of CartPole `wide` after 4, 8 and 12 policies: mean and 95 % interval over seeds."""
    measured = result["measured"]
    seeds = len(measured["auto"])
    lines = [
        f"| CartPole `wide`, 512 targets, {seeds} seeds | 4 policies | 8 policies | 12 policies |",
        "| --- | ---: | ---: | ---: |",
    ]
    for method, name in METHODS.items():
        cells = [
            _interval([m["coverage"][k] for m in measured[method].values()])
            for k in ["4", "8", "12"]
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _interval(values: list[float]) -> str:
    """Mean and half width of the 95 % interval of Student's t."""
    width = scipy.stats.t.ppf(0.975, len(values) - 1) * scipy.stats.sem(values)
    return f"{np.mean(values):.3f} ± {width:.3f}"


def training_table(speed: dict[str, Any]) -> str:
    """Training steps per CPU-second, and how many times as many as stable-baselines3."""
    rates = speed["steps_per_cpu_second"]
    base = rates["stable-baselines3"]
    rows = {
        "stable-baselines3 PPO": base,
        "`ppo`, one context": rates["one context"],
        f"`ppo`, {speed['contexts']} contexts": rates["many"],
    }
    lines = ["| CartPole, 8 environments | steps per CPU-second | ratio |", "| --- | ---: | ---: |"]
    lines += [f"| {name} | {rate:,.0f} | {rate / base:.1f} |" for name, rate in rows.items()]
    return "\n".join(lines)


def with_table(readme: str, name: str, table: str) -> str:
    """README.md with a table between its marks."""
    begin = BEGIN.format(name)
    before, rest = readme.split(begin)
    _, after = rest.split(END, 1)
    return f"{before}{begin}\n{table}\n{END}{after}"


def main() -> None:
    """Write both files, or check them."""
    results = synthetic_results()
    readme = README.read_text()
    real = BenchmarkResult.load(RESULTS / "real.json")
    tables = {
        "synthetic": readme_table(results),
        "real": real_table(real),
        "selectors": scoreboard_table(Scoreboard.load(RESULTS / "selectors.json")),
        "coverage": coverage_table(_read("coverage.json")),
        "training": training_table(_read("training-speed.json")),
    }
    for name, table in tables.items():
        readme = with_table(readme, name, table)
    wanted = {DOCUMENT: document(results, real, _read("selection-speed.json")), README: readme}
    for path, text in wanted.items():
        if path.exists() and path.read_text() == text:
            continue
        if "--check" in sys.argv:
            sys.exit(f"{path.name} is not what results/*.json say. Run: make tables")
        path.write_text(text)


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((RESULTS / name).read_text())
    return content


if __name__ == "__main__":
    main()
