"""Trainers by name, with the settings that a family recommends."""

import subprocess
import sys

import pytest

from sdmbtl.environments import family_names, make_family
from sdmbtl.errors import TrainerError
from sdmbtl.training import make_trainer, registry, trainer_names
from sdmbtl.training.registry import list_settings

FAMILIES = [make_family(name) for name in family_names()]


def made(name="sb3", family="cartpole", **options):
    family = make_family(family)
    return make_trainer(name, family, family.space(), **options)


def test_names():
    assert trainer_names() == ("auto", "ppo", "sb3")
    with pytest.raises(TrainerError, match="Unknown trainer 'sb4'.*Did you mean 'sb3'"):
        made("sb4")


def test_auto_is_ppo_where_jax_is_installed(monkeypatch):
    family = make_family("cartpole")
    assert make_trainer("auto", family, family.space()).name == "ppo"
    assert registry.recommended_trainer() == "ppo"
    monkeypatch.setitem(sys.modules, "jax", None)
    assert registry.recommended_trainer() == "sb3"
    assert make_trainer("auto", family, family.space()).name == "sb3"


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_recommended_settings_are_usable(family):
    recommended = family.training.get("sb3", {})
    settings = make_trainer("sb3", family, family.space()).settings()
    assert recommended.items() <= settings.items()


def test_options_come_before_the_recommended_ones():
    usual = made().settings()
    trainer = made(total_timesteps=77, gamma=0.5)
    assert trainer.settings() == {**usual, "total_timesteps": 77, "gamma": 0.5}
    assert usual["gamma"] == 0.98
    pendulum = made(family="Pendulum", sde_sample_freq=9).settings()
    assert (pendulum["use_sde"], pendulum["sde_sample_freq"]) == (True, 9)
    assert made().settings() == usual, "the family's settings must not change"


def test_recommended_settings_are_for_their_algorithm():
    assert made(algorithm="PPO").settings() == made().settings()
    other = made(algorithm="DQN", buffer_size=50)
    assert other.algorithm_arguments() == {"buffer_size": 50}


@pytest.mark.parametrize(("name", "package"), [("sb3", "stable_baselines3"), ("ppo", "jax")])
def test_missing_packages(name, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(TrainerError, match=rf"{package}, which is not .*pip install 'sdmbtl\["):
        made(name)


def test_importing_trainers_imports_neither_torch_nor_jax():
    code = (
        "import sys, sdmbtl.training; "
        "sys.exit(bool({'torch', 'jax', 'stable_baselines3'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# -- listing --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ppo", "sb3"])
def test_what_is_listed_is_what_a_trainer_has(name):
    family = make_family("CartPole")
    listed = {setting.name: setting for setting in list_settings(name, family)}
    trainer = make_trainer(name, family, family.space())
    has = set(trainer.settings())
    assert has <= listed.keys()
    assert all(setting.meaning for setting in listed.values()), "each has a meaning"
    assert "total_timesteps" in listed


def test_settings_of_an_algorithm():
    listed = {setting.name: setting for setting in list_settings("sb3", algorithm="SAC")}
    assert listed["tau"].default == 0.005
    assert listed["gamma"].default == 0.99
    assert listed["minibatch_size"].default == 256
    assert "num_steps" not in listed
    ppo = {setting.name: setting for setting in list_settings("sb3")}
    assert ppo["num_steps"].default is None, "it follows from the steps"


def test_recommended_settings_are_listed_for_their_algorithm():
    family = make_family("Pendulum")
    batched = {s.name: s.recommended for s in list_settings("ppo", family)}
    assert family.training["ppo"].items() <= batched.items()
    usual = {s.name: s.recommended for s in list_settings("sb3", family)}
    assert usual["use_sde"] is True
    assert usual["gamma"] == 0.9
    assert all(s.recommended is None for s in list_settings("sb3", family, "SAC"))


def test_what_cannot_be_listed():
    with pytest.raises(TrainerError, match="Unknown trainer 'auto'; known: ppo, sb3"):
        list_settings("auto")
    with pytest.raises(TrainerError, match="'ppo' has one algorithm. Leave 'SAC' out"):
        list_settings("ppo", algorithm="SAC")
