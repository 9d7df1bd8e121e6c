"""Training with Stable-Baselines3: it learns, repeats itself, and keeps to itself."""

import os
import random
import tempfile

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces

from sdmbtl import ContextSpace
from sdmbtl.environments import FactoryFamily, make_family, register_family
from sdmbtl.environments.registry import _FACTORIES, can_be_made_anywhere
from sdmbtl.errors import ContextError, TrainerError, TrainingError
from sdmbtl.policies import policy_bytes, policy_from_bytes
from sdmbtl.training import Evaluation, Failure, TrainerSpec, TrainingJob, host, make_trainer, train
from sdmbtl.training import stable_baselines as module
from sdmbtl.training.stable_baselines import StableBaselinesTrainer
from sdmbtl.training.stable_baselines_settings import COMMON_NAMES

TINY_PPO = {"num_steps": 32, "minibatch_size": 32, "update_epochs": 1}
NETWORK = {"policy_kwargs": {"net_arch": [8], "activation_fn": "torch.nn.ReLU"}}
SPACES = {
    "cartpole": ContextSpace(length=[0.5, 1.0, 2.0]),
    "Pendulum": ContextSpace(gravity=[9.0, 10.0]),
}
JOB = TrainingJob([[0.5]], seed=7)


def tiny(family="cartpole", **options):
    if isinstance(family, str):
        family = make_family(family, space=SPACES[family])
    options = {
        "total_timesteps": 256,
        "num_envs": 2,
        "hyperparameters": NETWORK,
        "eval_every": 100,
        "eval_episodes": 2,
        **(TINY_PPO if options.get("algorithm", "PPO") == "PPO" else {}),
    } | options
    return StableBaselinesTrainer(family, family.space(), **options)


def trained(job=JOB, **options):
    (training,) = tiny(**options).train([job])
    return training


# -- learning and selecting --------------------------------------------------------------


def test_it_learns_to_balance():
    family = make_family("cartpole")
    space = ContextSpace(length=[0.5, 0.6])
    trainer = make_trainer("sb3", family, space, total_timesteps=15_000, eval_every=5_000)
    (training,) = trainer.train([TrainingJob([[0.5]], seed=0)])
    assert training.steps == 15_104, "whole rollouts of 8 x 32 steps"
    assert training.source_return == max(value for _, value in training.curve) > 100
    assert [steps for steps, _ in training.curve] == [256, 5_120, 10_240, 15_104]
    returns = trainer.evaluate(training.policy, space.targets, episodes=10, seed=3).complete()
    assert returns.shape == (2, 10)
    assert returns.mean() > 100, "chance actions balance for about 22 steps"
    again = policy_from_bytes(policy_bytes(training.policy))
    np.testing.assert_array_equal(
        trainer.evaluate(again, space.targets, episodes=10, seed=3).complete(), returns
    )


@pytest.mark.parametrize(("means", "best"), [([1, 3, 2], 1), ([1, 3, 3], 2), ([5, 3, 4], 0)])
def test_the_best_policy_is_kept_with_its_statistics(monkeypatch, means, best):
    seen, asked = [], []

    def reported(self, family, policy, contexts, *, episodes, seed):
        seen.append(policy_bytes(policy))
        asked.append((contexts.tolist(), episodes, seed))
        return Evaluation(np.full((1, 2), float(means[len(seen) - 1])))

    monkeypatch.setattr(StableBaselinesTrainer, "play", reported)
    training = trained(norm_obs=True, norm_reward=True)
    assert policy_bytes(training.policy) == seen[best]
    assert training.source_return == means[best]
    assert training.curve == list(zip([64, 128, 256], means, strict=True)), "after updates"
    assert asked == [([[0.5]], 2, asked[0][2])] * 3, "the same episodes each time"
    statistics = [policy_from_bytes(s).normalization.mean.tolist() for s in seen]
    assert statistics[0] != statistics[1] != statistics[2]


