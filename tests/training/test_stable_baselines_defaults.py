"""What the trainer sb3 chooses if little is said: it fits the number of steps."""

import logging

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from sdmbtl import ContextSpace
from sdmbtl.environments import FactoryFamily, make_family
from sdmbtl.errors import TrainerError
from sdmbtl.training import TrainingJob
from sdmbtl.training.stable_baselines import StableBaselinesTrainer
from sdmbtl.training.stable_baselines_settings import argument_defaults, fitting_rollout

SPACE = ContextSpace(length=[0.5, 1.0])
JOB = TrainingJob([[0.5]], seed=0)
QUICK = {
    "eval_episodes": 1,
    "update_epochs": 1,
    "hyperparameters": {"policy_kwargs": {"net_arch": [4]}},
}


def cartpole(**options):
    return StableBaselinesTrainer(make_family("CartPole", space=SPACE), SPACE, **options)


@pytest.mark.parametrize("algorithm", ["PPO", "TRPO"])
@pytest.mark.parametrize("num_envs", [1, 3, 8, 67])
@pytest.mark.parametrize("steps", [1, 30, 1000, 7777, 30_000, 100_000, 5_000_000])
def test_rollouts_fit_the_steps(algorithm, num_envs, steps):
    fitting = fitting_rollout(algorithm, {}, num_envs, steps)
    usual = argument_defaults(algorithm)
    rollout = num_envs * fitting["n_steps"]
    assert rollout % fitting["batch_size"] == 0
    assert 1 <= fitting["batch_size"] <= usual["batch_size"]
    assert rollout <= max(usual["n_steps"], num_envs)
    assert rollout >= 2
    if rollout > max(num_envs, 2):
        assert rollout * 25 <= steps
        longer = 2 * rollout
        assert longer * 25 > steps or longer > usual["n_steps"], "no shorter than it need be"


def test_what_is_given_is_kept():
    assert fitting_rollout("PPO", {"n_steps": 50}, 2, 1000) == {"batch_size": 50}
    assert fitting_rollout("PPO", {"batch_size": 16}, 8, 1600) == {"n_steps": 8}
    assert fitting_rollout("PPO", {"batch_size": 64}, 8, 1000) == {"n_steps": 8}, "a minibatch"
    assert fitting_rollout("A2C", {}, 8, 1000) == {}, "short as they are"
    assert fitting_rollout("SAC", {}, 8, 1000) == {}
    assert cartpole(num_steps=7).algorithm_arguments()["n_steps"] == 7


def test_the_steps_that_are_taken_are_those_that_are_said():
    trainer = cartpole(total_timesteps=1000, **QUICK)
    calls = []
    (training,) = trainer.train([JOB], calls.append)
    assert training.steps == 1024, "not 16,384"
    assert {report.total_steps for report in calls} == {1024}
    assert calls[-1].steps == training.steps == training.curve[-1][0]
    assert training.curve[0][0] == 32, "the first evaluation is after the first update"
    assert 10 <= len(training.curve) <= 12
    (shorter,) = trainer.train([TrainingJob([[0.5]], seed=0, steps=100)])
    assert shorter.steps == 128, "the same rollouts of 32 steps"
    assert shorter.curve[0] == training.curve[0]


def test_few_updates_are_warned_of_once(caplog):
    trainer = cartpole(total_timesteps=512, num_envs=2, num_steps=64, **QUICK)
    with caplog.at_level(logging.WARNING, "sdmbtl.training"):
        trainer.train([JOB, TrainingJob([[1.0]], seed=1)])
    (record,) = caplog.records
    assert record.getMessage().startswith("4 updates in 512 steps: ")
    assert "--steps" in record.getMessage()
    assert "--set num_steps=" in record.getMessage()
    caplog.clear()
    cartpole(total_timesteps=512, num_envs=2, **QUICK).train([JOB])
    assert not caplog.records


class Dots(gymnasium.Env):
    """Images, or numbers, that say nothing."""

    action_space = spaces.Discrete(2)

    def __init__(self, space):
        self.observation_space = space
        self.observation_space.seed(0)

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return self.observation_space.sample(), {}

    def step(self, action):
        self.steps += 1
        return self.observation_space.sample(), 1.0, False, self.steps == 5, {}


@pytest.mark.parametrize(
    ("space", "policy", "algorithm", "normalised"),
    [
        (spaces.Box(-1.0, 1.0, (3,)), "MlpPolicy", "PPO", (True, True)),
        (spaces.Box(-1.0, 1.0, (3,)), "MlpPolicy", "DQN", None),
        (spaces.Discrete(4), "MlpPolicy", "A2C", (False, True)),
        (spaces.Box(0, 255, (3, 36, 36), np.uint8), "CnnPolicy", "PPO", (False, True)),
    ],
)
def test_where_observations_and_rewards_are_normalised(space, policy, algorithm, normalised):
    family = FactoryFamily(lambda context: Dots(space), ContextSpace(a=[0.0, 1.0]))
    trainer = StableBaselinesTrainer(family, family.space(), policy=policy, algorithm=algorithm)
    assert trainer.num_envs == (1 if algorithm == "DQN" else 8)
    environments = trainer._environments(TrainingJob([[0.0]], 0), 0)
    found = getattr(environments, "norm_obs", None), getattr(environments, "norm_reward", None)
    assert found == (normalised or (None, None))
    environments.close()


def test_off_policy_algorithms_begin_to_learn_in_time():
    small = {"buffer_size": 100, "policy_kwargs": {"net_arch": [4]}}
    trainer = cartpole(algorithm="DQN", total_timesteps=60, hyperparameters=small, eval_episodes=1)
    assert trainer.algorithm_arguments()["learning_starts"] == 6
    assert trainer.algorithm_arguments(5000)["learning_starts"] == 100
    (training,) = trainer.train([JOB])
    assert training.steps == 60
    assert training.curve[0][0] == 8, "it learns every 4 steps, from the 6th on"
    late = {**small, "learning_starts": 60}
    with pytest.raises(TrainerError, match="DQN would learn nothing: learning_starts=60 is not be"):
        cartpole(algorithm="DQN", total_timesteps=60, hyperparameters=late)
    enough = cartpole(algorithm="DQN", total_timesteps=61, hyperparameters=late)
    with pytest.raises(TrainerError, match="not below the 40 steps"):
        enough.train([TrainingJob([[0.5]], seed=0, steps=40)])
