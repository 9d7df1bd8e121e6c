"""Families by name, and functions of one's own."""

import json

import gymnasium
import pytest

from sdmbtl import ContextSpace, plugins
from sdmbtl.environments import (
    FactoryFamily,
    family_names,
    make_family,
    register_environments,
)
from sdmbtl.environments.cartpole import CartPole
from sdmbtl.environments.registry import can_be_made_anywhere, code_of_family
from sdmbtl.errors import ContextError, FamilyError

SPACE = ContextSpace(gravity=[5.0, 10.0, 20.0])


def pendulum(context):
    return gymnasium.make("Pendulum-v1", g=context["gravity"])


def drawn(context, render_mode=None):
    return gymnasium.make("Pendulum-v1", g=context["gravity"], render_mode=render_mode)


def broken(context):
    raise RuntimeError("no such robot")


def wrong(context):
    return "an environment"


# -- by name -----------------------------------------------------------------------------


def test_names_have_no_case_and_no_hyphens():
    for name in ("cartpole", "CartPole", "CARTPOLE", "cart-pole", "cart_pole"):
        assert make_family(name).name == "CartPole"
    assert family_names()[:6] == (
        "CartPole",
        "Drone",
        "Pendulum",
        "Acrobot",
        "MountainCar",
        "BipedalWalker",
    )


def test_unknown_names_and_options():
    with pytest.raises(FamilyError, match="family 'cartpol'; known: CartPole.*mean 'CartPole'?"):
        make_family("cartpol")
    with pytest.raises(FamilyError, match="'phisics'; 'CartPole' has physics.*mean 'physics'?"):
        make_family("cartpole", phisics="carl")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("CartPole", {"physics": "carl"}),
        ("CartPole", {"space": "paper"}),
        ("Pendulum", {"space": ContextSpace(mass=[1.0, 2.0]), "return_range": (-5.0, 0.0)}),
        (f"{__name__}:pendulum", {"space": SPACE, "return_range": (-9.0, 1.0)}),
    ],
)
def test_settings_make_the_same_family_again(name, options):
    family = make_family(name, **options)
    settings = json.loads(json.dumps(family.settings()))
    again = make_family(settings["name"], **settings["options"])
    assert again.settings() == family.settings()
    assert again.space() == family.space()
    assert again.return_range == family.return_range
    assert again.make().context == family.make().context


def test_a_space_may_be_a_name_a_file_or_a_space(tmp_path):
    family = make_family("cartpole", space="forces")
    assert family.space().names == ("length", "force_mag", "gravity")
    with pytest.raises(FamilyError, match="drop 'levels'"):
        family.space(levels=3)
    assert family.space("wide", levels=2).shape == (2, 2, 2)
    path = tmp_path / "mine.toml"
    path.write_text("[dimensions.length]\nvalues = [1, 2]\n[returns]\nmin = 1\nmax = 7")
    for given in (path, str(path)):
        family = make_family("cartpole", space=given)
        assert family.space() == ContextSpace(length=[1.0, 2.0])
        assert family.return_range == (1.0, 7.0)
        assert family.settings()["options"]["return_range"] == [1.0, 7.0]
    assert make_family("cartpole").return_range == (0.0, 500.0)
    with pytest.raises(ContextError, match="feature 'mass'; CartPole has"):
        make_family("cartpole", space=ContextSpace(mass=[1.0, 2.0]))
    with pytest.raises(FamilyError, match="Unknown space 'papre'.*Did you mean 'paper'?"):
        make_family("cartpole", space="papre")
    with pytest.raises(ContextError, match="Got 3 instead"):
        make_family("cartpole", space=3)


def test_gymnasium_makes_them():
    register_environments()  # a second time: nothing happens
    env = gymnasium.make("sdmbtl/CartPole-v0", context={"length": 2.0}, physics="carl")
    _, info = env.reset(seed=0)
    assert info["context"]["length"] == 2.0
    assert env.unwrapped.family.physics == "carl"
    env = gymnasium.make("sdmbtl.environments:sdmbtl/Pendulum-v0", observe_context=True)
    assert env.reset(seed=0)[0].shape == (6,)


class Plugin(CartPole):
    name = "Plugin"


def test_plugins_are_loaded_only_when_they_are_asked_for(monkeypatch):
    loaded = []
    found = {"Plugin": Plugin, "Broken": None}
    monkeypatch.setattr(plugins, "installed", lambda _: found)
    monkeypatch.setattr(plugins, "load", lambda _, name: loaded.append(name) or found[name])
    register_environments()
    make_family("CartPole")
    assert code_of_family({"name": "Plugin", "options": {}}) == []
    assert loaded == []
    assert can_be_made_anywhere(make_family("plugin"))
    assert set(loaded) == {"Plugin"}
    assert gymnasium.make("sdmbtl/Plugin-v0").unwrapped.family.name == "Plugin"
    for name in found:
        del gymnasium.registry[f"sdmbtl/{name}-v0"]
    assert "Plugin" in family_names()
    assert "Broken" not in family_names()
    with pytest.raises(FamilyError, match="'Broken' is of a plug-in"):
        make_family("broken")


# -- functions of one's own --------------------------------------------------------------


def test_functions_that_fail_or_return_something_else():
    with pytest.raises(
        FamilyError, match=r"no such robot \(.*test_family_registry.py:\d+"
    ) as error:
        FactoryFamily(broken, SPACE).make()
    assert isinstance(error.value.__cause__, RuntimeError)
    with pytest.raises(FamilyError, match="must return a gymnasium.Env. Got 'an environment'"):
        FactoryFamily(wrong, SPACE).make()
    with pytest.raises(FamilyError, match="takes one argument, the context as a dict"):
        FactoryFamily(lambda gravity, mass: None, SPACE)


def test_a_function_needs_a_space():
    with pytest.raises(FamilyError, match="need a context space"):
        make_family(f"{__name__}:pendulum")
    with pytest.raises(FamilyError, match="'levels'; .* has return_range"):
        make_family(f"{__name__}:pendulum", space=SPACE, levels=3)


def test_render_modes_go_to_functions_that_take_them():
    env = FactoryFamily(drawn, SPACE).make(render_mode="rgb_array")
    env.reset(seed=0, options={"context": {"gravity": 5.0}})
    assert env.render().shape == (500, 500, 3)
    env.close()
    with pytest.raises(FamilyError, match="cannot be filmed: it has no parameter 'render_mode'"):
        FactoryFamily(pendulum, SPACE).make(render_mode="rgb_array")


def test_a_lambda_works_but_cannot_be_found_again():
    family = FactoryFamily(lambda context: pendulum(context), SPACE)
    family.make().reset(seed=0)
    with pytest.raises(FamilyError, match="<lambda> cannot be found again.*'module:function'"):
        family.settings()
