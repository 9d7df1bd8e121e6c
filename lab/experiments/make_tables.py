"""Write the tables in README.md and docs/*.md from results/*.json.

python lab/experiments/make_tables.py                # or: make tables
python lab/experiments/make_tables.py --check        # only say whether they are up to date
python lab/experiments/make_tables.py --show NAME    # print one table, also those that no page has

A table stands between `<!-- NAME table, made by lab/experiments/make_tables.py -->` and `<!-- end -->`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import crop_tables
import tools_table
from generalists import comparison
from scoreboard.goals import Goal, goals
from scoreboard.scoreboard import Scoreboard
from sdmbtl.wording import counted
from sdmbtl_lab.benchmarks import BenchmarkResult
from sdmbtl_lab.benchmarks.columns import MULTI_TASK, MYOPIC, RANDOM, TITLES
from sdmbtl_lab.benchmarks.published import published_benchmarks, published_table

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
MARKED = re.compile(
    r"(<!-- (\S+) table, made by lab/experiments/make_tables\.py -->\n).*?(<!-- end -->)", re.DOTALL
)
SHOWN = ("gp-mbtl", "m-mbtl", "m/gp-mbtl")
#: Dimensions and noise of the synthetic tables that the paper prints.
PUBLISHED = ((3, 0), (3, 5), (3, 30), (5, 5), (7, 5))
#: Columns of the table of real matrices, and its number of policies.
REAL_SHOWN = ("independent", "multi-task", "random", *SHOWN, "myopic-oracle")
REAL_K = 12
#: Columns and numbers of policies of the table that compares the default selector there.
FEW_SHOWN, FEW_K = (RANDOM, MULTI_TASK, "m/gp-mbtl", "auto", MYOPIC), (6, 12)
#: Rows of the coverage table: name in the result file and in words.
METHODS = {
    "auto": "`auto`",
    "m/gp-mbtl": "`m/gp-mbtl`",
    "random": "`random`",
    "independent": "`independent`: the targets in turn",
    "multi-task": "multi-task: one policy that sees the context, as many steps in all",
    "m/gp-mbtl, context observed": "`m/gp-mbtl`, policies that see the context",
}

#: Rows of the table of regions that no other comparison has.
ORACLES = {
    "oracle: points": "oracle: points, all rows known",
    "oracle: regions": "oracle: regions, all rows known",
}
#: Names of the data sets of regions where they were trained on for real, and the marks compared.
REGION_DATA = {
    "regions-cartpole-wide": "CartPole wide",
    "regions-cartpole-forces": "CartPole forces",
    "regions-cartpole-everything": "CartPole everything",
    "regions-pendulum": "Pendulum",
    "regions-acrobot": "Acrobot",
    "regions-mountain-car": "MountainCar",
}
REGION_MARKS = (2, 4, 12)


def selectors_table() -> str:
    """The goals of the default selector beside the paper's selectors."""
    wanted = _goals()
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


def goals_table() -> str:
    """The same with what is missing, and the number of goals that are reached."""
    wanted = _goals()
    lines = ["| | goal | `auto` | M/GP-MBTL | reached |", "| --- | ---: | ---: | ---: | --- |"]
    for goal in wanted:
        values = (goal.values.get(name) for name in ("auto", "m/gp-mbtl"))
        digits = min(goal.digits, 3)
        cells = ["–" if value is None else f"{value:.{digits}f}" for value in values]
        lines.append("| " + " | ".join([goal.text, goal.wanted, *cells, goal.verdict()]) + " |")
    reached = sum(goal.reached() is True for goal in wanted)
    lines.append(f"| **all goals** | | | | **{reached} of {len(wanted)}** |")
    return "\n".join(lines)


def _goals() -> list[Goal]:
    """Those about `auto` alone, without its lead over others."""
    board = _scoreboard()
    every = goals(board.benchmarks, board.cost)
    return [goal for goal in every if "ahead of" not in goal.text]


def _number(value: float) -> str:
    """Scores with three digits, counts and large numbers with none."""
    return f"{value:.0f}" if value == int(value) or value >= 10 else f"{value:.3f}"


