"""CARL's environments as families; most of it needs carl-bench."""

import sys
import warnings

import numpy as np
import pytest

from sdmbtl.environments import Range, carl_family, check_contextual_env, make_family
from sdmbtl.errors import ContextError, FamilyError

RANGES = {"length": Range(0.2, 1.0, 3), "masspole": Range(0.02, 0.2, 3)}


@pytest.fixture
def _carl():
    make_family("BipedalWalker").make()  # imports Box2D, which crashes if warnings are errors
    with warnings.catch_warnings(record=True):
        pytest.importorskip("carl.envs")


def test_without_carl_the_message_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "carl", None)
    monkeypatch.setitem(sys.modules, "carl.envs", None)
    with pytest.raises(FamilyError, match="pip install --no-deps carl-bench==1.1.1 ConfigSpace"):
        carl_family("CARLCartPole", ranges=RANGES)


def test_a_space_is_needed():
    with pytest.raises(FamilyError, match="either ranges=.* or space="):
        carl_family("CARLCartPole")


class FakeFeature:
    def __init__(self, default_value):
        self.default_value = default_value


class FakeCarl:
    """What the families use of a CARL class, without CARL."""

    env_name = "CartPole-v1"

    @staticmethod
    def get_context_features():
        features = {"length": 0.5, "masspole": 0.1, "terrain": 200, "kind": "grass"}
        return {name: FakeFeature(value) for name, value in features.items()}

    def __new__(cls, env, contexts):
        import gymnasium

        class Dictionary(gymnasium.Wrapper):
            base_observation_space = env.observation_space
            given = contexts[0]

            def reset(self, **arguments):
                observation, info = super().reset(**arguments)
                return {"obs": observation, "context": contexts[0]}, info

            def step(self, action):
                observation, *rest = super().step(action)
                return {"obs": observation, "context": contexts[0]}, *rest

        return Dictionary(env)


def test_observations_are_those_without_the_context():
    family = carl_family(FakeCarl, ranges=RANGES, return_range=(0, 500))
    assert family.defaults == {"length": 0.5, "masspole": 0.1, "terrain": 200.0}
    env = family.make({"length": 0.3, "terrain": 150.0})
    assert env._env.env.given == {"length": 0.3, "masspole": 0.1, "terrain": 150}
    assert isinstance(env._env.env.given["terrain"], int)
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    assert env.step(0)[0].shape == (4,)
    assert family.settings()["options"]["environment"] == "FakeCarl"
    assert family.return_range == (0.0, 500.0)
    with pytest.raises(ContextError, match="feature 'lenght'; CARL has"):
        family.make({"lenght": 1.0})


@pytest.mark.usefixtures("_carl")
@pytest.mark.filterwarnings("ignore:invalid value encountered in divide")
class TestCarl:
    """With CARL itself."""

    def test_names_and_settings(self):
        with pytest.raises(FamilyError, match="no environment 'CARLCartpol'.*mean 'CARLCartPole'?"):
            carl_family("CARLCartpol", ranges=RANGES)
        family = carl_family("CARLCartPole", ranges=RANGES)
        settings = family.settings()
        again = make_family(settings["name"], **settings["options"])
        assert again.settings() == settings

    def test_what_works_passes_the_checks(self):
        report = check_contextual_env(carl_family("CARLCartPole", ranges=RANGES))
        assert report.first_difference == {"length": 1, "masspole": 1}

    def test_the_mass_of_carls_cart_is_inert_and_ours_is_not(self):
        masses = {"masscart": Range(0.2, 2.0, 3)}
        with pytest.raises(FamilyError, match="'masscart' does nothing"):
            check_contextual_env(carl_family("CARLCartPole", ranges=masses))
        ours = make_family("CartPole", space=carl_family("CARLCartPole", ranges=masses).space())
        assert check_contextual_env(ours).first_difference == {"masscart": 1}

    def test_our_carl_physics_are_carls(self):
        context = {"length": 0.7, "masspole": 0.05, "masscart": 3.0, "force_mag": 8.0}
        theirs = carl_family("CARLCartPole", ranges=RANGES).make(context)
        ours = make_family("CartPole", physics="carl").make(context)
        ours.reset(seed=0)
        theirs.reset(seed=0)
        ours._env.unwrapped.state = np.array(theirs._env.unwrapped.state)
        for step in range(10):
            action = step % 2
            np.testing.assert_array_equal(ours.step(action)[0], theirs.step(action)[0])

    def test_carls_walkers_leak(self):
        space = {"FRICTION": Range(0.5, 4.0, 2), "SCALE": Range(20.0, 40.0, 2)}
        with pytest.raises(FamilyError, match="leak between environments"):
            check_contextual_env(carl_family("CARLBipedalWalker", ranges=space))
