"""The pieces of PPO against closed forms and other libraries."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
import torch

from sdmbtl.environments.functional.pendulum import FunctionalPendulum
from sdmbtl.errors import TrainerError
from sdmbtl.policies.mlp import forward
from sdmbtl.training.ppo.compiled import CompiledPPO, Tasks
from sdmbtl.training.ppo.distributions import Categorical, MultiCategorical, gaussian_log_prob
from sdmbtl.training.ppo.exploration import ExploringActor
from sdmbtl.training.ppo.learner import (
    ADAM_EPSILON,
    Transition,
    gae,
    loss,
    start_optimiser,
    take_step,
)
from sdmbtl.training.ppo.networks import (
    TINY,
    RunningStats,
    initial_stats,
    initial_weights,
    orthogonal,
    update_stats,
)
from sdmbtl.training.ppo.rollout_learner import Rollout, RolloutLearner, list_samples
from sdmbtl.training.ppo.settings import PPOSettings

RNG = np.random.default_rng(0)


def test_gae_is_the_weighted_sum_of_later_errors():
    td_error, decay = RNG.normal(size=(6, 2)), RNG.uniform(size=(6, 2))
    expected = np.zeros((6, 2))
    for t in range(6):
        for later in range(t, 6):
            expected[t] += td_error[later] * np.prod(decay[t:later], axis=0)
    got = gae(jnp.array(td_error, jnp.float32), jnp.array(decay, jnp.float32))
    assert np.allclose(got, expected, atol=1e-5)


def test_adam_is_that_of_torch():
    start = RNG.normal(size=(5, 3)).astype(np.float32)
    gradients = RNG.normal(size=(7, 5, 3)).astype(np.float32) * 3
    parameter = torch.nn.Parameter(torch.tensor(start))
    optimiser = torch.optim.Adam([parameter], lr=0.01, eps=ADAM_EPSILON)
    state = start_optimiser(jnp.array(start))
    for gradient in gradients:
        parameter.grad = torch.tensor(gradient)
        torch.nn.utils.clip_grad_norm_([parameter], 0.5)
        optimiser.step()
        state = take_step(state, jnp.array(gradient), jnp.float32(0.01), 0.5)
    assert np.allclose(state.weights, parameter.detach().numpy(), atol=2e-6)
    small = take_step(state, jnp.array(gradients[0] * 1e-3), jnp.float32(0.01), 0.5)
    assert np.abs(np.asarray(small.weights - state.weights)).max() > 0  # small ones are not cut


@pytest.mark.parametrize("shape", [(4, 64), (64, 64), (64, 2)])
def test_orthogonal(shape):
    matrix = orthogonal(np.random.default_rng(1), *shape)
    product = matrix.T @ matrix if shape[0] >= shape[1] else matrix @ matrix.T
    assert np.allclose(product, np.eye(min(shape)), atol=1e-6)
    assert not np.array_equal(matrix, orthogonal(np.random.default_rng(2), *shape))


def test_gaussian_is_the_log_density():
    x, mean, log_std = RNG.normal(size=(3, 2)), RNG.normal(size=(3, 2)), np.array([0.3, -0.5])
    expected = scipy.stats.norm(mean, np.exp(log_std)).logpdf(x).sum(axis=1)
    got = gaussian_log_prob(*(jnp.array(v, jnp.float32) for v in (x, mean, log_std)))
    assert np.allclose(got, expected, atol=1e-5)


def test_running_statistics_are_those_of_everything_seen():
    parts = [RNG.normal(3.0, 2.0, size=(n, 2)) for n in (5, 50, 7)]
    scaling = RunningStats(jnp.zeros(2), jnp.ones(2), jnp.float32(TINY))
    for part in parts:
        scaling = update_stats(scaling, jnp.array(part, jnp.float32))
    seen = np.concatenate(parts)
    assert np.allclose(scaling.mean, seen.mean(axis=0), atol=1e-4)
    assert np.allclose(scaling.var, seen.var(axis=0), atol=1e-4)


def loss_of(**settings):
    weights = initial_weights(0, 4, (64, 64), 2)
    n = 16
    rng = np.random.default_rng(1)
    observations = jnp.array(rng.normal(size=(n, 4)), jnp.float32)
    actions = jnp.array(rng.integers(0, 2, n))
    old = jnp.array(np.log(rng.uniform(0.2, 0.9, n)), jnp.float32)
    advantages = jnp.array(rng.normal(size=n), jnp.float32)
    values = jnp.array(rng.normal(size=n), jnp.float32)
    batch = Transition(observations, actions, old, advantages, values)
    return PPOSettings(**settings), weights, batch


@pytest.mark.parametrize("ent_coef", [0.0, 0.1])
def test_loss_by_hand(ent_coef):
    settings, weights, batch = loss_of(ent_coef=ent_coef, clip_coef=0.1, vf_coef=0.7)
    logs = np.asarray(forward(weights.actor, batch.obs))
    logs = logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))
    ratio = np.exp(logs[np.arange(16), np.asarray(batch.action)] - batch.log_prob)
    scaled = np.asarray(batch.advantage)
    scaled = (scaled - scaled.mean()) / scaled.std()
    policy_loss = -np.minimum(ratio * scaled, np.clip(ratio, 0.9, 1.1) * scaled).mean()
    value_loss = ((forward(weights.critic, batch.obs)[:, 0] - batch.value_target) ** 2).mean()
    entropy = -(np.exp(logs) * logs).sum(axis=1).mean()
    assert np.isclose(
        loss(weights, batch, Categorical(2), settings),
        0.7 * value_loss + policy_loss - ent_coef * entropy,
        atol=1e-5,
    )


def test_empty_slots_count_nowhere():
    """Loss and statistics with empty slots are those without them, whatever is in these."""
    settings, weights, batch = loss_of(ent_coef=0.1)
    present = np.arange(16) % 3 > 0
    full = jax.tree.map(lambda x: x[present], batch)
    filled = jax.tree.map(
        lambda x: jnp.where(present.reshape(-1, *[1] * (x.ndim - 1)), x, jnp.ones_like(x)), batch
    )
    masked = filled._replace(present=jnp.float32(present))
    differentiated = jax.jit(
        jax.value_and_grad(lambda weights, batch: loss(weights, batch, Categorical(2), settings))
    )
    expected, gradient = differentiated(weights, full)
    found, masked_gradient = differentiated(weights, masked)
    assert np.isclose(found, expected, rtol=1e-5)
    for ours, theirs in zip(
        jax.tree.leaves(masked_gradient), jax.tree.leaves(gradient), strict=True
    ):
        assert np.allclose(ours, theirs, atol=1e-5)
    start = initial_stats(4)
    some = update_stats(start, filled.obs, jnp.float32(present))
    for ours, theirs in zip(some, update_stats(start, full.obs), strict=True):
        assert np.allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_several_choices_are_as_independent_ones():
    outputs = jnp.array(RNG.normal(size=(5, 7)), jnp.float32)
    actions = jnp.array(np.stack([RNG.integers(0, 3, 5), RNG.integers(0, 4, 5)], axis=1))
    several = MultiCategorical((3, 4))
    assert several.n_outputs == 7
    log_prob, entropy = several.evaluate(outputs, jnp.zeros(7), actions)
    one = Categorical(3).evaluate(outputs[:, :3], jnp.zeros(3), actions[:, 0])
    two = Categorical(4).evaluate(outputs[:, 3:], jnp.zeros(4), actions[:, 1])
    assert np.allclose(log_prob, one[0] + two[0], atol=1e-6)
    assert np.allclose(entropy, one[1] + two[1], atol=1e-6)


def test_the_actor_of_numpy_draws_what_the_network_says():
    weights = initial_weights(0, 3, (8,), 5)._replace(log_std=jnp.full(5, -0.5))
    weights.actor[-1] = (weights.actor[-1][0] * 200, weights.actor[-1][1])
    obs = np.repeat(RNG.normal(size=(1, 3)).astype(np.float32), 20_000, axis=0)
    outputs = np.asarray(forward(weights.actor, jnp.array(obs[:1])))[0]
    rng = np.random.default_rng(3)
    discrete = ExploringActor(weights, None, (2, 3))
    chosen = discrete.act(obs, discrete.draw_noise(rng, (20_000,)))
    for column, part in enumerate((outputs[:2], outputs[2:])):
        shares = np.bincount(chosen[:, column], minlength=len(part)) / 20_000
        assert np.allclose(shares, np.exp(part) / np.exp(part).sum(), atol=0.02)
    continuous = ExploringActor(weights, None, None)
    drawn = continuous.act(obs, continuous.draw_noise(rng, (20_000,)))
    assert np.allclose(drawn.mean(axis=0), outputs, atol=0.03)
    assert np.allclose(drawn.std(axis=0), np.exp(-0.5), atol=0.02)


def test_rewards_are_scaled_by_the_deviation_of_discounted_returns():
    """As stable-baselines3's VecNormalize, but with the statistics of the whole rollout."""
    settings = PPOSettings(num_envs=2, num_steps=6, minibatch_size=12, gamma=0.9)
    learner = RolloutLearner(settings, Categorical(2), norm_reward=True, has_empty_slots=False)
    reward, done = RNG.normal(size=(6, 2)) * 5, np.zeros((6, 2), bool)
    done[2, 0] = True
    state = learner.start(initial_weights(0, 3, (8,), 2), initial_stats(3), None, 2)
    nothing = jnp.zeros(0)
    rollout = Rollout(
        nothing,
        nothing,
        nothing,
        jnp.float32(reward),
        jnp.array(done),
        jnp.array(~done & done),
        nothing,
    )
    scaled, _, statistics, carried = learner._scale_rewards(state, rollout, None)
    so_far, seen = np.zeros(2), []
    for now, ended in zip(reward, done, strict=True):
        so_far = 0.9 * so_far + now
        seen.append(so_far)
        so_far = so_far * ~ended
    assert np.isclose(statistics.var[0], np.var(seen), rtol=1e-4)
    assert np.allclose(scaled, reward / np.std(seen), rtol=1e-4)
    assert np.allclose(carried, so_far, rtol=1e-4)


