"""Small real environments, importable by other processes."""

import gymnasium
import numpy as np
from gymnasium import spaces


def make_cartpole(context):
    """Gymnasium's CartPole with another pole."""
    env = gymnasium.make("CartPole-v1", disable_env_checker=True)
    inner = env.unwrapped
    inner.length, inner.masspole = context["length"], context["masspole"]
    inner.total_mass = inner.masspole + inner.masscart
    inner.polemass_length = inner.masspole * inner.length
    return env


def make_leaning_pendulum(context):
    """Gymnasium's Pendulum with another mass and length, cut off after 20 steps."""
    env = gymnasium.make("Pendulum-v1", disable_env_checker=True, max_episode_steps=20)
    env.unwrapped.l, env.unwrapped.m = context["length"], context["masspole"]
    return env


class Walk(gymnasium.Env):
    """On a line of five places: at the right end is `goal`, each step costs a little."""

    action_space = spaces.Discrete(2, start=3)
    observation_space = spaces.Dict(
        {
            "place": spaces.Discrete(5, start=1),
            "history": spaces.Tuple([spaces.MultiBinary(2), spaces.MultiDiscrete([2, 3])]),
        }
    )
    made = 0

    def __init__(self, context):
        self.goal = context["goal"]
        type(self).made += 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.steps, self.last = int(self.np_random.integers(1, 4)), 0, 0
        return self._observe(), {}

    def step(self, action):
        assert action in self.action_space
        self.last = int(action) - 3
        self.place = min(max(self.place + (1 if self.last else -1), 1), 5)
        self.steps += 1
        at_end = self.place == 5
        return self._observe(), self.goal if at_end else -0.1, at_end, self.steps >= 12, {}

    def _observe(self):
        near = np.array([self.place > 2, self.place > 3], np.int8)
        return {"place": self.place, "history": (near, np.array([self.last, self.place % 3]))}


class Aim(gymnasium.Env):
    """The action should be `target` times what is seen; bounds are of all kinds."""

    observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space = spaces.Box(
        np.array([[0.0, -np.inf]], np.float32), np.array([[10.0, np.inf]], np.float32)
    )

    def __init__(self, context):
        self.target = context["target"]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self._observe(), {}

    def step(self, action):
        assert action.shape == (1, 2)
        assert action in self.action_space
        wanted = np.array([5 + 4 * self.seen[0], self.target * self.seen[1]])
        reward = -float(np.abs(action[0] - wanted).sum())
        self.steps += 1
        return self._observe(), reward, False, self.steps >= 10, {}

    def _observe(self):
        self.seen = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        return self.seen


class Obliging(Walk):
    """Takes its context at the reset."""

    built_for = "space"

    def reset(self, *, seed=None, options=None):
        self.goal = options["context"]["goal"]
        return super().reset(seed=seed)
