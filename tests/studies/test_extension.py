"""A study goes on with another space or objective; its policies and their returns stay."""

import shutil

import numpy as np
import pytest
from small_study import REGIONS, TRAINER

from sdmbtl import ContextSpace
from sdmbtl.contexts import Source
from sdmbtl.contexts.dimension import Levels
from sdmbtl.contexts.observation import append_context
from sdmbtl.environments import make_family
from sdmbtl.errors import BusyError, StudyError
from sdmbtl.policies import load_policy
from sdmbtl.studies import Study
from sdmbtl.studies.describe import detail_lines, problem_lines
from sdmbtl.studies.doctor import examine
from sdmbtl.studies.leases import LeaseKeeper
from sdmbtl.studies.store import StudyStore

WIDE = make_family("CartPole").space("wide", levels=2)
DENSE = make_family("CartPole").space("wide", levels=3)


@pytest.fixture
def copied(finished_regions, tmp_path):
    path = tmp_path / "study"
    shutil.copytree(finished_regions.path, path)
    return Study.open(path)


def told(path, space, rows):
    """Make a study of policies that were trained elsewhere, on the targets in order."""
    study = Study.open(path, space=space, selector="predictive")
    for target, row in enumerate(rows):
        study.tell(space.target(target), row)
    return study


def with_dimension(space, **more):
    return ContextSpace(**space.dimensions, **more)


def files(study):
    return {f.name: f.read_bytes() for f in (study.path / "policies").glob("*.safetensors")}


def test_more_values_keep_policies_and_returns(copied):
    before, episodes, contents = copied.trials, copied.episodes(), files(copied)
    changes = copied.extend(DENSE)
    assert any("27 targets instead of 8, 8 of them in both" in line for line in changes)
    assert files(copied) == contents
    for study in (copied, Study.open(copied.path)):
        assert len(study.space) == 27
        assert study.n_finished == len(before)
        for trial in study.trials:
            row = before[trial.id].row
            for number, target in enumerate(WIDE):
                place = DENSE.find(target)
                np.testing.assert_array_equal(trial.row[place], row[number])
                np.testing.assert_array_equal(
                    study.episodes()[trial.id][place], episodes[trial.id][number]
                )
            assert np.isnan(trial.row).sum() == 19 + np.isnan(row).sum()
    assert examine(copied.path).healthy


def test_run_evaluates_and_continues_in_the_new_space(copied):
    known = [int(np.isfinite(t.row).sum()) for t in copied.trials]
    copied.extend(DENSE)
    copied.run(budget=5)
    assert copied.n_finished == 5
    assert [int(np.isfinite(t.row).sum()) for t in copied.trials[:4]] > known
    assert copied.trials[4].row.shape == (27,)
    assert not any(t.earlier for t in copied.trials), "nothing that was known has changed"
    again = Study.open(copied.path, "CartPole", **_settings(DENSE))
    assert again.portfolio().choose(DENSE.target(13)).policy in range(5)
    assert copied.store.facts()["to_evaluate"] == []
    snapshot = copied.snapshot()
    assert not any("Extended" in line for line in problem_lines(snapshot)), "it is no problem"
    assert any(line.startswith("Extended after 4 policies") for line in detail_lines(snapshot))


def _settings(space):
    more = {"seed": 3, "episodes": 2, "trainer_options": TRAINER}
    return {"space": space, **more, **REGIONS}


def test_new_dimension_with_the_default_of_the_environment(copied):
    usual = make_family("CartPole").defaults["gravity"]
    space = with_dimension(WIDE, gravity=Levels([usual, 2 * usual], "linear"))
    before = copied.trials
    changes = copied.extend(space)
    assert changes[0] == f"new dimension gravity, {usual} so far"
    for trial in copied.trials:
        assert trial.context["gravity"] == usual or copied.space.is_whole(trial.source)
        np.testing.assert_array_equal(trial.row[0::2], before[trial.id].row)
        assert np.isnan(trial.row[1::2]).all()
    copied.run(budget=5)
    assert copied.trials[4].status == "finished"
    portfolio = copied.portfolio()
    assert portfolio.policy_for(space.target(1)) is not None


