"""Environments of Gymnasium as families: what dimensions are, and what is refused."""

import json
import sys
from typing import ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from sdmbtl import ContextSpace, Interval
from sdmbtl.environments import (
    FactoryFamily,
    GymnasiumFamily,
    check_contextual_env,
    make_family,
    registered,
)
from sdmbtl.environments.checks import _first_difference, _play
from sdmbtl.environments.registry import can_be_made_anywhere
from sdmbtl.errors import ContextError, FamilyError

LANDER = """
[dimensions.gravity]
low = -11
high = -4
levels = 3
[dimensions.wind]
path = "wind_power"
values = [0, 10, 20]
[returns]
min = -300
max = 300
"""


class Cart(gymnasium.Env):
    """A cart that is pushed, with arguments and attributes of every kind."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
    #: Of the class: all carts have the same list.
    drags: ClassVar = [0.1, 0.2]

    def __init__(self, mass, push=10, *, tries: int = 3, wind=None, name="cart", render_mode=None):
        self.mass, self.push, self.tries, self.wind = mass, push, tries, wind or 0.0
        self.name, self.render_mode = name, render_mode
        self.speed_limit, self.counts = np.float32(5.0), np.array([1, 2])
        self.icy = False

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.start = 0.5  # what was set before is lost
        self.place, self.speed = self.np_random.uniform(-1, 1), 0.0
        return self.seen(), {}

    def step(self, action):
        force = self.push * float(action[0]) * self.tries + self.wind
        self.speed += 0.01 * (force / self.mass - self.drags[0] * self.speed * (not self.icy))
        self.speed = float(np.clip(self.speed, -self.speed_limit, self.speed_limit))
        self.place += 0.01 * self.speed * self.counts[0]
        return self.seen(), -abs(self.place), False, False, {}

    def seen(self):
        return np.array([self.place, self.speed], dtype=np.float32)


@pytest.fixture(scope="module", autouse=True)
def _registered():
    gymnasium.register("test/Cart-v3", entry_point=Cart, max_episode_steps=30)
    yield
    del gymnasium.registry["test/Cart-v3"]


def cart(space, **options):
    return GymnasiumFamily("test/Cart-v3", space, **{"mass": 2.0, **options})


def inner(family, **context):
    return family.make(context)._env.unwrapped


def refused(space, **options):
    with pytest.raises(FamilyError) as error:
        cart(space, **options)
    return str(error.value)


# -- what a dimension is -----------------------------------------------------------------


def test_a_dimension_is_an_argument_or_an_attribute():
    space = ContextSpace(push=[5.0, 10.0], speed_limit=[1.0, 5.0], drag=[0.1, 0.4])
    family = cart(space, dimensions={"drag": "drags[0]"})
    assert dict(family.defaults) == {"push": 10.0, "speed_limit": 5.0, "drag": 0.1}
    check_contextual_env(family)
    assert {name: family.describe_feature(name) for name in space.names} == {
        "push": "the argument 'push'",
        "speed_limit": "the attribute 'unwrapped.speed_limit'",
        "drag": "the attribute 'unwrapped.drags[0]'",
    }
    env = inner(family, push=5.0, speed_limit=1.0, drag=0.4)
    assert (env.push, env.speed_limit, env.drags) == (5, 1.0, [0.4, 0.2])
    assert type(env.push) is int
    assert type(env.speed_limit) is np.float32
    assert Cart.drags == [0.1, 0.2], "of the class, that is, of all other environments"


def test_factors_multiply_what_is_usual():
    space = ContextSpace(limit=[0.5, 1.0], push=[0.5, 2.0], counts=[1.0, 3.0])
    family = cart(
        space,
        dimensions={
            "limit": {"path": "speed_limit", "factor": True},
            "push": {"factor": True},
            "counts": {"factor": True},
        },
    )
    assert dict(family.defaults) == {"limit": 1.0, "push": 1.0, "counts": 1.0}
    assert family.describe_feature("push") == "a factor on the argument 'push'"
    env = inner(family, limit=0.5, push=2.0, counts=3.0)
    assert (env.speed_limit, env.push, env.counts.tolist()) == (2.5, 20, [3, 6])


def test_values_keep_their_type():
    family = cart(ContextSpace(push=[5.0, 7.5]))
    assert inner(family, push=7.5).push == 7.5, "without an annotation, a fraction is as good"
    assert inner(cart(ContextSpace(icy=[0, 1])), icy=1).icy is True
    assert inner(cart(ContextSpace(tries=[1, 4])), tries=4).tries == 4


def test_there_is_nothing_between_values_that_are_whole(tmp_path):
    (tmp_path / "cart.toml").write_text(
        "[dimensions.tries]\nlow = 1\nhigh = 9\nlevels = 3\n"
        "[dimensions.icy]\nvalues = [true, false]\n[dimensions.push]\nvalues = [5, 10]\n"
    )
    family = cart(str(tmp_path / "cart.toml"))
    discrete = {name: d.discrete for name, d in family.space().dimensions.items()}
    assert discrete == {"tries": True, "icy": True, "push": False}
    space = family.space()
    for drawn in space.draw(space.whole(), 50, np.random.default_rng(0)):
        env = inner(family, **space.context(drawn))
        assert (env.tries in (1, 5, 9), env.icy in (True, False)) == (True, True)
    again = make_family(family.name, **family.settings()["options"])
    assert again.space() == space


def test_an_interval_of_whole_numbers_is_refused():
    between = ContextSpace([[1.0], [2.0]], tries=Interval(1, 2))
    assert "which has nothing between its values. Got Interval(1, 2). List" in refused(between)


def test_an_argument_without_a_usual_value_has_that_of_the_middle():
    family = GymnasiumFamily("test/Cart-v3", ContextSpace(mass=[1, 2, 5], wind=[0, 1, 3]))
    assert dict(family.defaults) == {"mass": 2.0, "wind": 1.0}


def test_options_are_arguments_that_stay_the_same():
    family = cart(ContextSpace(push=[5.0, 10.0]), name="mine", max_episode_steps=7)
    assert inner(family).name == "mine"
    assert family.make()._env.spec.max_episode_steps == 7
    assert family.make({"push": 5.0})._env._max_episode_steps == 7


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("gym:test/Cart-v3", {"mass": 2.0, "space": ContextSpace(push=[5, 9], icy=[0, 1])}),
        (
            "gym:test/Cart-v3",
            {
                "mass": 2.0,
                "space": ContextSpace(d=[0.1, 0.3]),
                "dimensions": {"d": {"path": "drags[0]", "factor": True}},
                "return_range": (-30.0, 0.0),
            },
        ),
        ("gym:Pendulum", {"space": ContextSpace(g=[5.0, 9.0])}),
    ],
)
def test_settings_make_the_same_family_again(name, options):
    family = make_family(name, **options)
    settings = json.loads(json.dumps(family.settings()))
    again = make_family(settings["name"], **settings["options"])
    assert again.settings() == family.settings()
    assert again.return_range == family.return_range
    target = family.space().target(-1)
    played = [list(_play(env)) for env in (family.make(target), again.make(target), family.make())]
    assert _first_difference(*played[:2]) is None
    assert _first_difference(*played[1:]) is not None
    assert can_be_made_anywhere(family) == (name == "gym:Pendulum")


def test_environments_that_cannot_be_drawn():
    class Plain(Cart):
        metadata: ClassVar = {"render_modes": ["human"], "render_fps": 50}

        def __init__(self, push=10.0):
            super().__init__(1.0, push)

    gymnasium.register("test/Plain-v0", entry_point=Plain)
    family = GymnasiumFamily("test/Plain-v0", ContextSpace(push=[5.0, 10.0]))
    del gymnasium.registry["test/Plain-v0"]
    assert inner(family, push=5.0).push == 5.0
    with pytest.raises(FamilyError, match="unexpected keyword argument 'render_mode'"):
        family.make(render_mode="human")


def test_a_file_says_everything(tmp_path):
    path = tmp_path / "lander.toml"
    path.write_text(LANDER)
    family = make_family("gym:LunarLander-v3", space=path, enable_wind=True)
    assert family.return_range == (-300.0, 300.0)
    assert family.space() == ContextSpace(
        gravity=family.space().dimensions["gravity"], wind=[0.0, 10.0, 20.0]
    )
    env = inner(family, gravity=-4.0, wind=20.0)
    assert (env.gravity, env.wind_power, env.enable_wind) == (-4.0, 20.0, True)
    assert check_contextual_env(family).first_difference == {"gravity": 0, "wind": 0}


def test_paths_are_for_environments_of_gymnasium_only(tmp_path):
    path = tmp_path / "lengths.toml"
    path.write_text('[dimensions.length]\nvalues = [1, 2]\npath = "unwrapped.length"')
    with pytest.raises(ContextError, match="'CartPole' knows by itself what a dimension is"):
        make_family("CartPole", space=path)
    with pytest.raises(ContextError, match=r"length\] has a 'path' or 'factor', which are for"):
        FactoryFamily(Cart, path)


# -- what is refused ---------------------------------------------------------------------


def test_unknown_arguments_and_attributes_are_named_with_what_there_is():
    text = refused(ContextSpace(pusch=[1.0, 2.0]))
    assert "The dimension 'pusch' cannot be the attribute 'pusch' of gym:test/Cart-v3." in text
    assert "There is no 'unwrapped.pusch': a Cart has no 'pusch'." in text
    assert "The constructor takes mass, push, tries, wind, name, max_episode_steps." in text
    assert "Did you mean 'push'?" in text
    text = refused(ContextSpace(drag=[1.0, 2.0]), dimensions={"drag": "unwrapped.drgas[0]"})
    assert "a Cart has no 'drgas'. Did you mean 'drags'?" in text
    assert "takes" not in text, "it was no argument that was meant"


@pytest.mark.parametrize(
    ("space", "options", "text"),
    [
        ({"push": [1, 2]}, {"pusch": 3}, "'pusch'; 'gym:test/Cart-v3' has mass, pus"),
        ({"push": [1, 2]}, {"render_mode": "human"}, "Unknown option 'render_mode'"),
        ({"push": [1, 2]}, {"push": 3}, "It is given as an option too: drop one of them."),
        ({"push": [1, 2]}, {"dimensions": {"pull": "push"}}, "'pull'; the space has pu"),
        ({"push": [1, 2]}, {"dimensions": {"push": {"pfad": "push"}}}, "Unknown option 'pfad'"),
        ({"push": [1, 2]}, {"dimensions": {"push": {"path": 3}}}, "path of 'push' must be a text"),
        ({"push": [1, 2]}, {"dimensions": {"push": {"factor": 1}}}, "'factor' must be true or fal"),
        ({"counts": [1, 2]}, {}, "It has 2 values, array([1, 2]): give the index of one ([0])"),
        ({"name": [1, 2]}, {}, "are texts; the usual one is 'cart'. Got 1.0."),
        ({"start": [1, 2]}, {}, "has no 'start'"),  # it is made by reset
        ({"push": [1, 2]}, {"dimensions": {"push": "np_random.__class__"}}, "underscore"),
        ({"tries": [0, 1.5]}, {}, "Values of the argument 'tries' are whole numbers"),
        ({"icy": [0, 1.5]}, {}, "Values of the attribute 'unwrapped.icy' are true or false"),
        ({"tries": [1, 1.5, 2]}, {}, "Got 1.5. List those that it may have."),
    ],
)
def test_refused(space, options, text):
    assert text in refused(ContextSpace(**space), **options)


def test_what_reset_undoes_is_refused():
    class Forgetful(Cart):
        def __init__(self, **arguments):
            super().__init__(1.0, **arguments)
            self.start = 0.5

    gymnasium.register("test/Forgetful-v0", entry_point=Forgetful)
    try:
        with pytest.raises(FamilyError) as error:
            GymnasiumFamily("test/Forgetful-v0", ContextSpace(start=[0.1, 0.9]))
    finally:
        del gymnasium.registry["test/Forgetful-v0"]
    assert "The dimension 'start' of gym:test/Forgetful-v0 is lost at every reset" in str(
        error.value
    )
    assert "unwrapped.start was set to 0.1 and is 0.5 afterwards. Use an arg" in str(error.value)


def test_values_that_the_environment_refuses():
    with pytest.raises(FamilyError, match="cannot be made with {'gravity': -13.0}: AssertionError"):
        make_family("gym:LunarLander-v3", space=ContextSpace(gravity=[-13.0, -4.0]))


def test_unknown_names_list_similar_ones():
    space = ContextSpace(gravity=[1.0, 2.0])
    for name, text in (
        ("LunarLandr-v3", "'LunarLandr-v3': .*Did you mean: `LunarLander`"),
        ("LunarLander-v2", "Please use `LunarLander-v3` instead"),
        ("no_such_module:Lander-v0", "no module 'no_such_module', needed for the environment"),
        ("nothing/Like-v7", "with the module that registers it: gym:module:Name-v0"),
    ):
        with pytest.raises(FamilyError, match=text):
            make_family(f"gym:{name}", space=space)
    with pytest.raises(FamilyError, match="Unknown environment family 'LunarLander-v3'.*'gym:L"):
        make_family("LunarLander-v3")


def test_without_a_space_the_arguments_are_listed():
    with pytest.raises(FamilyError, match=r"need a context space.*an argument \(g=10.0, max_epi"):
        make_family("gym:Pendulum-v1")


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [("LunarLander-v3", "Box2D", "box2d"), ("Hopper-v5", "mujoco", "mujoco")],
)
def test_missing_packages_say_what_to_install(name, package, extra, monkeypatch):
    module = gymnasium.spec(name).entry_point.partition(":")[0]
    for loaded in [m for m in sys.modules if m.startswith(module.rpartition(".")[0])]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(FamilyError, match=rf"{name} cannot be made: .*'sdmbtl\[{extra}\]'"):
        make_family(f"gym:{name}", space=ContextSpace(gravity=[1.0, 2.0]))


def test_modules_of_the_current_directory_register_their_environments(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_registered_envs.py").write_text(
        "import gymnasium\nfrom gymnasium.envs.classic_control import PendulumEnv\n"
        "gymnasium.register('mine/Pendulum-v0', entry_point=PendulumEnv, max_episode_steps=9)\n"
    )
    family = make_family("gym:my_registered_envs:mine/Pendulum-v0", space=ContextSpace(g=[1.0, 2]))
    assert family.settings()["name"] == "gym:my_registered_envs:mine/Pendulum-v0"
    assert inner(family, g=2.0).g == 2.0
    assert can_be_made_anywhere(family)
    del gymnasium.registry["mine/Pendulum-v0"], sys.modules["my_registered_envs"]


def test_constructors_that_pass_arguments_on():
    known, others = registered.constructor_arguments(gymnasium.spec("Hopper-v5"))
    assert {"frame_skip", "reset_noise_scale", "width", "max_episode_steps"} <= set(known)
    assert "model_path" not in known, "of the base class, given by the derived one"
    assert not others
    assert registered.constructor_arguments(gymnasium.spec("sdmbtl/CartPole-v0"))[1]
