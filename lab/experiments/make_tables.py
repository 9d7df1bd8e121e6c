"""Write the tables in README.md and docs/ from results/.

python lab/experiments/make_tables.py                # or: make tables
python lab/experiments/make_tables.py --check        # fail if a page is out of date
python lab/experiments/make_tables.py --show NAME    # print one table

A table stands between `<!-- NAME table, made by lab/experiments/make_tables.py -->` and
`<!-- end -->`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from experiment import RESULTS, ROOT, markdown_table, mean_and_interval, read_result
from generalists import comparison
from sdmbtl.wording import counted
from sdmbtl_lab.benchmarks import BenchmarkResult
from sdmbtl_lab.benchmarks.benchmark import made_by_older_code
from sdmbtl_lab.benchmarks.columns import ABLATION, MULTI_TASK, MYOPIC, RANDOM, TITLES
from sdmbtl_lab.benchmarks.published import published_benchmarks, published_table

MARKED = re.compile(
    r"(<!-- (\S+) table, made by lab/experiments/make_tables\.py -->\n).*?(<!-- end -->)", re.DOTALL
)
#: Mark of a table; a check does not look at it, for each change of the code changes it.
OLDER = "Made by older code"
MARK = re.compile(rf"\n\n\*{OLDER}[^*]*\*")
#: The paper's selectors, and those of single contexts that are compared.
PAPER = ("gp-mbtl", "m-mbtl", "m/gp-mbtl")
UNBIASED = "m/gp-mbtl-unbiased"
COMPARED = ("m-mbtl", "gp-mbtl", "m/gp-mbtl-unbiased", "predictive")
#: Dimensions and noise of the synthetic tables that the paper prints.
PUBLISHED = ((3, 0), (3, 5), (3, 30), (5, 5), (7, 5))
#: Parts of the scoreboard that have an aggregate, in words.
PARTS = {
    "synthetic-3d-noise0": "synthetic 3D, noise 0",
    "synthetic-3d-noise5": "synthetic 3D, noise 5",
    "synthetic-3d-noise30": "synthetic 3D, noise 30",
    "synthetic-5d": "synthetic 5D, noise 5",
    "synthetic-7d": "synthetic 7D, noise 5",
    "further": "quadratic, smooth and random f, g",
    "real": "real data sets",
}
#: Columns and numbers of policies of the tables of real matrices.
REAL_SHOWN, REAL_K = (RANDOM, MULTI_TASK, "m/gp-mbtl-unbiased", "predictive", MYOPIC), (6, 12)
#: Rows of the coverage table: name in the result file -> title.
COVERAGE = {
    "predictive": "`predictive`",
    "m/gp-mbtl-unbiased": "`m/gp-mbtl-unbiased`",
    "random": "`random`",
    "independent": "`independent`: the targets in turn",
    "multi-task": "multi-task: one policy that sees the context, as many steps in all",
    "m/gp-mbtl-unbiased, context observed": "`m/gp-mbtl-unbiased`, policies that see the context",
}
#: Rows of the table of regions that no other comparison has.
REGION_METHODS = {
    "points: predictive": "single contexts: `predictive`",
    "points: random": "single contexts: random",
    "regions: random": "random regions",
    "oracle: points": "oracle: points, all rows known",
    "oracle: regions": "oracle: regions, all rows known",
}
#: Numbers of episodes after which identification is shown.
AFTER = ("0", "1", "2", "3", "5")
#: Units of steps of the policies trained directly next to which networks are shown.
UNITS = 12
#: Units of steps that the table of regions shows.
REGION_MARKS = (2, 12)
#: Columns of the comparison with Optuna: name in the result file -> title.
TOOLS = {
    "random": "random",
    "Optuna QMC": "QMC",
    "Optuna TPE": "TPE",
    "Optuna TPE, told the gain": "TPE, gain",
    "Optuna CMA-ES": "CMA-ES",
    "Optuna GP": "GP",
    "Optuna GP, told the gain": "GP, gain",
    "m/gp-mbtl-unbiased": "`m/gp-mbtl-unbiased`",
    "predictive": "`predictive`",
    "myopic-oracle": "oracle",
}
#: Data sets with a smaller gap between oracle and random choice are left out of the shares.
TOOLS_MARGIN = 0.01


# -- selectors on known matrices -----------------------------------------------------------------


def scores_table() -> str:
    """Compare selectors on every part of the scoreboard: with K policies / mean over k = 1..K."""
    rows = []
    for part, text in PARTS.items():
        result = _part(part)
        k = 12 if part == "real" else result.policies[-1]
        matrices = counted(result.trials, "matrix", "matrices")
        cells = []
        for name in COMPARED:
            found = [result.aggregated[k].get(name, {}).get(metric) for metric in ("final", "auc")]
            cells.append(" / ".join(_cell(None if one is None else one.mean) for one in found))
        rows.append([f"{text}, {matrices}", str(k), *cells])
    table = markdown_table(["aggregated performance", "K", *_titles(COMPARED)], rows)
    return _marked(table, *map(_part, PARTS))


def variations_table() -> str:
    """Show the mean normalised performance on both sets of variations."""
    rows = []
    for part, use in {"development": "used to tune `predictive`", "check": "kept apart"}.items():
        problems = _part(part).problems
        scores = (
            [found.mean for p in problems if (found := p.statistics(n, p.rounds, "score"))]
            for n in COMPARED
        )
        rows.append([part, use, str(len(problems)), *(f"{np.mean(some):.3f}" for some in scores)])
    table = markdown_table(["set", "", "variations", *_titles(COMPARED)], rows, labels=2)
    return _marked(table, _part("development"), _part("check"))


def synthetic_table() -> str:
    """Compare our aggregated performance with the paper's."""
    rows, results = [], []
    for dim, noise in PUBLISHED:
        result = BenchmarkResult.load(RESULTS / f"synthetic-{dim}d-noise{noise}.json")
        results.append(result)
        published = published_table(dim, noise)
        if published is None:
            continue
        aggregated = result.aggregated[published.rows[0].rounds]
        cells = [
            f"{aggregated[name]['final'].mean:.3f} [{published.aggregated[name].mean:.3f}]"
            for name in PAPER
        ]
        name = f"{dim}D, noise {noise:g}, {counted(result.trials, 'matrix', 'matrices')}"
        rows.append([name, *cells, f"{aggregated[UNBIASED]['final'].mean:.3f}"])
    table = markdown_table(["synthetic data, K = 50", *_titles((*PAPER, UNBIASED))], rows)
    return _marked(table, *results)


