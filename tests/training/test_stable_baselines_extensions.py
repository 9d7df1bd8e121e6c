"""What users bring to the trainer sb3: callbacks, TensorBoard, policy classes, sb3-contrib."""

import importlib.util
import json
import sys

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.environments import make_family
from sdmbtl.errors import PolicyError, TrainerError
from sdmbtl.policies import policy_bytes, policy_from_bytes, stable_baselines_names
from sdmbtl.studies import Study
from sdmbtl.training import TrainerSpec, TrainingJob
from sdmbtl.training.stable_baselines import StableBaselinesTrainer

SPACES = {
    "CartPole": ContextSpace(length=[0.5, 1.0]),
    "Pendulum": ContextSpace(gravity=[9.0, 10.0]),
}
TINY = {"total_timesteps": 128, "num_envs": 2, "num_steps": 16, "eval_episodes": 1}
NARROW = "own_networks:NarrowPolicy"


def trainer(family="CartPole", **options):
    family = make_family(family, space=SPACES[family])
    return StableBaselinesTrainer(family, family.space(), **options)


def trained(own):
    (training,) = own.train([TrainingJob(own.space.targets[:1], 0)])
    return training


# -- callbacks and TensorBoard -----------------------------------------------------------


def test_callbacks_are_named_and_made_for_each_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = trainer(**TINY, callbacks=["own_networks:make_counter"])
    assert json.loads(json.dumps(own.settings()))["callbacks"] == ["own_networks:make_counter"]
    plain = trained(trainer(**TINY))
    for _ in range(2):
        watched = trained(own)
        assert (tmp_path / "steps.txt").read_text() == "64 128"
        assert policy_bytes(watched.policy) == policy_bytes(plain.policy)
    stopped = trained(trainer(**TINY, callbacks=["own_networks:StopEarly"]))
    assert stopped.steps == 100 == stopped.curve[-1][0], "the steps that were taken"


@pytest.mark.parametrize(
    ("callbacks", "text"),
    [
        ("own_networks:make_counter", "'callbacks' lists names.*Got 'own_networks:make_counter'"),
        ([print], "'callbacks' lists names as 'module:function'.*Got .<built-in"),
        (["make_counter"], "A callback is given as 'module:function'.*Got 'make_counter'"),
        (["own_networks:make_count"], "has no 'make_count'.*Did you mean 'make_counter'"),
        (["no_such_module:make"], "There is no module 'no_such_module', needed for the callback"),
    ],
)
def test_callbacks_that_cannot_be_used(callbacks, text):
    with pytest.raises(TrainerError, match=text):
        trainer(**TINY, callbacks=callbacks)


def test_a_callback_that_is_none():
    with pytest.raises(TrainerError, match="'own_networks:make_nothing' must give a BaseCallback"):
        trained(trainer(**TINY, callbacks=["own_networks:make_nothing"]))


