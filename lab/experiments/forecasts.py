"""Do forecasts come true, and does `--min-gain` stop where it should?

The default selector of points runs on the shipped matrices. From the fifth policy on, the forecast
of what three more policies will add is compared with what the next three added. And it is looked
where the rule `--min-gain 0.005` stops, compared with the policies after which the next three added
less than that: the first of them, and the one from which it was so for good. Gains come in jumps,
so these two differ; a stop between them is right, and at most three policies off is near enough.
Last, the forecasts of how many more policies a coverage takes: is what came in their interval?

python lab/experiments/forecasts.py                # writes results/forecasts.json
python lab/experiments/forecasts.py --data crop    # one that is new or was made anew; the others stay
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bounds import save_result
from sdmbtl.selectors import PredictiveSelector
from sdmbtl.studies.reach import STEP, GainCurve, Reach, reach_of, spread_of
from sdmbtl.studies.stopping import NoGain, Standing
from sdmbtl_lab.benchmarks import MatrixProblem
from sdmbtl_lab.matrices import matrix_names

#: Forecasts are for so many policies; the rule's patience is the same.
AHEAD = 3
#: Forecasts are judged from this policy on.
FROM = 5
MIN_GAIN = 0.005
POLICIES = 24
#: The settings of the forecasts were chosen on these data sets, on the matrices 10 to 13.
CHOSEN_ON = ("acrobot", "cartpole-wide", "mountain-car", "pendulum")
#: After these policies it is forecast how many more these coverages take.
REACH_AFTER = (3, 5, 8, 12)
COVERAGES = (0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97)
#: Where both sums are below this share of the range for each forecast, both are nothing.
NOTHING = MIN_GAIN / 10


def run(data: MatrixProblem, number: int, policies: int) -> dict[str, Any]:
    """Performance after each policy, the forecasts at that point, and where the rule stops.

    Args:
        data: The data set.
        number: Number of the matrix, and seed of the selector.
        policies: Number of policies.
    """
    low, high = data.return_range
    matrix = (np.asarray(data.matrix(number), np.float64) - low) / (high - low)
    selector = PredictiveSelector(data.space, seed=number)
    rule, stop = NoGain(MIN_GAIN, AHEAD), None
    performances: list[float] = []
    forecasts: list[float | None] = []
    reaches: list[tuple[int, Reach]] = []
    for _ in range(min(policies, len(data.space))):
        trial = selector.ask()
        selector.tell(trial, matrix[data.space.index(trial.context)])
        performances.append(selector.performance)
        forecasts.append(selector.remaining_gain(AHEAD))
        standing = Standing(
            performances,
            1.0,
            best_possible=bool((selector.rows.best >= 1.0).all()),
            seconds_per_policy=None,
            remaining_gain=selector.remaining_gain,
            failed=selector.failed_runs,
        )
        if stop is None and rule.reason(standing) is not None:
            stop = len(performances)
        if len(performances) in REACH_AFTER:
            reaches += [(len(performances), reach) for reach in reaches_of(selector, performances)]
    return {
        "performances": performances,
        "forecasts": forecasts,
        "stop": stop,
        "reaches": [kind_of(reach, after, performances) for after, reach in reaches],
    }


def reaches_of(selector: PredictiveSelector, performances: Sequence[float]) -> list[Reach]:
    """When coverages that are not reached yet will be, as forecast now."""
    failed = set(selector.failed_runs())
    tested = [t.id for t in selector.trials if t.expected_gain is not None and t.id not in failed]
    expected = [selector.trials[k].expected_gain or 0.0 for k in tested]
    spread = spread_of(expected, [performances[k] - performances[k - 1] for k in tested])
    three, six = (selector.remaining_gain(n) or 0.0 for n in (STEP, 2 * STEP))
    curve, now = GainCurve.through(three, six), performances[-1]
    return [reach_of(wanted, now, curve, spread) for wanted in COVERAGES if wanted > now]


def kind_of(reach: Reach, after: int, performances: Sequence[float]) -> tuple[str, bool]:
    """What was forecast, and whether it was right as far as the run goes."""
    left = performances[after:]
    came = next((n for n, value in enumerate(left, start=1) if value >= reach.wanted), None)
    if reach.policies is None:
        return "never", came is None
    first, last = reach.policies
    kind = "from on" if last is None else "from to"
    if came is None:
        return kind, last is None or last > len(left)
    return kind, first <= came and (last is None or came <= last)


def gains_to_come(performances: Sequence[float]) -> dict[int, float]:
    """Number of finished policies, three or more -> what the next ones added."""
    last = len(performances) - AHEAD
    return {k: performances[k + AHEAD - 1] - performances[k - 1] for k in range(3, last + 1)}


def where_to_stop(performances: Sequence[float]) -> tuple[int, int]:
    """After which policy the next ones added too little: for the first time, and for good."""
    came = gains_to_come(performances)
    end = len(performances)
    first = min((k for k, gain in came.items() if gain < MIN_GAIN), default=end)
    last = max((k + 1 for k, gain in came.items() if gain >= MIN_GAIN), default=3)
    return first, last


def measure(data: MatrixProblem, numbers: Sequence[int], policies: int) -> dict[str, Any]:
    """Forecasts and stops on some matrices of a data set."""
    forecast = came = 0.0
    count, stops, reaches = 0, [], []
    for number in numbers:
        found = run(data, number, policies)
        for k, gain in gains_to_come(found["performances"]).items():
            if k >= FROM:
                forecast += found["forecasts"][k - 1]
                came += gain
                count += 1
        reaches += found["reaches"]
        first, last = where_to_stop(found["performances"])
        stop = found["stop"]
        near = stop is not None and first - AHEAD <= stop <= last + AHEAD
        near_first = stop is not None and abs(stop - first) <= AHEAD
        places = {"stop": stop, "first": first, "for_good": last}
        stops.append({**places, "near": near, "near_first": near_first})
    nothing = max(forecast, came) < NOTHING * count
    return {
        "name": data.name,
        "chosen_on": data.name in CHOSEN_ON,
        "forecasts": count,
        "forecast": forecast,
        "came": came,
        "ratio": forecast / came if came > 0 else None,
        "within_2": nothing or (came > 0 and 0.5 <= forecast / came <= 2.0),
        "stops": stops,
        "reaches": {
            kind: {"right": sum(right for k, right in reaches if k == kind), "count": n}
            for kind, n in sorted(Counter(kind for kind, _ in reaches).items())
        },
    }


def shown(result: dict[str, Any]) -> str:
    """A line of the table."""
    ratio = "-" if result["ratio"] is None else f"{result['ratio']:.2f}"
    stops = ", ".join(f"{s['stop']} ({s['first']} to {s['for_good']})" for s in result["stops"])
    sums = f"forecast {result['forecast']:.3f}, came {result['came']:.3f}, ratio {ratio:>5}"
    return f"{result['name']:16} {sums}; stops at {stops}"


def main() -> None:
    """Measure every shipped data set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--matrices", type=int, default=3, help="matrices of each data set")
    parser.add_argument("--out", type=Path, default=Path("results/forecasts.json"))
    parser.add_argument("--data", nargs="+", choices=matrix_names(), help="all if left out")
    options = parser.parse_args()
    before = json.loads(options.out.read_text())["data"] if options.data else []
    by_name = {one["name"]: one for one in before}
    for name in options.data or matrix_names():
        by_name[name] = measure(MatrixProblem(name), range(options.matrices), POLICIES)
        print(shown(by_name[name]), flush=True)
    data = [by_name[name] for name in sorted(by_name)]
    stops = [stop for one in data for stop in one["stops"]]
    summary = {
        "within_2": sum(one["within_2"] for one in data),
        "data_sets": len(data),
        "stops_near": sum(stop["near"] for stop in stops),
        "stops_near_the_first": sum(stop["near_first"] for stop in stops),
        "runs": len(stops),
        "reaches": {
            kind: {
                key: sum(one["reaches"].get(kind, {key: 0})[key] for one in data)
                for key in ("right", "count")
            }
            for kind in ("from to", "from on", "never")
        },
    }
    print(summary)
    settings = {"policies": POLICIES, "from": FROM, "ahead": AHEAD, "min_gain": MIN_GAIN}
    save_result({"benchmark": "forecasts", **settings, **summary, "data": data}, options.out)


if __name__ == "__main__":
    main()
