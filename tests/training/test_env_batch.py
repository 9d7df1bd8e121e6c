"""A family that steps many environments at once: the same policies and returns as one by one."""

import numpy as np
import pytest

from sdmbtl.environments import make_family
from sdmbtl.environments.mujoco_families import Hopper
from sdmbtl.errors import TrainingError
from sdmbtl.training import TrainingJob, make_trainer
from sdmbtl.training.ppo.env_slots import GymnasiumBatch

pytest.importorskip("mujoco")
from sdmbtl.environments.mujoco_batch import HopperBatch

TINY = {
    "total_timesteps": 384,
    "num_envs": 3,
    "num_steps": 64,
    "minibatch_size": 64,
    "update_epochs": 1,
    "eval_episodes": 1,
    "max_episode_steps": 25,
}


def train():
    family = make_family("Hopper")
    space = family.space("world", levels=2)
    trainer = make_trainer("ppo", family, space, **TINY)
    job = TrainingJob(space.targets, 0)
    slots = trainer.open_slots(job)
    slots.close()
    (training,) = trainer.train([job])
    played = trainer.evaluate(training.policy, space.targets, episodes=2, seed=1)
    return type(slots._batch), training, played


def assert_equal(first, second):
    (_, one, played), (_, other, played_too) = first, second
    assert one.curve == other.curve
    arrays, others = one.policy.arrays(), other.policy.arrays()
    assert all(np.array_equal(arrays[name], others[name]) for name in arrays)
    assert np.array_equal(played.returns, played_too.returns)
    assert played.steps == played_too.steps


def test_training_and_evaluation_equal_those_of_single_environments(monkeypatch):
    batched = train()
    monkeypatch.setattr(Hopper, "make_env_batch", lambda self, size: None)
    single = train()
    assert (batched[0], single[0]) == (HopperBatch, GymnasiumBatch)
    assert_equal(batched, single)
    assert len(set(batched[2].returns.ravel())) > 4


@pytest.mark.parametrize("method", ["observe", "judge"])
def test_numbers_that_are_not_finite_name_their_context(monkeypatch, method):
    """One slot of a batch is broken, from the third step on."""
    calls, usual = [], getattr(HopperBatch, method)

    def broken(self, slots, *how):
        made = usual(self, slots, *how)
        calls.append(slots)
        if len(slots) == 3 and len(calls) > 6:
            (made if method == "observe" else made[0])[1] = np.nan
        return made

    monkeypatch.setattr(HopperBatch, method, broken)
    family = make_family("Hopper")
    space = family.space("world", levels=2)
    trainer = make_trainer("ppo", family, space, **TINY)
    with pytest.raises(TrainingError, match=r"failed in the context \{.*'gravity': .*nan"):
        trainer.train([TrainingJob(space.targets, 0)])
