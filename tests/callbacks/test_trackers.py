"""Scalars for trackers, read back from the files that they write without a server."""

import sys

import gymnasium
import numpy as np
import pytest
from small_study import open_small

from sdmbtl import ContextSpace
from sdmbtl.errors import MissingPackageError, StudyError
from sdmbtl.studies import Study


def scalars(directory, tag):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulator.EventAccumulator(str(directory))
    events.Reload()
    return [(e.step, e.value) for e in events.Scalars(tag)]


def single(pairs):
    """As TensorBoard keeps them: with single precision."""
    return [(step, pytest.approx(value, rel=1e-6)) for step, value in pairs]


def coverages(study):
    played = [4096 + trial.run.evaluation_steps for trial in study.trials]
    steps = study.random_actions.steps + np.cumsum(played)
    return [(n, e["coverage"]) for n, e in zip(steps, study.status()["rounds"], strict=True)]


def interrupt_second_policy(event):
    if event.stage == "training" and event.trial.id == 1:
        raise KeyboardInterrupt


def test_a_resumed_run_continues_and_replaces_what_is_trained_again(tmp_path):
    study, board = open_small(tmp_path / "study"), tmp_path / "study" / "tensorboard"
    with pytest.raises(KeyboardInterrupt):
        study.run(budget=2, log=["tensorboard"], callbacks=[interrupt_second_policy])
    assert [step for step, _ in scalars(board / "policy-0001", "eval/mean_return")] == [2048]
    study.run(budget=2, log=["tensorboard"])
    assert sorted(p.name for p in board.iterdir()) == ["policy-0000", "policy-0001", "study"]
    for trial in study.trials:
        run = board / f"policy-{trial.id:04d}"
        assert scalars(run, "eval/mean_return") == single(trial.run.curve)
    speeds = scalars(board / "policy-0000", "train/steps_per_second")
    assert [step for step, _ in speeds] == [4096]
    assert scalars(board / "study", "study/coverage") == single(coverages(study))
    best = [(step, value * 500) for step, value in coverages(study)]
    assert scalars(board / "study", "study/mean_best_return") == single(best)


def test_policies_that_are_trained_side_by_side_have_their_own_curves(tmp_path):
    study, board = open_small(tmp_path / "study", batch=2), tmp_path / "study" / "tensorboard"
    study.run(budget=2, log=["tensorboard"])
    for trial in study.trials:
        curve = scalars(board / f"policy-{trial.id:04d}", "eval/mean_return")
        assert curve == single(trial.run.curve)


def test_an_evaluation_is_written_once_at_its_step(tmp_path):
    """Of many updates only some are followed by an evaluation."""
    study = Study.open(
        tmp_path / "study",
        lambda context: gymnasium.make("Pendulum-v1", g=context["g"], max_episode_steps=20),
        space=ContextSpace(g=[5.0, 10.0]),
        selector="random",
        episodes=1,
        trainer_options={
            "total_timesteps": 1024,
            "num_envs": 2,
            "num_steps": 32,
            "minibatch_size": 64,
            "eval_every": 4,
            "eval_episodes": 1,
            "update_epochs": 1,
        },
    )
    study.run(budget=1, log=["tensorboard"])
    run, (trial,) = tmp_path / "study" / "tensorboard" / "policy-0000", study.trials
    assert [step for step, _ in trial.run.curve] == [64, 256, 512, 768, 1024]
    assert scalars(run, "eval/mean_return") == single(trial.run.curve)
    speeds = [step for step, _ in scalars(run, "train/steps_per_second")]
    assert speeds == list(range(128, 1025, 64)), "of each update but the first"


def test_without_tensorboard_nothing_is_begun(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard.summary.writer.event_file_writer", None)
    study = open_small(tmp_path / "study")
    with pytest.raises(MissingPackageError, match=r"pip install 'sdmbtl\[tensorboard\]'"):
        study.run(budget=1, log=["tensorboard"])
    assert not study.trials


def test_weights_and_biases_offline(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    for name, value in (("WANDB_MODE", "offline"), ("WANDB_DIR", str(tmp_path))):
        monkeypatch.setenv(name, value)
    study = open_small(tmp_path / "study")
    study.run(budget=1, log=["wandb"])
    (file,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    content = file.read_bytes()
    assert b"study/coverage" in content
    assert b"policy-0000/eval/mean_return" in content


def test_mlflow_in_a_directory_continues_its_run(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file:{tmp_path / 'mlruns'}")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    study = open_small(tmp_path / "study")
    for budget in (1, 2):
        study.run(budget=budget, log=["mlflow"])
    client = mlflow.MlflowClient()
    at = client.get_experiment_by_name("sdmbtl").experiment_id
    (run,) = client.search_runs([at])
    points = {m.step: m.value for m in client.get_metric_history(run.info.run_id, "study/coverage")}
    assert points == {step: pytest.approx(value) for step, value in coverages(study)}
    curve = client.get_metric_history(run.info.run_id, "policy-0001/eval/mean_return")
    assert [(m.step, m.value) for m in curve] == list(study.trials[1].run.curve)


def test_an_unknown_tracker_is_refused_before_anything_is_trained(tmp_path):
    study = open_small(tmp_path / "study")
    with pytest.raises(StudyError, match="tensorboard"):
        study.run(budget=1, log=["tensorbord"])
    assert not study.trials
