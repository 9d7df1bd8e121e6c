"""Writes recorded_selections.json: what each selector chooses on fixed matrices.

Run it only when a change of the choices is meant, and say so in the changelog:

    python tests/selectors/record_selections.py
"""

import json
from pathlib import Path

from sdmbtl import ContextSpace, Interval, make_selector
from sdmbtl.benchmarks import paper_configurations, simulate
from sdmbtl.matrices import load_matrix
from sdmbtl.selectors import MountainSelector, selector_names
from sdmbtl.testing import example_matrix

PATH = Path(__file__).with_name("recorded_selections.json")
ROUNDS = 16


def problems():
    """Matrices by name: Mountain, not Mountain, targets that are no grid, real training."""
    configurations = {c.name: c for c in paper_configurations(3)}
    for name in ("3d-f-constant-g-linear-h-l1", "3d-f-linear-g-constant-h-non-distance"):
        yield name, configurations[name].space, configurations[name].trial(0, 5.0)
    listed = ContextSpace.sample(60, seed=1, u=Interval(0, 1), v=Interval(0.1, 10, scale="log"))
    yield "listed", listed, example_matrix(listed, seed=4)
    pendulum = load_matrix("pendulum")
    yield "pendulum", pendulum.space, pendulum.returns[0]


def selections():
    """The chosen targets by problem and selector."""
    recorded = {}
    for name, space, matrix in problems():
        runs = {s: make_selector(s, space, seed=1) for s in selector_names()}
        runs["m-mbtl in the box"] = MountainSelector(space, seed=1, sources="box")
        recorded[name] = {s: simulate(run, matrix, ROUNDS).indices for s, run in runs.items()}
    return recorded


if __name__ == "__main__":
    PATH.write_text(json.dumps(selections(), indent=1) + "\n")
