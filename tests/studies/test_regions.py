"""Studies of a generalist and specialists: sources, steps, kills, lost parents."""

import json
import shutil
import signal

import numpy as np
import pytest
from small_study import POINTS, REGIONS, TRAINER, open_small, outcome

from sdmbtl import ContextSpace, Levels
from sdmbtl.environments import make_family
from sdmbtl.errors import ConfigurationError, SelectorError, StudyError
from sdmbtl.policies import load_notes, load_policy
from sdmbtl.portfolio import Portfolio
from sdmbtl.selectors.trial import TrainingRun
from sdmbtl.studies import Study
from sdmbtl.studies.doctor import examine, repair
from sdmbtl.studies.jobs import JobMaker
from sdmbtl.training.sb3 import SB3Trainer

KILLED = -signal.SIGKILL


def jobs_of(study):
    maker = JobMaker(study.log, study.configuration, study.files)
    return [maker.job(trial) for trial in study.trials]


def test_a_generalist_and_specialists(finished_regions):
    study = finished_regions
    first, second, *others = study.trials
    assert study.space.is_whole(first.source)
    assert (first.parent, first.steps, first.run.steps) == (None, 2048, 2048)
    assert second.source == study.space.whole(parent=0, steps=2048), "in two halves"
    assert [study.space.is_whole(trial.source) for trial in others].count(False) >= 1
    for trial in (second, *others):
        is_continued = study.space.is_whole(trial.source) and trial is not second
        shape = (1.0, 4096) if is_continued else (trial.width, 2048)
        assert (trial.width, trial.steps) == shape
        assert trial.run.steps == trial.steps
        assert trial.parent < trial.id
        assert trial.index is None
        assert trial.run.curve[0][0] == 0, "the parent is the first candidate"
        assert trial.run.training_return >= trial.run.curve[0][1]
        inside = study.space.targets_in(trial.source)
        assert trial.source_return == trial.row[inside].mean()
    assert study.steps == study.status()["steps"] == sum(t.steps for t in study.trials)
    assert study.configuration.selector == {
        "name": "generalist-first",
        "options": {
            "width": 0.25,
            "init": "auto",
            "specialist_steps": 2048,
            "steps": 4096,
            "reported_parents": False,
        },
    }


def test_jobs_follow_from_the_sources(finished_regions):
    generalist, *specialists = jobs_of(finished_regions)
    assert (len(generalist.contexts), generalist.parent) == (12, None)
    for job, trial in zip(specialists, finished_regions.trials[1:], strict=True):
        assert len(job.contexts) == (12 if trial.width == 1 else 3)
        lows, highs = np.array(list(trial.region.values())).T
        assert ((job.contexts >= lows - 1e-12) & (job.contexts <= highs + 1e-12)).all()
        parent = load_policy(finished_regions.policy_path(trial.parent))
        assert np.array_equal(job.parent.weights[0], parent.weights[0])
    again = jobs_of(Study.open(finished_regions.path))
    for one, other in zip([generalist, *specialists], again, strict=True):
        assert np.array_equal(one.contexts, other.contexts)
        assert one.seed == other.seed


def test_notes_of_the_policies(finished_regions):
    first, second, third = (load_notes(finished_regions.policy_path(i)) for i in (0, 1, 2))
    assert (first["width"], first["steps"], "parent" in first) == (1.0, 2048, False)
    assert (second["width"], second["parent"], second["steps"]) == (1.0, 0, 2048)
    assert third["width"] == 0.25


def test_a_generalist_continues_where_it_falls_short(finished_regions):
    study = finished_regions
    _, second, *_ = jobs_of(study)
    row = study.trials[0].row
    drawn = [study.space.find(context) for context in second.contexts]
    again = [number for number in drawn if number is not None]
    assert len(again) == 6, "half of the contexts are targets"
    assert row[again].mean() < row.mean()
    anywhere = study.space.draw(study.space.whole(), 12, np.random.default_rng(0))
    assert [study.space.find(context) for context in anywhere] == [None] * 12


def test_files_keep_the_critic_and_exports_do_not(finished_regions, tmp_path):
    own = load_policy(finished_regions.policy_path(0))
    assert [w.shape for w, _ in own.critic] == [(4, 64), (64, 64), (64, 1)]
    finished_regions.portfolio().export(tmp_path / "out")
    exported = Portfolio.load(tmp_path / "out").policy(0)
    assert not exported.critic
    assert np.array_equal(exported.weights[0], own.weights[0])