def real_paper_table() -> str:
    """Compare the aggregated performance on our real matrices with the paper's on its own."""
    result = BenchmarkResult.load(RESULTS / "real.json")
    names = (*PAPER, UNBIASED, *ABLATION)
    rows = []
    for k, aggregated in result.aggregated.items():
        found = [aggregated.get(name, {}).get("final") for name in names]
        cells = [f"{_cell(a.mean, 2)} ± {_cell(a.half_width, 2)}" if a else "–" for a in found]
        rows.append([f"ours, {k} policies, {len(result.entering(k))} data sets", *cells])
    printed = [published_benchmarks().aggregated.get(name) for name in names]
    cells = [f"{p.mean:.2f} ± {p.half_width:.2f}" if p else "–" for p in printed]
    rows.append(["the paper, 12 and 50 policies, 4 benchmarks", *cells])
    heads = ["aggregated performance, real matrices", *_titles(names)]
    return _marked(markdown_table(heads, rows), result)


def first_tie_table() -> str:
    """Show the score of GP-MBTL in 7D by its first context, over all that are equally central."""
    rows = []
    for name, kinds in read_result("first-tie")["problems"].items():
        scores = np.repeat([k["score"] for k in kinds], [k["contexts"] for k in kinds])
        ends = [kinds[0]["score"], kinds[-1]["score"]]
        found = [*ends, scores.min(), np.median(scores), scores.max()]
        rows.append([f"`{name}`", *(_cell(score, 2) for score in found)])
    heads = ["7D, noise 5, matrix 0", "(1, …, 1)", "(2, …, 2)", "lowest", "median", "highest"]
    return markdown_table(heads, rows)


def real_few_table() -> str:
    """Show performance on real matrices with 6 and with 12 policies."""
    return _performance_table(_part("real"))


def real_applied_table() -> str:
    """Show the same on the matrices of the applied domains: traffic and crops."""
    return _performance_table(BenchmarkResult.load(RESULTS / "real-applied.json"))


