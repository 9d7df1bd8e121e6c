"""Scalars for TensorBoard, read back as TensorBoard reads them."""

import sys

import pytest
from small_study import open_small

from sdmbtl.errors import MissingPackageError


def scalars(directory, tag):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulator.EventAccumulator(str(directory))
    events.Reload()
    return [(e.step, e.value) for e in events.Scalars(tag)]


def single(pairs):
    """As TensorBoard keeps them: with single precision."""
    return [(step, pytest.approx(value, rel=1e-6)) for step, value in pairs]


def coverages(study):
    rounds = study.status()["rounds"]
    return [(4096 * (n + 1), entry["coverage"]) for n, entry in enumerate(rounds)]


def interrupt_second_policy(event):
    if event.stage == "training" and event.trial.id == 1:
        raise KeyboardInterrupt


def test_scalars(tmp_path):
    study, board = open_small(tmp_path / "study"), tmp_path / "board"
    study.run(budget=2, tensorboard=board)
    assert sorted(p.name for p in board.iterdir()) == ["policy-0000", "policy-0001", "study"]
    for trial in study.trials:
        run = board / f"policy-{trial.id:04d}"
        assert scalars(run, "train/mean_return") == single(trial.run.curve)
        assert [step for step, _ in scalars(run, "train/steps_per_second")] == [4096]
    assert scalars(board / "study", "study/coverage") == single(coverages(study))
    best = [(step, value * 500) for step, value in coverages(study)]
    assert scalars(board / "study", "study/mean_best_return") == single(best)


def test_a_resumed_run_continues_and_replaces_what_is_trained_again(tmp_path):
    study, board = open_small(tmp_path / "study"), tmp_path / "board"
    with pytest.raises(KeyboardInterrupt):
        study.run(budget=3, tensorboard=board, callbacks=[interrupt_second_policy])
    assert [step for step, _ in scalars(board / "policy-0001", "train/mean_return")] == [2048]
    study.run(budget=3, tensorboard=board)
    curve = scalars(board / "policy-0001", "train/mean_return")
    assert curve == single(study.trials[1].run.curve)
    assert scalars(board / "study", "study/coverage") == single(coverages(study))


def test_policies_that_are_trained_side_by_side_have_their_own_curves(tmp_path):
    study, board = open_small(tmp_path / "study", batch=2), tmp_path / "board"
    study.run(budget=2, tensorboard=board)
    for trial in study.trials:
        curve = scalars(board / f"policy-{trial.id:04d}", "train/mean_return")
        assert curve == single(trial.run.curve)


def test_without_tensorboard_nothing_is_begun(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard.summary.writer.event_file_writer", None)
    study = open_small(tmp_path / "study")
    with pytest.raises(MissingPackageError, match=r"pip install 'sdmbtl\[tensorboard\]'"):
        study.run(budget=1, tensorboard=tmp_path / "board")
    assert not study.trials
