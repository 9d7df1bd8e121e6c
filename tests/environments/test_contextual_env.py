"""One environment for all contexts: switching, seeds, and the context in the observation."""

from typing import Any, ClassVar

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces

from sdmbtl import ContextSpace
from sdmbtl.environments import EnvironmentFamily, FactoryFamily, make_family
from sdmbtl.environments.contextual import append_context
from sdmbtl.errors import ContextError, FamilyError

FAMILIES = ("CartPole", "Pendulum", "Acrobot", "MountainCar", "BipedalWalker")
LONG = {"length": 2.0}


class Recorder(gymnasium.Env):
    """Remembers what is done to it; its observation is drawn from its generator."""

    observation_space = spaces.Box(0.0, 1.0, (2,), np.float32)
    action_space = spaces.Discrete(2)
    made: ClassVar[list] = []

    def __init__(self, context):
        self.context, self.resets, self.closed = context, [], False
        self.made.append(self)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.resets.append((seed, options))
        return self.np_random.random(2, dtype=np.float32), {"own": 1}

    def step(self, action):
        return self.np_random.random(2, dtype=np.float32), 1.0, False, False, {"own": 2}

    def close(self):
        self.closed = True


@pytest.fixture
def family():
    Recorder.made = []
    return FactoryFamily(Recorder, ContextSpace(a=[0.0, 1.0, 2.0], b=[1.0, 3.0]))


def test_a_context_stays_until_another_one_is_given():
    env = make_family("cartpole").make()
    usual = env.context
    _, info = env.reset(seed=0, options={"context": LONG})
    assert info["context"] == env.context == {**usual, **LONG}
    info["context"]["length"] = env.context["length"] = 99.0  # both are copies
    _, info = env.reset()
    assert info["context"] == {**usual, **LONG}
    assert env.step(0)[4]["context"] == {**usual, **LONG}
    _, info = env.reset(options={"context": {"masscart": 3.0}})
    assert info["context"] == {**usual, "masscart": 3.0}


def test_the_old_environment_is_closed_and_equal_contexts_keep_it(family):
    env = family.make({"a": 0.0, "b": 1.0})
    env.reset(seed=0, options={"context": {"a": 0.0, "b": 1.0}})
    assert len(Recorder.made) == 1
    env.reset(options={"context": {"a": 2.0, "b": 1.0}})
    old, new = Recorder.made
    assert (old.closed, new.closed) == (True, False)
    assert new.context == {"a": 2.0, "b": 1.0}
    env.close()
    assert new.closed


def test_one_that_is_built_for_an_episode_is_used_for_one(family, monkeypatch):
    monkeypatch.setattr(Recorder, "built_for", "episode", raising=False)
    fresh = family.make()
    fresh.reset(seed=3)
    for _ in range(2):
        fresh.step(0)
        fresh.reset()
    *older, latest = Recorder.made
    assert [len(env.resets) for env in Recorder.made] == [1, 1, 1]
    assert all(env.closed for env in older)
    assert not latest.closed
    assert len({env.resets[0][0] for env in Recorder.made}) == 3, "each has a seed of its own"


def test_one_seed_reproduces_everything_that_follows(family):
    def observations():
        env = family.make()
        seen = [env.reset(seed=11)[0], env.reset()[0], env.step(0)[0]]
        for a in (0.0, 2.0, 0.0):
            seen += [env.reset(options={"context": {"a": a}})[0], env.step(1)[0], env.reset()[0]]
        return np.array(seen)

    first = observations()
    np.testing.assert_array_equal(first, observations())
    assert len(np.unique(first, axis=0)) == len(first)


def test_seeds_and_other_options_are_passed_on(family):
    env = family.make()
    env.reset(seed=3)
    env.reset(options={"context": {"a": 0.0}, "speed": 2})
    env.reset()
    old, new = Recorder.made
    assert old.resets == [(3, None)]
    assert new.resets[0][0] is not None
    assert new.resets[0][1] == {"speed": 2}
    assert new.resets[1] == (None, None)
    assert env.step(0)[4]["own"] == 2


