"""A study that begins with a policy from elsewhere."""

import pickle
import zipfile

import gymnasium
import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.environments import FactoryFamily
from sdmbtl.errors import PolicyError, StudyError, TrainerError
from sdmbtl.policies import policy_bytes, save_policy
from sdmbtl.studies import Study
from sdmbtl.training import TrainingJob, make_trainer

SPACE = ContextSpace(gravity=[5.0, 10.0])
SHORT = {"total_timesteps": 128, "num_envs": 2, "num_steps": 32, "minibatch_size": 32}


def make_pendulum(context):
    return gymnasium.make("Pendulum-v1", g=context["gravity"], max_episode_steps=10)


FAMILY = FactoryFamily(make_pendulum, SPACE)


def open_study(path, trainer="ppo", selector="auto", **options):
    return Study.open(
        path, FAMILY, trainer=trainer, trainer_options=options, selector=selector, episodes=2
    )


@pytest.fixture(scope="module")
def policy():
    trainer = make_trainer("ppo", FAMILY, SPACE, **SHORT)
    return trainer.train([TrainingJob(SPACE.targets, seed=7)])[0].policy


def test_the_first_policy_is_the_given_one_and_a_parent(policy, tmp_path):
    given = tmp_path / "mine.safetensors"
    save_policy(given, policy)
    study = open_study(tmp_path / "study", **SHORT)
    study.start_from(given)
    study.run(budget=2, progress=False)
    first, second = study.trials
    assert (first.status, first.run.steps, second.parent) == ("finished", 0, 0)
    assert [policy.steps for policy in study.snapshot().rounds] == [0, second.run.steps]
    kept = study.portfolio().policy(0)
    assert policy_bytes(kept.acting()) == policy_bytes(policy.acting())
    study.close()
    study = open_study(tmp_path / "study", **SHORT)
    assert study.start_from(given).id == 0  # as when the same command is given again
    other = tmp_path / "other.safetensors"
    save_policy(other, policy)
    with pytest.raises(StudyError, match="another policy"):
        study.start_from(other)


def test_what_does_not_fit_is_refused(policy, tmp_path):
    given = tmp_path / "mine.safetensors"
    save_policy(given, policy)
    with pytest.raises(TrainerError, match="layers"):
        open_study(tmp_path / "a", **SHORT, hidden_sizes=[8]).start_from(given)
    with pytest.raises(StudyError, match="generalist-first"):
        open_study(tmp_path / "b", selector="random", **SHORT).start_from(given)
    (tmp_path / "mine.zip").write_bytes(b"nothing")
    with pytest.raises(TrainerError, match="sb3"):
        open_study(tmp_path / "c", **SHORT).start_from(tmp_path / "mine.zip")
    with pytest.raises(PolicyError, match="damaged"):
        make_trainer("sb3", FAMILY, SPACE).read_start(tmp_path / "mine.zip")


@pytest.mark.parametrize(
    ("weights", "problem"),
    [
        (b"", "damaged"),
        (bytes(99), "more than weights"),
        (pickle.dumps(print, protocol=2), "more than weights"),
    ],
    ids=["empty", "zeros", "pickle"],
)
def test_nothing_but_weights_is_read_of_an_archive(weights, problem, tmp_path):
    with zipfile.ZipFile(tmp_path / "mine.zip", "w") as archive:
        archive.writestr("policy.pth", weights)
    with pytest.raises(PolicyError, match=problem) as error:
        make_trainer("sb3", FAMILY, SPACE).read_start(tmp_path / "mine.zip")
    assert "weights_only" not in str(error.value)


@pytest.mark.parametrize("algorithm", ["PPO", "SAC"])
def test_an_archive_of_stable_baselines3_acts_as_its_model(algorithm, tmp_path):
    stable_baselines3 = pytest.importorskip("stable_baselines3")
    model = getattr(stable_baselines3, algorithm)("MlpPolicy", make_pendulum({"gravity": 5.0}))
    model.save(tmp_path / "model.zip")
    trainer = make_trainer("sb3", FAMILY, SPACE, algorithm=algorithm, norm_obs=False)
    policy = trainer.read_start(tmp_path / "model.zip")
    trainer.check_start(policy)
    for observation in np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32):
        expected, _ = model.predict(observation, deterministic=True)
        assert policy.act(observation) == pytest.approx(expected, abs=1e-6)
    with pytest.raises(TrainerError, match="norm_obs"):
        make_trainer("sb3", FAMILY, SPACE, algorithm=algorithm, norm_obs=True).read_start(
            tmp_path / "model.zip"
        )
    with pytest.raises(PolicyError, match=r"The weights are not those.*--set use_sde=false"):
        make_trainer("sb3", FAMILY, SPACE, algorithm="TD3", norm_obs=False).read_start(
            tmp_path / "model.zip"
        )