def _performance_table(result: BenchmarkResult) -> str:
    rows = []
    for problem in result.problems:
        found = [[problem.statistics(n, k, "final") for k in REAL_K] for n in REAL_SHOWN]
        cells = [" / ".join(f"{s.mean:.3f}" if s else "–" for s in some) for some in found]
        rows.append([problem.name if problem.matters else f"({problem.name})", *cells])
    if any(problem.matters for problem in result.problems):
        scores = [[result.aggregated[k][n]["final"].mean for k in REAL_K] for n in REAL_SHOWN]
        cells = [" / ".join(_cell(score, 2) for score in some) for some in scores]
        rows.append(["**aggregated performance**", *cells])
    return _marked(
        markdown_table(["data set, 6 / 12 policies", *_titles(REAL_SHOWN)], rows), result
    )


def tools_table() -> str:
    """Compare with Optuna's samplers: performance, and the share of the way to the oracle."""
    found = read_result("compare-tools")["samplers"]
    policies, measured = found["policies"], found["performance"]

    def margin(values: Mapping[str, list[float]], number: int) -> float:
        return values["myopic-oracle"][number] - values["random"][number]

    rows = []
    for data, values in measured.items():
        shown = data if margin(values, -1) >= TOOLS_MARGIN else f"({data})"
        rows.append([shown, *(f"{values[name][-1]:.3f}" for name in TOOLS)])
    for number, count in enumerate(policies):
        used = [v for v in measured.values() if margin(v, number) >= TOOLS_MARGIN]
        scores = [
            np.mean([(v[name][number] - v["random"][number]) / margin(v, number) for v in used])
            for name in TOOLS
        ]
        rows.append([f"**share, {count} policies**", *(_cell(float(s), 2) for s in scores)])
    return markdown_table([f"{policies[-1]} policies", *TOOLS.values()], rows)


def parallel_choice_table() -> str:
    """Show quality and virtual time by the number of workers, asynchronous and in lockstep."""
    table = read_result("parallel-choice")["summary"]
    rows = [
        [
            workers,
            *(
                cell
                for one in (table[mode][workers] for mode in ("asynchronous", "lockstep"))
                for cell in (
                    f"{one['quality']:.3f} ± {one['half_width']:.3f}",
                    f"{one['time']:.1f}",
                    f"{100 * one['busy']:.0f} %",
                )
            ),
        ]
        for workers in table["asynchronous"]
    ]
    heads = ["workers", "asynchronous: quality", "time", "busy", "lockstep: quality"]
    return markdown_table([*heads, "time", "busy"], rows, labels=0)


# -- cost ----------------------------------------------------------------------------------------


def cost_table() -> str:
    """Show the CPU time of a round, and peak memory, by selector and number of targets."""
    rows = []
    for measured in read_result("selection-speed")["measured"]:

        def highest(name: str, figure: str, kinds: Any = measured["selectors"]) -> float:
            return max(float(figures[figure]) for figures in kinds[name].values())

        cells = [f"{highest(name, 'median_ms'):,.0f} ms" for name in COMPARED]
        memory = f"{highest('predictive', 'peak_mib'):.0f} MiB"
        rows.append([str(measured["targets"]), *cells, memory])
    return markdown_table(["targets", *_titles(COMPARED), "memory, `predictive`"], rows, labels=0)


def scaling_table() -> str:
    """Show the longest round and the peak memory of each selector, by the number of targets."""
    measured = read_result("scaling")["cost"]
    exponents = [4, 6]
    rows = []
    for selector, dimensions in dict.fromkeys((m["selector"], m["dimensions"]) for m in measured):
        by_size = {
            round(np.log10(m["targets"])): f"{m['longest']:.2f} s, {m['peak_mib']:,.0f} MiB"
            for m in measured
            if (m["selector"], m["dimensions"]) == (selector, dimensions)
        }
        rows.append([f"`{selector}`, {dimensions}", *(by_size.get(e, "–") for e in exponents)])
    return markdown_table(["selector, dimensions", *(f"10^{e}" for e in exponents)], rows)


