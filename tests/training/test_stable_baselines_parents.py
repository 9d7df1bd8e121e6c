"""Training with Stable-Baselines3 that starts from another policy."""

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.environments import make_family
from sdmbtl.errors import TrainerError
from sdmbtl.policies import MlpPolicy, policy_bytes, policy_from_bytes
from sdmbtl.training import TrainingJob
from sdmbtl.training.stable_baselines import StableBaselinesTrainer
from sdmbtl.training.stable_baselines_parents import start_from_parent

SPACES = {
    "CartPole": ContextSpace(length=[0.5, 1.0]),
    "Pendulum": ContextSpace(gravity=[9.0, 10.0]),
}
SMALL = {"policy_kwargs": {"net_arch": [8]}}
OFF_POLICY = {**SMALL, "buffer_size": 200, "learning_starts": 20}


def trainer(family="CartPole", **options):
    options = {
        "total_timesteps": 128,
        "num_envs": 2,
        "eval_episodes": 1,
        "hyperparameters": SMALL,
    } | options
    return StableBaselinesTrainer(
        make_family(family, space=SPACES[family]), SPACES[family], **options
    )


def trained(own, family="CartPole", **job):
    (training,) = own.train([TrainingJob(SPACES[family].targets[:1], job.pop("seed", 0), **job)])
    return training


CASES = [
    ("PPO", "CartPole", {"learning_rate": 0.0}, {}),
    ("PPO", "Pendulum", {"learning_rate": 0.0}, {"use_sde": True}),
    ("A2C", "Pendulum", {"learning_rate": 0.0}, {}),
    ("SAC", "Pendulum", {"learning_rate": 0.0}, {"tau": 0.0}),
    ("DQN", "CartPole", {"learning_rate": 0.0}, {"tau": 0.0}),
    ("TRPO", "CartPole", {"learning_rate": 0.0}, {"line_search_max_iter": 0}),
    ("ARS", "CartPole", {"learning_rate": 0.0}, {"delta_std": 0.1, "n_delta": 1, "n_top": 1}),
]


@pytest.mark.parametrize(("algorithm", "family", "still", "more"), CASES)
def test_without_learning_the_child_is_the_parent(algorithm, family, still, more):
    """All weights are taken over; only exploration begins anew."""
    off_policy = algorithm in ("SAC", "DQN")
    own = {**(OFF_POLICY if off_policy else SMALL), **more}
    options = {"algorithm": algorithm, "total_timesteps": 40, "family": family}
    if algorithm not in ("A2C", "ARS"):
        options["minibatch_size"] = 8
    moving = {k: v for k, v in own.items() if k not in ("tau", "line_search_max_iter")}
    parent = trained(trainer(**options, hyperparameters=moving), family).policy
    resting = trainer(**options, **still, hyperparameters=own)
    child = trained(resting, family, seed=9, parent=parent)
    assert child.curve[0][0] == 0, "the parent is evaluated first"
    before, after = parent.weights(), child.policy.weights()
    assert before.keys() == after.keys()
    for name, weight in before.items():
        if name.rpartition(".")[2] == "log_std":
            assert not after[name].any() or algorithm != "A2C", "as from scratch"
        else:
            assert np.array_equal(after[name], weight), name
    again = policy_from_bytes(policy_bytes(parent))
    repeated = trained(resting, family, seed=9, parent=again)
    assert policy_bytes(repeated.policy) == policy_bytes(child.policy)


def test_nothing_worse_than_the_parent_is_returned():
    parent = trained(trainer(total_timesteps=600, update_epochs=3, learning_rate=1e-2))
    child = trained(trainer(learning_rate=1.0, update_epochs=2), parent=parent.policy)
    assert child.source_return == max(value for _, value in child.curve)
    assert child.curve[-1][1] < child.curve[0][1], "such a learning rate ruins it"
    assert child.source_return >= child.curve[0][1]


