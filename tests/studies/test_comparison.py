"""Several studies on one space in one table, one figure and some words."""

import json
import re

import numpy as np
import pytest
import scipy
from typer.testing import CliRunner

from sdmbtl.cli import app
from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import StudyError
from sdmbtl.studies import Study
from sdmbtl.studies.comparison import Comparison, Method, compare_studies

SPACE = ContextSpace(mass=[1.0, 2.0, 4.0, 8.0])


def make(path, rows, *, space=SPACE, return_range=(0.0, 10.0), seed=0):
    """A study whose policies were trained elsewhere."""
    study = Study.open(path, space=space, return_range=return_range, selector="random", seed=seed)
    for row in rows:
        study.tell(study.ask(), row)
    return study


@pytest.fixture
def methods(tmp_path):
    rng = np.random.default_rng(0)
    for seed in range(3):
        for name, level in (("good", 6.0), ("bad", 3.0)):
            rows = level + rng.uniform(0, 1, (3, 4))
            make(tmp_path / name / f"seed-{seed}", rows, seed=seed)
    return tmp_path


def test_curves_are_the_coverage_of_the_policies_so_far(methods):
    found = compare_studies([methods / "good", methods / "bad"])
    assert (found.unit, found.is_share, found.targets) == ("policies", True, 4)
    assert [method.name for method in found.methods] == ["good", "bad"]
    for method in found.methods:
        for seed, (costs, coverages) in enumerate(method.curves):
            study = Study.open(methods / method.name / f"seed-{seed}")
            assert costs.tolist() == [1, 2, 3]
            best = np.maximum.accumulate([trial.row for trial in study.trials])
            assert coverages == pytest.approx(best.mean(axis=1) / 10)


def test_intervals_are_those_of_student_and_welch(methods):
    found = compare_studies([methods / "bad", methods / "good"])
    method = found.methods[1]
    values = method.levels(3)
    low, high = scipy.stats.t.interval(0.95, 2, np.mean(values), scipy.stats.sem(values))
    assert method.at(3) == pytest.approx(((low + high) / 2, (high - low) / 2))
    (verdict,) = found.verdicts()
    lead = 100 * (np.mean(found.methods[1].levels(3)) - np.mean(found.methods[0].levels(3)))
    assert verdict.startswith(f"good against bad at 3 policies: ahead by {lead:.1f} ± ")
    values = [method.levels(3) for method in found.methods]
    tested = scipy.stats.ttest_ind(values[1], values[0], equal_var=False).confidence_interval(0.95)
    width = (tested.high - tested.low) / 2
    assert verdict.endswith(f"± {100 * width:.1f} points")


def test_before_the_first_policy_nothing_is_known():
    method = Method("one", ((np.array([100.0, 200.0]), np.array([0.5, 0.6])),))
    assert np.isnan(method.at(99)[0])
    assert [method.at(cost)[0] for cost in (100, 150, 200, 900)] == [0.5, 0.5, 0.6, 0.6]
    late = Method("late", ((np.array([300.0]), np.array([0.9])),))
    found = Comparison((late, method), "steps", is_share=True, targets=4)
    assert found.verdicts() == ["one against late at 200 steps: not known: late has no policy yet"]


def test_the_command_prints_and_gives_json(methods):
    words = ["compare", str(methods / "good"), str(methods / "bad")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "Coverage in %, 4 tasks, mean and 95 % interval over studies:" in done.output
    assert re.search(r"good +3 +6\d\.\d ± \d", done.output), "in percent"
    assert "good against bad at 3 policies" in done.output
    data = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert [method["studies"] for method in data["methods"]] == [3, 3]
    assert data["marks"] == [1, 2, 3]


def test_what_cannot_be_compared_is_named(methods, tmp_path):
    make(tmp_path / "other", [[1.0, 2.0]], space=ContextSpace(mass=[1.0, 2.0]))
    with pytest.raises(StudyError, match=r"has 2 targets of \(mass\).*has others"):
        compare_studies([methods / "good", tmp_path / "other"])
    with pytest.raises(StudyError, match="There is no study in"):
        compare_studies([tmp_path / "nothing"])
    make(tmp_path / "empty", [])
    with pytest.raises(StudyError, match="has no finished policy yet"):
        compare_studies([tmp_path / "empty"])


def test_returns_without_a_range_are_means(tmp_path):
    make(tmp_path / "a", [[1.0, 2.0, 3.0, 4.0]], return_range=None)
    found = compare_studies([tmp_path / "a"])
    assert not found.is_share
    assert found.methods[0].at(1)[0] == pytest.approx(2.5)
    assert found.verdicts() == []
