"""Studies of a generalist and specialists: sources, steps, kills, lost parents."""

import json
import shutil
import signal

import numpy as np
import pytest
from small_study import REGIONS, TRAINER, open_small, outcome
from stand_ins import hand_over

from sdmbtl import ContextSpace, Levels
from sdmbtl.contexts import Source
from sdmbtl.environments import make_family
from sdmbtl.errors import DamagedStudyError, StudyError
from sdmbtl.policies import load_notes, load_policy
from sdmbtl.selectors.history import History
from sdmbtl.studies import Study
from sdmbtl.studies.doctor import examine
from sdmbtl.studies.loop import training_job
from sdmbtl.training.sb3 import SB3Trainer

KILLED = -signal.SIGKILL


def jobs_of(study):
    return [training_job(study, trial) for trial in study.trials]


def test_a_generalist_and_specialists(finished_regions):
    study = finished_regions
    blind, *others = study.trials
    assert blind.source == study.space.whole(steps=2048)
    assert blind.run.steps == 2048
    assert any(trial.source.sees_context for trial in others), "both kinds compete"
    for trial in others:
        assert trial.width in (0.75, 1.0)
        assert trial.steps == trial.run.steps == 2048
        assert trial.parent < trial.id
        assert trial.index is None
        sees = load_policy(study.files.path(trial.id)).sees_context
        assert sees == trial.source.sees_context
    assert study.configuration.evaluate == "chosen"
    assert study.configuration.selector == {
        "name": "generalist-first",
        "options": {
            "width": 0.75,
            "steps": 4096,
            "sees_context": "both",
            "reported_parents": False,
        },
    }


def test_jobs_follow_from_the_sources(finished_regions):
    jobs = jobs_of(finished_regions)
    assert (len(jobs[0].contexts), jobs[0].parent) == (12, None)
    for job, trial in zip(jobs[1:], finished_regions.trials[1:], strict=True):
        assert len(job.contexts) == (12 if trial.width == 1 else 3)
        lows, highs = np.array(list(trial.region.values())).T
        assert ((job.contexts >= lows - 1e-12) & (job.contexts <= highs + 1e-12)).all()
        parent = load_policy(finished_regions.files.path(trial.parent))
        assert np.array_equal(job.parent.weights[0], parent.weights[0])
    source = Source.at(finished_regions.space.from_unit([0.5] * 3), width=0.25, parent=0)
    specialist = finished_regions.trials[1].updated(source=source)
    contexts = training_job(finished_regions, specialist).contexts
    lows, highs = np.array(list(finished_regions.space.region(source).values())).T
    assert contexts.shape == (3, 3)
    assert ((contexts >= lows) & (contexts <= highs)).all()
    again = jobs_of(Study.open(finished_regions.path))
    for one, other in zip(jobs, again, strict=True):
        assert np.array_equal(one.contexts, other.contexts)
        assert one.seed == other.seed


def test_notes_of_the_policies(finished_regions):
    for trial in finished_regions.trials:
        notes = load_notes(finished_regions.files.path(trial.id))
        found = notes["width"], notes.get("parent"), notes["steps"]
        assert found == (trial.width, trial.parent, 2048)


def test_a_generalist_continues_where_it_falls_short(tmp_path):
    study = open_small(tmp_path / "study", **REGIONS)
    study.run(budget=1)
    study.tell(study.space.whole(parent=0, steps=2048), np.ones(8))
    drawn = [study.space.find(context) for context in jobs_of(study)[1].contexts]
    again = [number for number in drawn if number is not None]
    assert len(again) == 6, "half of the contexts are targets"
    row = History(study.space, 0, study.trials[:1]).expected_returns[0]
    assert row[again].mean() < row.mean()
    anywhere = study.space.draw(study.space.whole(), 12, np.random.default_rng(0))
    assert [study.space.find(context) for context in anywhere] == [None] * 12


@pytest.mark.parametrize(
    ("stage", "number"),
    [
        ("training", 3),
        *(
            pytest.param(*when, marks=pytest.mark.slow)
            for when in (("asked", 2), ("saving", 1), ("trained", 3), ("finished", 1))
        ),
    ],
)
def test_killed_and_resumed(stage, number, tmp_path, run_script, finished_regions):
    path = tmp_path / "study"
    killed = run_script("killed_run.py", path, stage, number, "regions")
    assert killed.returncode == KILLED, killed.stderr
    study = Study.open(path)
    study.run(budget=4)
    assert outcome(study) == outcome(finished_regions)


