"""The recipe for CARL's environments, with a class that does what CARL's do."""

import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import gymnasium

from sdmbtl.environments import check_contextual_env, make_family

RECIPES = (Path(__file__).parents[2] / "docs" / "examples" / "carl.md").read_text()


class FakeCarl(gymnasium.Wrapper):
    """What the recipe uses of a CARL class."""

    env_name = "CartPole-v1"
    render_mode = "rgb_array"

    @staticmethod
    def get_context_features():
        values = {"length": 0.5, "masspole": 0.1, "gravity": 9.8}
        return {name: SimpleNamespace(default_value=value) for name, value in values.items()}

    def __init__(self, env, contexts):
        super().__init__(env)
        self.base_observation_space = env.observation_space
        self.given = contexts[0]
        assert set(self.given) == {"length", "masspole", "gravity"}
        env.unwrapped.polemass_length = self.given["masspole"] * self.given["length"]
        env.unwrapped.length = self.given["length"]

    def reset(self, **arguments):
        observation, info = super().reset(**arguments)
        return {"obs": observation, "context": self.given}, info

    def step(self, action):
        observation, *rest = super().step(action)
        return {"obs": observation, "context": self.given}, *rest


def test_the_recipe_for_carl(tmp_path, monkeypatch):
    for text in re.findall(r"```\w+\n(.*?)```", RECIPES, flags=re.DOTALL):
        file = re.match(r"# (\w+\.\w+)\n", text)
        if file:
            (tmp_path / file[1]).write_text(text)
    module = ModuleType("carl.envs")
    module.CARLCartPole = FakeCarl
    monkeypatch.setitem(sys.modules, "carl", ModuleType("carl"))
    monkeypatch.setitem(sys.modules, "carl.envs", module)
    monkeypatch.chdir(tmp_path)
    report = check_contextual_env("carl_envs:make_cartpole", "carl.toml")
    assert report.first_difference == {"length": 1, "masspole": 1}
    family = make_family("carl_envs:make_cartpole", space="carl.toml")
    env = family.make({"length": 0.3, "masspole": 0.1})
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    assert env.render_mode is None
    assert family.return_range == (0.0, 500.0)
    monkeypatch.delitem(sys.modules, "carl_envs")
