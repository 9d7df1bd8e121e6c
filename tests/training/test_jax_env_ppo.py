"""PPO in JAX environments: it learns, repeats itself exactly, and agrees with Gymnasium."""

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.environments import make_family
from sdmbtl.errors import TrainerError, TrainingError
from sdmbtl.policies import MlpPolicy, policy_bytes
from sdmbtl.training import TrainerSpec, TrainingJob, make_trainer, train
from sdmbtl.training.rollout import evaluate_in_gymnasium

QUICK = {"total_timesteps": 4096, "update_epochs": 2, "eval_every": 1, "eval_episodes": 2}


def cartpole(**options):
    family = make_family("CartPole")
    space = family.space("wide", levels=2)
    return make_trainer("ppo", family, space, **options)


def play_in_gymnasium(trainer, policy, episodes):
    limits = {"max_episode_steps": None, "endless_after": 1000}
    how = {"episodes": episodes, "seed": 1, **limits}
    space = trainer.space
    return evaluate_in_gymnasium(trainer.family, policy, space, space.targets, **how).complete()


@pytest.fixture(scope="module")
def learned():
    family = make_family("CartPole")
    space = ContextSpace(length=[0.5, 4.0], masspole=[0.1, 1.0])
    trainer = make_trainer("ppo", family, space, total_timesteps=40_960, eval_episodes=10)
    calls = []
    (training,) = trainer.train([TrainingJob(space.targets[:1], 7)], calls.append)
    return trainer, training, calls


def test_it_learns(learned):
    _, training, calls = learned
    assert training.source_return >= 475
    assert training.steps == 40_960
    assert [steps for steps, _ in training.curve] == [10_240, 20_480, 30_720, 40_960]
    assert training.source_return == max(value for _, value in training.curve)
    played = 10 * sum(value for _, value in training.curve)
    assert training.evaluation_steps == pytest.approx(played)
    assert (calls[0].steps, calls[0].total_steps) == (0, 40_960)
    assert [(c.steps, c.total_steps) for c in calls[1:]] == [(s, 40_960) for s, _ in training.curve]
    assert [c.stage for c in calls] == ["compiling", *["training"] * 4]
    assert [c.evaluations for c in calls] == [(), *((entry,) for entry in training.curve)]


def test_a_training_run_of_the_same_shape_does_not_compile(learned):
    trainer, _, _ = learned
    calls = []
    job = TrainingJob(trainer.space.targets[:1], 8, steps=10_240)
    trainer.train([job], calls.append)
    assert [(c.steps, c.total_steps) for c in calls] == [(10_240, 10_240)]


def test_evaluation_agrees_with_gymnasium(learned):
    trainer, training, _ = learned
    contexts = trainer.space.targets
    played = trainer.evaluate(training.policy, contexts, episodes=50, seed=1)
    ours = played.complete()
    assert ours.shape == (4, 50)
    assert played.steps == ours.sum(), "CartPole's reward is 1 in every step"
    assert ours[0].mean() >= 450
    theirs = play_in_gymnasium(trainer, training.policy, episodes=20)
    assert np.allclose(ours.mean(axis=1), theirs.mean(axis=1), rtol=0.15, atol=15)


def test_blocks_of_an_evaluation_do_not_matter(learned, monkeypatch):
    trainer, training, _ = learned
    contexts = trainer.space.targets
    returns = trainer.evaluate(training.policy, contexts, episodes=5, seed=2).complete()
    monkeypatch.setattr("sdmbtl.training.ppo.jax_env.EPISODES_AT_ONCE", 8)
    again = trainer.evaluate(training.policy, contexts, episodes=5, seed=2)
    assert np.array_equal(returns, again.complete())
    assert again.steps == returns.sum()
    some = trainer.evaluate(training.policy, contexts, episodes=5, seed=2, only=[3, 1])
    assert some.steps == returns[[3, 1]].sum(), "episodes that fill up a block do not count"


