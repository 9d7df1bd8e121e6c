"""A short walk whose environments fail as a file says, for example {"0.4": "raises"}."""

import json
import os
from pathlib import Path

import gymnasium
import numpy as np
from gymnasium import spaces

from sdmbtl import ContextSpace
from sdmbtl.studies import Study

TROUBLES = "ROUGH_WALK"
SLOPES = [0.2, 0.4, 0.6, 0.8, 1.0]
MANY_SLOPES = np.linspace(0.1, 2.0, 60).round(3).tolist()
TRAINER = {
    "total_timesteps": 64,
    "num_envs": 2,
    "eval_episodes": 1,
    "num_steps": 32,
    "minibatch_size": 32,
    "update_epochs": 1,
    "endless_after": 50,
}


class RoughWalk(gymnasium.Env):
    """Eight steps; the closer to the slope's own place, the better."""

    observation_space = spaces.Box(-10.0, 10.0, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, slope, trouble):
        self.slope, self.trouble = slope, trouble

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps, self.place = 0, float(self.np_random.normal())
        return self._observation(), {}

    def step(self, action):
        self.steps += 1
        if self.trouble == "raises" and self.steps == 3:
            raise RuntimeError("the motor is stuck")
        self.place += 0.2 if action else -self.slope
        strange = {"nan": float("nan"), "huge": 1e200, "largest": -1.7e308 / 8}
        reward = strange.get(self.trouble, -abs(self.place - self.slope))
        ends = self.steps >= 8 and self.trouble != "endless"
        return self._observation(), reward, ends, False, {}

    def _observation(self):
        return np.array([self.place, self.steps / 8], np.float32)


def make(context):
    trouble = json.loads(Path(os.environ[TROUBLES]).read_text()).get(str(context["slope"]))
    if trouble == "unmade":
        raise OSError("no ground here")
    return RoughWalk(context["slope"], trouble)


def open_rough(path, slopes=SLOPES, **changes):
    settings = {"selector": "independent", "trainer_options": TRAINER, "episodes": 2, "seed": 0}
    space = ContextSpace(slope=slopes)
    return Study.open(path, "rough_walk:make", space=space, **{**settings, **changes})


def set_troubles(troubles):
    Path(os.environ[TROUBLES]).write_text(json.dumps({str(k): v for k, v in troubles.items()}))
