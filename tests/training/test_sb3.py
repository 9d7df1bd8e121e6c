"""Training with stable-baselines3: it learns, repeats itself, and keeps to itself."""

import random
import sys
import tempfile

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces

from sdmbtl import ContextSpace
from sdmbtl.environments import FactoryFamily, make_family
from sdmbtl.errors import TrainerError, TrainingError
from sdmbtl.policies import MlpPolicy, policy_bytes, policy_from_bytes
from sdmbtl.training import TrainingJob, make_trainer
from sdmbtl.training.sb3 import SB3Trainer, hyperparameter_defaults

SMALL = {"policy_kwargs": {"net_arch": [8], "activation_fn": "torch.nn.ReLU"}}
OFF_POLICY = {**SMALL, "buffer_size": 200, "learning_starts": 20, "minibatch_size": 8}
TINY_PPO = {"num_steps": 32, "minibatch_size": 32, "update_epochs": 1}
SPACES = {
    "CartPole": ContextSpace(length=[0.5, 1.0, 2.0]),
    "Pendulum": ContextSpace(gravity=[9.0, 10.0]),
}
JOB = TrainingJob([[0.5]], seed=7)


def tiny(family="CartPole", **options):
    if isinstance(family, str):
        family = make_family(family, space=SPACES[family])
    options = {
        "total_timesteps": 256,
        "num_envs": 2,
        "eval_every": 100,
        "eval_episodes": 2,
        **SMALL,
        **(TINY_PPO if options.get("algorithm", "PPO") == "PPO" else {}),
    } | options
    return SB3Trainer(family, family.space(), **options)


def trained(job=JOB, **options):
    (training,) = tiny(**options).train([job])
    return training


def cartpole(**options):
    return SB3Trainer(
        make_family("CartPole", space=SPACES["CartPole"]), SPACES["CartPole"], **options
    )


# -- learning and selecting --------------------------------------------------------------


def test_it_learns_to_balance():
    family = make_family("CartPole")
    space = ContextSpace(length=[0.5, 0.6])
    trainer = make_trainer("sb3", family, space, total_timesteps=6_000, eval_every=2_000)
    (training,) = trainer.train([TrainingJob([[0.5]], seed=0)])
    assert training.steps == 6_144, "whole rollouts of 8 x 32 steps"
    assert training.source_return == max(value for _, value in training.curve) > 60
    assert [steps for steps, _ in training.curve] == [256, 2_048, 4_096, 6_144]
    returns = trainer.evaluate(training.policy, space.targets, episodes=10, seed=3).complete()
    assert returns.mean() > 60, "chance actions balance for about 22 steps"


@pytest.mark.parametrize(
    ("algorithm", "family", "more"),
    [
        ("PPO", "Pendulum", {"use_sde": True}),
        ("SAC", "Pendulum", OFF_POLICY),
        ("DQN", "CartPole", OFF_POLICY),
        ("ARS", "CartPole", {"policy": "LinearPolicy", "n_delta": 2, "policy_kwargs": {}}),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("A2C", "Pendulum", {}),
                ("TD3", "Pendulum", {**OFF_POLICY, "action_noise": 0.2}),
                ("DDPG", "Pendulum", {**OFF_POLICY, "train_freq": [2, "step"]}),
                ("TRPO", "Pendulum", {"num_steps": 16, "minibatch_size": 16}),
                ("TQC", "Pendulum", OFF_POLICY),
                ("CrossQ", "Pendulum", OFF_POLICY),
                ("QRDQN", "CartPole", OFF_POLICY),
            )
        ),
    ],
)
def test_every_algorithm(algorithm, family, more):
    job = TrainingJob(SPACES[family].targets[:1], 1)
    options = {"family": family, "algorithm": algorithm, "total_timesteps": 60, "eval_episodes": 1}
    policy = trained(job, **options, **more).policy
    batch = np.random.default_rng(0).normal(size=(20, *policy.observation_space.shape))
    batch = batch.astype(np.float32)
    loaded = policy_from_bytes(policy_bytes(policy))
    assert loaded.algorithm == algorithm
    assert np.array_equal(loaded.act(batch), policy.act(batch))
    assert policy_bytes(trained(job, **options, **more).policy) == policy_bytes(policy)


# -- randomness --------------------------------------------------------------------------


def global_states():
    state = np.random.get_state()  # noqa: NPY002
    torch_state = torch.get_num_threads(), torch.get_rng_state().tolist()
    return random.getstate(), state[1].tolist(), state[2], torch_state