def test_normalisation_uses_the_gamma_of_the_algorithm(monkeypatch):
    calls = []
    original = module.VecNormalize

    def recorded(environments, **options):
        calls.append(options)
        return original(environments, **options)

    monkeypatch.setattr(module, "VecNormalize", recorded)
    trained(norm_obs=True, norm_reward=True)
    assert trained(norm_obs=False, norm_reward=True, gamma=0.5).policy.normalization is None
    assert trained(norm_obs=True, norm_reward=False).policy.normalization is not None
    assert calls == [
        {"norm_obs": True, "norm_reward": True, "gamma": 0.99},
        {"norm_obs": False, "norm_reward": True, "gamma": 0.5},
        {"norm_obs": True, "norm_reward": False, "gamma": 0.99},
    ]
    assert trained(norm_obs=False, norm_reward=False).policy.normalization is None
    assert len(calls) == 3, "without normalisation there is no wrapper"


def test_the_context_is_observed():
    training = trained(observe_context=True)
    assert training.policy.architecture.observation_space.shape == (4 + 1,)


OFF_POLICY = {
    "buffer_size": 200,
    "learning_starts": 20,
    "policy_kwargs": {"net_arch": [8]},
}


@pytest.mark.parametrize(
    ("algorithm", "family", "hyperparameters"),
    [
        ("A2C", "Pendulum", {"policy_kwargs": {"net_arch": [8]}}),
        ("PPO", "Pendulum", {**NETWORK, "use_sde": True}),
        ("SAC", "Pendulum", OFF_POLICY),
        ("TD3", "Pendulum", {**OFF_POLICY, "action_noise": 0.2}),
        ("DDPG", "Pendulum", {**OFF_POLICY, "train_freq": [2, "step"]}),
        ("DQN", "cartpole", OFF_POLICY),
    ],
)
def test_every_algorithm(algorithm, family, hyperparameters):
    job = TrainingJob(SPACES[family].targets[:1], 1)
    options = {
        "family": family,
        "algorithm": algorithm,
        "total_timesteps": 60,
        "eval_episodes": 1,
        "hyperparameters": hyperparameters,
        **({} if algorithm == "A2C" else {"minibatch_size": 8}),
    }
    training = trained(job, **options)
    again = policy_from_bytes(policy_bytes(training.policy))
    assert again.architecture.algorithm == algorithm
    size = training.policy.architecture.observation_space.shape
    batch = np.random.default_rng(0).normal(size=(20, *size)).astype(np.float32)
    np.testing.assert_array_equal(again.act(batch), training.policy.act(batch))
    assert policy_bytes(trained(job, **options).policy) == policy_bytes(training.policy)


# -- randomness --------------------------------------------------------------------------


def global_states():
    state = np.random.get_state()  # noqa: NPY002
    return random.getstate(), state[1].tolist(), state[2], torch.get_rng_state().tolist()


def test_the_same_job_gives_the_same_policy_whatever_happened_before():
    first = trained(norm_obs=True, norm_reward=True)
    random.seed(99)
    np.random.seed(99)  # noqa: NPY002
    torch.manual_seed(99)
    before = global_states()
    second = trained(norm_obs=True, norm_reward=True)
    assert global_states() == before, "global generators are put back"
    assert policy_bytes(first.policy) == policy_bytes(second.policy)
    assert first.curve == second.curve
    other = trained(TrainingJob(JOB.contexts, seed=8), norm_obs=True, norm_reward=True)
    assert policy_bytes(other.policy) != policy_bytes(first.policy)


def test_threads_are_put_back(monkeypatch):
    used = []
    original = host.evaluate_in_gymnasium

    def recorded(*arguments, **named):
        used.append(torch.get_num_threads())
        return original(*arguments, **named)

    monkeypatch.setattr(host, "evaluate_in_gymnasium", recorded)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        policy = trained().policy
        assert torch.get_num_threads() == 2
        tiny().evaluate(policy, [[0.5]], episodes=1, seed=0)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert set(used) == {1}


class Noted(gymnasium.Env):
    """Five steps long; notes the contexts of its episodes, and raises `failure` if it is set."""

    observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space = spaces.Discrete(2)
    resets: list = []  # noqa: RUF012
    failure = None
    reward = 1.0

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
        return np.zeros(2, np.float32), Noted.reward, False, self.steps == 5, {}