def test_a_truncated_episode_counts_the_value_of_its_next_state():
    """Pendulum never ends: at its time limit the value of the next state stays in."""
    settings = PPOSettings(num_envs=1, num_steps=256, minibatch_size=256)
    algorithm = CompiledPPO(FunctionalPendulum(), settings)
    begin = initial_weights(0, 3, (64, 64), 1), initial_stats(3)
    tasks = Tasks(jnp.array([[[10.0, 1.0, 1.0, 2.0]]]), jnp.zeros((1, 1, 0)))
    state = jax.tree.map(lambda x: x[0], algorithm.start(tasks, [0], [begin]))
    single = jax.tree.map(lambda x: x[0], tasks)
    env_state, transitions, seen, _ = algorithm._rollout(state, single, jax.random.PRNGKey(0))
    assert int(env_state.elapsed_steps[0]) == 56  # 256 steps, the 200th was the last of an episode
    assert seen.shape == (256, 3)
    assert not np.allclose(seen[199], seen[200], atol=0.05)
    # values + advantages at the cut: reward plus the discounted value of the state reached, whose
    # successor is another episode's; with gae the td_error of step 199 stands alone.
    layers = state.optimiser.weights.critic
    critic = lambda x: np.asarray(forward(layers, x))[..., 0]  # noqa: E731
    step = FunctionalPendulum().step
    angle = np.arctan2(seen[199, 1], seen[199, 0])
    reached, reward, _ = step(
        jnp.array([angle, seen[199, 2]]), transitions.action[199, 0], single.parameters[0]
    )
    after = FunctionalPendulum().observe(reached, single.parameters[0])
    assert np.isclose(transitions.value_target[199, 0], reward + 0.99 * critic(after), atol=1e-3)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"total_timesteps": 0}, "'total_timesteps' must be a whole number >= 1"),
        ({"learning_rate": -1.0}, "'learning_rate' must be a finite number >= 0"),
        ({"hidden_sizes": 64}, "'hidden_sizes' must list the units of each layer. Got 64"),
        ({"gae_lambda": 1.5}, "'gae_lambda' must be at most 1. Got 1.5"),
        ({"norm_obs": "no"}, "'norm_obs' must be true or false. Got 'no'"),
        ({"hidden_sizes": (64, 0)}, "'hidden_sizes' must be a whole number >= 1"),
        ({"minibatch_size": 100}, "must divide num_envs \\* num_steps = 2048. Got 100"),
        ({"reward_scale": "x"}, "'reward_scale' must be a finite number"),
    ],
)
def test_unusable_settings(settings, text):
    with pytest.raises(TrainerError, match=text):
        PPOSettings(**settings)


@pytest.mark.parametrize("seed", range(5))
def test_samples_are_those_who_acted_one_agent_after_another(seed):
    rng = np.random.default_rng(seed)
    present = rng.random((7, 5)) < rng.random()
    rows, count = list_samples(present, 4)
    assert count == present.sum()
    assert len(rows) >= count
    assert len(rows) % 4 == 0
    expected = [t * 5 + s for s in range(5) for t in range(7) if present[t, s]]
    assert rows[:count].tolist() == expected