def test_curves_for_tensorboard(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    training = trained(trainer(**TINY, tensorboard_log=str(tmp_path)))
    (folder,) = tmp_path.iterdir()
    assert folder.name == "PPO length=0.5 seed=0"
    found = EventAccumulator(str(folder)).Reload()
    assert "train/loss" in found.Tags()["scalars"]
    curve = found.Scalars("eval/mean_return")
    assert curve[-1].step == training.steps
    assert curve[-1].value == pytest.approx(training.curve[-1][1])


def test_tensorboard_that_cannot_be_used(monkeypatch):
    with pytest.raises(TrainerError, match="'tensorboard_log' is the path of a directory. Got 5"):
        trainer(**TINY, tensorboard_log=5)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(TrainerError, match=r"not installed.*pip install 'sdmbtl\[tensorboard\]'"):
        trainer(**TINY, tensorboard_log="logs")


# -- policy classes of one's own ---------------------------------------------------------


def test_a_policy_class_by_name(monkeypatch):
    own = trainer(**TINY, policy=NARROW)
    policy = trained(own).policy
    assert policy.weights()["action_net.weight"].shape == (2, 3)
    again = policy_from_bytes(policy_bytes(policy))
    observations = np.random.default_rng(0).normal(size=(9, 4))
    assert np.array_equal(again.act(observations), policy.act(observations))
    assert policy.acting().weights().keys() == policy.weights().keys(), "all may be needed"
    spec = TrainerSpec.from_dict(json.loads(json.dumps(TrainerSpec.of(own).to_dict())))
    assert spec.make_trainer().policy == NARROW
    child = own.train([TrainingJob(own.space.targets[:1], 1, parent=again)])
    assert child[0].curve[0][0] == 0


def test_a_policy_file_imports_nothing(monkeypatch, tmp_path):
    content = policy_bytes(trained(trainer(**TINY, policy=NARROW)).policy)
    monkeypatch.setattr(stable_baselines_names, "_TRUSTED", {})
    with pytest.raises(PolicyError, match="files are not imported.*trust_policy_class"):
        policy_from_bytes(content)
    stable_baselines_names.trust_policy_class(NARROW)
    policy_from_bytes(content)


def test_a_study_trusts_its_own_policy_class(tmp_path, monkeypatch):
    study = Study.open(
        tmp_path / "study",
        "CartPole",
        space=SPACES["CartPole"],
        trainer="sb3",
        trainer_options={**TINY, "policy": NARROW, "minibatch_size": 32, "update_epochs": 1},
        episodes=1,
    )
    study.run(budget=1)
    monkeypatch.setattr(stable_baselines_names, "_TRUSTED", {})
    assert len(Study.open(tmp_path / "study").portfolio()) == 1


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        ("own_networks:Narrow", "has no 'Narrow', needed for the policy class"),
        (":Narrow", "A policy class is given as 'module:Class'"),
        ("own_networks:make_counter", "is a subclass of a policy of Stable-Baselines3"),
    ],
)
def test_policy_classes_that_cannot_be_used(policy, text):
    with pytest.raises(TrainerError, match=text):
        trainer(**TINY, policy=policy)


# -- sb3-contrib -------------------------------------------------------------------------

OFF_POLICY = {"buffer_size": 200, "learning_starts": 10, "policy_kwargs": {"net_arch": [8]}}


@pytest.mark.parametrize(
    ("algorithm", "family", "options"),
    [
        ("TRPO", "Pendulum", {"num_steps": 16, "minibatch_size": 16}),
        ("TQC", "Pendulum", {"hyperparameters": OFF_POLICY, "minibatch_size": 8}),
        ("CrossQ", "Pendulum", {"hyperparameters": OFF_POLICY, "minibatch_size": 8}),
        ("QRDQN", "CartPole", {"hyperparameters": OFF_POLICY, "minibatch_size": 8}),
        ("ARS", "CartPole", {"policy": "LinearPolicy", "hyperparameters": {"n_delta": 2}}),
    ],
)
def test_algorithms_of_sb3_contrib(algorithm, family, options):
    own = trainer(
        family, algorithm=algorithm, total_timesteps=24, num_envs=2, eval_episodes=1, **options
    )
    policy = trained(own).policy
    size = policy.architecture.observation_space.shape
    batch = np.random.default_rng(0).normal(size=(20, *size)).astype(np.float32)
    for again in (policy, policy.acting()):
        loaded = policy_from_bytes(policy_bytes(again))
        assert np.array_equal(loaded.act(batch), policy.act(batch))
    assert policy_bytes(trained(own).policy) == policy_bytes(policy)


def test_algorithms_that_cannot_be_used(monkeypatch):
    with pytest.raises(TrainerError, match="'RecurrentPPO' cannot be used: .* remember"):
        trainer(algorithm="RecurrentPPO")
    with pytest.raises(TrainerError, match="'MaskablePPO' cannot be used: .* allowed"):
        trainer(algorithm="MaskablePPO")
    found = importlib.util.find_spec
    monkeypatch.setattr(
        stable_baselines_names, "find_spec", lambda n: None if n == "sb3_contrib" else found(n)
    )
    with pytest.raises(TrainerError, match=r"'TQC' needs sb3-contrib.*'sdmbtl\[contrib\]'"):
        trainer(algorithm="TQC")
