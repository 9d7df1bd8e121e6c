"""Time per round and peak memory of selection, from 64 to 16384 targets, on one thread.

    python lab/experiments/selection_speed.py [--sizes 64,512,3125,16384] [--rounds 50] [--no-compare]

Each size runs in a process of its own, so that its peak memory is its own. M/GP-MBTL runs on a
Mountain matrix (M-MBTL chooses) and on one that is not (GP-MBTL chooses after the fifth round);
rows are made when they are asked for, so the memory is that of the selector. Beside it runs a
straightforward round: a GPyTorch ExactGP fitted with 500 Adam steps, and the acquisition over
the full source x target x dimension array. Written to results/selection-speed.json.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np

from scoreboard.selection_cost import (
    SIZES,
    json_of_child,
    make_row,
    make_space,
    peak_mib,
    round_seconds,
    warm_up,
)
from sdmbtl.software import CORE, versions

SELECTOR = "m/gp-mbtl"
#: Past this, the straightforward acquisition needs more memory than it is worth.
LARGEST_COMPARISON = 4096
RESULT = Path(__file__).parents[2] / "results" / "selection-speed.json"


def time_rounds(n: int, rounds: int, mountain: bool) -> dict[str, float]:
    """Milliseconds per round of M/GP-MBTL."""
    times = round_seconds(SELECTOR, n, rounds, mountain=mountain)
    return {"mean_ms": 1e3 * float(np.mean(times)), "worst_ms": 1e3 * float(np.max(times))}


def time_gpytorch_round(n: int, observed: int) -> float:
    """Seconds of one straightforward round with GPyTorch."""
    import gpytorch
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    space = make_space(n)
    indices = np.random.default_rng(0).choice(n, size=observed, replace=False)
    rows = np.array([make_row(space, int(i), mountain=False) for i in indices])
    rows = (rows - rows.min()) / (rows.max() - rows.min())
    start = time.process_time()
    points = torch.tensor(space.targets[indices], dtype=torch.float32)
    values = torch.tensor(rows[np.arange(observed), indices], dtype=torch.float32)

    class Model(gpytorch.models.ExactGP):  # type: ignore[misc]
        def __init__(self, likelihood: Any) -> None:
            super().__init__(points, values, likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(x), self.covar_module(x)
            )

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Model(likelihood)
    model.train()
    likelihood.train()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    for _ in range(500):
        optimiser.zero_grad()
        loss = -objective(model(points), values)
        loss.backward()
        optimiser.step()
    model.eval()
    with torch.no_grad():
        posterior = model(torch.tensor(space.targets, dtype=torch.float32))
        optimistic = (posterior.mean + posterior.variance.sqrt()).numpy()
    difference = space.targets[:, None] - space.targets
    features = np.concatenate([np.minimum(difference, 0), np.maximum(difference, 0)], axis=2)
    design = features[indices].reshape(-1, features.shape[2])
    slopes = np.linalg.lstsq(
        np.column_stack([np.ones(len(design)), design]), rows.ravel(), rcond=None
    )[0][1:]
    gains = np.maximum(optimistic[:, None] + features @ slopes - rows.max(axis=0), 0).mean(axis=1)
    gains.argmax()
    return time.process_time() - start


def measure(n: int, rounds: int, compare: bool) -> dict[str, Any]:
    """All figures of one size, in this process."""
    warm_up(SELECTOR)
    mountain = time_rounds(n, rounds, mountain=True)
    other = time_rounds(n, rounds, mountain=False)
    peak = peak_mib()
    figures: dict[str, Any] = {
        "targets": n,
        "rounds": min(rounds, n),
        "mountain": mountain,
        "not_mountain": other,
        "peak_mib": peak,
    }
    if compare and n <= LARGEST_COMPARISON:
        observed = [k for k in (10, 30, 50) if k <= n]
        seconds = float(np.mean([time_gpytorch_round(n, k) for k in observed]))
        figures["gpytorch_round_ms"] = 1e3 * seconds
        figures["times_faster_than_gpytorch"] = 1e3 * seconds / other["mean_ms"]
    return figures


def in_own_process(n: int, rounds: int, compare: bool) -> dict[str, Any]:
    """Measure one size in a fresh process with one thread."""
    arguments = [__file__, "--one", str(n), "--rounds", str(rounds)]
    return json_of_child(arguments if compare else [*arguments, "--no-compare"])


def has_gpytorch() -> bool:
    """Whether the optional comparison can run; not imported here, its memory would count."""
    return importlib.util.find_spec("gpytorch") is not None


def show(figures: dict[str, Any]) -> str:
    """One line of the table."""
    ratio = figures.get("times_faster_than_gpytorch")
    return (
        f"{figures['targets']:>8} {figures['mountain']['mean_ms']:>12.2f} "
        f"{figures['not_mountain']['mean_ms']:>14.2f} "
        f"{max(figures['mountain']['worst_ms'], figures['not_mountain']['worst_ms']):>10.1f} "
        f"{figures['peak_mib']:>10.0f} "
        + (
            f"{figures['gpytorch_round_ms']:>14.0f} {ratio:>7.0f}"
            if ratio
            else f"{'-':>14} {'-':>7}"
        )
    )


def main() -> None:
    """Measure every size and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--no-compare", action="store_true")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    compare = not arguments.no_compare and has_gpytorch()
    if arguments.one:
        print(json.dumps(measure(arguments.one, arguments.rounds, compare)))
        return
    if not compare:
        print("Without the comparison with GPyTorch (pip install 'sdmbtl[compare]').")
    print("CPU milliseconds per round of M/GP-MBTL (one thread), peak memory of the process")
    print(
        f"{'targets':>8} {'Mountain':>12} {'not Mountain':>14} {'worst':>10} {'peak MiB':>10} "
        f"{'GPyTorch round':>14} {'ratio':>7}"
    )
    measured = []
    for size in map(int, arguments.sizes.split(",")):
        # Without the comparison first: importing torch alone takes hundreds of MiB.
        figures = in_own_process(size, arguments.rounds, compare=False)
        if compare and size <= LARGEST_COMPARISON:
            figures = {**in_own_process(size, arguments.rounds, compare=True), **figures}
        measured.append(figures)
        print(show(figures), flush=True)
    packages = (*CORE, *(("torch", "gpytorch") if compare else ()))
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(
        json.dumps(
            {
                "measured": measured,
                "versions": versions(packages),
                "machine": platform.processor() or platform.machine(),
            },
            indent=1,
        )
        + "\n"
    )
    print(f"Written to {RESULT}")


if __name__ == "__main__":
    main()
