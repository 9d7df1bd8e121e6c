"""Episodes that a family keeps for evaluation: training never plays them, evaluation only them."""

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces

from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.functional import FunctionalEnvironment
from sdmbtl.environments.functional.gymnasium_view import GymnasiumView
from sdmbtl.training import TrainingJob, make_trainer

SPACE = ContextSpace(size=[1.0, 2.0])
SMALL = {"total_timesteps": 64, "num_envs": 2, "num_steps": 16, "minibatch_size": 16}


class Paid(FunctionalEnvironment):
    """Five steps, each of which pays what was drawn at the beginning."""

    defaults = {"size": 1.0}  # noqa: RUF012
    observation_size = 1
    actions = spaces.Discrete(2)
    max_steps = 5

    def __init__(self, kept=False):
        self.kept = kept

    def reset(self, key, parameters):
        del key
        return jnp.array([10.0 if self.kept else 1.0]) * parameters[0]

    def step(self, state, action, parameters):
        return state, state[0], jnp.bool_(False)


class Payments(EnvironmentFamily):
    name = "Payments"
    defaults = {"size": 1.0}  # noqa: RUF012

    def __init__(self, kept=False, functions=True):
        super().__init__(space=SPACE)
        self.kept, self.functions = kept, functions

    def build(self, context, render_mode):
        env: gymnasium.Env = GymnasiumView(Paid(self.kept), context)
        return env

    def functional(self):
        return Paid(self.kept) if self.functions else None

    def for_evaluation(self):
        return Payments(True, self.functions)

    def options(self):
        return {"kept": self.kept, "functions": self.functions}


@pytest.mark.parametrize(("trainer", "functions"), [("ppo", True), ("ppo", False), ("sb3", False)])
def test_policies_are_chosen_by_episodes_of_training_and_judged_by_others(trainer, functions):
    made = make_trainer(trainer, Payments(functions=functions), SPACE, **SMALL)
    (training,) = made.train_chunk([TrainingJob(np.array([[2.0]]), seed=0)])
    assert training.source_return == pytest.approx(10.0)
    assert [mean for _, mean in training.curve] == pytest.approx([10.0] * len(training.curve))
    found = made.evaluate(training.policy, SPACE.targets, episodes=2, seed=0)
    np.testing.assert_allclose(found.returns, [[50.0, 50.0], [100.0, 100.0]])
