"""A study that runs while other processes ask and tell in it."""

import json
import os

import numpy as np
import pytest
from killing_spree import outcome
from stand_ins import run_quickly

from sdmbtl.errors import BusyError, DuplicateTellError, StudyError
from sdmbtl.studies import Study
from sdmbtl.studies.doctor import examine, repair

ROW = np.linspace(5.0, 6.0, 64)


def at(stage, number, work):
    """A callback that works once: at a stage of a policy."""
    done = []

    def watch(event):
        if event.stage == stage and event.trial.id == number and not done:
            done.append(True)
            work()

    return watch


@pytest.mark.parametrize("stage", ["asked", "compiling", "trained", "evaluating"])
def test_others_ask_and_tell_while_a_study_runs(stage, quick):
    seen = {}

    def elsewhere():
        other = Study.open(quick, wait=0.0)
        seen["asked"], seen["left"] = other.ask(), other.ask()
        seen["told"] = other.tell(seen["asked"], ROW)
        seen["reported"] = other.tell([1.2345], ROW)

    study = run_quickly(quick, budget=6, callbacks=[at(stage, 0, elsewhere)])
    assert [t.id for t in study.trials] == list(range(len(study.trials)))
    assert study.n_finished == 6
    assert np.array_equal(study.trials[seen["asked"].id].row, ROW)
    assert np.array_equal(study.trials[seen["reported"].id].row, ROW)
    assert study.trials[seen["told"].id].run is None
    assert [t.id for t in study.pending] == [seen["left"].id], "it is left to who asked for it"
    contexts = [t.context["length"] for t in study.trials]
    assert len(set(contexts)) == len(contexts), "nothing is offered twice"
    assert examine(quick).healthy


def test_a_run_leaves_to_others_what_they_asked_for(quick):
    asked = Study.open(quick).ask(3)
    study = run_quickly(quick, budget=2)
    assert [t.id for t in study.pending] == [0, 1, 2]
    assert study.n_finished == 2
    study.tell(asked[0], ROW)
    study = run_quickly(quick, budget=3)
    assert study.n_finished == 3
    assert study.trials[0].run is None


def test_a_run_stops_where_others_have_everything(quick):
    Study.open(quick).ask(64)
    study = Study.open(quick)
    assert "asked for elsewhere" in study.run(2, progress=False)


@pytest.mark.parametrize("stage", ["compiling", "trained", "evaluating"])
@pytest.mark.parametrize("status", ["finished", "cancelled"])
def test_what_is_reported_of_a_policy_that_is_being_trained_stays(stage, status, quick, caplog):
    def elsewhere():
        row = ROW if status == "finished" else None
        Study.open(quick).tell(0, row, status=status)

    study = run_quickly(quick, callbacks=[at(stage, 0, elsewhere)])
    assert study.trials[0].status == status
    if status == "finished":
        assert np.array_equal(study.trials[0].row, ROW)
    assert study.n_finished == 4
    assert f"Policy 0 was reported elsewhere as {status}" in caplog.text
    recorded = [json.loads(text) for text in outcome(quick)[1]]
    assert [entry["status"] for entry in recorded] == [t.status for t in study.trials]


def test_the_budget_counts_what_others_report(quick):
    def elsewhere():
        other = Study.open(quick)
        for place in (0.3, 0.4, 0.5):
            other.tell([place], ROW)

    study = run_quickly(quick, budget=3, callbacks=[at("finished", 1, elsewhere)])
    assert study.n_finished == 5
    assert [t.run is None for t in study.trials] == [False, False, True, True, True]


def test_only_one_process_runs_a_study(quick):
    messages = []

    def elsewhere():
        for call in (
            lambda: run_quickly(quick),
            lambda: Study.open(quick).evaluate_missing(),
            lambda: repair(quick),
        ):
            with pytest.raises(BusyError) as caught:
                call()
            messages.append(str(caught.value))
        messages.append(Study.open(quick).status()["pending"])

    run_quickly(quick, callbacks=[at("asked", 0, elsewhere)])
    running = f"Another process (number {os.getpid()} on "
    assert [m.startswith(running) for m in messages[:3]] == [True] * 3
    assert "status, ask and tell may be used meanwhile" in messages[0]
    assert messages[3] == 2


def test_what_cannot_be_locked_is_tried_again_by_the_caller(quick):
    study = Study.open(quick, wait=0.0)
    trial = study.ask()
    with study.store.transaction(), pytest.raises(BusyError, match="is writing to"):
        Study.open(quick, wait=0.0).tell(trial, ROW)
    assert Study.open(quick).tell(trial, ROW).status == "finished"
    assert study.tell(trial, ROW).status == "finished", "the same once more is nothing new"
    with pytest.raises(DuplicateTellError):
        study.tell(trial, ROW + 1)
    with pytest.raises(StudyError, match="'wait' must be"):
        Study.open(quick, wait=-1.0)
