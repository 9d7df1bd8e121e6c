"""The physics of every family, against Gymnasium's and against closed forms."""

import subprocess
import sys
from math import cos, sin

import gymnasium
import numpy as np
import pytest

from sdmbtl.environments import make_family
from sdmbtl.environments.acrobot import PhysicalAcrobot
from sdmbtl.environments.bipedal_walker import (
    MODULE,
    compile_walker_module,
    copy_walker_module,
)
from sdmbtl.errors import ContextError, FamilyError

ORIGINALS = {
    "CartPole": "CartPole-v1",
    "Pendulum": "Pendulum-v1",
    "Acrobot": "Acrobot-v1",
    "MountainCar": "MountainCar-v0",
    "BipedalWalker": "BipedalWalker-v3",
}


@pytest.fixture(scope="module", autouse=True)
def _box2d():
    make_family("BipedalWalker").make()  # imports Box2D, which crashes if warnings are errors


def play(env, steps=300, seed=0):
    """(n, d + 3) observations, rewards and ends of episodes with pseudo-random actions."""
    env.action_space.seed(seed)
    observation, _ = env.reset(seed=seed)
    rows = [[*observation, 0.0, False, False]]
    for _ in range(steps):
        observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        rows.append([*observation, reward, terminated, truncated])
        if terminated or truncated:
            observation, _ = env.reset()
            rows.append([*observation, 0.0, False, False])
    return np.array(rows, dtype=np.float64)


@pytest.mark.parametrize(("name", "original"), ORIGINALS.items())
def test_the_usual_context_is_gymnasiums(name, original):
    ours = play(make_family(name).make(), steps=600)
    theirs = play(gymnasium.make(original), steps=600)
    if name == "BipedalWalker":  # Gymnasium's later episodes depend on those before
        first = int(np.argmax(ours[:, -2:].any(axis=1))) + 1
        assert first > 50
        ours, theirs = ours[:first], theirs[:first]
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5 if name == "Acrobot" else 0)


# -- CartPole ----------------------------------------------------------------------------


def cartpole_step(state, action, c):
    """One Euler step of the published equations, from the masses and the length alone."""
    x, v, theta, omega = state
    force = c["force_mag"] * (1 if action else -1)
    total = c["masscart"] + c["masspole"]
    temp = (force + c["masspole"] * c["length"] * omega**2 * sin(theta)) / total
    alpha = (c["gravity"] * sin(theta) - cos(theta) * temp) / (
        c["length"] * (4 / 3 - c["masspole"] * cos(theta) ** 2 / total)
    )
    a = temp - c["masspole"] * c["length"] * alpha * cos(theta) / total
    return np.array([x + 0.02 * v, v + 0.02 * a, theta + 0.02 * omega, omega + 0.02 * alpha])


def test_cartpole_follows_the_equations_of_the_context():
    context = {
        "length": 1.3,
        "masscart": 2.5,
        "masspole": 0.7,
        "force_mag": 14.0,
        "gravity": 6.0,
    }
    env = make_family("CartPole").make(context)
    state, _ = env.reset(seed=3)
    state = state.astype(np.float64)
    for action in (1, 1, 0, 1, 0, 0):
        state = cartpole_step(state, action, context)
        np.testing.assert_allclose(env.step(action)[0], state, rtol=1e-4, atol=1e-6)


def first_step(family, **context):
    env = family.make(context)
    env.reset(seed=0)
    return env.step(1)[0]


def test_carl_physics_leaves_the_cached_masses():
    physical, carl = make_family("cartpole"), make_family("cartpole", physics="carl")
    assert not np.array_equal(first_step(physical), first_step(physical, masscart=5.0))
    np.testing.assert_array_equal(first_step(carl), first_step(carl, masscart=5.0))
    assert not np.array_equal(first_step(carl), first_step(carl, length=1.0))
    np.testing.assert_array_equal(first_step(carl), first_step(physical))


