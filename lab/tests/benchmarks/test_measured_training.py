"""What the shipped measurements of training say."""

import json
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[3] / "results"

pytestmark = pytest.mark.skipif(not RESULTS.exists(), reason="results are not part of a wheel")


def test_three_policies_cover_the_space_of_the_paper():
    measured = json.loads((RESULTS / "coverage.json").read_text())["measured"]["paper: m/gp-mbtl"]
    assert len(measured) == 5
    assert all(seed["coverage"]["3"] >= 0.99 for seed in measured.values())


def test_every_method_was_measured_with_five_seeds():
    measured = json.loads((RESULTS / "coverage.json").read_text())["measured"]
    for method in ("auto", "m/gp-mbtl", "random", "independent", "multi-task"):
        assert len(measured[method]) == 5
        assert all(set(seed["coverage"]) == {"4", "8", "12"} for seed in measured[method].values())


def test_batched_training_is_many_times_as_fast():
    speed = json.loads((RESULTS / "training-speed.json").read_text())
    assert speed["ratio_one"] >= 15
    assert speed["contexts"] == 100
    assert speed["ratio_many"] >= 20


def test_most_of_an_evaluation_is_gymnasiums():
    measured = json.loads((RESULTS / "evaluation-speed.json").read_text())["environments"]
    assert set(measured) == {"pendulum", "lander"}
    assert all(environment["share_of_gymnasium"] > 0.75 for environment in measured.values())


def test_kills_cost_little_and_change_nothing():
    measured = json.loads((RESULTS / "killed-training.json").read_text())["forms"]
    assert set(measured) == {"host", "batched"}
    # Between two checkpoints there are some updates; of the compiled form the last ones, which are
    # fewer than those before, are compiled first.
    updates = {"host": 0.5, "batched": 2.0}
    for name, form in measured.items():
        assert form["kills"] >= 50
        assert form["same_bytes"]
        assert form["most_cpu_seconds_lost"] < form["seconds_between_checkpoints"] + updates[name]


def test_the_lean_walker_takes_half_the_time():
    faster = json.loads((RESULTS / "walker-speed.json").read_text())["times_as_fast"]
    for way in ("lean", "lean, contextual"):
        assert faster[way]["step"] >= 1.8
        assert faster[way]["reset"] >= 1.8