@pytest.mark.parametrize(
    ("stage", "number"),
    [("asked", 2), ("training", 3), ("saving", 1), ("trained", 3), ("finished", 1)],
)
def test_killed_and_resumed(stage, number, tmp_path, run_script, finished_regions):
    path = tmp_path / "study"
    killed = run_script("killed_run.py", path, stage, number, "regions")
    assert killed.returncode == KILLED, killed.stderr
    study = Study.open(path)
    study.run(budget=4)
    assert outcome(study) == outcome(finished_regions)


def test_a_lost_generalist_and_its_continuation_come_back(tmp_path):
    """Each from its seed and its parent, so that the same comes out."""
    study = open_small(tmp_path / "study", **REGIONS)
    study.run(budget=4)
    before = outcome(study)
    (continued,) = [t for t in study.trials if t.parent == 0 and t.width == 1]
    for number in (0, continued.id):
        study.policy_path(number).unlink()
    repair(study.path)
    again = Study.open(study.path)
    again.run(budget=4, retrain_missing=True)
    assert outcome(again) == before


def test_total_steps(tmp_path):
    study = open_small(tmp_path / "study", **REGIONS)
    assert study.run(total_steps=3000) == "4,096 of 3,000 environment steps are used"
    assert study.n_finished == 2
    assert study.run(total_steps=4096).startswith("4,096 of 4,096")
    assert study.n_finished == 2
    for bad in (0, 2.5, True):
        with pytest.raises(StudyError, match="'total_steps' must be a whole number >= 1"):
            study.run(total_steps=bad)
    with pytest.raises(StudyError, match="needs a 'budget', 'total_steps'"):
        study.run()


def copy_of(study, path):
    shutil.copytree(study.path, path)
    return Study.open(path)


def test_a_lost_parent_is_named_and_comes_back(finished_regions, tmp_path):
    study = copy_of(finished_regions, tmp_path / "study")
    parent = load_policy(study.policy_path(0))
    asked = study.ask()
    assert asked.parent is not None
    study.adopt_pending()
    lost = study.policy_path(asked.parent)
    lost.unlink()
    with pytest.raises(StudyError, match=rf"policy {asked.parent}, .*missing.*--retrain-missing"):
        study.run(budget=5)
    assert Study.open(study.path).pending[0].id == asked.id
    assert not repair(study.path).repaired
    again = Study.open(study.path)
    again.run(budget=5, retrain_missing=True)
    assert [t.status for t in again.trials] == ["finished"] * 5
    assert examine(study.path).healthy
    assert np.array_equal(load_policy(again.policy_path(0)).weights[0], parent.weights[0])


def test_a_lost_parent_and_its_child_in_one_batch(tmp_path):
    study = open_small(tmp_path / "study", **REGIONS, batch=2)
    study.run(budget=2)
    (child,) = study.ask(1)
    study.policy_path(child.parent).unlink()
    again = Study.open(study.path)
    again.adopt_pending()
    order = []
    again.run(
        budget=3,
        retrain_missing=True,
        callbacks=[lambda e: order.append((e.stage, e.trial.id))],
    )
    trained = [number for stage, number in order if stage == "trained"]
    assert trained == [child.parent, child.id]
    assert examine(study.path).healthy


def test_a_reported_policy_has_no_weights_here_and_is_not_a_parent(tmp_path):
    study = open_small(tmp_path / "study", **REGIONS)
    study.tell(study.space.whole(steps=4096), [50.0, 80.0] * 4)
    study.run(budget=2)
    assert [t.status for t in study.trials] == ["finished", "finished"]
    assert study.trials[1].parent is None


def test_doctor_notices_parents_that_are_not_earlier(finished_regions, tmp_path):
    study = copy_of(finished_regions, tmp_path / "study")
    assert examine(study.path).healthy
    trial = study.trials[1]
    source = trial.source.__class__(trial.source.center, 0.5, parent=1)
    with study.store.transaction():
        study.store.write(trial.updated(source=source))
    found = [f.text for f in examine(study.path).findings if f.level == "problem"]
    assert found == ["Policy 1 starts from policy 1, which is not earlier."]
    pending = trial.updated(source=source, status="pending", row=None, run=TrainingRun())
    with study.store.transaction():
        study.store.write(pending)
    with pytest.raises(StudyError, match="which is not an earlier one. See: sdmbtl doctor"):
        Study.open(study.path).run(budget=4)