@pytest.fixture
def noted(monkeypatch):
    monkeypatch.setattr(Noted, "resets", [])
    monkeypatch.setattr(Noted, "failure", None)
    monkeypatch.setattr(Noted, "reward", 1.0)
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
    assert first.source_return == 5.0


def test_of_many_contexts_some_are_evaluated():
    many = np.arange(500.0)[:, None]
    assert np.array_equal(module._choose_evaluated(many[:64], 0), many[:64])
    chosen = module._choose_evaluated(many, 3).tolist()
    assert len(np.unique(chosen)) == 64
    assert (
        chosen
        == module._choose_evaluated(many, 3).tolist()
        != module._choose_evaluated(many, 4).tolist()
    )


@pytest.mark.parametrize(("contexts", "episodes"), [(1, 5), (12, 5), (20, 3), (64, 1), (300, 1)])
def test_on_many_contexts_few_episodes_are_played(monkeypatch, contexts, episodes):
    played = []

    def reported(self, family, policy, contexts, *, episodes, seed):
        played.append((len(contexts), episodes))
        return Evaluation(np.ones((len(contexts), episodes)))

    monkeypatch.setattr(StableBaselinesTrainer, "play", reported)
    job = TrainingJob(np.linspace(0.5, 2.0, contexts)[:, None], seed=0)
    trained(job, total_timesteps=64, eval_episodes=5)
    assert set(played) == {(min(contexts, 64), episodes)}


# -- what can go wrong -------------------------------------------------------------------


def test_errors_of_an_environment_name_its_context(noted):
    Noted.failure = ZeroDivisionError("the wheel came off")
    with pytest.raises(
        TrainingError, match=r"context \{'a': 1.0\}: ZeroDivisionError: the wheel came off"
    ) as caught:
        trained(TrainingJob([[1.0]], 0), family=noted)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_returns_that_are_not_finite_end_the_run(noted):
    Noted.reward = float("nan")
    with pytest.raises(TrainingError, match=r"context \{'a': 1.0\} with seed 0 failed: "):
        trained(TrainingJob([[1.0]], 0), family=noted)
    with pytest.raises(TrainingError, match="training run on 3 contexts with seed 0 failed"):
        trained(THREE, family=noted)


def test_the_mean_return_must_be_finite(monkeypatch):
    played = Evaluation(np.array([[1.0, np.inf]]))
    monkeypatch.setattr(StableBaselinesTrainer, "play", lambda *a, **k: played)
    with pytest.raises(TrainingError, match="the mean return is inf after 64 steps"):
        trained()


def test_an_episode_that_does_not_end_ends_the_run(noted, monkeypatch):
    monkeypatch.setattr(Noted, "step", lambda *_: (np.zeros(2, np.float32), 1.0, False, False, {}))
    with pytest.raises(
        TrainingError, match=r"context \{'a': 1.0\}: .* after 30 steps.*'endless_after'"
    ):
        trained(TrainingJob([[1.0]], 0), family=noted, endless_after=30)


def test_weights_that_are_not_finite_end_the_run(monkeypatch):
    original = module.StableBaselinesPolicy.from_model

    def spoilt(model):
        with torch.no_grad():  # which acting does not need, so that returns stay finite
            model.policy.value_net.bias.fill_(torch.inf)
        return original(model)

    monkeypatch.setattr(module.StableBaselinesPolicy, "from_model", spoilt)
    with pytest.raises(TrainingError, match="weights are not finite after 64 steps"):
        trained()


def test_interrupts_pass_and_leave_the_generators(noted):
    Noted.failure = KeyboardInterrupt()
    before = global_states()
    with pytest.raises(KeyboardInterrupt):
        trained(THREE, family=noted)
    assert global_states() == before