def scaling_quality_table() -> str:
    """Show the loss of choices on a sample against choices on all targets."""
    quality = read_result("scaling")["quality"]
    rows = [
        [
            f"`{name}`",
            f"{int(size):,}",
            f"{loss['of_range']:+.4f}",
            f"{loss['of_margin']:+.3f} ± {loss['margin_error']:.3f}",
        ]
        for name, by_size in quality["summary"].items()
        for size, loss in by_size.items()
    ]
    first = f"{quality['targets']:,} targets, {quality['rounds']} policies"
    heads = [first, "sample", "of the range of returns", "of what choosing gains"]
    return markdown_table(heads, rows)


# -- real training -------------------------------------------------------------------------------


def coverage_table() -> str:
    """Show the coverage of CartPole `wide` in %: mean and 95 % interval over seeds."""
    measured = read_result("coverage")["measured"]
    rows = []
    for method, name in COVERAGE.items():
        seeds = measured[method].values()
        found = [mean_and_interval([s["coverage"][k] for s in seeds]) for k in ("4", "8", "12")]
        rows.append([name, *(f"{100 * mean:.1f} ± {100 * width:.1f}" for mean, width in found)])
    first = f"coverage in %, {len(measured['predictive'])} seeds"
    return markdown_table([first, "4 policies", "8 policies", "12 policies"], rows)


def training_table() -> str:
    """Show training steps per CPU-second, and the ratio to stable-baselines3."""
    speed = read_result("training-speed")
    rates = speed["steps_per_cpu_second"]
    titles = {
        "stable-baselines3": "stable-baselines3 PPO",
        "one context": "`ppo`, one context",
        "many": f"`ppo`, {speed['contexts']} contexts",
    }
    rows = [
        [title, f"{rates[key]:,.0f}", f"{rates[key] / rates['stable-baselines3']:.1f}"]
        for key, title in titles.items()
    ]
    return markdown_table(["CartPole, 8 environments", "steps per CPU-second", "ratio"], rows)


def host_training_table() -> str:
    """Show the same for Gymnasium's own environments, which Python steps."""
    rows = []
    for name, found in read_result("training-speed")["host"]["environments"].items():
        rates = found["steps_per_cpu_second"]
        cells = [f"{rates[key]:,.0f}" if key in rates else "-" for key in ("sb3", "sbx", "ppo")]
        rows.append([name, *cells, f"{found['ratio_to_sb3']['ppo']:.1f}"])
    heads = ["environment", "stable-baselines3 PPO", "SBX PPO", "`ppo`"]
    return markdown_table([*heads, "ratio to stable-baselines3"], rows)


#: Trainers that are compared.
PPO_FORMS = ("ppo", "sb3")


def learning_table() -> str:
    """Show the final return of our PPO and of stable-baselines3's, at equal steps."""

    def learned(found: dict[str, Any] | None) -> str:
        if found is None:
            return "-"
        if found["interval"] is None:
            return f"{found['mean']:.1f}"
        low, high = found["interval"]
        return f"{found['mean']:.1f} ({low:.1f} to {high:.1f})"

    rows = []
    for name, found in read_result("learning")["summary"].items():
        seeds = "/".join(str(found[key]["seeds"]) for key in PPO_FORMS if key in found)
        rows.append([name, *(learned(found.get(key)) for key in PPO_FORMS), seeds])
    return markdown_table(["environment", "`ppo`", "stable-baselines3 PPO", "seeds"], rows)


def foreign_learning_table() -> str:
    """Show the returns of our PPO and of stable-baselines3's on environments of other packages."""
    result = read_result("foreign-learning")
    steps = {run["environment"]: run["steps"] for run in result["runs"]}
    rows = [
        [f"{name}, {steps[name]:,} steps"]
        + [", ".join(f"{value:.3g}" for value in found.get(key, ())) or "-" for key in PPO_FORMS]
        for name, found in result["summary"].items()
    ]
    return markdown_table(["environment", "`ppo`", "stable-baselines3 PPO"], rows)


def regions_table() -> str:
    """Show coverage on the data sets of regions, by simulation: methods x data sets."""
    result = read_result("regions")
    shown = [result["marks"].index(mark) for mark in REGION_MARKS]
    data = {name.removeprefix("regions-"): found for name, found in result["data"].items()}
    rows = []
    for method, title in {**comparison.TITLES, **REGION_METHODS}.items():
        found = [one["methods"].get(method) for one in data.values()]
        if any(found):
            rows.append([title, *(_at_marks(one, shown) for one in found)])
    heads = [" / ".join(map(str, REGION_MARKS)) + " units", *data]
    return markdown_table(heads, rows)


