"""The drone: its physics against closed forms, its Gymnasium view and its pictures."""

from itertools import product
from math import cos, exp, hypot, sin

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sdmbtl.environments import make_family
from sdmbtl.environments.drone_view import draw_drone
from sdmbtl.environments.functional import drone as physics

FAMILY = make_family("Drone")
TWIN = FAMILY.functional()
STEP = jax.jit(TWIN.step)
CORNERS = [
    dict(zip(space.names, values, strict=True))
    for space in map(FAMILY.space, FAMILY.ranges)
    for values in product(*space.bounds.values())
]


def vector(context):
    """All features as the functions take them."""
    return jnp.array(list(FAMILY.full_context(context).values()))


def flight(state, command, c, steps=4, dt=0.01):
    """One step of the equations in the class's description, number by number."""
    x, z, tilt, vx, vz, spin, left, right = state
    mass = 1.0 + c["payload"]
    for _ in range(steps):
        keep = exp(-dt / 0.08)
        left, right = (
            (b + 1) / 2 + (a - (b + 1) / 2) * keep
            for a, b in zip((left, right), command, strict=True)
        )
        lift = c["thrust"] * (left + right)
        turn = c["thrust"] * c["arm"] * (left - right) / (0.4 * c["arm"] ** 2) - spin
        vx += dt * (lift * sin(tilt) / mass + 0.4 * (c["wind"] - vx) / mass)
        vz += dt * (lift * cos(tilt) / mass - 0.4 * vz / mass - c["gravity"])
        spin += dt * turn
        x, z, tilt = x + dt * vx, z + dt * vz, tilt + dt * spin
    return np.array([x, z, tilt, vx, vz, spin, left, right]), 1 / (1 + (hypot(x, z) / 0.3) ** 2)


def test_every_step_follows_the_equations():
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        for context in CORNERS[::5]:
            full = FAMILY.full_context(context)
            for _ in range(20):
                state = rng.uniform(-1, 1, 8) * [3.1, 3.1, 1.6, 4, 4, 6, 0.5, 0.5]
                state[6:] += 0.5
                command = rng.uniform(-1, 1, 2)
                new, reward, ended = STEP(state, command, vector(context))
                expected, worth = flight(state, command, full)
                np.testing.assert_allclose(new, expected, rtol=1e-9, atol=1e-9)
                assert reward == pytest.approx(worth, rel=1e-9)
                outside = max(abs(expected[0]), abs(expected[1])) > 3
                assert bool(ended) == (outside or abs(expected[2]) > np.pi / 2)


@pytest.mark.parametrize("context", CORNERS[::3])
def test_it_hovers_at_the_goal_where_thrust_balances_weight_and_wind(context):
    """Every corner can be flown: the motors are strong enough, and nothing then moves."""
    c = FAMILY.full_context(context)
    weight, storm = (1 + c["payload"]) * c["gravity"], physics.DRAG * c["wind"]
    tilt, power = -np.arctan2(storm, weight), np.hypot(weight, storm) / (2 * c["thrust"])
    assert power < 0.8
    state = np.array([0, 0, tilt, 0, 0, 0, power, power])
    with jax.enable_x64(True):
        new, reward, ended = STEP(state, np.full(2, 2 * power - 1), vector(context))
    np.testing.assert_allclose(new, state, atol=1e-5)
    assert (float(reward), bool(ended)) == (pytest.approx(1.0), False)


def test_the_view_takes_the_same_steps():
    rng = np.random.default_rng(1)
    for context in (CORNERS[0], CORNERS[-1], {}):
        env = FAMILY.make(context)
        observation, _ = env.reset(seed=3)
        state, ended, total = env.inner.state, False, 0
        while not ended:
            np.testing.assert_array_equal(observation, TWIN.observe(state, vector(context)))
            action = rng.uniform(-1.2, 1.2, 2).astype(np.float32)
            state, reward, done = STEP(state, action, vector(context))
            observation, given, terminated, truncated, _ = env.step(action)
            assert (given, terminated) == (float(reward), bool(done))
            ended, total = terminated or truncated, total + 1
        assert total <= TWIN.max_steps


def test_no_action_breaks_it_anywhere():
    """States stay finite and rewards within the range of returns, beyond the end too."""
    actions = jnp.array(list(product((-1.0, 1.0), repeat=2)))
    contexts = jnp.stack([vector(context) for context in CORNERS])

    def fly(action, parameters):
        def one(state, _):
            new, reward, _ = TWIN.step(state, action, parameters)
            return new, reward

        start = TWIN.reset(jax.random.key(0), parameters)
        return jax.lax.scan(one, start, None, TWIN.max_steps)

    every = jax.vmap(jax.vmap(fly, (None, 0)), (0, None))
    states, rewards = every(actions, contexts)
    assert np.isfinite(states).all()
    totals = np.asarray(rewards).sum(axis=-1)
    low, high = FAMILY.return_range
    assert (totals >= low).all()
    assert (totals <= high).all()


def test_pictures_show_the_drone_and_its_context():
    env = FAMILY.make({"wind": 5.0}, render_mode="rgb_array")
    env.reset(seed=0)
    shown = env.render()
    assert (shown.shape, shown.dtype) == ((360, 360, 3), np.uint8)
    state = np.array([-1.0, 1.0, 0.3, 0, 0, 0, 0.5, 0.5])
    usual = draw_drone(state, FAMILY.defaults)
    for feature, value in {"payload": 1.0, "arm": 0.8, "thrust": 30.0, "wind": -4.0}.items():
        changed = (draw_drone(state, {**FAMILY.defaults, feature: value}) != usual).any(axis=2)
        assert changed.any(), feature
    level, tilted = (
        draw_drone(np.array([0, 0, tilt, 0, 0, 0, 0.0, 0.0]), FAMILY.defaults) < 60
        for tilt in (0.0, 0.8)
    )
    assert np.ptp(np.nonzero(tilted.all(axis=2))[0]) > np.ptp(np.nonzero(level.all(axis=2))[0])
