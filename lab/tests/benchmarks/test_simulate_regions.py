"""Selectors on data sets of regions: the nearest source, what is spent, the oracle."""

import importlib
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from sdmbtl.contexts import ContextSpace, Source
from sdmbtl.selectors import GeneralistFirstSelector, make_selector
from sdmbtl_lab.benchmarks import greedy_sources, simulate_regions
from sdmbtl_lab.benchmarks.simulate_regions import Answers, generalist_runs
from sdmbtl_lab.matrices import RegionDataset
from sdmbtl_lab.matrices.region_dataset import ancestors

SCRIPTS = Path(__file__).parents[3] / "lab" / "experiments"
SPACE = ContextSpace(a=np.linspace(0, 1, 5), b=np.linspace(0, 1, 4))
UNIT = 100
FAMILY = {"name": "CartPole"}  # returns from 0 to 500
#: Two generalists, each continued to 2 and 4 units, then specialists of three forms.
WHOLE = [
    SPACE.whole(parent, steps)
    for first in (0, 3)
    for parent, steps in ((None, UNIT), (first, UNIT), (first + 1, 2 * UNIT))
]
CENTERS = [target for number, target in enumerate(SPACE.targets.tolist()) if number % 2]
SOURCES = (
    *WHOLE,
    *(Source.at(center, 0.0, None, UNIT) for center in CENTERS),
    *(Source.at(center, 0.25, None, UNIT) for center in CENTERS),
    *(
        Source.at(center, 0.25, (0, 1, 3, 4)[number % 4], UNIT // 2)
        for number, center in enumerate(CENTERS)
    ),
)
POINTS, SCRATCH, CHILDREN = (range(6 + 10 * i, 16 + 10 * i) for i in range(3))


def region_dataset(sources=SOURCES, seed=0):
    """Returns that are higher near a source, with noise."""
    rng = np.random.default_rng(seed)
    units = SPACE.to_unit(np.array([s.center for s in sources]))
    away = np.abs(SPACE.unit_targets[None] - units[:, None]).sum(axis=2)
    lengths = np.array([s.steps / UNIT for s in sources])
    returns = 100 * np.exp(-away) * lengths[:, None] ** 0.3 + rng.uniform(0, 20, away.shape)
    n = len(sources)
    steps = np.full((n, 2), np.nan)
    steps[:, 0] = [s.steps for s in sources]
    return RegionDataset(
        SPACE,
        tuple(sources),
        np.stack([returns, returns[:, ::-1]]),
        np.ones((2, n)),
        np.ones((2, n)),
        steps,
        np.arange(4.0 * n).reshape(2, n, 2),
        {"name": "made up", "recipe": {"training": {"total_timesteps": UNIT}, "family": FAMILY}},
    )


DATA = region_dataset()


class TestAnswers:
    def test_runs_of_generalists(self):
        assert generalist_runs(DATA) == [[0, 1, 2], [3, 4, 5]]

    def test_a_generalist_is_never_longer_than_what_is_paid_for(self):
        answers = Answers(DATA, run=1)
        assert answers.next(SPACE.whole(steps=UNIT)) == 3
        assert answers.next(SPACE.whole(0)) == 4
        assert answers.next(SPACE.whole(1, UNIT)) == 4  # 3 units: there are 2 and 4
        assert answers.next(SPACE.whole(2, UNIT)) == 5
        assert answers.next(SPACE.whole(3, UNIT)) == 5
        assert Answers(DATA).next(SPACE.whole(steps=UNIT // 2)) == 0  # none is as short

    @pytest.mark.parametrize(
        ("source", "numbers"),
        [
            (Source.at(CENTERS[3]), POINTS),
            (Source.at(CENTERS[3], 0.1), POINTS),
            (Source.at(CENTERS[3], 0.2), SCRATCH),
            (Source.at(CENTERS[3], 0.9), SCRATCH),
            (Source.at(CENTERS[3], 0.25, None, 10), SCRATCH),
        ],
    )
    def test_start_width_and_center(self, source, numbers):
        assert Answers(DATA).next(source) == numbers[3]

    def test_width_comes_before_steps(self):
        longer = Source.at(CENTERS[3], 0.25, None, 4 * UNIT)
        answers = Answers(region_dataset([*SOURCES, longer]))
        assert answers.next(Source.at(CENTERS[3], 0.0, None, 4 * UNIT)) == POINTS[3]
        assert answers.next(Source.at(CENTERS[3], 0.25, None, 3 * UNIT)) == len(SOURCES)

    def test_a_parent_of_another_length_is_some_way_off(self):
        spot = [0.5, 0.5]
        others = [Source.at(spot, 0.5, parent, UNIT) for parent in (0, 1, 2)]
        answers = Answers(region_dataset([*WHOLE, *others]))
        for parent in (None, 0, 1, 2):
            answers.next(SPACE.whole(parent, UNIT))
        assert answers.next(Source.at(spot, 0.5, 3, UNIT)) == 8  # 4 units
        assert answers.next(Source.at(spot, 0.5, 0, UNIT)) == 6  # 1 unit
        assert answers.next(Source.at([0.9, 0.5], 0.5, 2, UNIT)) == 7  # what is left

    def test_every_specialist_is_taken_once(self):
        answers = Answers(DATA)
        found = [answers.next(Source.at(CENTERS[3])) for _ in POINTS]
        assert sorted(found) == list(POINTS)
        later = [answers.next(Source.at(CENTERS[3])) for _ in SCRATCH]
        assert (later[0], sorted(later)) == (SCRATCH[3], list(SCRATCH))
        assert answers.next(Source.at(CENTERS[3])) == POINTS[3]  # all were taken: again
        distance = [np.abs(np.subtract(SOURCES[n].center, CENTERS[3])).sum() for n in found]
        assert all(a <= b + 1e-9 for a, b in pairwise(distance))


class TestSimulation:
    def test_what_is_told_and_spent(self):
        selector = GeneralistFirstSelector(SPACE, steps=UNIT)
        found = simulate_regions(selector, DATA, 5 * UNIT, seed=1, run=1)
        assert found.answers[0] == 3
        assert found.steps[-1] <= 5 * UNIT
        assert np.diff([0, *found.steps]).tolist() == [s.steps for s in found.sources]
        rows = DATA.returns[1, found.answers]
        assert found.curve == pytest.approx(
            [rows[:k].max(axis=0).mean() for k in range(1, len(rows) + 1)]
        )
        for trial, number in zip(selector.trials, found.answers, strict=False):
            assert np.array_equal(trial.row, DATA.returns[1, number])
            assert trial.run.curve == DATA.curve(1, number)
        assert selector.trials[len(found.answers)].row is None  # it could not be paid for

    def test_reached(self):
        found = simulate_regions(make_selector("random", SPACE, seed=0), DATA, 3 * UNIT)
        assert found.steps == [UNIT, 2 * UNIT, 3 * UNIT]
        assert set(found.answers) <= set(POINTS)
        assert found.reached(UNIT - 1) is None
        assert found.reached(UNIT) == found.reached(2 * UNIT - 1) == found.curve[0]
        assert found.reached(99 * UNIT) == found.curve[2]


def oracle_by_brute_force(dataset, budget, allowed, lowest):
    """The same greedy choice, by comparing sets of policies."""
    rows, taken, left = dataset.returns[0], [], budget

    def mean_best(some):
        return np.vstack([np.full(rows.shape[1], lowest), rows[sorted(some)]]).max(axis=0).mean()

    while True:
        options = []
        for number in allowed:
            needed = {number, *ancestors(dataset.sources, number)} - set(taken)
            cost = sum(dataset.sources[n].steps for n in needed)
            if number not in taken and cost <= left:
                gain = mean_best({*taken, *needed}) - mean_best(taken)
                options.append((gain / cost, -number, needed, cost))
        if not options or max(options)[0] <= 1e-12:
            return taken
        _, _, needed, cost = max(options, key=lambda option: option[:2])
        taken += sorted(needed)
        left -= cost


class TestOracle:
    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("budget", [UNIT // 2, UNIT, 3 * UNIT, 7 * UNIT + 1])
    def test_against_brute_force(self, seed, budget):
        dataset = region_dataset(seed=seed)
        everything = range(len(SOURCES))
        for allowed, lowest in ((everything, 0.0), (POINTS, 0.0), (everything, -50.0)):
            found = greedy_sources(dataset, budget, among=allowed, lowest=lowest)
            assert found == oracle_by_brute_force(dataset, budget, allowed, lowest)
            assert dataset.steps[found].sum() <= budget

    def test_parents_are_paid_for_once_and_come_first(self):
        found = greedy_sources(DATA, 6 * UNIT)
        assert len(set(found)) == len(found)
        for place, number in enumerate(found):
            parent = SOURCES[number].parent
            assert parent is None or parent in found[:place]


@pytest.mark.skipif(not SCRIPTS.exists(), reason="not part of a wheel")
class TestJudging:
    @pytest.fixture
    def script(self, monkeypatch):
        monkeypatch.syspath_prepend(SCRIPTS)
        return importlib.import_module("judge_regions")

    def test_all_methods(self, script, tmp_path, monkeypatch):
        DATA.save(tmp_path / "made-up.npz")
        given = ["judge_regions", "--data", str(tmp_path / "made-up.npz")]
        monkeypatch.setattr("sys.argv", [*given, "--out", str(tmp_path / "result.json")])
        script.main()
        result = json.loads((tmp_path / "result.json").read_text())
        found = result["data"]["made up"]["methods"]
        assert list(found) == list(script.METHODS)
        means = {name: np.mean(one["coverage"], axis=0) for name, one in found.items()}
        marks = result["marks"]
        for name, coverage in means.items():
            assert (np.diff(coverage) >= -1e-9).all() or name.startswith("oracle"), name
            assert (coverage <= means["oracle: regions"] + 0.02).all(), name
        # A generalist of 12 units: the longest that there is, of 4, in each run of each seed.
        longest = DATA.returns[:, [2, 5]].mean() / 500
        assert means["generalist"][marks.index(12)] == pytest.approx(longest, abs=1e-4)
