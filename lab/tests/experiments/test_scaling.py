"""The benchmark of very many targets: what it measures, and what it has measured."""

import json
from pathlib import Path

import numpy as np
import pytest

import scaling
from sdmbtl_lab.benchmarks.synthetic import SyntheticProblem

RESULTS = Path(__file__).parents[3] / "results"


def test_spaces_have_the_targets_that_are_asked_for():
    grid, listed = scaling.make_space(1000, 3), scaling.make_space(100, 10)
    assert (len(grid), grid.is_grid, grid.n_dimensions) == (1000, True, 3)
    assert (len(listed), listed.is_grid, listed.n_dimensions) == (100, False, 10)


def test_rounds_of_a_selector_are_measured():
    found = scaling.measure_selector("m-mbtl", 64, 3)
    assert list(found["seconds"]) == ["1", "2", "5", "10", "30"]
    assert found["longest"] >= max(found["seconds"].values())
    assert found["targets"] == 64


def test_speed_is_measured_on_each_kind_of_matrix():
    for kind in scaling.KINDS:
        found = scaling.measure_speed("m-mbtl", 3, 2, 4, kind)
        assert 0 < found["median_ms"] <= found["slowest_ms"]


def test_a_study_is_measured_from_its_beginning_to_opening_it_again(monkeypatch):
    monkeypatch.setattr(scaling, "STUDY_ROUNDS", 3)
    found = scaling.measure_study(27, 3)
    assert (found["targets"], found["dimensions"], found["rounds"]) == (27, 3, 3)
    assert all(found[key] > 0 for key in ("opened", "longest", "opened_again", "peak_mib"))


def test_a_finer_grid_has_the_returns_of_the_papers_between_the_same_ends():
    kind = SyntheticProblem(3, "linear", "linear", "non-distance", noise=0.0)
    same = scaling.fine_matrix(kind, scaling.make_space(8**3, 3), 0)
    assert np.allclose(same, kind.matrix(0), rtol=1e-6)


def test_the_comparison_has_both_ends_and_every_sample(monkeypatch):
    monkeypatch.setattr(scaling, "SAMPLES", (60,))
    monkeypatch.setattr(scaling, "COMPARED", ("predictive",))
    kind = SyntheticProblem(3, "constant", "linear", "l1", noise=5.0)
    run = scaling.compare_choices(kind, 0, values=6, rounds=4)
    assert set(run["reached"]["predictive"]) == {"all", "60"}
    assert run["random"] < run["reached"]["predictive"]["all"] <= run["oracle"] + 1e-3


def test_losses_on_both_scales():
    run = {"range": [0.0, 100.0], "random": 50.0, "oracle": 60.0}
    runs = [
        {**run, "reached": {"predictive": {"all": 58.0, "64": 57.0}}},
        {**run, "reached": {"predictive": {"all": 58.0, "64": 58.0}}},
    ]
    found = scaling.losses(runs, "predictive", "64")
    assert found["of_range"] == pytest.approx(0.005)
    assert found["of_margin"] == pytest.approx(0.05)
    assert found["margin_error"] == pytest.approx(0.05)


class TestMeasured:
    result = json.loads((RESULTS / "scaling.json").read_text())

    def test_a_round_among_a_million_targets_is_short_and_small(self):
        for part in ("cost", "study"):
            self.check_largest([m for m in self.result[part] if m["targets"] >= 900_000])

    def check_largest(self, largest):
        assert {m["dimensions"] for m in largest} == {3, 10}
        for measured in largest:
            assert measured["longest"] < 3.0
            assert measured["peak_mib"] < 2048
