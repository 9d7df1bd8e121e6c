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


def test_cost_is_measured_for_the_reported_rounds():
    found = scaling.measure_cost("m-mbtl", 64, 3, rounds=5)
    assert list(found["seconds"]) == ["1", "2", "5"]
    assert found["longest"] >= max(found["seconds"].values())
    assert found["targets"] == 64
    assert "m-mbtl" in scaling.show_cost(found)


def test_a_study_is_measured_from_its_beginning_to_opening_it_again():
    found = scaling.measure_study(27, 3, rounds=3)
    assert (found["targets"], found["dimensions"], found["rounds"]) == (27, 3, 3)
    assert all(found[key] > 0 for key in ("opened", "longest", "opened_again", "peak_mib"))


def test_a_finer_grid_has_the_returns_of_the_papers_between_the_same_ends():
    kind = SyntheticProblem(3, "linear", "linear", "non-distance", noise=0.0)
    same = scaling.FineProblem(kind, values=8).matrix(0)
    assert np.allclose(same, kind.matrix(0), rtol=1e-6)


def test_the_comparison_has_both_ends_and_every_sample(monkeypatch):
    monkeypatch.setattr(scaling, "SAMPLES", (60,))
    monkeypatch.setattr(scaling, "COMPARED", ("auto",))
    kind = SyntheticProblem(3, "constant", "linear", "l1", noise=5.0)
    run = scaling.compare_choices(scaling.FineProblem(kind, values=6), 0, rounds=4)
    assert set(run["reached"]["auto"]) == {"all", "60"}
    assert run["random"] < run["reached"]["auto"]["all"] <= run["oracle"] + 1e-3


def test_losses_on_both_scales():
    run = {"range": [0.0, 100.0], "random": 50.0, "oracle": 60.0}
    runs = [
        {**run, "reached": {"auto": {"all": 58.0, "64": 57.0}}},
        {**run, "reached": {"auto": {"all": 58.0, "64": 58.0}}},
    ]
    found = scaling.losses(runs, "auto", "64")
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

    def test_growth_past_ten_thousand_is_at_most_linear(self):
        """But for random choice from a list, whose only work is to sort it once: see below."""
        assert {(s, d) for s, d, _ in self.steeper_than_linear()} <= {("random", 10)}

    def test_what_grows_faster_is_still_short(self):
        assert all(seconds < 0.5 for _, _, seconds in self.steeper_than_linear())

    def steeper_than_linear(self):
        cost = [m for m in self.result["cost"] if m["targets"] >= 9_000]
        return [
            (large["selector"], large["dimensions"], large["longest"])
            for small in cost
            for large in cost
            if all(small[key] == large[key] for key in ("selector", "dimensions"))
            and large["targets"] > small["targets"]
            and large["longest"] > small["longest"] * large["targets"] / small["targets"]
        ]

    def test_the_default_selector_loses_nothing_that_can_be_seen(self):
        quality = self.result["quality"]
        loss = quality["summary"]["auto"]["4096"]
        assert quality["targets"] >= 10_000
        assert quality["rounds"] >= 15
        assert loss["of_range"] < 0.01
        assert loss["of_margin"] < 0.01
        assert all(found["4096"]["of_range"] < 0.01 for found in quality["summary"].values())
