"""Training that starts from a policy, takes its own number of steps, or is of several shapes."""

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.environments import make_family
from sdmbtl.errors import TrainerError
from sdmbtl.policies import policy_bytes, policy_from_bytes
from sdmbtl.training import TrainingJob, make_trainer

# The settings of other tests too: most of the time goes into compiling.
QUICK = {"total_timesteps": 4096, "update_epochs": 2, "eval_every": 1, "eval_episodes": 2}
SPACE = ContextSpace(length=[0.3, 0.9], masspole=[0.05, 0.5])


def cartpole(**options):
    return make_trainer("ppo", make_family("CartPole", space=SPACE), SPACE, **{**QUICK, **options})


@pytest.fixture(scope="module")
def parent():
    (training,) = cartpole().train([TrainingJob(SPACE.targets[:1], 0)])
    return training


def test_steps_of_a_job_come_first():
    trainer = cartpole()
    runs = trainer.train([TrainingJob(SPACE.targets[:1], 0, steps=n) for n in (None, 2048, 2049)])
    assert [t.steps for t in runs] == [4096, 2048, 4096]
    assert [at for at, _ in runs[1].curve] == [2048]
    usual, _, rounded = (policy_bytes(t.policy) for t in runs)
    assert usual == rounded, "rounded up to whole iterations"


def test_the_learning_rate_falls_over_the_steps_of_the_job():
    job = TrainingJob(SPACE.targets[:1], 0, steps=6144)
    falling, same, constant = (
        policy_bytes(cartpole(eval_episodes=0, **options).train([job])[0].policy)
        for options in (
            {"anneal_lr": True},
            {"anneal_lr": True, "total_timesteps": 2048},
            {"anneal_lr": False},
        )
    )
    assert falling == same != constant


def test_a_policy_file_keeps_what_training_needs(parent):
    policy = parent.policy
    again = policy_from_bytes(policy_bytes(policy))
    assert [w.shape for w, _ in policy.critic] == [(4, 64), (64, 64), (64, 1)]
    for (w, b), (v, c) in zip(policy.critic, again.critic, strict=True):
        assert np.array_equal(w, v)
        assert np.array_equal(b, c)
    assert again.observations_seen is policy.observations_seen is None  # nothing is normalised
    acting = policy.acting()
    assert set(acting.arrays()) == {
        *(f"{kind}_{i}" for kind in ("weight", "bias") for i in range(3)),
        *("shift", "scale"),
    }
    observations = np.random.default_rng(0).normal(size=(50, 4))
    assert np.array_equal(acting.act(observations), policy.act(observations))


def test_without_learning_the_child_is_the_parent(parent):
    trainer = cartpole(learning_rate=0.0)
    job = TrainingJob(SPACE.targets[:1], 5, parent=parent.policy, steps=2048)
    (child,) = trainer.train([job])
    for mine, its in zip(child.policy.weights, parent.policy.weights, strict=True):
        assert np.array_equal(mine, its)
    for (mine, _), (its, _) in zip(child.policy.critic, parent.policy.critic, strict=True):
        assert np.array_equal(mine, its)
    assert [at for at, _ in child.curve] == [0, 2048]


def test_nothing_worse_than_the_parent_is_returned(parent):
    trainer = cartpole(learning_rate=0.3)  # which ruins it
    jobs = [TrainingJob(SPACE.targets, 7 + i, parent=parent.policy) for i in range(2)]
    children = trainer.train(jobs)
    for child in children:
        assert child.curve[0][0] == 0
        assert child.source_return == max(value for _, value in child.curve)
        assert child.source_return >= child.curve[0][1]
    ruined = [t for t in children if t.curve[-1][1] < t.curve[0][1]]
    assert ruined
    for child in ruined:
        if child.source_return == child.curve[0][1]:
            assert np.array_equal(child.policy.weights[0], parent.policy.weights[0])


