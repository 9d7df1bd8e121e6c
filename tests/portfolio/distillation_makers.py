"""A small family in which the context decides what to do, and only rewards show it."""

import gymnasium
import numpy as np
from gymnasium import spaces

from sdmbtl.contexts import ContextSpace, Levels
from sdmbtl.environments import FactoryFamily
from sdmbtl.policies import MlpPolicy
from sdmbtl.portfolio import Member, Portfolio

LENGTH = 6
SPACE = ContextSpace(side=Levels([0, 1], discrete=True))
ACTIONS = {
    "one choice": spaces.Discrete(3, start=5),
    "choices": spaces.MultiDiscrete([2, 3]),
    "numbers": spaces.Box(np.array([-1.0, 2.0], np.float32), np.array([1.0, 6.0], np.float32)),
}
#: The right actions of the contexts 0 and 1.
RIGHT = {
    "one choice": (5, 7),
    "choices": (np.array([0, 2]), np.array([1, 0])),
    "numbers": (np.array([-0.5, 5.0], np.float32), np.array([0.5, 3.0], np.float32)),
}


class Sides(gymnasium.Env):
    """A step is worth 1 if the action is right; the observation is the last reward, and noise."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)

    def __init__(self, kind, side):
        self.action_space, self.right = ACTIONS[kind], RIGHT[kind][round(side)]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self._observe(0.0), {}

    def step(self, action):
        assert self.action_space.contains(action)
        reward = 1.0 - float(np.abs(np.asarray(action) - self.right).mean())
        self.steps += 1
        return self._observe(reward), reward, False, self.steps >= LENGTH, {}

    def _observe(self, reward):
        return np.array([reward, self.np_random.normal()], np.float32)


def sides(kind):
    """Return the family with these actions."""
    return FactoryFamily(lambda context: Sides(kind, context["side"]), SPACE)


def constant_policy(kind, action):
    """Return a policy that always takes one action, whatever it sees."""
    from sdmbtl.policies.action_code import ActionCode

    code = ActionCode(ACTIONS[kind])
    outputs = np.ravel(action) if code.sizes is None else 20.0 * code(action)
    return MlpPolicy(
        [np.zeros((2, code.size))], [outputs], np.zeros(2), np.ones(2), action_space=ACTIONS[kind]
    )


def two_teachers(kind):
    """Return the portfolio of the two policies that are right in one context each."""
    members = [
        Member(
            number,
            SPACE.target(number),
            constant_policy(kind, RIGHT[kind][number]),
            np.where(np.arange(2) == number, float(LENGTH), 0.0)[:, None],
        )
        for number in range(2)
    ]
    return Portfolio(SPACE, members, return_range=(0.0, float(LENGTH)))