def variations_table() -> str:
    """Mean normalised performance on both sets of variations; `auto` was tuned on the first."""
    names = ("m-mbtl", "gp-mbtl", "m/gp-mbtl", "auto")
    sets = {"development": "used to tune `auto`", "check": "kept apart"}
    lines = [
        "| set | | variations | " + " | ".join(TITLES.get(n, f"`{n}`") for n in names) + " |",
        "| --- | --- | ---: |" + " ---: |" * len(names),
    ]
    for part, use in sets.items():
        problems = _scoreboard().benchmarks[part].problems
        scores = (
            [found.mean for p in problems if (found := p.statistics(n, p.rounds, "score"))]
            for n in names
        )
        cells = [part, use, str(len(problems)), *(f"{np.mean(some):.3f}" for some in scores)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def knowledge_table() -> str:
    """What full knowledge of the matrix, but for its noise, would be worth."""
    result = _read("knowledge-bound.json")
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
        trials = counted(entries[0]["trials"], "matrix", "matrices")
        lines.append(line(part, f"mean of {len(entries)}, {trials}", entries))
        if not part.startswith("synthetic"):
            lines += [line("", entry["name"], [entry]) for entry in entries]
    return "\n".join(lines)


def run_variance_table() -> str:
    """What run-to-run variance leaves to any selector."""
    result = _read("run-variance-bound.json")
    shown = (1, 2, 3, 6, 12)
    lines = [
        "| data | seeds | | " + " | ".join(f"K = {k}" for k in shown) + " |",
        "| --- | ---: | --- |" + " ---: |" * len(shown),
    ]
    for data in result["data"]:
        for who, curve in data["scores"].items():
            cells = [f"{curve[k - 1]:.2f}" for k in shown]
            lines.append("| " + " | ".join([data["name"], str(data["seeds"]), who, *cells]) + " |")
    return "\n".join(lines)


def prediction_table() -> str:
    """How well models predict rows: relative squared error / correlation of the gains."""
    result = _read("predicted-rows.json")
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
    return "\n".join(lines)


def partial_table() -> str:
    """Performance of `auto` with each policy evaluated on a share of the targets."""
    result = _read("partial-rows.json")
    shares = list(result["data"][0]["auto"])
    lines = [
        "| data | " + " | ".join(f"{float(s):.0%}" for s in shares) + " | Random | Myopic Oracle |",
        "| --- |" + " ---: |" * (len(shares) + 2),
    ]
    for data in result["data"]:
        values = [*data["auto"].values(), data["random"], data["oracle"]]
        lines.append(f"| {data['name']} | " + " | ".join(f"{v:.3f}" for v in values) + " |")
    return "\n".join(lines)


def real_table() -> str:
    """The paper's selectors on real matrices, and the aggregate for each number of policies."""
    result = BenchmarkResult.load(RESULTS / "real.json")
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


def few_table() -> str:
    """The default selector on real matrices with 6 and with 12 policies."""
    return _performance_table(_scoreboard().benchmarks["real"])


def applied_table() -> str:
    """The same on the matrices of the applied domains: traffic and crops."""
    return _performance_table(BenchmarkResult.load(RESULTS / "real-applied.json"))


def _performance_table(result: BenchmarkResult) -> str:
    lines = [
        "| data set, 6 / 12 policies | "
        + " | ".join(TITLES.get(n, f"`{n}`") for n in FEW_SHOWN)
        + " |",
        "| --- |" + " ---: |" * len(FEW_SHOWN),
    ]
    for problem in result.problems:
        found = [[problem.statistics(n, k, "final") for k in FEW_K] for n in FEW_SHOWN]
        cells = [" / ".join(f"{s.mean:.3f}" if s else "–" for s in some) for some in found]
        name = problem.name if problem.matters else f"({problem.name})"
        lines.append("| " + " | ".join([name, *cells]) + " |")
    if not any(problem.matters for problem in result.problems):
        return "\n".join(lines)
    scores = [[result.aggregated[k][n]["final"].mean for k in FEW_K] for n in FEW_SHOWN]
    cells = [
        " / ".join("–" if s is None else f"{round(s, 2) + 0.0:.2f}" for s in some)
        for some in scores
    ]
    lines.append("| **aggregated performance** | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def speed_table() -> str:
    """Time and memory of M/GP-MBTL, and a straightforward round with GPyTorch in the same run."""
    speed = _read("selection-speed.json")
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


def cost_table() -> str:
    """CPU time of a round, and peak memory, by selector and number of targets."""
    cost = _scoreboard().cost
    if cost is None:
        sys.exit(
            "results/selectors.json has no costs. Run: python lab/experiments/run_scoreboard.py"
        )
    names = ("m-mbtl", "gp-mbtl", "m/gp-mbtl", "auto")
    lines = [
        "| targets | " + " | ".join(TITLES.get(n, f"`{n}`") for n in names) + " | memory, `auto` |",
        "| ---: |" + " ---: |" * (len(names) + 1),
    ]
    for measured in cost.measured:
        cells = [f"{measured.highest(n, 'median_ms'):,.0f} ms" for n in names]
        memory = f"{measured.highest('auto', 'peak_mib'):.0f} MiB"
        lines.append("| " + " | ".join([str(measured.targets), *cells, memory]) + " |")
    return "\n".join(lines)


def synthetic_table() -> str:
    """Aggregated performance, ours and the paper's."""
    lines = [
        "| synthetic data, K = 50 | GP-MBTL | M-MBTL | M/GP-MBTL | M/GP-MBTL, mean over k |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for dim, noise in PUBLISHED:
        result = BenchmarkResult.load(RESULTS / f"synthetic-{dim}d-noise{noise}.json")
        published = published_table(dim, noise)
        if published is None:
            continue
        aggregated = result.aggregated[published.rows[0].rounds]
        cells = [
            f"{aggregated[name]['final'].mean:.3f} [{published.aggregated[name].mean:.3f}]"
            for name in SHOWN
        ]
        auc = f"{aggregated['m/gp-mbtl']['auc'].mean:.3f}"
        name = f"{dim}D, noise {noise:g}, {counted(result.trials, 'matrix', 'matrices')}"
        lines.append("| " + " | ".join([name, *cells, auc]) + " |")
    return "\n".join(lines)


def coverage_table() -> str:
    """Coverage of CartPole `wide` after 4, 8 and 12 policies: mean and 95 % interval over seeds."""
    measured = _read("coverage.json")["measured"]
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


def training_table() -> str:
    """Training steps per CPU-second, and how many times as many as stable-baselines3."""
    speed = _read("training-speed.json")
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


def host_training_table() -> str:
    """The same for Gymnasium's own environments, which are stepped by Python."""
    measured = _read("training-speed.json")["host"]["environments"]
    lines = [
        "| environment | stable-baselines3 PPO | SBX PPO | `ppo` | ratio to stable-baselines3 |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, found in measured.items():
        rates = found["steps_per_cpu_second"]
        cells = [f"{rates[key]:,.0f}" if key in rates else "-" for key in ("sb3", "sbx", "ppo")]
        lines.append(f"| {name} | {' | '.join(cells)} | {found['ratio_to_sb3']['ppo']:.1f} |")
    return "\n".join(lines)


def learning_table() -> str:
    """Final return of our PPO and of stable-baselines3's, at equal steps."""
    lines = [
        "| environment | `ppo` | stable-baselines3 PPO | seeds |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, found in _read("learning.json")["summary"].items():
        seeds = "/".join(str(found[key]["seeds"]) for key in ("ppo", "sb3") if key in found)
        cells = [_learned(found[key]) if key in found else "-" for key in ("ppo", "sb3")]
        lines.append(f"| {name} | {' | '.join(cells)} | {seeds} |")
    return "\n".join(lines)


def _learned(found: dict[str, Any]) -> str:
    if found["interval"] is None:
        return f"{found['mean']:.1f}"
    low, high = found["interval"]
    return f"{found['mean']:.1f} ({low:.1f} to {high:.1f})"


def regions_table() -> str:
    """Coverage on the data sets of regions, by simulation: methods x units."""
    result = _read("regions.json")
    titles = {**comparison.TITLES, **ORACLES}
    tables = []
    for name, data in result["data"].items():
        title = f"{name}, {data['targets']} targets, {counted(data['seeds'], 'seed')}, units:"
        lines = [
            f"| {title} | " + " | ".join(str(mark) for mark in result["marks"]) + " |",
            "| --- |" + " ---: |" * len(result["marks"]),
        ]
        for method, found in data["methods"].items():
            means = np.array(found["coverage"], dtype=np.float64).mean(axis=0)
            cells = ["–" if np.isnan(mean) else f"{mean:.3f}" for mean in means]
            lines.append("| " + " | ".join([titles[method], *cells]) + " |")
        tables.append("\n".join(lines))
    return "\n\n".join(tables)


def regions_real_table() -> str:
    """Coverage by simulation beside coverage by real training, where both were measured."""
    result, real = _read("regions.json"), comparison.Comparison.load()
    heads = [f"{kind}, {mark} units" for mark in REGION_MARKS for kind in ("simulated", "real")]
    lines = ["| | | " + " | ".join(heads) + " |", "| --- | --- |" + " ---: |" * len(heads)]
    for name, data in result["data"].items():
        measured = REGION_DATA[name]
        for method in real.methods(measured) if measured in real.data else ():
            if method not in data["methods"]:
                continue
            means = np.mean(data["methods"][method]["coverage"], axis=0)
            cells = []
            for mark in REGION_MARKS:
                found = real.estimate(measured, method, mark)
                cells.append(f"{means[result['marks'].index(mark)]:.3f}")
                cells.append("–" if found is None else f"{found.mean:.3f}")
            lines.append("| " + " | ".join([measured, comparison.TITLES[method], *cells]) + " |")
    return "\n".join(lines)


def walker_specialists_table() -> str:
    """Ways to spend steps on BipedalWalker: mean return, and where the policies walk."""
    lines = [
        "| policies | units | mean return | contexts in which it walks |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, found in _read("walker-specialists.json")["ways"].items():
        share = f"{found['share_that_walk']:.0%}".replace("%", " %")
        lines.append(f"| {name} | {found['units']:.4g} | {found['mean_return']:.0f} | {share} |")
    return "\n".join(lines)


def traffic_speed_table() -> str:
    """Training at a crossing, beside stable-baselines3."""
    result = _read("traffic-speed.json")
    rates = result["vehicle_steps_per_cpu_second"]
    return "\n".join(
        [
            "| controlled vehicle-steps per CPU-second in training | |",
            "| --- | ---: |",
            f"| `ppo`, with the evaluations of a training run | {rates['ppo']:,.0f} |",
            f"| `ppo`, without evaluations | {rates['ppo, not evaluated']:,.0f} |",
            f"| stable-baselines3, without evaluations | {rates['sb3']:,.0f} |",
            f"| ratio without evaluations | {result['ratio']:.1f} |",
        ]
    )


def traffic_crossing_table() -> str:
    """Drivers on the usual crossing."""
    drivers = _read("traffic-policies.json")["crossing"]["drivers"]
    return _traffic_table({name: drivers[name] for name in drivers})


def traffic_portfolio_table() -> str:
    """The first K policies of a study on all crossings, with savings that count."""
    result = _read("traffic-policies.json")["portfolio"]
    rows = {"idm": result["idm"], "advisory": result["advisory"]}
    rows |= {counted(int(k), "policy", "policies"): row for k, row in result["policies"].items()}
    return _traffic_table(rows)


def _traffic_table(rows: dict[str, dict[str, Any]]) -> str:
    """A row for each driver; changes against IDM with 95 % intervals."""
    has_savings = any("credited saving" in row for row in rows.values())
    titles = ["", "return", "CO2, g a vehicle", "against IDM", "speed, m/s", "standing, s"]
    titles += ["vehicles", *(["saving that counts"] if has_savings else [])]
    lines = ["| " + " | ".join(titles) + " |", "| --- |" + " ---: |" * (len(titles) - 1)]
    for name, row in rows.items():
        change, width = row["co2 against idm"]
        cells = [
            name,
            f"{row['return']:.1f}",
            f"{row['co2']:.1f}",
            "" if name == "idm" else f"{change:+.1f} ± {width:.1f}",
            f"{row['speed']:.2f}",
            f"{row['standing']:.1f}",
            f"{row['arrived']:.1f}",
        ]
        if has_savings:
            saving = row.get("credited saving")
            cells.append("" if saving is None else f"{100 * saving:.1f} %")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def scaling_table() -> str:
    """Longest round and peak memory of each selector, by the number of targets."""
    measured = _read("scaling.json")["cost"]
    kinds = list(dict.fromkeys((m["selector"], m["dimensions"]) for m in measured))
    exponents = [2, 3, 4, 5, 6]
    heads = " | ".join(f"10^{exponent}" for exponent in exponents)
    lines = [f"| selector, dimensions | {heads} |", "| --- |" + " ---: |" * len(exponents)]
    for kind in kinds:
        found = [m for m in measured if (m["selector"], m["dimensions"]) == kind]
        by_size = {round(np.log10(m["targets"])): m for m in found}
        cells = [
            f"{by_size[e]['longest']:.2f} s, {by_size[e]['peak_mib']:,.0f} MiB"
            if e in by_size
            else "–"
            for e in exponents
        ]
        lines.append(f"| `{kind[0]}`, {kind[1]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def scaling_study_table() -> str:
    """What a study with very many targets takes, beside choosing."""
    lines = [
        "| targets, dimensions | open a new study | longest round | open it again | peak memory |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for found in _read("scaling.json")["study"]:
        times = [f"{found[key]:.2f} s" for key in ("opened", "longest", "opened_again")]
        cells = [*times, f"{found['peak_mib']:,.0f} MiB"]
        lines.append(f"| {found['targets']:,}, {found['dimensions']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def scaling_quality_table() -> str:
    """What choices on a sample lose against choices on all targets."""
    quality = _read("scaling.json")["quality"]
    lines = [
        f"| {quality['targets']:,} targets, {quality['rounds']} policies | sample | "
        "of the range of returns | of what choosing gains |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, by_size in quality["summary"].items():
        lines += [
            f"| `{name}` | {int(size):,} | {loss['of_range']:+.4f} | "
            f"{loss['of_margin']:+.3f} ± {loss['margin_error']:.3f} |"
            for size, loss in by_size.items()
        ]
    return "\n".join(lines)


def parallel_choice_table() -> str:
    """Quality and virtual time by the number of workers, asynchronous and in lockstep."""
    table = _read("parallel-choice.json")["summary"]
    lines = [
        "| workers | asynchronous: quality | time | busy | lockstep: quality | time | busy |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for workers in table["asynchronous"]:
        both = [table[mode][workers] for mode in ("asynchronous", "lockstep")]
        cells = [
            f"{one['quality']:.3f} ± {one['half_width']:.3f} | "
            f"{one['time']:.1f} | {one['busy']:.0%}"
            for one in both
        ]
        lines.append(f"| {workers} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def faults_table() -> str:
    """What was done to studies, and what became of them; Optuna beside."""
    lines = [
        "| what was done | here | Optuna, SQLite | Optuna, journal |",
        "| --- |" + " --- |" * 3,
    ]
    for row in _read("faults.json")["rows"].values():
        cells = [row.get(name, "") for name in ("fault", "ours", "optuna_rdb", "optuna_journal")]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _scoreboard() -> Scoreboard:
    return Scoreboard.load(RESULTS / "selectors.json")


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((RESULTS / name).read_text())
    return content


#: Name in the marks -> what makes the table.
TABLES: dict[str, Callable[[], str]] = {
    "coverage": coverage_table,
    "training": training_table,
    "host-training": host_training_table,
    "learning": learning_table,
    "selectors": selectors_table,
    "synthetic": synthetic_table,
    "real": real_table,
    "goals": goals_table,
    "variations": variations_table,
    "real-few": few_table,
    "real-applied": applied_table,
    "cost": cost_table,
    "speed": speed_table,
    "run-variance": run_variance_table,
    "knowledge": knowledge_table,
    "prediction": prediction_table,
    "partial": partial_table,
    "scaling": scaling_table,
    "scaling-study": scaling_study_table,
    "scaling-quality": scaling_quality_table,
    "parallel-choice": parallel_choice_table,
    "first": lambda: comparison.first_table(comparison.Comparison.load()),
    "generalists": lambda: comparison.data_tables(comparison.Comparison.load()),
    "generalists-summary": lambda: comparison.summary_table(comparison.Comparison.load()),
    "generalists-targets": lambda: comparison.targets_table(comparison.Comparison.load()),
    "alternatives": lambda: comparison.alternatives_table(comparison.Comparison.load()),
    "regions": regions_table,
    "regions-real": regions_real_table,
    "walker-specialists": walker_specialists_table,
    "traffic-speed": traffic_speed_table,
    "traffic-crossing": traffic_crossing_table,
    "traffic-portfolio": traffic_portfolio_table,
    "crop-models": crop_tables.models_table,
    "crop-balances": crop_tables.balances_table,
    "crop-speed": crop_tables.speed_table,
    "crop-agreement": crop_tables.agreement_table,
    "crop-profits": crop_tables.profits_table,
    "crop-gains": crop_tables.gains_table,
    "tools": tools_table.tools_table,
    "tools-replay": tools_table.replay_table,
    "faults": faults_table,
    "generalists-lead": lambda: comparison.lead_table(comparison.Comparison.load()),
}


def fill(text: str) -> str:
    """A page with every table that it has marks for made anew."""
    unknown = {name for _, name, _ in MARKED.findall(text)} - set(TABLES)
    if unknown:
        sys.exit(f"There is no table {min(unknown)!r}. The tables are: {', '.join(TABLES)}.")
    return MARKED.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[3]}", text)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the tables of all pages, check them, or print one."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="only say whether all is up to date")
    parser.add_argument("--show", choices=TABLES, metavar="NAME", help=", ".join(TABLES))
    given = parser.parse_args(arguments)
    if given.show:
        print(TABLES[given.show]())
        return
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        before = path.read_text()
        after = fill(before)
        if before != after and given.check:
            sys.exit(f"{path.name} is not what results/*.json say. Run: make tables")
        if before != after:
            path.write_text(after)


if __name__ == "__main__":
    main()