def test_the_normaliser_continues_and_exploration_is_restored():
    own = trainer("Pendulum", num_steps=16)
    parent = trained(own, "Pendulum").policy
    # The observations of the last step are counted, and those of the first reset.
    seen = parent.normalization.seen
    assert 0 < seen <= 128 + 2 + 1
    assert parent.returns is not None
    environments = own._environments(TrainingJob([[9.0]], 5), 5)
    model = own._model(environments, 5, 128)
    start_from_parent(model, parent, 128)
    assert np.array_equal(environments.obs_rms.mean, parent.normalization.mean)
    assert np.array_equal(environments.obs_rms.var, parent.normalization.variance)
    assert environments.obs_rms.count == seen
    assert float(environments.ret_rms.var) == parent.returns.variance
    assert not model.policy.log_std.detach().numpy().any()
    assert parent.weights()["log_std"].numpy().any()
    child = trained(own, "Pendulum", seed=5, parent=parent)
    if child.source_return > child.curve[0][1]:
        assert child.policy.normalization.seen > seen
    environments.close()


def test_an_exported_policy_acts_alike_and_is_smaller():
    short = {"total_timesteps": 30, "minibatch_size": 8, "hyperparameters": OFF_POLICY}
    own = trainer("Pendulum", algorithm="SAC", **short)
    policy = trained(own, "Pendulum").policy
    acting = policy_from_bytes(policy_bytes(policy.acting()))
    assert {name.partition(".")[0] for name in acting.weights()} == {"actor"}
    assert len(policy_bytes(acting)) < len(policy_bytes(policy)) / 2
    observations = np.random.default_rng(0).normal(size=(20, 3))
    assert np.array_equal(acting.act(observations), policy.act(observations))
    assert policy_bytes(acting.acting()) == policy_bytes(acting)


@pytest.mark.parametrize(("algorithm", "target"), [("PPO", None), ("DQN", "q_net_target")])
def test_an_exported_policy_gets_fresh_critics(algorithm, target):
    more = {} if target is None else {**OFF_POLICY, "target_update_interval": 10_000}
    own = trainer(algorithm=algorithm, hyperparameters={**SMALL, **more}, learning_rate=1e-3)
    full = trained(own).policy
    exported = full.acting()
    assert exported.normalization is None or exported.normalization.seen is None
    assert exported.returns is None
    model = own._model(own._environments(TrainingJob([[0.5]], 3), 3), 3, 128)
    fresh = {name: tensor.clone() for name, tensor in model.policy.state_dict().items()}
    start_from_parent(model, exported, 128)
    state = model.policy.state_dict()
    for name, weight in exported.weights().items():
        assert np.array_equal(state[name], weight)
        if target is not None:
            assert np.array_equal(state[name.replace("q_net", target, 1)], weight), "a copy"
    if target is None:
        assert np.array_equal(state["value_net.weight"], fresh["value_net.weight"])
        assert model.get_vec_normalize_env().obs_rms.count == 128, "as much as is usual"


def test_parents_that_do_not_fit():
    parent = trained(trainer(num_steps=16)).policy
    for other, text in [
        (trainer(hyperparameters={"policy_kwargs": {"net_arch": [9]}}), "policy_kwargs={'net_arc"),
        (trainer(algorithm="A2C"), "a policy with algorithm='PPO', for here it is 'A2C'"),
        (trainer(observe_context=True), "observation_space="),
        (trainer(norm_obs=False), r"another norm_obs \(here False\)"),
    ]:
        with pytest.raises(TrainerError, match=text):
            trained(other, parent=parent)
    layer = MlpPolicy([np.zeros((4, 2))], [np.zeros(2)], np.zeros(4), np.ones(4))
    with pytest.raises(TrainerError, match="'sb3' starts from its own policies"):
        trained(trainer(), parent=layer)


def test_a_trainer_that_cannot_start_from_a_parent_says_so(monkeypatch):
    parent = trained(trainer(num_steps=16)).policy
    monkeypatch.setattr(StableBaselinesTrainer, "starts_from_parent", False)
    with pytest.raises(TrainerError, match="'sb3' cannot start from another policy.*--init scr"):
        trained(trainer(), parent=parent)