def test_an_invalid_context_changes_nothing(family):
    env = family.make({"a": 1.0})
    env.reset(seed=0)
    for bad in ({"c": 1.0}, {"a": "x"}, [1.0]):
        with pytest.raises(ContextError):
            env.reset(options={"context": bad})
    assert env.context == {"a": 1.0, "b": 1.0}
    assert len(Recorder.made) == 1


def test_spaces_that_depend_on_the_context_are_refused():
    def make(context):
        env = Recorder(context)
        env.action_space = spaces.Discrete(int(context["a"]))
        return env

    env = FactoryFamily(make, ContextSpace(a=[2.0, 4.0])).make({"a": 2.0})
    with pytest.raises(FamilyError, match=r"the same action_space.*Discrete\(2\) and Discrete\(4"):
        env.reset(options={"context": {"a": 4.0}})
    assert env.context == {"a": 2.0}


# -- the context in the observation ------------------------------------------------------


def test_observed_contexts_are_unit_coordinates():
    family = make_family("cartpole")
    env = family.make({"length": 0.5}, observe_context=True)
    plain, _ = family.make({"length": 0.5}).reset(seed=2)
    observation, _ = env.reset(seed=2)
    space = family.space()
    units = space.to_unit([0.5, 1.0, 0.1])
    np.testing.assert_array_equal(observation, np.concatenate([plain, units]).astype(np.float32))
    observation, *_ = env.step(0)
    np.testing.assert_allclose(observation[4:], units, rtol=1e-6)
    outside, _ = env.reset(options={"context": {"length": 50.0, "masscart": 0.1}})
    np.testing.assert_allclose(outside[4:6], [1.5, 0.0], atol=1e-6)
    assert outside in env.observation_space
    assert env.observation_space.shape == (7,)
    assert env.observation_space.dtype == np.float32
    np.testing.assert_array_equal(
        env.observation_space.high[:4], family.make().observation_space.high
    )
    assert np.isinf(env.observation_space.low[4:]).all()


def test_contexts_that_cannot_be_observed():
    family = make_family("cartpole")
    with pytest.raises(ContextError, match="'wind'; CartPole has"):
        family.make(observe_context=ContextSpace(wind=[0.0, 1.0]))


# -- Gymnasium ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILIES)
def test_gymnasium_makes_every_family(name):
    env = gymnasium.make(f"sdmbtl/{name}-v0", observe_context=True).unwrapped
    assert env.reset(seed=0)[0] in env.observation_space
    assert type(env.step(env.action_space.sample())[1]) is float


def test_rendering_is_passed_on():
    env = make_family("cartpole").make(render_mode="rgb_array")
    assert env.render_mode == "rgb_array"
    assert env.metadata["render_fps"] == 50
    env.reset(seed=0)
    assert env.render().shape == (400, 600, 3)
    env.reset(options={"context": LONG})
    assert env.render().shape == (400, 600, 3)
    env.close()
    assert make_family("cartpole").make().render_mode is None


def test_a_family_of_ones_own_needs_build_alone():
    class Mine(EnvironmentFamily):
        name = "mine"
        defaults = {"a": 1.0}  # noqa: RUF012

        def build(self, context, render_mode):
            return Recorder(context)

    assert Mine().make({"a": 2.0}).context == {"a": 2.0}
    assert Mine().functional() is None
    assert Mine().settings() == {"name": "mine", "options": {}}
    with pytest.raises(FamilyError, match="'mine' has no space of its own"):
        Mine().space()
    assert Mine(space=ContextSpace(a=[1.0, 2.0])).space().shape == (2,)


@pytest.mark.parametrize("make", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
def test_the_context_is_appended_to_single_observations_and_batches(make: Any) -> None:
    coordinates = np.array([0.25, 1.0])
    batch = make(np.zeros((3, 2), np.float32))

    single = append_context(batch[0], coordinates)
    assert (type(single), single.dtype) == (type(batch), np.float32)
    np.testing.assert_array_equal(single, [0, 0, 0.25, 1])
    np.testing.assert_array_equal(append_context(batch, coordinates), [single] * 3)
    np.testing.assert_array_equal(append_context(make(np.array([7])), coordinates), [7, 0.25, 1])
    assert append_context(batch, np.zeros(0)) is batch
