"""A training run that was killed continues from its checkpoint, to the same bytes."""

import gymnasium
import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.environments import FactoryFamily, make_family
from sdmbtl.errors import TrainerError
from sdmbtl.policies import policy_bytes
from sdmbtl.training import (
    Checkpoints,
    TrainerSpec,
    TrainingJob,
    delete_checkpoints,
    make_trainer,
    train,
)
from sdmbtl.training.tasks import train_task


class KilledError(Exception):
    """What ends a run here; a real kill is tested with studies."""


def make_pendulum(context):
    return gymnasium.make("Pendulum-v1", g=context["gravity"], max_episode_steps=70)


SLOW = pytest.mark.slow
SETTINGS = {"total_timesteps": 480, "num_envs": 2, "num_steps": 20, "update_epochs": 2}


def jax_env():
    family = make_family("CartPole")
    settings = {**SETTINGS, "minibatch_size": 40, "eval_every": 1, "eval_episodes": 2}
    return make_trainer("ppo", family, family.space("wide"), chunk=2, **settings)


def gymnasium_env(**given):
    family = FactoryFamily(make_pendulum, ContextSpace(gravity=[5.0, 10.0]))
    settings = {**SETTINGS, "minibatch_size": 40, "eval_every": 2, "eval_episodes": 1, **given}
    return make_trainer("ppo", family, family.space(), **settings)


def jobs_for(trainer, number):
    targets = trainer.space.targets
    return [TrainingJob(targets[[n, -1 - n]], seed=n) for n in range(number)]


@pytest.fixture(
    params=["jax", "gymnasium", "recurrent", pytest.param("jax, two together", marks=SLOW)]
)
def run(request):
    """A specification and jobs that are trained together."""
    forms = {"gymnasium": gymnasium_env, "recurrent": lambda: gymnasium_env(recurrent=True)}
    trainer = forms.get(request.param, jax_env)()
    jobs = jobs_for(trainer, 2 if "two" in request.param else 1)
    return TrainerSpec.of(trainer), jobs


def kill_after(reports):
    left = reports

    def progress(report):
        nonlocal left
        left -= 1
        if not left:
            raise KilledError

    return progress


def content(trainings):
    return [(policy_bytes(t.policy), t.steps, t.source_return, t.curve) for t in trainings]


@pytest.mark.parametrize("reports_done", [2, 4])
def test_it_continues_to_the_same_bytes(run, reports_done, tmp_path):
    spec, jobs = run
    uninterrupted = []
    expected = content(train(spec, jobs, uninterrupted.append))
    checkpoints = Checkpoints(tmp_path / "checkpoints", 0.0)
    with pytest.raises(KilledError):
        train(spec, jobs, kill_after(reports_done), checkpoints)
    reports = []
    again = train(spec, jobs, reports.append, checkpoints)
    assert content(again) == expected
    assert (reports[0].stage, reports[0].steps) == ("continued", 40 * reports_done * len(jobs))
    assert {report.stage for report in reports[1:]} == {"training"}
    assert reports[-1].steps == 480 * len(jobs)
    for told in (uninterrupted, reports):  # every evaluation once; none of several policies
        evaluations = [entry for report in told for entry in report.evaluations]
        assert evaluations == ([] if len(jobs) > 1 else again[0].curve)


def test_a_start_from_a_parent_is_continued_too(run, tmp_path):
    spec, jobs = run
    parents = [training.policy for training in train(spec, jobs)]
    children = [
        TrainingJob(job.contexts, job.seed + 9, parent=parent, steps=400)
        for job, parent in zip(jobs, parents, strict=True)
    ]
    expected = content(train(spec, children))
    checkpoints = Checkpoints(tmp_path, 0.0)
    with pytest.raises(KilledError):
        train(spec, children, kill_after(3), checkpoints)
    assert content(train(spec, children, None, checkpoints)) == expected


def test_an_interruption_is_kept_even_if_nothing_is_due(run, tmp_path):
    spec, jobs = run
    expected = content(train(spec, jobs))
    checkpoints = Checkpoints(tmp_path, 3600.0)
    with pytest.raises(KilledError):
        train(spec, jobs, kill_after(9), checkpoints)
    reports = []
    again = train(spec, jobs, reports.append, checkpoints)
    assert content(again) == expected
    assert reports[0].stage == "continued"
    assert len(reports) <= 6, "where it was"