def test_the_same_job_gives_the_same_policy_whatever_happened_before(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    first = trained(norm_obs=True, norm_reward=True)
    random.seed(99)
    np.random.seed(99)  # noqa: NPY002
    torch.manual_seed(99)
    before = global_states()
    second = trained(norm_obs=True, norm_reward=True)
    assert global_states() == before, "global generators and threads are put back"
    assert not list(tmp_path.iterdir()), "no temporary files"
    assert policy_bytes(first.policy) == policy_bytes(second.policy)
    assert first.curve == second.curve
    other = trained(TrainingJob(JOB.contexts, seed=8), norm_obs=True, norm_reward=True)
    assert policy_bytes(other.policy) != policy_bytes(first.policy)


class Noted(gymnasium.Env):
    """Five steps long; notes the contexts of its episodes, and raises `failure` if it is set."""

    observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space = spaces.Discrete(2)
    resets: list = []  # noqa: RUF012
    failure = None

    def __init__(self, context):
        # Some environments draw from the global generator when they are made.
        self.context, self.offset = context, np.random.random()  # noqa: NPY002

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        Noted.resets.append(self.context["a"])
        self.steps = 0
        return self.np_random.random(2, dtype=np.float32) * np.float32(self.offset), {}

    def step(self, action):
        self.steps += 1
        if Noted.failure is not None and len(Noted.resets) > 4:
            raise Noted.failure
        return np.zeros(2, np.float32), 1.0, False, self.steps == 5, {}


@pytest.fixture
def noted(monkeypatch):
    monkeypatch.setattr(Noted, "resets", [])
    monkeypatch.setattr(Noted, "failure", None)
    return FactoryFamily(lambda c: Noted(c), ContextSpace(a=[0.0, 1.0, 2.0]))


THREE = TrainingJob([[0.0], [1.0], [2.0]], seed=0)


def test_every_episode_takes_one_of_the_contexts(noted):
    first = trained(THREE, family=noted, eval_every=10_000, eval_episodes=1)
    episodes = Noted.resets.copy()
    shares = [episodes.count(a) / len(episodes) for a in (0.0, 1.0, 2.0)]
    assert len(episodes) > 40
    assert all(0.15 < share < 0.55 for share in shares)
    Noted.resets.clear()
    np.random.seed(5)  # noqa: NPY002
    second = trained(THREE, family=noted, eval_every=10_000, eval_episodes=1)
    assert Noted.resets == episodes
    assert policy_bytes(first.policy) == policy_bytes(second.policy)


# -- failures ----------------------------------------------------------------------------


def test_errors_of_an_environment_name_its_context(noted):
    Noted.failure = ZeroDivisionError("the wheel came off")
    text = r"context \{'a': 1.0\}: ZeroDivisionError: the wheel came off \(.*test_sb3.py:\d+\)"
    with pytest.raises(TrainingError, match=text) as caught:
        trained(TrainingJob([[1.0]], 0), family=noted)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_interrupts_pass_and_leave_the_generators(noted):
    Noted.failure = KeyboardInterrupt()
    before = global_states()
    with pytest.raises(KeyboardInterrupt):
        trained(THREE, family=noted)
    assert global_states() == before


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"algorithm": "PP0"}, "Unknown algorithm 'PP0'.*Did you mean 'PPO'"),
        ({"policy": "Mlp"}, "Unknown policy 'Mlp'; PPO has MlpPolicy"),
        ({"total_timesteps": 0}, "'total_timesteps' must be"),
        ({"eval_episodes": -1}, "'eval_episodes' must be"),
        ({"learning_rat": 1}, "'learning_rat'.*Did you mean 'learning_rate'"),
        ({"seed": 5}, "Unknown option 'seed'"),
        ({"target_kl": float("nan")}, "must be JSON data"),
        ({"algorithm": "SAC", "num_steps": 3}, "'num_steps'; 'sb3' with SAC has"),
        ({"norm_obs": 1}, "'norm_obs' must be true or false"),
        ({"policy_kwargs": {"activation_fn": torch.nn.ReLU}}, "must be JSON data"),
        ({"policy_kwargs": {"activation_fn": "ReLU"}}, "Unknown class 'ReLU'.*'torch.nn.ReLU'"),
    ],
)
def test_unusable_settings(options, text):
    with pytest.raises(TrainerError, match=text):
        tiny(**options)


def test_sb3_contrib_may_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "sb3_contrib", None)
    with pytest.raises(TrainerError, match=r"'TQC' needs sb3-contrib.*'sdmbtl\[contrib\]'"):
        tiny(algorithm="TQC")


# -- settings and progress ---------------------------------------------------------------


