"""Robots of MuJoCo: every feature changes the physics as it should, in one robot only."""

import gymnasium
import numpy as np
import pytest

from sdmbtl.environments import make_family
from sdmbtl.environments.registered import find_registered, make_registered

NAMES = ("Hopper", "HalfCheetah", "Ant")


def robot(name, **context):
    return make_family(name).make(context)._env


def play(env, steps=300, seed=0):
    """Observations and rewards of pseudo-random actions, one episode after another."""
    env.action_space.seed(seed)
    rows = [[*env.reset(seed=seed)[0], 0.0]]
    for _ in range(steps):
        observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        rows.append([*observation, reward])
        if terminated or truncated:
            rows.append([*env.reset()[0], 0.0])
    return np.array(rows)


@pytest.mark.parametrize("name", NAMES)
def test_the_usual_context_is_gymnasiums(name):
    theirs = make_registered(find_registered(f"{name}-v5"), None, {})
    assert np.array_equal(play(robot(name)), play(theirs))
    assert theirs.spec.max_episode_steps == robot(name).spec.max_episode_steps == 1000


@pytest.mark.parametrize("name", NAMES)
def test_features_are_in_the_model_and_stay_there(name):
    usual = robot(name).unwrapped.model
    env = robot(name, gravity=5.0, mass=2.0, friction=0.5, gear=3.0)
    for _ in range(2):
        model = env.unwrapped.model
        assert model.opt.gravity.tolist() == [0.0, 0.0, -5.0]
        assert np.array_equal(model.body_mass, 2 * usual.body_mass)
        assert np.array_equal(model.body_inertia, 2 * usual.body_inertia)
        assert np.array_equal(model.geom_friction[:, 0], usual.geom_friction[:, 0] / 2)
        assert np.array_equal(model.geom_friction[:, 1:], usual.geom_friction[:, 1:])
        assert np.array_equal(model.actuator_gear, 3 * usual.actuator_gear)
        # Computed by MuJoCo from the masses.
        assert np.array_equal(model.body_subtreemass, 2 * usual.body_subtreemass)
        assert np.all(model.body_invweight0[1:] < usual.body_invweight0[1:])
        play(env, steps=3)
    assert robot(name).unwrapped.model.opt.gravity[2] == -9.81


def test_a_free_fall_is_that_of_the_context():
    for gravity in (5.0, 15.0):
        env = robot("Hopper", gravity=gravity)
        env.reset(seed=0)
        inner = env.unwrapped
        inner.set_state(inner.init_qpos + np.eye(6)[1] * 10, np.zeros(6))  # 10 m above the ground
        env.step(np.zeros(3))
        assert inner.data.qvel[1] == pytest.approx(-gravity * inner.dt, rel=1e-6)


def test_nothing_is_printed_and_no_file_is_written(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    robot("HalfCheetah")
    make_registered(find_registered("HalfCheetah-v5"), None, {})
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


class Unstable(gymnasium.Env):
    """Takes a step of infinite speed when it is made."""

    def __init__(self, render_mode=None):
        import mujoco

        ball = "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"
        model = mujoco.MjModel.from_xml_string(ball)
        data = mujoco.MjData(model)
        data.qvel[:] = np.inf
        mujoco.mj_step(model, data)


def test_what_else_mujoco_says_is_a_warning(tmp_path, monkeypatch):
    import mujoco

    monkeypatch.chdir(tmp_path)
    gymnasium.register("test/Unstable-v0", entry_point=Unstable)
    with pytest.warns(UserWarning, match="MuJoCo: Nan, Inf or huge value in QVEL"):
        make_registered(find_registered("test/Unstable-v0"), None, {})
    del gymnasium.registry["test/Unstable-v0"]
    assert mujoco.get_mju_user_warning() is None
    assert list(tmp_path.iterdir()) == []
