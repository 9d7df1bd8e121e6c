"""Every trainer of this package passes the suite, and one that breaks the contract does not."""

import numpy as np
import pytest

from sdmbtl.environments import FactoryFamily
from sdmbtl.policies import MlpPolicy
from sdmbtl.testing import trainers as suite
from sdmbtl.testing.trainers import trainer_checks
from sdmbtl.training import Evaluation, Trainer, Training, make_trainer

PPO = {
    "total_timesteps": 512,
    "num_envs": 2,
    "num_steps": 32,
    "minibatch_size": 32,
    "update_epochs": 1,
    "hidden_sizes": [8],
}
TINY = {
    "ppo": {**PPO, "eval_every": 4, "eval_episodes": 2, "chunk": 1},
    "sb3": {
        "total_timesteps": 128,
        "num_envs": 2,
        "eval_episodes": 1,
        "num_steps": 32,
        "minibatch_size": 32,
        "update_epochs": 1,
    },
}


@pytest.mark.parametrize("check", trainer_checks(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", TINY)
def test_trainer(name, check):
    check(lambda family, space: make_trainer(name, family, space, **TINY[name]))


#: Each check runs always with discrete actions; with continuous ones, these do.
CONTINUOUS = (suite.check_same_job_same_policy, suite.check_evaluates_each_context)
CASES = [
    *(("make_cartpole", check) for check in trainer_checks()),
    *(
        pytest.param(
            *("make_leaning_pendulum", check),
            marks=[] if check in CONTINUOUS else [pytest.mark.slow],
        )
        for check in trainer_checks()
    ),
]


@pytest.mark.parametrize(
    ("environment", "check"), CASES, ids=lambda one: getattr(one, "__name__", one)
)
def test_ppo_on_gymnasium_environments(environment, check):
    """Where there are no pure functions, with discrete and with continuous actions."""

    def make(family, space):
        own = FactoryFamily(f"small_environments:{environment}", space)
        own.positive = family.positive
        settings = {**PPO, "num_steps": 16, "eval_every": 8, "eval_episodes": 1}
        return make_trainer("ppo", own, space, **settings)

    check(make)


class Drawn(Trainer):
    """Draws its policies from a generator that nobody seeds."""

    name = "drawn"

    def train_chunk(self, jobs, progress=None, checkpoint=None):
        layer = np.random.default_rng().normal(size=(4, 2))
        policy = MlpPolicy([layer], [np.zeros(2)], np.zeros(4), np.ones(4))
        return [Training(policy, 1, 0.0) for _ in jobs]

    def evaluate(self, policy, contexts, *, episodes, seed, only=None, progress=None):
        return Evaluation(np.zeros((len(contexts), episodes)))

    def settings(self):
        return {}


def test_a_trainer_that_draws_its_policies_is_found_out():
    found = {}
    for check in trainer_checks():
        try:
            check(Drawn)
        except AssertionError as error:
            found[check.__name__] = str(error)
    assert found["check_same_job_same_policy"] == "the same job gave another policy"
    assert found["check_evaluates_each_context"] == "another seed gave the same returns"
    assert found["check_progress_is_reported"] == "progress was not reported"
    assert found["check_bad_contexts_are_refused"] == "TrainerError was not raised"
    assert "check_settings_make_it_again" not in found
