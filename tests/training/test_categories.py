"""Policies that see a context with categories, from training to the choice."""

import gymnasium
import pytest

from sdmbtl import ContextSpace
from sdmbtl.environments import FactoryFamily
from sdmbtl.studies import Study


@pytest.mark.slow  # compiles PPO
def test_a_policy_sees_its_category(tmp_path):
    built = []

    def make(context):
        built.append(context)
        env = gymnasium.make("CartPole-v1", max_episode_steps=20)
        env.unwrapped.force_mag = {"road": 10.0, "ice": 3.0, "mud": 20.0}[context["ground"]]
        return env

    space = ContextSpace(
        ground=["road", "ice", "mud"], length=[0.5, 1.0], valid="ground != 'ice' or length < 1"
    )
    study = Study.open(
        tmp_path / "study",
        FactoryFamily(make, space, return_range=(0, 20)),
        trainer="ppo",
        trainer_options={"total_timesteps": 256, "num_envs": 2, "num_steps": 32},
        selector_options={"sees_context": "always"},
    )
    study.run(1, progress=False)
    assert [trial.status for trial in study.trials] == ["finished"]
    assert study.portfolio().policy_for({"ground": "mud", "length": 0.7}) is not None
    assert all({name: context[name] for name in space.names} in space for context in built)
