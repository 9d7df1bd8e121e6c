"""The shipped results against the paper; slow: the same from nothing."""

import json
from pathlib import Path

import pytest
from sdmbtl.benchmarks.results import load_result
from sdmbtl.benchmarks.synthetic_results import summarise

from sdmbtl.benchmarks import SyntheticBenchmark
from sdmbtl.benchmarks.journal import Journal
from sdmbtl.benchmarks.published import published_table

RESULTS = Path(__file__).parents[2] / "results"
SELECTORS = ("gp-mbtl", "m-mbtl", "m/gp-mbtl")


def shipped(dim, noise):
    return load_result(RESULTS / f"synthetic-{dim}d-noise{noise}.json")


def pairs(result, names):
    """Ours and the printed mean for each row and selector."""
    table = published_table(result["dim"], result["noise"])
    for configuration in result["configurations"]:
        row = table.row(configuration["f"], configuration["g"], configuration["h"])
        for name in names:
            found = configuration["selectors"][name]["final"]["mean"]
            yield f"{configuration['name']} {name}", found, row.values[name].mean


@pytest.mark.parametrize("noise", [0, 5, 30])
def test_three_dimensions_reproduce_the_paper(noise):
    result = shipped(3, noise)
    assert result["rounds"] == 50
    assert result["trials"] == (100 if noise else 1)
    for name, found, printed in pairs(result, SELECTORS):
        assert found >= printed - 0.003, name
    for name, found, printed in pairs(result, ("random", "myopic-oracle")):
        assert found == pytest.approx(printed, abs=0.001), name


@pytest.mark.parametrize(
    ("dim", "noise", "least"),
    [(3, 0, 0.98), (3, 5, 0.87), (3, 30, 0.31), (5, 5, 0.53), (7, 5, 0.72)],
)
def test_aggregated_performance(dim, noise, least):
    assert shipped(dim, noise)["aggregated"]["m/gp-mbtl"]["final"]["mean"] >= least


def test_oracle_reproduces_the_paper_in_five_dimensions():
    for name, found, printed in pairs(shipped(5, 5), ("myopic-oracle",)):
        assert found == pytest.approx(printed, abs=0.001), name


def test_detection_tells_mountain_from_the_rest():
    for configuration in shipped(3, 5)["configurations"]:
        share = configuration["selectors"]["m/gp-mbtl"]["structures"].get("mountain", 0.0)
        assert share > 0.95 if configuration["mountain"] else share < 0.4, configuration["name"]


def test_selection_is_fast_and_small():
    speed = json.loads((RESULTS / "selection-speed.json").read_text())
    by_size = {m["targets"]: m for m in speed["measured"]}
    for size, milliseconds in ((512, 10), (3125, 85), (16384, 3000)):
        for kind in ("mountain", "not_mountain"):
            assert by_size[size][kind]["mean_ms"] < milliseconds
    assert by_size[16384]["peak_mib"] < 2048


def same_again(dim, noise, tmp_path):
    benchmark = SyntheticBenchmark(dim=dim, noise=float(noise))
    journal = Journal(tmp_path / "journal.jsonl", benchmark.settings)
    benchmark.run(journal, jobs=2)
    result, expected = summarise(benchmark, journal), shipped(dim, noise)
    for found, kept in zip(result["configurations"], expected["configurations"], strict=True):
        for name in benchmark.selectors:
            assert found["selectors"][name]["final"]["mean"] == pytest.approx(
                kept["selectors"][name]["final"]["mean"], abs=1e-5
            ), (found["name"], name)


def test_without_noise_from_nothing(tmp_path):
    same_again(3, 0, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [5, 30])
def test_with_noise_from_nothing(noise, tmp_path):
    same_again(3, noise, tmp_path)
