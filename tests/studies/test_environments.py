"""Studies of environments of one's own: what is refused before they are made, and their use."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from sdmbtl import ContextSpace
from sdmbtl.environments import GymnasiumFamily
from sdmbtl.errors import (
    DamagedStudyError,
    FamilyError,
    SdmbtlError,
    StudyError,
    TrainerError,
    TrainingError,
)
from sdmbtl.studies import Study
from sdmbtl.studies.leases import LeaseKeeper

SPACE = ContextSpace(gravity=[5.0, 10.0, 20.0])
QUICK = {"total_timesteps": 64, "num_envs": 2, "num_steps": 32, "eval_episodes": 1}


def pendulum(context):
    return gymnasium.make("Pendulum-v1", g=context["gravity"], max_episode_steps=20)


def cartpole(context):
    return gymnasium.make("CartPole-v1")


def raises(context):
    raise RuntimeError("no such robot")


def raises_at_reset(context):
    return Odd(spaces.Box(-1, 1, (2,)), spaces.Discrete(2))


def wider_in_strong_gravity(context):
    size = 3 if context["gravity"] > 15 else 2
    return Odd(spaces.Box(-1, 1, (size,)), spaces.Discrete(2))


def sees_more_and_more(context):
    return Odd(spaces.Sequence(spaces.Discrete(2)), spaces.Discrete(2), (0, 1))


def has_parts(context):
    box = spaces.Box(-1, 1, (2,))
    return Odd(spaces.Dict(a=box), spaces.Discrete(2), {"a": np.zeros(2, np.float32)})


def chooses_twice(context):
    twice = spaces.Tuple([spaces.Discrete(2), spaces.Discrete(3)])
    return Odd(spaces.Box(-1, 1, (2,)), twice, np.zeros(2, np.float32))


class Odd(gymnasium.Env):
    """An environment with these spaces and this first observation; without one it fails."""

    def __init__(self, observation_space, action_space, first=None):
        self.observation_space, self.action_space = observation_space, action_space
        self.first = first

    def reset(self, *, seed=None, options=None):
        if self.first is None:
            raise RuntimeError("the battery is empty")
        return self.first, {}

    def step(self, action):
        return self.first, 0.0, True, False, {}


@pytest.mark.parametrize(
    ("function", "options", "error", "message"),
    [
        (cartpole, {"algorithm": "SAC"}, TrainerError, "SAC cannot be used on .*Discrete"),
        (pendulum, {"minibatch_size": 1}, TrainerError, "PPO cannot be used on .*batch_size"),
        (raises, {}, FamilyError, "failed for the context {'gravity': 10.0}: .*no such robot"),
        (raises_at_reset, {}, TrainingError, "{'gravity': 10.0}: RuntimeError: the battery is emp"),
        (wider_in_strong_gravity, {}, FamilyError, "observation_space depends on the context"),
        (sees_more_and_more, {}, TrainerError, "cannot be made an array of numbers: Sequence"),
        (has_parts, {}, TrainerError, "one array. .*FlattenObservation"),
        (chooses_twice, {}, TrainerError, "PPO cannot be used on"),
    ],
)
def test_what_can_never_be_trained_leaves_no_directory(function, options, error, message, tmp_path):
    with pytest.raises(error, match=message) as caught:
        Study.open(
            tmp_path / "study", function, space=SPACE, trainer="sb3", trainer_options=options
        )
    assert isinstance(caught.value, SdmbtlError)
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize("function", [sees_more_and_more, chooses_twice, raises_at_reset])
def test_the_usual_trainer_refuses_it_too(function, tmp_path):
    with pytest.raises(SdmbtlError, match="annot be|battery"):
        Study.open(tmp_path / "study", function, space=SPACE)
    assert not (tmp_path / "study").exists()


def test_a_gymnasium_environment_in_one_line(tmp_path):
    file = tmp_path / "pendulum.toml"
    file.write_text(
        '[dimensions.gravity]\npath = "g"\nvalues = [5, 15]\n'
        '[dimensions.mass]\npath = "unwrapped.m"\nfactor = true\nvalues = [0.5, 2]'
    )
    study = Study.open(
        tmp_path / "study", "gym:Pendulum-v1", space=file, trainer_options=QUICK, episodes=1
    )
    study.run(budget=1)
    again = Study.open(tmp_path / "study")
    assert isinstance(again.family, GymnasiumFamily)
    assert again.family.settings() == study.family.settings()
    assert np.isfinite(again.evaluate(seed=3)).all()
    env = again.portfolio().make_env({"gravity": 15, "mass": 2}, trust=True)
    assert (env.unwrapped._env.unwrapped.g, env.unwrapped._env.unwrapped.m) == (15.0, 2.0)


def test_use_after_close_is_no_damage(tmp_path):
    study = Study.open(tmp_path / "study", space=SPACE)
    study.close()
    uses = (study.status, study.ask, study.refresh, study.store.check, study.retry_failed)
    for use in (*uses, LeaseKeeper(study.store).__enter__):
        with pytest.raises(StudyError, match="was closed") as caught:
            use()
        assert not isinstance(caught.value, DamagedStudyError)
