"""Properties of the contract that the shipped suite cannot know, and its messages."""

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdmbtl import ContextSpace, make_selector, selector_names
from sdmbtl.errors import (
    SelectorError,
    StateError,
)
from sdmbtl.selectors import RandomSelector
from sdmbtl.selectors import make as registry
from sdmbtl.testing import example_matrix, example_spaces

NAMES = [n for n in selector_names() if n not in ("auto", "predictive", "random", "independent")]


SPACE = ContextSpace(a=range(3))


def run(selector, matrix, rounds):
    contexts = []
    for _ in range(rounds):
        trial = selector.ask()
        contexts.append(trial.context)
        selector.tell(trial, matrix[selector.space.nearest(trial.context)])
    return contexts


@pytest.mark.parametrize("name", [n for n in NAMES if "random" not in n])
@settings(max_examples=6, deadline=None)
@given(order=st.permutations(range(12)), seed=st.integers(0, 100))
def test_permuted_targets_give_the_same_contexts(name, order, seed):
    grid = example_spaces()["grid"]
    order = np.array(order)
    matrix = example_matrix(grid, seed)
    listed = ContextSpace(grid.targets[order], **grid.dimensions)
    expected = run(make_selector(name, grid), matrix, 8)
    found = run(make_selector(name, listed), matrix[np.ix_(order, order)], 8)
    assert found == expected


@pytest.mark.parametrize("name", NAMES)
def test_units_of_contexts_do_not_matter(name):
    expected = None
    for scale in (1.0, 1e-6, 1e6):
        space = ContextSpace(a=scale * np.arange(4), b=scale * np.array([0.5, 1.0, 2.0]))
        matrix = example_matrix(space)
        selector = make_selector(name, space)
        indices = []
        for _ in range(8):
            trial = selector.ask()
            index = space.nearest(trial.context)
            indices.append((index, trial.width, trial.parent))
            selector.tell(trial, matrix[index])
        expected = expected or indices
        assert indices == expected


def test_random_is_uniform_and_depends_on_the_seed():
    space = ContextSpace(a=range(5))
    firsts = [make_selector("random", space, seed=s).ask().index for s in range(1000)]
    counts = np.bincount(firsts, minlength=5)
    assert counts.min() > 150
    pairs = {
        tuple(c.index for c in make_selector("random", space, seed=s).ask(2)) for s in range(300)
    }
    assert len(pairs) == 20


def test_state_shows_what_differs():
    space = ContextSpace(a=range(3), b=range(2))
    state = make_selector("m-mbtl", space, restarts=2).state_dict()
    with pytest.raises(StateError, match="settings.restarts: recorded 2, now None"):
        make_selector("m-mbtl", space).load_state_dict(state)
    with pytest.raises(StateError, match="selector: recorded 'm-mbtl', now 'random'"):
        make_selector("random", space).load_state_dict(state)
    with pytest.raises(StateError, match="not what state_dict"):
        make_selector("random", space).load_state_dict({"trials": []})


def test_refused_state_changes_nothing():
    space = ContextSpace(a=range(3))
    selector = make_selector("random", space)
    selector.ask()
    before = selector.state_dict()
    state = json.loads(json.dumps(before))
    state["trials"].append({**state["trials"][0], "source": {"center": ["x"]}})
    with pytest.raises(StateError, match="Trial 1 is damaged.*does not describe a source"):
        selector.load_state_dict(state)
    assert selector.state_dict() == before


def test_import_is_light():
    """Parts of SciPy are loaded when they are first used, everything heavier with its extra."""
    found = subprocess.run(
        [sys.executable, "-c", "import sdmbtl, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    heavy = {"torch", "jax", "gymnasium", "matplotlib", "plotly", "pandas", "sklearn", "rich"}
    assert not heavy & {module.split(".")[0] for module in found}
    parts = ("special", "linalg", "optimize", "sparse", "spatial", "stats")
    assert not {f"scipy.{part}" for part in parts} & set(found)


def plug_in(monkeypatch, **points):
    """Let these be the entry points of the group of selectors."""
    monkeypatch.setattr(registry, "installed", lambda group: points if group == "selectors" else {})
    monkeypatch.setattr(registry, "load", lambda group, name: points[name])


def test_plug_ins_are_known_by_name_and_a_broken_one_stops_no_other(monkeypatch):
    plug_in(monkeypatch, mine=RandomSelector, broken=None)
    assert {"mine", "broken", "auto"} <= set(selector_names())
    assert isinstance(make_selector("mine", SPACE), RandomSelector)
    with pytest.raises(SelectorError, match="'broken' cannot be loaded"):
        make_selector("broken", SPACE)


def test_auto_is_resolved_in_one_place():
    assert registry.resolve_auto("auto") == "predictive" == make_selector("auto", SPACE).name
    assert registry.resolve_auto("auto", regions=True) == "generalist-first"
    assert registry.resolve_auto("random", regions=True) == "random"
