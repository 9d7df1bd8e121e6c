"""The pure-function twins, step by step against the Gymnasium environments."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Discrete

from sdmbtl.environments import make_family

TWINS = {
    "CartPole": make_family("CartPole"),
    "CartPole-carl": make_family("CartPole", physics="carl"),
    "Pendulum": make_family("Pendulum"),
    "Acrobot": make_family("Acrobot"),
    "MountainCar": make_family("MountainCar"),
}
STEPS = 250

each_twin = pytest.mark.parametrize("family", TWINS.values(), ids=TWINS)


def random_contexts(family, rng):
    """A context of every space of the family, the other features up to 30 % off their values."""
    for space in map(family.space, family.ranges):
        shifted = {k: v * rng.uniform(0.7, 1.3) for k, v in family.defaults.items()}
        yield family.full_context({**shifted, **space.target(int(rng.integers(len(space))))})


def random_action(actions, rng):
    """An action, for continuous ones also beyond their bounds."""
    if isinstance(actions, Discrete):
        return int(rng.integers(actions.n))
    return rng.uniform(1.5 * actions.low, 1.5 * actions.high, actions.shape).astype(np.float32)


@each_twin
def test_every_step_is_that_of_the_gymnasium_environment(family):
    twin, rng = family.functional(), np.random.default_rng(0)
    with jax.enable_x64(True):
        step, observe = jax.jit(twin.step), jax.jit(twin.observe)
        for context in random_contexts(family, rng):
            parameters = jnp.array([context[name] for name in twin.defaults])
            env = family.build(context, None)
            inner = env.unwrapped
            observation, _ = env.reset(seed=0)
            for _ in range(STEPS):
                before = np.array(inner.state, dtype=np.float64)
                np.testing.assert_allclose(observe(before, parameters), observation, atol=1e-6)
                action = random_action(twin.actions, rng)
                state, reward, ended = step(before, action, parameters)
                observation, expected, terminated, truncated, _ = env.step(action)
                # Gymnasium computes the torque of the pendulum with single precision.
                np.testing.assert_allclose(
                    state, np.array(inner.state, dtype=np.float64), rtol=1e-6, atol=2e-6
                )
                assert reward == pytest.approx(expected, rel=1e-6)
                assert bool(ended) == terminated
                if terminated or truncated:
                    observation, _ = env.reset()


@each_twin
def test_ends_are_those_of_the_gymnasium_environment(family):
    """From states all over the space, not only those that chance actions reach."""
    twin, rng = family.functional(), np.random.default_rng(1)
    env = family.build(dict(family.defaults), None)
    inner = env.unwrapped
    env.reset(seed=0)
    reach = {
        "CartPole": [2.5, 3.0, 0.25, 3.0],
        "Pendulum": [9.0, 8.0],
        "Acrobot": [3.1, 3.1, 12.0, 28.0],
        "MountainCar": [0.9, 0.07],
    }[family.name]
    centre = [-0.3, 0.0] if family.name == "MountainCar" else np.zeros(len(reach))
    parameters, ends = jnp.array(list(family.defaults.values())), []
    with jax.enable_x64(True):
        step = jax.jit(twin.step)
        for _ in range(400):
            start = centre + rng.uniform(-1, 1, len(reach)) * reach
            inner.state = start
            if family.name == "CartPole":
                inner.steps_beyond_terminated = None
            action = random_action(twin.actions, rng)
            state, reward, ended = step(start, action, parameters)
            _, expected, terminated, _, _ = inner.step(
                action if isinstance(twin.actions, Discrete) else np.clip(action, -2, 2)
            )
            np.testing.assert_allclose(state, inner.state, rtol=1e-6, atol=2e-6)
            assert reward == pytest.approx(float(expected), rel=1e-6)
            assert bool(ended) == terminated
            ends.append(terminated)
    assert any(ends) == (family.name != "Pendulum")
    assert not all(ends)


@each_twin
def test_episodes_begin_as_in_gymnasium(family):
    twin = family.functional()
    parameters = jnp.array(list(family.defaults.values()))
    keys = jax.random.split(jax.random.key(0), 4000)
    ours = np.asarray(jax.vmap(twin.reset, (0, None))(keys, parameters))
    env = family.build(dict(family.defaults), None)
    theirs = []
    for seed in range(1000):
        env.reset(seed=seed)
        theirs.append(np.array(env.unwrapped.state, dtype=np.float64))
    theirs = np.array(theirs)
    width = np.ptp(theirs, axis=0)
    for quantile in (0, 0.25, 0.5, 0.75, 1):
        apart = np.abs(np.quantile(ours, quantile, axis=0) - np.quantile(theirs, quantile, axis=0))
        assert (apart <= 0.06 * width).all(), quantile


@each_twin
def test_contexts_become_vectors_of_all_features(family):
    twin, space = family.functional(), family.space()
    vectors = twin.parameters(space.names, space.targets[:5])
    for vector, target in zip(vectors, space.targets[:5], strict=True):
        full = family.full_context(space.context(target))
        np.testing.assert_allclose(vector, list(full.values()), rtol=1e-6)
    assert vectors.dtype == np.float32
    env = family.build(dict(family.defaults), None)
    assert (twin.max_steps, twin.actions) == (env.spec.max_episode_steps, env.action_space)
    assert (twin.observation_size,) == env.observation_space.shape