def test_hyperparameters_reach_the_algorithm_under_either_name():
    ours = {"num_steps": 16, "minibatch_size": 8, "update_epochs": 2, "clip_coef": 0.1}
    theirs = {"n_steps": 16, "batch_size": 8, "n_epochs": 2, "clip_range": 0.1}
    for given in (ours, theirs):
        trainer = cartpole(**given, gamma=0.98, vf_coef=0.4)
        assert {**ours, "gamma": 0.98, "vf_coef": 0.4}.items() <= trainer.settings().items()
        model = trainer._model(trainer._environments(JOB, 0), 0)
        found = {name: getattr(model, name) for name in theirs}
        found["clip_range"] = found["clip_range"](1.0)
        assert found == theirs
        assert (model.gamma, model.vf_coef) == (0.98, 0.4)
    # Off-policy algorithms have n_steps too, for returns of n steps.
    sac = SB3Trainer(
        make_family("Pendulum"),
        SPACES["Pendulum"],
        algorithm="SAC",
        ent_coef="auto",
        n_steps=3,
        total_timesteps=256,
    )
    assert sac.algorithm_arguments() == {"ent_coef": "auto", "n_steps": 3}


@pytest.mark.parametrize("algorithm", ["PPO", "TRPO"])
@pytest.mark.parametrize("num_envs", [1, 8, 67])
@pytest.mark.parametrize("steps", [1, 1000, 30_000, 5_000_000])
def test_rollouts_fit_the_steps(algorithm, num_envs, steps):
    fitting = cartpole(
        algorithm=algorithm, num_envs=num_envs, total_timesteps=steps
    ).algorithm_arguments()
    usual = hyperparameter_defaults(algorithm)
    rollout = num_envs * fitting["n_steps"]
    assert rollout % fitting["batch_size"] == 0
    assert 1 <= fitting["batch_size"] <= usual["batch_size"]
    assert 2 <= rollout <= max(usual["n_steps"], num_envs, 2)
    if rollout > max(num_envs, 2):
        assert rollout * 25 <= steps
        longer = 2 * rollout
        assert longer * 25 > steps or longer > usual["n_steps"], "no shorter than it need be"


def test_what_is_given_is_kept():
    def arguments(**options):
        return cartpole(**options).algorithm_arguments()

    assert arguments(num_steps=50, num_envs=2) == {"n_steps": 50, "batch_size": 50}
    fitting = arguments(minibatch_size=16, num_envs=8, total_timesteps=1600)
    assert fitting == {"n_steps": 8, "batch_size": 16}
    fitting = arguments(minibatch_size=64, num_envs=8, total_timesteps=1000)
    assert fitting["n_steps"] == 8, "a minibatch"
    assert arguments(algorithm="A2C") == {}, "short as they are"


def test_the_steps_that_are_taken_are_those_that_are_said():
    trainer = cartpole(total_timesteps=1000, eval_episodes=1, update_epochs=1, **SMALL)
    calls = []
    (training,) = trainer.train([JOB], calls.append)
    assert training.steps == 1024, "not 16,384"
    assert {report.total_steps for report in calls} == {1024}
    assert calls[-1].steps == training.steps == training.curve[-1][0]
    assert calls[-1].mean_return == training.source_return
    done = [report.steps for report in calls]
    assert done == sorted(done)
    assert done[0] < 10
    assert np.isnan(calls[0].mean_return), "no episode has ended"
    assert [entry for report in calls for entry in report.evaluations] == training.curve
    assert training.curve[0][0] == 32, "the first evaluation is after the first update"
    assert 10 <= len(training.curve) <= 12
    (shorter,) = trainer.train([TrainingJob([[0.5]], seed=7, steps=100)])
    assert shorter.steps == 128, "the same rollouts of 32 steps"
    assert shorter.curve[0] == training.curve[0]


class Dots(gymnasium.Env):
    """Images, or numbers, that say nothing."""

    action_space = spaces.Discrete(2)

    def __init__(self, space):
        self.observation_space = space