@pytest.mark.parametrize(
    "space",
    [
        with_dimension(WIDE, gravity=[9.8, 20.0]),
        ContextSpace(gravity=[9.8, 20.0], **WIDE.dimensions),  # before the others
        make_family("CartPole").space("wide", levels=3),
        ContextSpace(
            **{name: Levels([d.low, 2 * d.high], d.scale) for name, d in WIDE.dimensions.items()}
        ),
    ],
    ids=["dimension", "first dimension", "values", "range"],
)
def test_policies_that_see_their_context_act_as_before(copied, space):
    seeing = [t.id for t in copied.trained if t.source.sees_context]
    assert seeing, "there is nothing to test"
    copied.extend(space)
    study, rng = Study.open(copied.path), np.random.default_rng(0)
    for number in seeing:
        plain, adapted = load_policy(study.files.path(number)), study.files.load(number)
        for target in WIDE.targets:
            context = {**WIDE.context(target), "gravity": 9.8}
            now = space.vector({name: context[name] for name in space.names})
            seen = rng.normal(size=(5, 4)).astype(np.float32)
            np.testing.assert_allclose(
                adapted.outputs(append_context(seen, space.to_unit(now))),
                plain.outputs(append_context(seen, WIDE.to_unit(target))),
                rtol=1e-4,
                atol=1e-5,
            )


def test_extended_twice(copied):
    seeing = next(t.id for t in copied.trained if t.source.sees_context)
    copied.extend(DENSE)
    copied.extend(with_dimension(DENSE, gravity=[9.8, 20.0]))
    n_units = copied.files.load(seeing).observation_size
    assert n_units == 4 + 4
    assert [len(e["changes"]) > 0 for e in copied.status()["extensions"]] == [True, True]
    assert copied.n_finished == 4


def test_weights_and_objective(copied):
    weights = np.arange(1.0, 9.0)
    assert copied.extend(WIDE.weighted(weights)) == ["other weights of the targets"]
    np.testing.assert_allclose(copied.space.weights, weights / 36)
    assert "equal weights of the targets" in copied.extend(DENSE)
    assert copied.extend(objective="cvar:0.5") == ["objective cvar:0.5 instead of mean"]
    assert copied.status()["objective"] == "cvar:0.5"
    assert copied.extend(objective="mean") == ["objective mean instead of cvar:0.5"]
    assert "objective" not in copied.configuration.selector["options"]


def test_told_rows_and_new_dimension(tmp_path):
    space = ContextSpace(mass=[1.0, 2.0], ground=["road", "ice"])
    study = told(tmp_path / "study", space, [[1, 2, 3, 4], [4, 3, np.nan, 1]])
    new = ContextSpace(wind=[0.0, 5.0], ground=["mud", "road", "ice"], mass=[1.0, 2.0, 4.0])
    study.extend(new, defaults={"wind": 5.0})
    for trial, row in zip(study.trials, ([1, 2, 3, 4], [4, 3, np.nan, 1]), strict=True):
        for number, target in enumerate(space):
            np.testing.assert_equal(trial.row[new.find({**target, "wind": 5.0})], row[number])
    assert study.trials[0].context == {"wind": 5.0, "ground": "road", "mass": 1.0}
    assert study.trials[0].index == new.find(study.trials[0].context)
    assert study.ask().context["mass"] in (1.0, 2.0, 4.0)


def test_regions_keep_their_size():
    from sdmbtl.studies.extension import SpaceChange

    change = SpaceChange(
        ContextSpace(mass=Levels([1.0, 2.0], "linear")),
        ContextSpace(mass=Levels([1.0, 5.0], "linear")),
        {},
    )
    assert change.source(Source.at([1.5], 0.5)) == Source.at([1.5], 0.125)
    assert change.source(Source.at([1.5])) == Source.at([1.5])
    assert change.new.is_whole(change.source(change.old.whole(parent=3)))