def test_total_steps_count_evaluations(tmp_path):
    study = open_small(tmp_path / "study", **REGIONS)
    assert study.run(total_steps=2048).endswith("of 2,048 environment steps are used")
    assert study.n_finished == 1
    used = study.steps
    assert used > 2048
    assert study.run(total_steps=used).startswith(f"{used:,} of {used:,}")
    assert study.n_finished == 1
    study.run(total_steps=used + 1)
    assert study.n_finished == 2
    for bad in (0, 2.5, True):
        with pytest.raises(StudyError, match="'total_steps' must be a whole number >= 1"):
            study.run(total_steps=bad)
    with pytest.raises(StudyError, match="needs a 'budget', 'total_steps'"):
        study.run()


def copy_of(study, path):
    shutil.copytree(study.path, path)
    return Study.open(path)


def test_a_lost_parent_is_named_and_can_be_withdrawn(finished_regions, tmp_path):
    study = copy_of(finished_regions, tmp_path / "study")
    asked = study.ask()
    assert asked.parent is not None
    hand_over(study)
    study.files.path(asked.parent).unlink()
    with pytest.raises(StudyError, match=rf"policy {asked.parent}, .*missing.*--forget"):
        study.run(budget=5)
    assert Study.open(study.path).pending[0].id == asked.id
    study.forget(asked.parent)
    study.run(budget=4)
    assert [t.status for t in study.trials].count("finished") == 4
    assert study.trials[asked.id].status == "failed"
    assert examine(study.path).healthy


def test_a_reported_policy_has_no_weights_here_and_is_not_a_parent(tmp_path):
    study = open_small(tmp_path / "study", **REGIONS)
    study.tell(study.space.whole(steps=4096), [50.0, 80.0] * 4)
    study.run(budget=2)
    assert [t.status for t in study.trials] == ["finished", "finished"]
    assert study.trials[1].parent is None


def test_a_parent_that_is_not_earlier_is_damage(finished_regions, tmp_path):
    study = copy_of(finished_regions, tmp_path / "study")
    trial = study.trials[1]
    source = trial.source.__class__(trial.source.center, 0.5, parent=1)
    with study.store.transaction():
        study.store.write(trial.updated(source=source))
    with pytest.raises(DamagedStudyError, match="starts from trial 1"):
        Study.open(study.path)


def test_which_selector_a_study_has(tmp_path, monkeypatch):
    def chosen(**options):
        study = open_small(tmp_path / json.dumps(options), **options)
        return study.configuration.selector["name"], study.configuration.evaluate

    assert chosen(selector="auto") == ("generalist-first", "chosen")
    assert chosen(selector="auto", evaluate="all") == ("generalist-first", "all")
    assert chosen(selector="predictive") == ("predictive", "all")
    assert chosen(selector="random", evaluate="chosen") == ("random", "chosen")
    sb3 = {"trainer": "sb3", "trainer_options": {"total_timesteps": 500}}
    assert chosen(selector="auto", **sb3) == ("generalist-first", "chosen")
    monkeypatch.setattr(SB3Trainer, "starts_from_parent", False)
    assert chosen(selector="auto", seed=4, **sb3) == ("predictive", "all")
    with pytest.raises(StudyError, match="'sb3' cannot start from another.*'predictive'"):
        chosen(selector="generalist-first", **sb3)


def test_ask_and_tell_have_points_unless_regions_are_asked_for(tmp_path):
    space = ContextSpace(a=range(4), b=[1.0, 2.0])
    assert Study.open(tmp_path / "points", space=space).ask().width == 0
    study = Study.open(tmp_path / "regions", space=space, selector="generalist-first")
    first = study.ask()
    assert (first.width, first.steps) == (1.0, None)
    assert first.region == {"a": (0.0, 3.0), "b": (1.0, 2.0)}
    study.tell(first, np.arange(8.0))
    assert Study.open(tmp_path / "regions").ask().parent == 0
    study.refresh()
    region = Source.at(space.targets[0], width=0.5, parent=0)
    told = study.tell(region, np.arange(8.0))
    assert told.source_return == np.arange(8.0)[study.space.targets_in(region)].mean()


def test_discrete_dimensions_are_trained_on_targets(tmp_path):
    space = make_family("CartPole").space("wide", levels=2)
    lengths = Levels(space.dimensions["length"].values, discrete=True)
    discrete = ContextSpace(**{**space.dimensions, "length": lengths})
    study = open_small(tmp_path / "study", space=discrete, **REGIONS)
    study.run(budget=1)
    (job,) = jobs_of(study)
    assert {tuple(c) for c in job.contexts} == {tuple(t) for t in discrete.targets}
    assert TRAINER["total_timesteps"] == 2 * study.training_steps
