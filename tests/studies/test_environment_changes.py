"""Studies of environments of one's own: what is refused before they are made, and after edits."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from sdmbtl import ContextSpace
from sdmbtl.environments import GymnasiumFamily, make_family
from sdmbtl.errors import (
    BusyError,
    ConfigurationError,
    DamagedStudyError,
    FamilyError,
    SdmbtlError,
    StudyError,
    TrainerError,
    TrainingError,
)
from sdmbtl.studies import Study
from sdmbtl.studies.doctor import examine
from sdmbtl.studies.environment import ENVIRONMENTS
from sdmbtl.studies.leases import LeaseKeeper
from sdmbtl_crops.weather import load_weather

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
        (pendulum, {"algorithm": "DQN"}, TrainerError, "DQN cannot be used on .*Box"),
        (pendulum, {"policy": "CnnPolicy"}, TrainerError, "PPO cannot be used on"),
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


def test_a_function_a_space_and_a_range_of_returns(tmp_path):
    def own(context):
        return pendulum(context)

    given = {"space": SPACE, "return_range": (-200.0, 0.0), "trainer_options": QUICK, "episodes": 1}
    study = Study.open(tmp_path / "study", own, **given)
    study.run(budget=1)
    assert study.return_range == (-200.0, 0.0)
    assert 0 <= study.status()["coverage"] <= 1
    file = tmp_path / "gravities.toml"
    file.write_text("[dimensions.gravity]\nvalues = [5, 15]\n[returns]\nmin = -99\nmax = 0")
    other = Study.open(tmp_path / "other", own, space=file, trainer_options=QUICK)
    assert other.return_range == (-99.0, 0.0)


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


def test_an_edit_of_a_weather_file_must_be_accepted(tmp_path):
    weather = tmp_path / "mine.csv"
    days = [f"{year},{day},15,5,20,1.5,3" for year in (1, 2, 3) for day in range(1, 366)]
    weather.write_text("\n".join(["year,day,radiation,tmin,tmax,rain,et0", *days]))
    Study.open(tmp_path / "study", make_family("Crop", site=str(weather)))
    _ = Study.open(tmp_path / "study").training
    weather.write_text(weather.read_text().replace("15,5,20", "15,5,21"))
    load_weather.cache_clear()  # as in another process
    edited = Study.open(tmp_path / "study")
    with pytest.raises(ConfigurationError, match="content of .*mine.csv has changed"):
        edited.run(budget=1)
    Study.open(tmp_path / "study", accept_changes=True).evaluate_missing()
    _ = Study.open(tmp_path / "study").training


def test_an_edit_must_be_accepted(tmp_path):
    path = tmp_path / "study"
    study = Study.open(path, pendulum, space=SPACE, trainer_options=QUICK, episodes=1)
    study.run(budget=1)

    def pretend(part, name, value):
        """Put something else on record than there is."""
        records = study.store.facts()[ENVIRONMENTS]
        records[-1]["identity"][part][name] = value
        with study.store.transaction():
            study.store.set_fact(ENVIRONMENTS, records)

    pretend("source", "robot", "0" * 16)
    edited = Study.open(path)
    assert edited.status()["policies"] == 1, "looking at a study is always possible"
    for use in (lambda: edited.run(budget=2), edited.evaluate, lambda: edited.trainer):
        with pytest.raises(ConfigurationError) as error:
            use()
        assert "source of robot is no longer used" in str(error.value)
        assert "--accept-changes, or Study.open(path, accept_changes=True)" in str(error.value)
    assert edited.n_finished == len(edited.trials) == 1

    accepted = Study.open(path, accept_changes=True)
    checkpoint = path / "checkpoints" / "0001.npz"
    checkpoint.parent.mkdir(exist_ok=True)
    checkpoint.touch()
    _ = accepted.training  # nothing is recorded without the lease of a run
    for join in (False, True):
        with LeaseKeeper(study.store), pytest.raises(BusyError):
            accepted.run(budget=2, join=join)  # a run at work trains in the old environments
    assert checkpoint.exists()
    assert len(study.store.facts()[ENVIRONMENTS]) == 1
    accepted.run(budget=2)
    (change,) = Study.open(path).status()["environment_changes"]
    assert change["policies"] == 1
    assert change["changes"] == ["source of robot is no longer used"]
    assert len(accepted.store.facts()[ENVIRONMENTS]) == 2, "the first is kept"
    Study.open(path).run(budget=2)  # and nothing is asked any more


@pytest.mark.parametrize(
    ("fact", "edit"),
    [
        (ENVIRONMENTS, lambda records: [{"identity": {"source": {}}, "policies": 0}]),
        ("configuration", lambda made: {**made, "width": 0.2}),
    ],
)
def test_a_study_of_another_version_is_called_so(fact, edit, tmp_path):
    study = Study.open(tmp_path / "study", pendulum, space=SPACE, trainer_options=QUICK)
    with study.store.transaction():
        study.store.set_fact(fact, edit(study.store.facts()[fact]))
    for use in (Study.open, examine):
        with pytest.raises(StudyError, match="Another version of sdmbtl made") as caught:
            use(study.path)
        assert not isinstance(caught.value, DamagedStudyError)


def test_trials_of_another_version_name_both(tmp_path):
    study = Study.open(tmp_path / "study", space=SPACE)
    study.ask()
    with study.store.transaction():
        study.store.set_fact("versions", {"sdmbtl": "0.0.1"})
        study.store._write("UPDATE trials SET body = '{}'")
    with pytest.raises(StudyError, match=r"made by another version of sdmbtl: 0\.0\.1, this is "):
        Study.open(study.path)


def test_use_after_close_is_no_damage(tmp_path):
    study = Study.open(tmp_path / "study", space=SPACE)
    study.close()
    uses = (study.status, study.ask, study.refresh, study.store.check, study.adopt_pending)
    for use in (*uses, LeaseKeeper(study.store).__enter__):
        with pytest.raises(StudyError, match="was closed") as caught:
            use()
        assert not isinstance(caught.value, DamagedStudyError)