def test_which_selector_a_study_has(tmp_path, monkeypatch):
    def chosen(**options):
        study = open_small(tmp_path / json.dumps(options, default=str), **options)
        return study.configuration.selector["name"]

    assert chosen(width="auto", init="auto") == "generalist-first"
    assert chosen(width=0, init="parent") == "generalist-first"
    assert chosen(width=0.25, init="scratch") == "generalist-first"
    assert chosen(**POINTS) == "predictive"
    assert chosen(selector_options={"models": ["plateau"]}, width="auto") == "predictive"
    assert chosen(selector="random", width="auto", init="auto") == "random"
    sb3 = {"trainer": "sb3", "trainer_options": {"total_timesteps": 500}, "init": "auto"}
    assert chosen(**sb3, width="auto") == "generalist-first"
    monkeypatch.setattr(SB3Trainer, "starts_from_parent", False)
    assert chosen(**sb3, width="auto", seed=4) == "predictive"
    regions = open_small(tmp_path / "sb3", **sb3, width=0.5)
    assert regions.configuration.selector["options"]["init"] == "scratch"
    assert regions.configuration.selector["options"]["steps"] == 500
    by_option = {"selector": "generalist-first", "selector_options": {"init": "parent"}}
    for parent in ({"init": "parent"}, by_option):
        with pytest.raises(StudyError, match="'sb3' cannot start from.*init='scratch'"):
            chosen(**{**sb3, **parent}, width="auto")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"selector": "m-mbtl", "width": 0.5}, "'m-mbtl' chooses points.*width=0.5"),
        ({"selector": "random", "init": "parent"}, "'random' chooses points.*init='parent'"),
        ({"specialist_steps": 5, **POINTS}, "'auto' chooses points.*specialist_steps=5"),
        ({"init": "warm"}, "Unknown init 'warm'; known: auto, scratch, parent"),
        ({"region_contexts": 0}, "'region_contexts' must be a whole number >= 1"),
        ({"widht": 0.5}, "Unknown option 'widht'.*Did you mean 'width'"),
    ],
)
def test_unusable_options(options, text, tmp_path):
    with pytest.raises(StudyError, match=text):
        open_small(tmp_path / "study", **options)


@pytest.mark.parametrize("width", [1.5, -0.1, "wide"])
def test_unusable_widths(width, tmp_path):
    with pytest.raises(SelectorError, match="'width'"):
        open_small(tmp_path / "study", width=width)


def test_regions_and_points_are_different_studies(tmp_path):
    open_small(tmp_path / "study", **REGIONS)
    with pytest.raises(ConfigurationError, match="generalist-first"):
        open_small(tmp_path / "study")


def test_ask_and_tell_have_points_unless_regions_are_asked_for(tmp_path):
    space = ContextSpace(a=range(4), b=[1.0, 2.0])
    assert Study.open(tmp_path / "points", space=space).ask().width == 0
    study = Study.open(tmp_path / "regions", space=space, selector="generalist-first")
    first = study.ask()
    assert (first.width, first.steps) == (1.0, None)
    assert first.region == {"a": (0.0, 3.0), "b": (1.0, 2.0)}
    study.tell(first, np.arange(8.0))
    second = Study.open(tmp_path / "regions").ask()
    assert (second.width, second.parent) == (0.25, 0)
    study.refresh()
    told = study.tell(second, np.arange(8.0))
    assert told.source_return == np.arange(8.0)[study.space.targets_in(second.source)].mean()


def test_discrete_dimensions_are_trained_on_targets(tmp_path):
    space = make_family("CartPole").space("wide", levels=2)
    lengths = Levels(space.dimensions["length"].values, discrete=True)
    discrete = ContextSpace(**{**space.dimensions, "length": lengths})
    study = open_small(tmp_path / "study", space=discrete, **REGIONS)
    study.run(budget=1)
    (job,) = jobs_of(study)
    assert {tuple(c) for c in job.contexts} == {tuple(t) for t in discrete.targets}
    assert TRAINER["total_timesteps"] == 2 * study.steps
