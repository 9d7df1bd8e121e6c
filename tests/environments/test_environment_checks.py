"""The checker and the conformance suite find what they are for."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from sdmbtl import ContextSpace
from sdmbtl.environments import check_contextual_env, family_names, make_family
from sdmbtl.environments.cartpole import CartPole
from sdmbtl.errors import FamilyError

SPACE = ContextSpace(pull=[0.1, 0.2, 0.4], drag=[0.5, 0.9])
SHARED = {}


class Ball(gymnasium.Env):
    """A ball pulled towards 0; subclasses break one thing each."""

    observation_space = spaces.Box(-100.0, 100.0, (2,), np.float32)
    action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, context):
        self.values = context

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.speed = self.np_random.uniform(-1, 1), 0.0
        return self.seen(), {}

    def step(self, action):
        values = self.values
        self.speed += float(action[0]) - values["pull"] * self.place - values["drag"] * self.speed
        self.place += 0.1 * self.speed
        return self.seen(), -abs(self.place), False, False, {}

    def seen(self):
        return np.array([self.place, self.speed], dtype=np.float32)


class Leaking(Ball):
    def __init__(self, context):
        super().__init__(context)
        SHARED.update(context)

    @property
    def values(self):
        return SHARED

    @values.setter
    def values(self, given):
        pass


class Clearing(Ball):
    """As simulators do that are one for the process: a new one forgets the others."""

    def __init__(self, context):
        self.own = context
        SHARED.clear()

    def reset(self, **arguments):
        SHARED[id(self)] = self.own
        return super().reset(**arguments)

    @property
    def values(self):
        return SHARED.get(id(self), {"pull": 0.2, "drag": 0.7})


class NoisySteps(Ball):
    generator = np.random.default_rng(0)

    def step(self, action):
        self.place += self.generator.normal()
        return super().step(action)


class Inert(Ball):
    def __init__(self, context):
        super().__init__({**context, "drag": 0.7})


class OtherSpaces(Ball):
    def __init__(self, context):
        super().__init__(context)
        self.action_space = spaces.Box(-context["pull"], context["pull"], (1,), np.float32)


class OutOfSpace(Ball):
    observation_space = spaces.Box(5.0, 6.0, (2,), np.float32)


def test_a_sound_environment_passes():
    report = check_contextual_env(lambda c: gymnasium.wrappers.TimeLimit(Ball(c), 300), SPACE)
    assert report.first_difference == {"pull": 1, "drag": 2}
    assert report.warnings == ()


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (Leaking, "leak between environments.*step 2 on"),
        (Clearing, "leak between environments.*step 2 on"),
        (NoisySteps, "same seed and actions do not give the same episode.* differs at step 1"),
        (Inert, "The dimension 'drag' does nothing: 0.5 and 0.9"),
        (OtherSpaces, "The action_space depends on the context"),
        (OutOfSpace, "Gymnasium's checker objects: AssertionError"),
    ],
)
def test_what_is_wrong_is_named(environment, message):
    with pytest.raises(FamilyError, match=message):
        check_contextual_env(environment, SPACE)


#: Takes half a minute; tests/environments/test_traffic.py checks short episodes every time.
SLOW = "Traffic"
FAMILIES = [
    pytest.param(name, space, marks=[pytest.mark.slow] if name == SLOW or number else [])
    for name in family_names()
    for number, space in enumerate(make_family(name).ranges)
]


@pytest.mark.parametrize(("name", "space"), FAMILIES)
def test_the_families_of_the_package_pass(name, space):
    check_contextual_env(make_family(name), space)


def test_an_option_that_is_not_recorded_is_found(monkeypatch):
    monkeypatch.setattr(CartPole, "options", lambda self: {})
    with pytest.raises(FamilyError, match="makes other environments"):
        check_contextual_env(CartPole("carl"), ContextSpace(length=[0.5, 1.0]))


@pytest.mark.parametrize("name", family_names())
def test_random_actions_have_returns_in_the_range_of_the_family(name):
    family = make_family(name)
    if family.return_range is None:
        return
    for target in (0, -1):
        env, total, done = family.make(family.space().target(target)), 0.0, False
        env.action_space.seed(0)
        env.reset(seed=0)
        while not done:
            _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            total, done = total + reward, terminated or truncated
        assert family.return_range[0] <= total <= family.return_range[1]


def test_carls_inert_cart_is_found():
    with pytest.raises(FamilyError, match="'masscart' does nothing"):
        check_contextual_env(make_family("cartpole", physics="carl"))


def test_a_context_that_does_not_stay_is_found():
    class Forgetful(type(make_family("Acrobot"))):
        def make(self, context=None, **arguments):
            env = super().make(context, **arguments)
            reset = env.reset

            def forgetful(*, seed=None, options=None):
                return reset(seed=seed, options=options or {"context": context})

            env.reset = forgetful
            return env

    with pytest.raises(FamilyError, match="At the next reset, without a context, .* is not that"):
        check_contextual_env(Forgetful())


def test_gymnasiums_remarks_are_reported_plainly():
    remarks = check_contextual_env("cartpole").warnings
    assert (
        "A Box observation space minimum value is -infinity. This is probably too low." in remarks
    )


def test_constant_dimensions_need_not_do_anything():
    space = ContextSpace(pull=[0.1, 0.2], drag=[0.5])
    assert set(check_contextual_env(Inert, space).first_difference) == {"pull"}


@pytest.mark.parametrize("given", [(Ball, None), (3, SPACE)])
def test_a_function_needs_a_space(given):
    with pytest.raises(FamilyError, match="together with its space"):
        check_contextual_env(*given)