def test_the_papers_cartpole_contexts():
    space = make_family("cartpole").space("paper")
    assert space.shape == (9, 10, 10)
    bounds = {"length": (0.2, 1.0), "masscart": (0.2, 2.0), "masspole": (0.02, 0.2)}
    assert space.bounds == bounds


# -- Pendulum ----------------------------------------------------------------------------


def test_pendulum_commands_are_shares_of_the_torque():
    context = {"gravity": 5.0, "mass": 0.5, "length": 2.0, "max_torque": 6.0}
    env = make_family("Pendulum").make(context)
    observation, _ = env.reset(seed=1)
    theta, omega = np.arctan2(observation[1], observation[0]), observation[2]
    torque = 1.5 * 6.0 / 2.0
    after, reward, *_ = env.step(np.array([1.5], dtype=np.float32))
    push = 3 * 5.0 / (2 * 2.0) * np.sin(theta) + 3 / (0.5 * 2.0**2) * torque
    assert after[2] == pytest.approx(omega + 0.05 * push, rel=1e-5)
    assert reward == pytest.approx(-(theta**2 + 0.1 * omega**2 + 0.001 * torque**2), rel=1e-5)


# -- Acrobot -----------------------------------------------------------------------------

LINKS = {
    "link_length_1": 0.7,
    "link_length_2": 1.6,
    "link_mass_1": 1.4,
    "link_mass_2": 0.6,
    "torque": 2.5,
    "gravity": 4.0,
}


def acrobot_energy(state, c):
    """Kinetic and potential energy of two links, from the speeds of their centres of mass."""
    theta1, theta2, omega1, omega2 = state
    l1, l2, m1, m2 = (
        c[k] for k in ("link_length_1", "link_length_2", "link_mass_1", "link_mass_2")
    )
    both, spin = theta1 + theta2, omega1 + omega2
    velocity1 = l1 / 2 * omega1 * np.array([cos(theta1), sin(theta1)])
    velocity2 = 2 * velocity1 + l2 / 2 * spin * np.array([cos(both), sin(both)])
    kinetic = m1 * velocity1 @ velocity1 + m2 * velocity2 @ velocity2
    kinetic += m1 * l1**2 * omega1**2 + m2 * l2**2 * spin**2
    height1, height2 = -l1 / 2 * cos(theta1), -l1 * cos(theta1) - l2 / 2 * cos(both)
    return kinetic / 2 + c["gravity"] * (m1 * height1 + m2 * height2)


@pytest.mark.parametrize("torque", [0.0, 2.5])
def test_acrobot_changes_its_energy_by_the_motors_work_alone(torque):
    env, h = PhysicalAcrobot(LINKS), 1e-6
    rng = np.random.default_rng(0)
    for state in rng.uniform(-3, 3, size=(20, 4)):
        slope = np.array(env._dsdt(np.append(state, torque)))[:4]
        after, before = (acrobot_energy(state + d * slope, LINKS) for d in (h, -h))
        assert (after - before) / (2 * h) == pytest.approx(torque * state[3], abs=1e-5)


def test_acrobots_torque_and_goal_follow_the_context():
    env = PhysicalAcrobot(LINKS)
    assert env.AVAIL_TORQUE == [-2.5, 0.0, 2.5]
    # Straight, the tip is at -2.3 cos(theta1); the goal is at 1.15.
    env.state = np.array([np.arccos(-0.51), 0.0, 0.0, 0.0])
    assert env._terminal()
    env.state = np.array([np.arccos(-0.49), 0.0, 0.0, 0.0])
    assert not env._terminal()
    # Folded up, the first link down and the second up: 1.6 - 0.7 is below the goal.
    env.state = np.array([0.0, np.pi, 0.0, 0.0])
    assert not env._terminal()


# -- MountainCar -------------------------------------------------------------------------