def test_chunks_do_not_depend_on_each_other():
    with pytest.raises(TrainerError, match="'chunk' must be a whole number >= 1"):
        cartpole(chunk=0)
    space = cartpole().space
    jobs = [TrainingJob(space.targets[[i]], i) for i in range(4)]
    calls = []
    trainer = cartpole(chunk=2, **QUICK)
    together = train(TrainerSpec.of(trainer), jobs, calls.append)
    for numbers in ([0, 1], [2, 3]):
        for number, alone in zip(numbers, trainer.train([jobs[n] for n in numbers]), strict=True):
            assert policy_bytes(alone.policy) == policy_bytes(together[number].policy)
            assert alone.curve == together[number].curve
    counts = dict.fromkeys((c.steps, c.total_steps) for c in calls if c.steps)
    assert list(counts)[-1] == (16384, 16384)
    assert len({policy_bytes(t.policy) for t in together}) == 4


def test_without_evaluations_the_curve_has_the_returns_of_training():
    short = {"total_timesteps": 256, "num_steps": 4, "minibatch_size": 32, "update_epochs": 1}
    trainer = cartpole(**short, max_episode_steps=6, eval_every=1)
    job = TrainingJob([[0.5, 1.0, 0.1]], 0)
    (training,) = trainer.train([job])
    # After four steps no episode has ended; then all end at the time limit.
    assert [value for _, value in training.curve] == [4.0, *[6.0] * 7]
    assert (training.source_return, training.evaluation_steps) == (6.0, 0)


def test_multi_task():
    """One policy on several contexts, which it sees."""
    trainer = cartpole(**QUICK)
    (training,) = trainer.train([TrainingJob(trainer.space.targets, 0, sees_context=True)])
    assert training.policy.observation_size == 4 + 3
    targets = trainer.space.targets
    returns = trainer.evaluate(training.policy, targets, episodes=2, seed=0).complete()
    assert returns.shape == (8, 2)
    first, *others = training.policy.weights
    blind = MlpPolicy(
        [np.where(np.arange(7)[:, None] < 4, first, 0.0), *others],
        training.policy.biases,
        training.policy.shift,
        training.policy.scale,
        sees_context=True,
    )
    unseen = trainer.evaluate(blind, trainer.space.targets, episodes=2, seed=0).complete()
    assert not np.array_equal(returns, unseen)


def test_continuous_actions_and_normalised_observations_travel_with_the_policy():
    family = make_family("Pendulum")
    space = family.space("wide", levels=1)
    options = {**QUICK, "total_timesteps": 2048, "norm_obs": True}  # as in test_parents.py
    trainer = make_trainer("ppo", family, space, **options)
    (training,) = trainer.train([TrainingJob(space.targets[:1], 0)])
    policy = training.policy
    assert training.source_return < -100
    assert (policy.bounds, policy.limit) == ((-2.0, 2.0), 10.0)
    assert not np.allclose(policy.scale, 1.0)
    action = policy.act(np.full((4, 3), 5.0))
    assert action.shape == (4, 1)
    assert np.abs(action).max() <= 2.0
    ours = trainer.evaluate(policy, space.targets, episodes=20, seed=0).complete()
    theirs = play_in_gymnasium(trainer, policy, episodes=10)
    assert np.allclose(ours.mean(), theirs.mean(), rtol=0.2)


def test_a_run_that_diverges():
    family = make_family("Pendulum")
    space = family.space("wide", levels=1)
    trainer = make_trainer(
        "ppo", family, space, total_timesteps=2048, update_epochs=1, learning_rate=1e38
    )
    with pytest.raises(TrainingError, match="not finite"):
        trainer.train([TrainingJob(space.targets[:1], 0)])


def test_multi_task_is_evaluated_on_the_same_contexts():
    trainer = cartpole(**QUICK)
    assert list(trainer._ppo._evaluated_tasks(1)) == [0, 0]
    assert list(trainer._ppo._evaluated_tasks(8)) == list(range(8))
    assert len(set(trainer._ppo._evaluated_tasks(512))) == 64


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "reached"), [("Pendulum", -300), ("Acrobot", -110), ("MountainCar", -130)]
)
def test_recommended_settings_learn_the_usual_context(name, reached):
    family = make_family(name)
    space = family.space()
    usual = [[family.defaults[feature] for feature in space.names]]
    trainer = make_trainer("ppo", family, space)
    for training in trainer.train([TrainingJob(usual, seed) for seed in range(3)]):
        returns = trainer.evaluate(training.policy, usual, episodes=50, seed=1).complete()
        assert returns.mean() > reached