def _at_marks(found: dict[str, Any] | None, marks: Sequence[int]) -> str:
    if found is None:
        return "–"
    means = np.array(found["coverage"], dtype=np.float64).mean(axis=0)
    return " / ".join(_cell(means[mark]) for mark in marks)


def distillation_table() -> str:
    """Compare portfolios with the networks distilled from them: coverage, mean over seeds."""
    columns = {
        "portfolio": ("portfolio", "coverage"),
        "told": ("told", "coverage"),
        "hidden": ("hidden", "coverage"),
        "best single policy": ("portfolio", "best_single"),
        "recurrent PPO": ("recurrent", "coverage"),
    }
    measured = _distilled()
    parts = {part for seeds in measured.values() for seed in seeds for part in seed}
    shown = {head: way for head, way in columns.items() if way[0] in parts}
    costs = [part for part in ("portfolio", "told", "hidden", "recurrent") if part in parts]
    rows = []
    for name, seeds in measured.items():
        means = [_mean(seeds, *way) for way in shown.values()]
        steps = [_mean(seeds, part, "steps") for part in costs]
        policies = f"{_mean(seeds, 'portfolio', 'policies') or np.nan:.0f}"
        cells = ["–" if mean is None else f"{100 * mean:.1f}" for mean in means]
        cells += ["–" if step is None else f"{step / 1000:,.0f}k" for step in steps]
        rows.append([name, str(len(seeds)), policies, *cells])
    heads = ["seeds", "policies", *shown, *(f"steps: {part}" for part in costs)]
    return markdown_table(["coverage in %", *heads], rows)


def identification_table() -> str:
    """Show in how many contexts `identify` has the right policy, by the episodes played."""
    rows = []
    for name, seeds in _distilled().items():
        found = [seed["identify"] for seed in seeds if "identify" in seed]
        if not found:
            continue
        after = {k: np.mean([each["right_after"][k] for each in found]) for k in AFTER}
        known = np.mean([each["right_with_context"] for each in found])
        usable = [each["right_usable_after"]["3"] for each in found if "right_usable_after" in each]
        shares = [*after.values(), *([np.mean(usable)] if usable else [None]), known]
        rows.append([name, *("–" if share is None else f"{100 * share:.0f} %" for share in shares)])
    heads = [*(f"after {number}" for number in AFTER), "after 3, of usable", "context known"]
    return markdown_table(["right policy", *heads], rows)


def _distilled() -> dict[str, list[dict[str, Any]]]:
    """Measurements of each data set, seed by seed."""
    data = read_result("distillation")["data"]
    found = {name: [each for each in seeds.values() if each] for name, seeds in data.items()}
    return {name: seeds for name, seeds in found.items() if seeds}


def _mean(seeds: Sequence[Mapping[str, Any]], part: str, quantity: str) -> float | None:
    """Mean over the seeds with which something was measured; None without any."""
    values = [seed[part][quantity] for seed in seeds if part in seed]
    return float(np.mean(values)) if values else None


def walker_specialists_table() -> str:
    """Compare ways to spend steps on BipedalWalker: mean return, and share of solved contexts."""
    rows = []
    for name, found in read_result("walker-specialists")["ways"].items():
        share = f"{found['share_that_walk']:.0%}".replace("%", " %")
        rows.append([name, f"{found['units']:.4g}", f"{found['mean_return']:.0f}", share])
    heads = ["policies", "units", "mean return", "contexts in which it walks"]
    return markdown_table(heads, rows)


def traffic_crossing_table() -> str:
    """Compare drivers on the usual crossing."""
    return _traffic_table(read_result("traffic-policies")["crossing"]["drivers"])


def traffic_portfolio_table() -> str:
    """Show the first K policies of a study on all crossings."""
    result = read_result("traffic-policies")["portfolio"]
    rows = {"idm": result["idm"], "advisory": result["advisory"]}
    rows |= {counted(int(k), "policy", "policies"): row for k, row in result["policies"].items()}
    return _traffic_table(rows)


