"""Studies that play chosen episodes: killed anywhere, shared, corrected and extended."""

import shutil
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from killing_spree import outcome
from stand_ins import STAND_INS, QuickTraining, train_one

from sdmbtl import ContextSpace
from sdmbtl.execution import SerialExecutor
from sdmbtl.studies import Study, extension, loop
from sdmbtl.studies.leases import LeaseKeeper
from sdmbtl.studies.store import StudyStore
from sdmbtl.training import Evaluation, tasks

LENGTHS = np.linspace(0.1, 2.0, 64)


class OneByOne(QuickTraining):
    """Policies of a batch are trained one after another."""

    def chunks(self, jobs):
        return [[number] for number in range(len(jobs))]


@pytest.fixture
def broken():
    """Lengths on which evaluations fail."""
    return set()


@pytest.fixture
def trained_for():
    """Steps of training, of which evaluations may cost a share."""
    return {"steps": 9000}


@pytest.fixture
def make(tmp_path, monkeypatch, broken, trained_for):
    """Make, or open, a study whose policies and episodes take no time."""
    for place, name, value in STAND_INS:
        monkeypatch.setattr(place, name, value)

    def train(spec, jobs, progress=None, checkpoints=None):
        return [replace(train_one(job, []), **trained_for) for job in jobs]

    def evaluate(spec, policy, contexts, *, episodes, seed, only, **_):
        key, steps = int(policy.weights[0].view(np.uint32)[0, 0]), 0
        returns, errors = np.full((len(contexts), episodes), np.nan), {}
        for number in only:
            if contexts[number][0] in broken:
                errors[number] = "it is broken"
                continue
            rng = np.random.default_rng([seed, key, number])
            returns[number] = np.sin(contexts[number].sum() + key) + rng.normal(size=episodes)
            steps += int(rng.integers(30, 90)) * episodes
        return Evaluation(returns, errors, steps)

    monkeypatch.setattr(tasks, "train", train)
    monkeypatch.setattr(tasks, "evaluate", evaluate)

    def open_study(name="study", **options):
        kind = {"selector": "generalist-first", "selector_options": {"width": 0.5}}
        space = ContextSpace(length=LENGTHS)
        return Study.open(tmp_path / name, "CartPole", space=space, episodes=4, **kind, **options)

    return open_study


def run(study, budget=1, **options):
    study.run(budget, progress=False, checkpoint_seconds=None, **options)
    return study


class Killed(BaseException):
    pass


@pytest.mark.parametrize(("batch", "training"), [(1, None), (2, None), (2, OneByOne())])
def test_killed_before_or_after_a_transaction(
    batch, training, make, tmp_path, monkeypatch, trained_for
):
    trained_for["steps"] = 3000  # not enough for all of the first targets
    if training is not None:
        monkeypatch.setattr(Study, "training", training)
    passed, last, original = 0, None, StudyStore.transaction

    def trap():
        nonlocal passed
        passed += 1
        if passed == last:
            raise Killed

    @contextmanager
    def transaction(store):
        is_inner = store._database.in_transaction
        if not is_inner:
            trap()
        with original(store) as written:
            yield written
        if not is_inner:
            trap()

    monkeypatch.setattr(StudyStore, "transaction", transaction)
    make("blank", batch=batch).close()
    shutil.copytree(tmp_path / "blank", tmp_path / "reference")
    study, passed = make("reference", batch=batch), 0
    run(study, 4)
    in_all, reference = passed, outcome(tmp_path / "reference")
    for number in range(3, in_all, 2):
        shutil.copytree(tmp_path / "blank", tmp_path / str(number))
        study, passed, last = make(str(number), batch=batch), 0, number
        with pytest.raises(Killed):
            run(study, 4)
        last = None
        run(make(str(number), batch=batch), 4)
        assert outcome(tmp_path / str(number)) == reference, number


def test_what_another_process_has_just_played_is_not_played_again(make, monkeypatch, caplog):
    other, choose, chosen = make(), loop.next_comparison, []

    def while_another_plays(*arguments):
        found = choose(*arguments)
        if found is not None and not chosen:
            with LeaseKeeper(other.store, alone=False) as leases:
                other.refresh()
                work = loop.Loop(other, leases, lambda event: None, SerialExecutor())
                (trial,) = leases.claim([other.trials[found[0]]])
                work._begin_row(trial, work._known_returns(trial), found[1])
                work._work_off()
        chosen.append(found)
        return found

    monkeypatch.setattr(loop, "next_comparison", while_another_plays)
    together = run(make("study"), join=True)
    assert not caplog.records, "no result was refused"
    assert len(chosen) > 1
    alone = run(make("alone"))
    assert together.returns.tobytes() == alone.returns.tobytes()


def test_a_result_that_is_refused_returns_its_lease(make):
    study = run(make())
    with LeaseKeeper(study.store, alone=False) as leases:
        work = loop.Loop(study, leases, lambda event: None, SerialExecutor())
        (trial,) = leases.claim([study.trials[0]])
        work._begin_row(trial, work._known_returns(trial), np.arange(3))
        study.forget(0)
        work._work_off()
        assert study.store.leases()[0].is_free
    assert study.trials[0].status == "forgotten"


def test_a_policy_continues_one_that_was_forgotten(make):
    def stop(event):
        if event.stage == "asked" and event.trial.id == 1:
            raise KeyboardInterrupt

    study = make()
    with pytest.raises(KeyboardInterrupt):
        run(study, 2, callbacks=[stop])
    assert study.space.is_whole(study.trials[1].source)
    assert study.trials[1].parent == 0
    study.forget(0)
    assert run(study).trials[1].status == "finished"


@pytest.mark.parametrize("missing", [True, False])
def test_reported_episodes_are_kept(make, missing):
    """More than the study plays, and with gaps between them."""
    study, told = run(make()), np.full((64, 6), np.nan)
    told[:30, [0, 2, 5]] = 7.0, 8.0, 9.0
    study.tell(0, told, correct=True)
    if missing:
        study.evaluate_missing(eval_processes=1)
    else:
        run(study, 2)
    played = study.episodes()[0]
    assert np.isfinite(played).sum() > 90
    np.testing.assert_array_equal(played[:30, [0, 2, 5]], told[:30, [0, 2, 5]])


def test_errors_are_kept_when_new_targets_are_evaluated(make, broken, monkeypatch):
    broken.update(LENGTHS[::5].tolist())
    study = run(make())
    before = study.store.errors()[0]
    assert len(before) > 4
    monkeypatch.setattr(extension, "_training_for", lambda study, space, _: (None, space, {}))
    study.extend(ContextSpace(length=np.append(LENGTHS, [2.1, 2.2])))
    broken.remove(LENGTHS[0])
    after = run(study).store.errors()[0]
    assert set(before) - {0} <= set(after)
    for number in after:
        assert np.isnan(study.returns[0, number]).all()