def test_mountain_car_observations_lie_in_the_space_of_all_contexts():
    family = make_family("MountainCar")
    env = family.make({"force": 0.01, "max_speed": 0.5})
    observation, _ = env.reset(seed=0)
    for _ in range(30):
        observation, _, terminated, *_ = env.step(2)
        assert observation in env.observation_space
        if terminated:
            break
    assert terminated
    assert abs(observation[1]) > 0.07
    assert env.observation_space == family.make().observation_space
    with pytest.raises(ContextError, match="at most 1.8. Got 2.0"):
        family.make({"max_speed": 2.0})


# -- BipedalWalker -----------------------------------------------------------------------


def test_a_copy_of_the_walkers_module_is_consistent_and_private():
    from gymnasium.envs.box2d import bipedal_walker as installed

    before = dict(vars(installed))
    module = copy_walker_module(1.5, 15.0)
    assert (module.FRICTION, module.SCALE) == (1.5, 15.0)
    for derived in ("LEG_H", "LEG_W", "LEG_DOWN", "TERRAIN_STEP", "TERRAIN_HEIGHT", "LIDAR_RANGE"):
        assert getattr(module, derived) == pytest.approx(2 * getattr(installed, derived))
    assert module.HULL_FD.shape.vertices[0][0] == pytest.approx(
        2 * installed.HULL_FD.shape.vertices[0][0]
    )
    assert module.__name__ not in sys.modules
    assert copy_walker_module(1.5, 15.0) is module
    assert dict(vars(installed)) == before


def test_the_walkers_gravity_and_friction_survive_resets():
    env = make_family("BipedalWalker").make({"gravity": 2.0, "friction": 0.75})
    for _ in range(2):
        env.reset(seed=0)
        assert tuple(env._env.unwrapped.world.gravity) == (0.0, -2.0)
        assert env._env.unwrapped.terrain[0].fixtures[0].friction == 0.75


def test_another_gymnasium_without_the_globals_is_named(tmp_path, monkeypatch):
    other = tmp_path / "walker.py"
    other.write_text("FRICTION = 2.5\ndef f():\n    SCALE = 3\n")
    monkeypatch.setattr(sys.modules[MODULE], "__file__", str(other))
    with pytest.raises(
        FamilyError, match="does not set FRICTION and SCALE once each in .*walker.py"
    ):
        compile_walker_module.__wrapped__()


def test_warnings_as_errors_do_not_crash_box2d():
    code = "from sdmbtl.environments import make_family; make_family('BipedalWalker').make()"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=300)


# -- contexts and spaces -----------------------------------------------------------------


def test_full_contexts_have_every_feature_in_order():
    family = make_family("cartpole")
    full = family.full_context({"gravity": 5, "length": np.float32(0.25)})
    assert list(full) == list(family.defaults)
    assert full == {**family.defaults, "gravity": 5.0, "length": 0.25}
    assert family.defaults["gravity"] == 9.8


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"lenght": 1.0}, "Unknown context feature 'lenght'; CartPole has length, masscart"),
        ({"lenght": 1.0}, "Did you mean 'length'?"),
        ({"length": float("nan")}, "'length' must be a finite number"),
        ({"length": "1"}, "'length' must be a finite number. Got '1'"),
        ({"length": 0.0}, "'length' of CartPole must be above 0. Got 0.0"),
        ({"masscart": -1}, "'masscart' of CartPole must be above 0. Got -1"),
        ([1.0, 2.0], "is a mapping from ['length'"),
    ],
)
def test_invalid_contexts(context, message):
    with pytest.raises(ContextError) as error:
        make_family("cartpole").make(context)
    assert message in str(error.value)


def test_physics_are_checked():
    with pytest.raises(FamilyError, match="one of 'physical', 'carl'. Got 'real' instead"):
        make_family("cartpole", physics="real")


def test_without_gymnasium_the_message_says_how_to_install_it():
    code = "import sys; sys.modules['gymnasium'] = None; import sdmbtl.environments"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert "pip install 'sdmbtl[environments]'" in done.stderr