def _traffic_table(found: dict[str, dict[str, Any]]) -> str:
    """Show a row for each driver; changes against IDM with 95 % intervals."""
    has_savings = any("credited saving" in row for row in found.values())
    rows = []
    for name, row in found.items():
        change, width = row["co2 against idm"]
        saving = row.get("credited saving")
        cells = [
            name,
            f"{row['return']:.1f}",
            f"{row['co2']:.1f}",
            "" if name == "idm" else f"{change:+.1f} ± {width:.1f}",
            f"{row['speed']:.2f}",
            f"{row['standing']:.1f}",
            f"{row['arrived']:.1f}",
            "" if saving is None else f"{100 * saving:.1f} %",
        ]
        rows.append(cells if has_savings else cells[:-1])
    heads = ["", "return", "CO2, g a vehicle", "against IDM", "speed, m/s", "standing, s"]
    heads += ["vehicles", *(["credited saving"] if has_savings else [])]
    return markdown_table(heads, rows)


def crop_profits_table() -> str:
    """Show the profits of schedules and policies in the years kept from training."""
    return _dollars(["", "profit on unseen years"], read_result("crop-policies")["profit"])


def crop_gains_table() -> str:
    """Show the gains of trained policies over schedules, year by year."""
    return _dollars(["gain", ""], read_result("crop-policies")["gain"])


def _dollars(heads: list[str], found: dict[str, dict[str, float]]) -> str:
    rows = [
        [name.replace("m2", "m²"), f"{v['estimate']:,.0f} [{v['low']:,.0f}, {v['high']:,.0f}]"]
        for name, v in found.items()
    ]
    return markdown_table(heads, rows)


def faults_table() -> str:
    """List the campaigns of random faults on studies; scripts of tests/studies print the rows."""
    rows = [
        [row["what"], f"{row['faults']:,}", str(row["studies"]), row["checked"], str(row["wrong"])]
        for row in read_result("faults")["measured"]
    ]
    return markdown_table(["faults", "number", "studies", "checked", "violations"], rows)


def _part(name: str) -> BenchmarkResult:
    return BenchmarkResult.load(RESULTS / "selectors" / f"{name}.json")


def _marked(table: str, *results: BenchmarkResult) -> str:
    """Name below a table the results in it that were made by older code."""
    older = [result.name for result in results if made_by_older_code(result)]
    which = "" if len(older) == len(results) else f": {', '.join(older)}"
    return f"{table}\n\n*{OLDER}{which}.*" if older else table


def _titles(names: Sequence[str]) -> list[str]:
    return [TITLES.get(name, f"`{name}`") for name in names]


def _cell(value: float | None, digits: int = 3) -> str:
    """Format a number, without a negative zero; a dash if there is none."""
    if value is None or np.isnan(value):
        return "–"
    return f"{round(float(value), digits) + 0.0:.{digits}f}"


def _compared(table: Callable[[comparison.Comparison], str]) -> Callable[[], str]:
    return lambda: table(comparison.Comparison.load())


#: Name in the marks -> maker of the table: `cost_table` makes the table `cost`.
TABLES: dict[str, Callable[[], str]] = {
    name.removesuffix("_table").replace("_", "-"): made
    for name, made in list(globals().items())
    if name.endswith("_table") and made.__module__ == __name__ and not name.startswith("_")
} | {
    "first": _compared(comparison.first_table),
    "generalists": _compared(comparison.data_tables),
    "generalists-lead": _compared(comparison.lead_table),
    "generalists-kept-lead": _compared(comparison.kept_lead_table),
}


def fill(text: str) -> str:
    """Return a page with every marked table made again."""
    unknown = {name for _, name, _ in MARKED.findall(text)} - set(TABLES)
    if unknown:
        sys.exit(f"There is no table {min(unknown)!r}. The tables are: {', '.join(TABLES)}.")
    return MARKED.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[3]}", text)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the tables of all pages, check them, or print one."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="fail if a page is out of date")
    parser.add_argument("--show", choices=TABLES, metavar="NAME", help=", ".join(TABLES))
    given = parser.parse_args(arguments)
    if given.show:
        print(TABLES[given.show]())
        return
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        before = path.read_text()
        after = fill(before)
        if given.check and MARK.sub("", before) != MARK.sub("", after):
            sys.exit(f"{path.name} does not match results/. Run: make tables")
        if before != after and not given.check:
            path.write_text(after)


if __name__ == "__main__":
    main()