@pytest.mark.parametrize(
    ("space", "defaults", "message"),
    [
        (ContextSpace(ground=["road", "ice"]), {}, "no dimension 'mass'"),
        (ContextSpace(mass=[1.0, 2.0], ground=["ice"]), {}, "categories of 'ground'"),
        (ContextSpace(mass=[1.0, 2.0], ground=["road", "ice"], x=[1, 2]), {}, "--default x=VALUE"),
        (ContextSpace(mass=[1.0, 2.0], ground=["road", "ice"]), {"mass": 1}, "not a new dimension"),
        (ContextSpace(mass=[1.0, 2.0], ground=["road", "ice"]), {}, "Nothing changes"),
        (ContextSpace(mass=[7.0], ground=["road", "ice"]), {}, "no return on any target"),
    ],
)
def test_refused(tmp_path, space, defaults, message):
    old = ContextSpace(mass=[1.0, 2.0], ground=["road", "ice"])
    study = told(tmp_path / "study", old, [[1, 2, 3, 4]])
    with pytest.raises(StudyError, match=message):
        study.extend(space, defaults=defaults)
    assert Study.open(study.path).space == old


def test_refused_while_asked_or_running(tmp_path):
    old, new = ContextSpace(mass=[1.0, 2.0]), ContextSpace(mass=[1.0, 2.0, 3.0])
    study = told(tmp_path / "study", old, [])
    trial = study.ask()
    with pytest.raises(StudyError, match="is not reported yet"):
        study.extend(new)
    study.tell(trial, status="cancelled")
    with LeaseKeeper(study.store), pytest.raises(BusyError):
        Study.open(study.path).extend(new)
    study.extend(new)
    assert len(Study.open(study.path).space) == 3


def test_steps_between_old_values_are_refused_for_policies_that_see(copied):
    assert any(t.source.sees_context for t in copied.trials)
    name = WIDE.names[0]
    low, high = WIDE.dimensions[name].low, WIDE.dimensions[name].high
    with pytest.raises(StudyError, match=f"cannot follow {name!r}"):
        copied.extend(ContextSpace(**{**WIDE.dimensions, name: [low, (low + high) / 2, high]}))
    assert copied.space == WIDE
    copied.extend(ContextSpace(**{**WIDE.dimensions, name: [low, high, 2 * high]}))


def test_without_a_common_target_policies_are_evaluated_again(copied):
    name = WIDE.names[0]
    d = WIDE.dimensions[name]
    middle = Levels([0.75 * d.low + 0.25 * d.high, 0.25 * d.low + 0.75 * d.high], d.scale)
    copied.extend(ContextSpace(**{**WIDE.dimensions, name: middle}))
    assert {t.status for t in copied.trials} == {"pending"}
    copied.run(budget=4)
    assert {t.status for t in copied.trials} == {"finished"}
    assert len(copied.trials) == 4


def test_killed_before_any_of_its_writes(copied, tmp_path, monkeypatch):
    """A kill leaves the files as they are at that moment."""
    write, left = StudyStore._write, []

    def photographed(self, statement, *values):
        if len(left) in (1, 5, 20):
            shutil.copytree(copied.path, tmp_path / f"killed-{len(left)}")
        left.append(statement)
        write(self, statement, *values)

    monkeypatch.setattr(StudyStore, "_write", photographed)
    copied.extend(DENSE, objective="worst")
    for number in (1, 5, 20):
        study = Study.open(tmp_path / f"killed-{number}")
        assert study.space == WIDE
        assert "extensions" not in study.store.facts()
        assert study.returns.shape[1] == 8
        study.extend(DENSE, objective="worst")
        assert len(Study.open(study.path).space) == 27
