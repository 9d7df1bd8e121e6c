"""Every setting of every trainer is listed, with its meaning."""

import pytest

from sdmbtl.environments import make_family
from sdmbtl.errors import TrainerError
from sdmbtl.training import make_trainer, trainer_names
from sdmbtl.training.registry import list_settings

NAMES = [name for name in trainer_names() if name != "auto"]


@pytest.mark.parametrize("name", NAMES)
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
    assert listed["device"].default == "cpu"
    ppo = {setting.name: setting for setting in list_settings("sb3")}
    assert ppo["num_steps"].default is None
    assert ppo["num_steps"].meaning.endswith("it fits total_timesteps: at least 25 updates.")


def test_recommended_settings_are_for_their_algorithm():
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
