"""Training and evaluation in a vector environment: real traffic, short episodes."""

from dataclasses import replace

import numpy as np
import pytest

from sdmbtl.errors import SimulationError
from sdmbtl.policies import policy_bytes
from sdmbtl.seeds import episode_seed
from sdmbtl.training import TrainingJob, make_trainer
from sdmbtl.training.checkpoint import Checkpoint
from sdmbtl.training.evaluation import play_random_actions
from sdmbtl_traffic.family import Traffic

pytest.importorskip("libsumo")

SETTINGS = {
    "total_timesteps": 1152,
    "num_envs": 3,
    "num_steps": 96,
    "minibatch_size": 32,
    "update_epochs": 2,
    "eval_episodes": 3,
}


@pytest.fixture(scope="module")
def family():
    return Traffic(horizon=70.0, warm_up=20, max_vehicles=10)


@pytest.fixture(scope="module")
def trainer(family):
    return make_trainer("ppo", family, family.space(levels=2), **SETTINGS)


@pytest.fixture(scope="module")
def job():
    return TrainingJob(np.array([[500.0, 0.6, 14.0], [300.0, 0.5, 20.0]]), seed=4)


@pytest.fixture(scope="module")
def training(trainer, job):
    return trainer.train_chunk([job])[0]


def test_an_episode_does_not_depend_on_what_else_is_played(trainer, training):
    targets = trainer.space.targets
    everything = trainer.evaluate(training.policy, targets, episodes=5, seed=1).returns
    assert np.isfinite(everything).all()
    for only in ([3], [7, 2], list(range(7, -1, -1))):
        some = trainer.evaluate(training.policy, targets, episodes=5, seed=1, only=only)
        np.testing.assert_array_equal(some.returns[only], everything[only])
    fewer = trainer.evaluate(training.policy, targets, episodes=2, seed=1).returns
    np.testing.assert_array_equal(fewer, everything[:, :2])


def test_random_actions_that_do_not_come_to_an_end_are_not_known(family):
    space = family.space(levels=2)

    def play(most_steps, limit=None):
        return play_random_actions(
            family,
            space,
            space.targets[:2],
            episodes=1,
            most_steps=most_steps,
            max_episode_steps=limit,
            seed=0,
        )

    assert np.isnan(play(20).returns).all()
    assert np.isfinite(play(10_000).returns).all()
    limited = play(20, limit=10)
    assert np.isfinite(limited.returns).all()
    assert limited.steps == 20


def test_returns_are_means_over_agents_of_their_sums(family, trainer, training):
    targets = trainer.space.targets[:1]
    evaluated = trainer.evaluate(training.policy, targets, episodes=1, seed=1).returns[0, 0]
    env = family.make_vector_env()
    now = env.reset([trainer.space.context(targets[0])], [episode_seed(1, 0, 0)])
    current, sums, is_over = {}, [], False
    while not is_over:
        step = env.step(env.act(training.policy, now.obs))
        for slot, reward, gone in zip(now.slots, step.reward, step.gone, strict=True):
            current[slot] = current.get(slot, 0.0) + reward
            if gone:
                sums.append(current.pop(slot))
        now, is_over = step.now, step.is_over
        for slot in now.slots:
            current.setdefault(slot, 0.0)
    env.close()
    assert evaluated == pytest.approx(np.mean([*sums, *current.values()]), rel=1e-6)


def test_a_run_that_was_stopped_continues_to_the_same_bytes(
    family, trainer, job, training, tmp_path
):
    class StopError(Exception):
        pass

    def stop_in_the_middle(report):
        if report.steps >= 600:
            raise StopError

    def checkpoint():
        return Checkpoint(tmp_path / "checkpoint", seconds=0.0)

    with pytest.raises(StopError):
        trainer.train_chunk([job], stop_in_the_middle, checkpoint())
    other = make_trainer("ppo", family, family.space(levels=2), **SETTINGS)
    continued = other.train_chunk([job], None, checkpoint())[0]
    assert policy_bytes(continued.policy) == policy_bytes(training.policy)
    assert len(training.curve) == 4  # after each of four iterations


@pytest.mark.slow
def test_policies_can_see_the_context(family, job):
    trainer = make_trainer("ppo", family, family.space(levels=2), **SETTINGS)
    trained = trainer.train_chunk([replace(job, sees_context=True)])[0]
    assert trained.policy.sees_context
    assert trained.policy.observation_size == 14 + 3
    returns = trainer.evaluate(trained.policy, trainer.space.targets, episodes=1, seed=0).returns
    assert np.isfinite(returns).all()


def test_a_context_on_which_the_simulation_fails_is_nan_and_the_others_are_not(
    trainer, training, monkeypatch
):
    targets = trainer.space.targets
    expected = trainer.evaluate(training.policy, targets, episodes=2, seed=1).returns
    vector_env = trainer.vector_env(trainer.family)
    reset = vector_env.reset

    def refuse(contexts, seeds):
        if any(context["inflow"] == 300.0 and context["green"] == 24.0 for context in contexts):
            raise SimulationError("out of petrol")
        return reset(contexts, seeds)

    monkeypatch.setattr(vector_env, "reset", refuse)
    found = trainer.evaluate(training.policy, targets, episodes=2, seed=1)
    bad = np.flatnonzero((targets[:, 0] == 300.0) & (targets[:, 2] == 24.0)).tolist()
    assert sorted(found.errors) == bad
    assert "out of petrol" in found.errors[bad[0]]
    assert "'green': 24.0" in found.errors[bad[0]]
    assert np.isnan(found.returns[bad]).all()
    good = [n for n in range(len(targets)) if n not in bad]
    np.testing.assert_array_equal(found.returns[good], expected[good])