def test_what_progress_raises_passes():
    class StopError(Exception):
        pass

    def stop(report):
        if report.steps > 100:
            raise StopError

    with pytest.raises(StopError):
        tiny().train([JOB], stop)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"algorithm": "PP0"}, "Unknown algorithm 'PP0'.*Did you mean 'PPO'"),
        ({"policy": "Mlp"}, "Unknown policy 'Mlp'; PPO has MlpPolicy"),
        ({"total_timesteps": 0}, "'total_timesteps' must be a whole number >= 1"),
        ({"num_envs": 1.5}, "'num_envs' must be"),
        ({"eval_every": 0}, "'eval_every' must be"),
        ({"eval_episodes": 0}, "'eval_episodes' must be"),
        ({"processes": 0}, "'processes' must be"),
        ({"hyperparameters": {"learning_rat": 1}}, "'learning_rat'.*Did you mean 'learning_rate'"),
        ({"hyperparameters": {"seed": 1}}, "Unknown hyperparameter 'seed'"),
        ({"hyperparameters": {"target_kl": float("nan")}}, "must be JSON data"),
        ({"hyperparameters": {"gamma": 0.5}}, "PPO's 'gamma' is given as 'gamma', not in 'hyper"),
        ({"hyperparameters": {"n_steps": 5}}, "'n_steps' is given as 'num_steps', not in"),
        ({"n_epochs": 5}, "PPO's 'n_epochs' is given as 'update_epochs'"),
        ({"algorithm": "SAC", "tau": 0.1}, "SAC's 'tau' is given as 'hyperparameters.tau'"),
        ({"seed": 5}, "Unknown option 'seed'"),
        ({"gamma": float("nan")}, "'gamma' must be a finite number >= 0"),
        ({"ent_coef": -1}, "'ent_coef' must be a finite number >= 0"),
        ({"clip_coeff": 0.2}, "'clip_coeff'; 'sb3' with PPO has.*Did you mean 'clip_coef'"),
        ({"algorithm": "SAC", "clip_coef": 0.2}, "'clip_coef'; 'sb3' with SAC has learning_rate"),
        ({"algorithm": "SAC", "num_steps": 3}, "'num_steps'; 'sb3' with SAC has"),
        ({"algorithm": "A2C", "minibatch_sise": 3}, "Unknown option 'minibatch_sise'"),
        ({"norm_obs": 1}, "'norm_obs' must be true or false"),
        (
            {"hyperparameters": {"policy_kwargs": {"activation_fn": torch.nn.ReLU}}},
            "must be JSON data.*Give classes by name",
        ),
        (
            {"hyperparameters": {"policy_kwargs": {"activation_fn": "ReLU"}}},
            "Unknown class 'ReLU'.*'torch.nn.ReLU'",
        ),
        (
            {"algorithm": "TD3", "hyperparameters": {"action_noise": -1}},
            "'action_noise' must be a finite number >= 0",
        ),
    ],
)
def test_unusable_settings(options, text):
    with pytest.raises(TrainerError, match=text):
        tiny(**options)


def test_unusable_jobs():
    with pytest.raises(ContextError, match="'length' of CartPole must be above 0"):
        tiny().train([TrainingJob([[0.0]], 0)])
    with pytest.raises(TrainerError, match="SAC cannot be used on CartPole"):
        trained(algorithm="SAC", hyperparameters=OFF_POLICY)