@pytest.mark.parametrize(
    ("space", "policy", "algorithm", "normalised"),
    [
        (spaces.Box(-1.0, 1.0, (3,)), "MlpPolicy", "PPO", (True, True)),
        (spaces.Box(-1.0, 1.0, (3,)), "MlpPolicy", "DQN", (None, None)),
        (spaces.Discrete(4), "MlpPolicy", "A2C", (False, True)),
        (spaces.Box(0, 255, (3, 36, 36), np.uint8), "CnnPolicy", "PPO", (False, True)),
    ],
)
def test_where_observations_and_rewards_are_normalised(space, policy, algorithm, normalised):
    family = FactoryFamily(lambda context: Dots(space), ContextSpace(a=[0.0, 1.0]))
    options = {} if algorithm == "DQN" else {"gamma": 0.5}
    trainer = SB3Trainer(family, family.space(), policy=policy, algorithm=algorithm, **options)
    assert trainer.num_envs == (1 if algorithm == "DQN" else 8)
    environments = trainer._environments(TrainingJob([[0.0]], 0), 0)
    found = getattr(environments, "norm_obs", None), getattr(environments, "norm_reward", None)
    assert found == normalised
    if normalised[1]:
        assert environments.gamma == 0.5
    environments.close()


def test_steps_before_the_first_update_make_no_curve():
    small = {"algorithm": "DQN", "buffer_size": 100, "eval_episodes": 1, **SMALL}
    (training,) = cartpole(total_timesteps=60, learning_starts=6, **small).train([JOB])
    assert training.steps == 60
    assert training.curve[0][0] == 8, "it learns every 4 steps, from the 6th on"


# -- starting from a parent ----------------------------------------------------------------


def from_parent(own, family="CartPole", **job):
    (training,) = own.train([TrainingJob(SPACES[family].targets[:1], job.pop("seed", 0), **job)])
    return training


@pytest.mark.parametrize(
    ("algorithm", "family", "more", "still"),
    [
        ("PPO", "CartPole", {}, {}),
        ("PPO", "Pendulum", {"use_sde": True}, {}),
        ("A2C", "Pendulum", {}, {}),
        ("SAC", "Pendulum", OFF_POLICY, {"tau": 0.0}),
        ("DQN", "CartPole", OFF_POLICY, {"tau": 0.0}),
        ("TRPO", "CartPole", {}, {"line_search_max_iter": 0}),
        ("ARS", "CartPole", {"delta_std": 0.1, "n_delta": 1, "n_top": 1}, {}),
    ],
)
def test_without_learning_the_child_is_the_parent(algorithm, family, more, still):
    """All weights are taken over; only exploration starts from scratch."""
    options = {"algorithm": algorithm, "total_timesteps": 40, "family": family, **more}
    parent = from_parent(tiny(**options), family).policy
    resting = tiny(**options, **still, learning_rate=0.0)
    child = from_parent(resting, family, seed=9, parent=parent)
    assert child.curve[0][0] == 0, "the parent is evaluated first"
    before, after = parent.weights(), child.policy.weights()
    assert before.keys() == after.keys()
    for name, weight in before.items():
        if name.rpartition(".")[2] == "log_std":
            assert not after[name].any() or algorithm != "A2C", "as from scratch"
        else:
            assert np.array_equal(after[name], weight), name


def test_the_normaliser_continues_and_exploration_is_restored():
    own = tiny("Pendulum", num_steps=16, total_timesteps=128)
    parent = from_parent(own, "Pendulum").policy
    # The observations of the last step are counted, and those of the first reset.
    assert 0 < parent.normalization.seen <= 128 + 2 + 1
    environments = own._environments(TrainingJob([[9.0]], 5), 5)
    model = own._model(environments, 5)
    own._start_from_parent(model, parent)
    assert np.array_equal(environments.obs_rms.mean, parent.normalization.mean)
    assert np.array_equal(environments.obs_rms.var, parent.normalization.variance)
    assert environments.obs_rms.count == parent.normalization.seen
    assert float(environments.ret_rms.var) == parent.returns.variance
    assert not model.policy.log_std.detach().numpy().any()
    assert parent.weights()["log_std"].numpy().any()
    environments.close()


def test_parents_that_do_not_fit(monkeypatch):
    parent = trained(num_steps=16).policy
    for other, text in [
        (tiny(policy_kwargs={"net_arch": [9]}), "another policy_kwargs: {'net_arc"),
        (tiny(algorithm="A2C"), "another algorithm: 'PPO'"),
        (tiny(norm_obs=False), "another normalization"),
    ]:
        with pytest.raises(TrainerError, match=text):
            from_parent(other, parent=parent)
    layer = MlpPolicy([np.zeros((4, 2))], [np.zeros(2)], np.zeros(4), np.ones(4))
    with pytest.raises(TrainerError, match="'sb3' starts from its own policies"):
        from_parent(tiny(), parent=layer)
    monkeypatch.setattr(SB3Trainer, "starts_from_parent", False)
    with pytest.raises(TrainerError, match="'sb3' cannot start from another policy.*from scratch"):
        from_parent(tiny(), parent=parent)
