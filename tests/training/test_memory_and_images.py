"""`ppo` with a memory, and with convolutions."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from sdmbtl import ContextSpace
from sdmbtl.environments import FactoryFamily, make_family
from sdmbtl.errors import TrainerError
from sdmbtl.policies import policy_bytes, policy_from_bytes
from sdmbtl.portfolio import Member, Portfolio
from sdmbtl.training import TrainingJob, make_trainer

SPACE = ContextSpace(unused=[0.0, 1.0])
SHORT = {"total_timesteps": 128, "num_envs": 2, "num_steps": 32, "minibatch_size": 32}


class Recall(gymnasium.Env):
    """Shows -1 or 1 at first; the action after three more steps must name it."""

    observation_space = spaces.Box(-1, 1, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time, self.shown = 0, int(self.np_random.integers(2))
        return np.array([2 * self.shown - 1, 0], np.float32), {}

    def step(self, action):
        self.time += 1
        ends = self.time == 4
        seen = np.array([0, self.time / 4], np.float32)
        return seen, float(ends and action == self.shown), ends, False, {}


class Bars(gymnasium.Env):
    """Shows a bar somewhere; the action must tell a horizontal one from a vertical one."""

    observation_space = spaces.Box(0, 255, (8, 8, 3), np.uint8)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return self._draw(), {}

    def step(self, action):
        reward = float(action == self.is_flat)
        self.time += 1
        return self._draw(), reward, self.time == 10, False, {}

    def _draw(self):
        self.is_flat = int(self.np_random.integers(2))
        i, j = self.np_random.integers(6, size=2)
        image = np.zeros((8, 8, 3), np.uint8)
        image[i : i + (1 if self.is_flat else 3), j : j + (3 if self.is_flat else 1)] = 255
        return image


def trainer_for(env, **settings):
    return make_trainer("ppo", FactoryFamily(lambda _: env(), SPACE), SPACE, **settings)


def mean_return(trainer, policy):
    return trainer.evaluate(policy, SPACE.targets, episodes=50, seed=1).complete().mean()


@pytest.mark.slow  # two training runs
@pytest.mark.parametrize(("env", "best"), [(Recall, 1.0), (Bars, 10.0)])
def test_it_learns_what_a_plain_network_cannot(env, best):
    trainer = trainer_for(env, total_timesteps=20_480, recurrent=env is Recall)
    (training,) = trainer.train([TrainingJob(SPACE.targets, seed=0)])
    assert mean_return(trainer, training.policy) > 0.9 * best


@pytest.mark.parametrize(
    ("env", "recurrent"), [(Recall, True), pytest.param(Bars, False, marks=pytest.mark.slow)]
)
def test_a_child_that_begins_to_see_the_context_acts_as_its_parent(env, recurrent):
    trainer = trainer_for(env, **SHORT, recurrent=recurrent, learning_rate=0.0)
    (parent,) = trainer.train([TrainingJob(SPACE.targets, seed=0)])
    (child,) = trainer.train(
        [TrainingJob(SPACE.targets, seed=0, parent=parent.policy, sees_context=True)]
    )
    again = policy_from_bytes(policy_bytes(child.policy))
    assert again.sees_context
    played = [
        trainer.evaluate(policy, SPACE.targets, episodes=5, seed=1).returns.tolist()
        for policy in (parent.policy, child.policy, again, child.policy.acting())
    ]
    assert played[0] == played[1] == played[2] == played[3]


def test_memory_is_kept_apart_for_each_episode():
    trainer = trainer_for(Recall, **SHORT, recurrent=True)
    policy = trainer.train([TrainingJob(SPACE.targets, seed=0)])[0].policy
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(policy.to_onnx())
    state = np.zeros((1, policy.state_size), np.float32)
    portfolio = Portfolio(SPACE, [Member(0, {"unused": 0.0}, policy, np.zeros((2, 1)))])
    actor = portfolio.policy_for({"unused": 0.0})
    env = Recall()
    for seed in range(3):
        observation, _ = env.reset(seed=seed)
        actor.reset()
        own, state[:] = None, 0.0
        for _ in range(4):
            action, own = policy.act(observation, own)
            given = {"observation": observation[None], "state": state}
            (exported,), state = session.run(None, given)
            assert action == actor.act(observation) == exported
            assert state[0] == pytest.approx(own, abs=1e-5)
            observation, *_ = env.step(action)


def test_a_plain_parent_and_compiled_environments_are_refused():
    plain = trainer_for(Recall, **SHORT).train([TrainingJob(SPACE.targets, seed=0)])[0].policy
    trainer = trainer_for(Recall, **SHORT, recurrent=True)
    with pytest.raises(TrainerError, match="memory"):
        trainer.train([TrainingJob(SPACE.targets, seed=0, parent=plain)])
    family = make_family("CartPole")
    with pytest.raises(TrainerError, match="stepped by Python"):
        make_trainer("ppo", family, family.space("wide"), recurrent=True)