def test_no_temporary_files_are_left(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    trained()
    assert not list(tmp_path.iterdir())


# -- settings, progress, processes -------------------------------------------------------


def test_hyperparameters_reach_the_algorithm_under_its_names():
    common = {
        "learning_rate": 1e-3,
        "num_steps": 16,
        "minibatch_size": 8,
        "update_epochs": 2,
        "gamma": 0.98,
        "gae_lambda": 0.9,
        "clip_coef": 0.1,
        "ent_coef": 0.01,
        "vf_coef": 0.4,
        "max_grad_norm": 0.3,
    }
    assert set(common) == set(COMMON_NAMES)
    trainer = tiny(**common)
    assert common.items() <= trainer.settings().items()
    model = trainer._model(trainer._environments(JOB, 0), 0, 256)
    own = {theirs: getattr(model, theirs) for theirs in COMMON_NAMES.values()}
    own["clip_range"] = own["clip_range"](1.0)
    assert own == {COMMON_NAMES[ours]: value for ours, value in common.items()}


def test_what_an_algorithm_calls_otherwise_is_its_own():
    """Off-policy algorithms have n_steps too, for returns of n steps."""
    sac = tiny("Pendulum", algorithm="SAC", ent_coef="auto", hyperparameters={"n_steps": 3})
    assert sac.algorithm_arguments() == {"ent_coef": "auto", "n_steps": 3, "learning_starts": 25}


def test_the_number_of_processes_does_not_change_the_outcome():
    assert "processes" not in tiny(processes=2).settings()


def test_progress_goes_from_nothing_to_all():
    calls = []
    runs = tiny(total_timesteps=250).train([JOB, JOB], calls.append)
    done = [report.steps for report in calls]
    assert [t.steps for t in runs] == [256, 256]
    assert done == sorted(done)
    assert len(set(done)) > 50
    assert done[0] < 10
    assert done[-1] == 512, "the steps that are taken, not those that were asked for"
    assert {report.total_steps for report in calls} == {512}
    assert np.isnan(calls[0].mean_return), "no episode has ended"
    assert calls[-1].mean_return == runs[1].source_return


def test_evaluations_are_reported_apart_from_episodes_that_explore():
    calls = []
    (run,) = tiny(total_timesteps=250).train([JOB], calls.append)
    assert [entry for report in calls for entry in report.evaluations] == run.curve
    explored = [report.metrics["mean_return"] for report in calls]
    assert len(set(explored)) > len(run.curve), "it changes with every episode"


def test_several_processes_give_the_same_policies():
    jobs = [JOB, TrainingJob([[1.0], [2.0]], 3), JOB]
    calls = []
    spec = TrainerSpec.of(tiny(norm_obs=True, norm_reward=True, processes=2))
    together = train(spec, jobs, calls.append)
    alone = tiny(norm_obs=True, norm_reward=True).train(jobs)
    for ours, expected in zip(together, alone, strict=True):
        assert policy_bytes(ours.policy) == policy_bytes(expected.policy)
        assert (ours.steps, ours.source_return) == (expected.steps, expected.source_return)
        assert ours.curve == expected.curve
    assert list(dict.fromkeys(c.steps for c in calls if c.steps)) == [256, 512, 768]


def failing_elsewhere(context):
    raise OSError(f"no display in process {os.getpid()}")


def dying(context):
    os._exit(3)


def test_errors_come_back_from_other_processes():
    space = ContextSpace(a=[0.0, 1.0])
    jobs = [TrainingJob([[0.0]], seed, attempt=2) for seed in (0, 1)]
    family = FactoryFamily(failing_elsewhere, space)
    assert can_be_made_anywhere(family)
    for result in train(TrainerSpec.of(tiny(family, processes=2)), jobs):
        assert isinstance(result, Failure)
        assert result.attempt == 2
        assert "no display in process" in result.error
        assert str(os.getpid()) not in result.error
    with pytest.raises(TrainingError, match="A worker process died.*fewer 'processes'"):
        train(TrainerSpec.of(tiny(FactoryFamily(dying, space), processes=2)), jobs)


def test_a_family_without_a_name_is_trained_in_this_process(noted):
    assert not can_be_made_anywhere(noted)
    jobs = [TrainingJob([[0.0]], seed) for seed in (0, 1)]
    assert len(train(TrainerSpec.of(tiny(noted, processes=2)), jobs)) == 2
    assert Noted.resets, "the environments of this process were used"


def test_a_family_registered_here_is_not_known_elsewhere():
    assert can_be_made_anywhere(make_family("cartpole", physics="carl"))

    class Mine(type(make_family("cartpole"))):
        """Has the name of its parent, and is another one."""

    assert not can_be_made_anywhere(Mine())

    class Own(type(make_family("cartpole"))):
        name = "OwnCartPole"

    register_family("OwnCartPole", Own)
    try:
        assert not can_be_made_anywhere(make_family("owncartpole"))
    finally:
        del _FACTORIES["OwnCartPole"]
