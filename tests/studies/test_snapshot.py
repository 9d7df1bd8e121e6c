"""A study at one moment: numbers, and the sentences that are made of them."""

from dataclasses import replace

import numpy as np
import pytest
from report_studies import SPACES, told_study

from sdmbtl import ContextSpace
from sdmbtl.selectors.trial import TrainingRun
from sdmbtl.studies import Study
from sdmbtl.studies.describe import (
    headline,
    problem_lines,
    result_lines,
    status_lines,
)

SPACE = ContextSpace(a=range(5), b=range(4))


def told(path, *rows, return_range=(0.0, 10.0), **options):
    study = Study.open(path, space=SPACE, selector="random", return_range=return_range, **options)
    for row in rows:
        study.tell(study.ask(), row)
    return study


def test_the_end_of_a_run(tmp_path):
    good, bad = np.full(20, 9.0), np.full(20, 8.0)
    good[:2] = 1.0
    bad[0] = 1.5
    lines = result_lines(told(tmp_path / "mine", good, bad, bad / 2).snapshot())
    assert lines == [
        "3 policies: coverage 85.8 %",
        "best single policy 82.0 % (policy 0)",
        "1 of 20 tasks badly covered, mostly a 0 with b 0",
        "No policy has solved them; they may be unsolvable.",
    ]


def test_without_a_range_it_is_the_mean_best_return(tmp_path):
    rows = [np.linspace(0.0, top, 20) for top in (5.0, 8.0, 10.0)]
    snapshot = told(tmp_path / "mine", *rows, return_range=None).snapshot()
    assert snapshot.coverage is None
    assert snapshot.covered.mean == pytest.approx(0.5)
    assert (snapshot.covered.returns, snapshot.covered.known) == ((0.0, 10.0), False)
    assert headline(snapshot) == "3 policies: mean best return 5"
    assert "best single policy 5 (policy 2)" in result_lines(snapshot)


def test_rows_in_part(tmp_path):
    row = np.full(20, np.nan)
    row[:5] = [2.0, 4.0, 6.0, 8.0, 10.0]
    snapshot = told(tmp_path / "mine", row).snapshot()
    assert snapshot.best_single.id == 0, "as predicted"
    assert (snapshot.covered.targets, snapshot.evaluated_targets) == (20, 5)
    assert 0.3 < snapshot.coverage < 0.9
    assert headline(snapshot) == f"1 policy: coverage {100 * snapshot.coverage:.1f} %"
    assert sum("15 of" in line and "predicted" in line for line in status_lines(snapshot)) == 1


def test_steps_are_those_of_training_and_evaluation(tmp_path):
    snapshot = told(tmp_path / "mine", np.full(20, 9.0)).snapshot()
    policy = snapshot.rounds[0]
    trained = replace(policy, trial=policy.trial.updated(run=TrainingRun(steps=276_000)))
    paid = replace(snapshot, rounds=(trained,), evaluation_steps=136_000)
    assert headline(paid) == "1 policy, 412,000 steps: coverage 90.0 %"
    assert "Steps: 276,000 of training, 136,000 of evaluation." in status_lines(paid)
    status = paid.to_dict()
    assert (status["steps"], status["training_steps"]) == (412_000, 276_000)


def test_gains_and_forecasts(tmp_path):
    study = told_study(tmp_path / "mine", SPACES["plane"], policies=4, selector="predictive")
    snapshot = study.snapshot()
    levels = [10 * policy.coverage for policy in snapshot.rounds]
    assert [policy.gain for policy in snapshot.rounds[1:]] == pytest.approx(np.diff(levels))
    assert snapshot.next_gain == study.selector.remaining_gain(1)
    lines = status_lines(snapshot)
    assert f"Another policy: about {10 * snapshot.next_gain:+.1f} points." in lines
    assert sum(line.startswith("Forecasts so far, for") for line in lines) == 1
    assert sum(line.startswith("Weights of the models: ") for line in lines) == 1
    study.ask()
    assert any("after the pending ones" in line for line in result_lines(study.snapshot()))


def test_problems_are_named_once(tmp_path):
    study = told(tmp_path / "mine", np.full(20, 9.0), np.full(20, 8.0))
    study.tell(study.ask(), status="failed", error="no memory")
    study.forget(1, reason="wrong file")
    study.ask()
    assert problem_lines(study.snapshot()) == [
        "1 policy pending",
        "1 policy failed",
        "1 policy forgotten",
        "policy 1: forgotten: wrong file",
        "policy 2: failed: no memory",
    ]


def test_one_error_in_several_contexts_is_told_once(tmp_path):
    study = told(tmp_path / "mine")
    for _ in range(3):
        trial = study.ask()
        error = f"The environment failed in the context {trial.context}: ValueError: no"
        study.tell(trial, status="failed", error=error)
    (line,) = [line for line in problem_lines(study.snapshot()) if "ValueError" in line]
    assert line.startswith("policies 0, 1, 2: failed: ")