def test_an_old_file_gets_a_fresh_critic(parent):
    trainer = cartpole(learning_rate=0.0)
    old = parent.policy.acting()
    (child,) = trainer.train([TrainingJob(SPACE.targets[:1], 5, parent=old, steps=2048)])
    assert np.array_equal(child.policy.weights[0], old.weights[0])
    fresh = trainer.form.begin(TrainingJob(SPACE.targets, 5))[0].critic
    assert np.array_equal(child.policy.critic[0][0], np.asarray(fresh[0][0]))


def test_the_normaliser_goes_on_and_exploration_is_restored():
    family = make_family("Pendulum")
    space = family.space("wide", levels=1)
    options = {**QUICK, "norm_obs": True, "total_timesteps": 2048}
    trainer = make_trainer("ppo", family, space, **options)
    (first,) = trainer.train([TrainingJob(space.targets, 0)])
    assert first.policy.observations_seen == 2048
    job = TrainingJob(space.targets, 1, parent=first.policy)
    weights, scaling = trainer.form.begin(job)
    assert np.array_equal(np.asarray(weights.log_std), [0.0])
    assert np.allclose(scaling.mean, first.policy.shift)
    assert float(scaling.number) == 2048
    (second,) = trainer.train([job])
    kept_parent = second.source_return == second.curve[0][1]
    assert second.policy.observations_seen == (2048 if kept_parent else 4096)
    other = make_trainer("ppo", family, space, **{**options, "norm_obs": False})
    with pytest.raises(TrainerError, match="norm_obs False .*Got MlpPolicy .* norm_obs True"):
        other.train([job])


def test_a_parent_that_does_not_fit(parent):
    narrow = cartpole(hidden_sizes=[16])
    with pytest.raises(
        TrainerError,
        match=r"its own.*\(16, 2\).* Got MlpPolicy with layers of shapes .*\(64, 2\)",
    ):
        narrow.train([TrainingJob(SPACE.targets, 0, parent=parent.policy)])


def test_a_policy_that_begins_to_see_its_context_acts_like_its_parent_at_first(parent):
    trainer = cartpole()
    weights, stats = trainer.form.begin(
        TrainingJob(SPACE.targets, 0, parent=parent.policy, sees_context=True)
    )
    seeing = trainer.form.make_policy(weights, stats)
    observations = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    contexts = np.random.default_rng(1).random((50, 2)).astype(np.float32)
    assert seeing.sees_context
    acted = seeing.act(np.hstack([observations, contexts]))
    np.testing.assert_array_equal(acted, parent.policy.act(observations))
    with pytest.raises(TrainerError, match="sees_context=True"):
        TrainingJob(SPACE.targets, 0, parent=seeing)


def test_jobs_of_several_shapes_come_back_in_order(parent):
    one, all_ = SPACE.targets[:1], SPACE.targets
    jobs = [
        TrainingJob(one, 0),
        TrainingJob(all_, 1),
        TrainingJob(one, 2, steps=2048),
        TrainingJob(one, 3, parent=parent.policy),
        TrainingJob(one, 4),
        TrainingJob(all_, 5),
    ]
    trainer = cartpole(chunk=2)
    assert trainer.chunks(jobs) == [[0, 4], [1, 5], [2], [3]]
    assert trainer.chunks([*jobs[:2], TrainingJob(one, 0, sees_context=True)]) == [[0], [1], [2]]
    alike = [TrainingJob(one, seed) for seed in range(5)]
    assert trainer.chunks(alike) == [[0, 1], [2, 3], [4]]
    calls = []
    together = trainer.train(jobs, calls.append)
    done = [report.steps for report in calls]
    assert done == sorted(done)
    assert done[-1] == calls[-1].total_steps == 5 * 4096 + 2048
    (pair,) = [trainer.train([jobs[0], jobs[4]])]
    assert policy_bytes(together[4].policy) == policy_bytes(pair[1].policy)
    assert [t.steps for t in together] == [4096, 4096, 2048, 4096, 4096, 4096]
