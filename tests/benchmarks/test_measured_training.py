"""What the shipped measurements of training say."""

import json
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[2] / "results"

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
    assert speed["both_cores"]["cores_used"] > 1.5


def test_the_lean_walker_takes_half_the_time():
    faster = json.loads((RESULTS / "walker-speed.json").read_text())["times_as_fast"]
    for way in ("lean", "lean, contextual"):
        assert faster[way]["step"] >= 1.8
        assert faster[way]["reset"] >= 1.8