def test_checkpoints_of_other_jobs_do_not_count(tmp_path):
    trainer = jax_env()
    spec, jobs = TrainerSpec.of(trainer).to_dict(), jobs_for(trainer, 2)
    checkpoints = Checkpoints(tmp_path)
    parent = train(TrainerSpec.of(trainer), jobs[:1])[0].policy
    job = jobs[0]
    others = [
        (spec, jobs),
        (spec, jobs[1:]),
        ({**spec, "settings": {**spec["settings"], "gamma": 0.9}}, jobs[:1]),
        (spec, [TrainingJob(job.contexts, job.seed, attempt=1)]),
        (spec, [TrainingJob(job.contexts, job.seed, steps=480)]),
        (spec, [TrainingJob(job.contexts[::-1], job.seed)]),
        (spec, [TrainingJob(job.contexts, job.seed, parent=parent)]),
    ]
    own = checkpoints.of(spec, jobs[:1]).path
    assert own == checkpoints.of(spec, [TrainingJob(job.contexts, job.seed)]).path
    paths = {checkpoints.of(*other).path for other in others}
    assert len(paths) == len(others)
    assert own not in paths


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04", b"no archive at all"])
def test_a_damaged_file_means_a_new_beginning(damage, tmp_path):
    trainer = jax_env()
    spec, jobs = TrainerSpec.of(trainer), jobs_for(trainer, 1)
    expected = content(train(spec, jobs))
    checkpoints = Checkpoints(tmp_path, 0.0)
    with pytest.raises(KilledError):
        train(spec, jobs, kill_after(4), checkpoints)
    (path,) = tmp_path.iterdir()
    path.write_bytes(damage)
    assert content(train(spec, jobs, None, checkpoints)) == expected


def test_a_full_disk_does_not_end_the_run(tmp_path):
    trainer = jax_env()
    spec, jobs = TrainerSpec.of(trainer), jobs_for(trainer, 1)
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.warns(UserWarning, match="Training continues; if it is interrupted") as caught:
        trained = train(spec, jobs, None, Checkpoints(blocked / "checkpoints", 0.0))
    assert len(caught) == 1, "said once"
    assert content(trained) == content(train(spec, jobs))


def test_clearing_leaves_other_files(tmp_path):
    for name in ("a.npz", ".b.npz.7.tmp", "mine.txt"):
        (tmp_path / name).write_text("x")
    Checkpoints(tmp_path).clear()
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    Checkpoints(tmp_path / "missing").clear()


def test_unusable_seconds(tmp_path):
    for bad in (-1.0, np.nan, "soon"):
        with pytest.raises(TrainerError, match="'checkpoint_seconds' must be a finite number >= 0"):
            Checkpoints(tmp_path, bad)


def test_checkpoints_of_all_that_was_trained_are_deleted(tmp_path):
    made = gymnasium_env()
    targets = made.space.targets
    jobs = [TrainingJob(targets[:1], 0), TrainingJob(targets[:2], 1), TrainingJob(targets[1:2], 2)]
    checkpoints = Checkpoints(tmp_path / "checkpoints", 0.0)
    spec = TrainerSpec.of(made)
    train(spec, jobs, checkpoints=checkpoints)
    assert len([*checkpoints.folder.iterdir()]) == 3
    others = checkpoints.of(spec.to_dict(), [TrainingJob(targets[:1], 99)]).path
    others.write_bytes(b"")
    delete_checkpoints(spec, jobs, checkpoints)
    assert [*checkpoints.folder.iterdir()] == [others]


def test_a_machine_without_the_study_keeps_no_checkpoints(tmp_path):
    made = jax_env()
    for study, kept in (("missing", 0), ("there", 1)):
        folder = tmp_path / study / "checkpoints"
        if kept:
            folder.parent.mkdir()
        train_task(TrainerSpec.of(made), jobs_for(made, 1), Checkpoints(folder, 0.0))
        assert len([*folder.glob("*.npz")]) == kept
