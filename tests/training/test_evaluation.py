"""An evaluation in several processes gives what one gives, and leaves none behind."""

import os
import signal
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest
from rough_walk import MANY_SLOPES, TRAINER, TROUBLES, set_troubles

from sdmbtl import ContextSpace
from sdmbtl.environments import FactoryFamily, make_family
from sdmbtl.errors import WorkerLostError
from sdmbtl.policies import MlpPolicy
from sdmbtl.training import TrainerSpec, evaluate, evaluation, make_trainer
from sdmbtl.training.evaluation import EvaluationHelpers

SPACE = ContextSpace(slope=MANY_SLOPES)
POLICY = MlpPolicy([np.eye(2)], [np.zeros(2)], np.zeros(2), np.ones(2))


@pytest.fixture(autouse=True)
def _troubles(tmp_path, monkeypatch):
    monkeypatch.setenv(TROUBLES, str(tmp_path / "troubles.json"))
    set_troubles({MANY_SLOPES[7]: "raises", MANY_SLOPES[40]: "unmade", MANY_SLOPES[50]: "nan"})


def specification(factory="rough_walk:make"):
    family = FactoryFamily(factory, SPACE)
    return TrainerSpec.of(make_trainer("sb3", family, SPACE, **TRAINER))


def play(spec, **options):
    return evaluate(spec, POLICY, SPACE.targets, episodes=10, seed=4, **options)


def eager():
    helpers = EvaluationHelpers(1)
    helpers.start_seconds = -1.0
    return helpers


def is_alive(process):
    return Path(f"/proc/{process}").exists()


def test_processes_do_not_matter():
    spec, calls = specification(), []
    alone = play(spec)
    assert set(alone.errors) == {7, 40, 50}
    assert np.isnan(alone.returns).any(axis=1).sum() == 3
    with eager() as helpers:
        shared = play(spec, helpers=helpers, progress=lambda *call: calls.append(call))
        (helper,) = helpers.pids
        again = play(spec, helpers=helpers, only=range(5, 60))
        assert helpers.pids == [helper], "kept for the next evaluation"
        assert is_alive(helper)
    assert not is_alive(helper)
    np.testing.assert_array_equal(shared.returns, alone.returns)
    assert shared.errors == alone.errors
    np.testing.assert_array_equal(again.returns[5:], alone.returns[5:])
    assert 0 < again.steps < shared.steps
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert calls[-1] == (60, 60)


def test_what_progress_raises_ends_it_and_no_process_stays():
    seen = []

    def stop(done, total):
        seen.extend(helpers.pids)
        if seen:
            raise LookupError(done, total)

    with eager() as helpers, pytest.raises(LookupError):
        play(specification(), helpers=helpers, progress=stop)
    assert not any(map(is_alive, seen))


def test_a_process_that_dies_costs_nothing():
    killed = []

    def kill_helper(done, total):
        for process in helpers.pids if not killed else ():
            os.kill(process, signal.SIGKILL)
            killed.append(process)

    spec = specification()
    with eager() as helpers:
        shared = play(spec, helpers=helpers, progress=kill_helper)
    assert killed
    np.testing.assert_array_equal(shared.returns, play(spec).returns)


def test_a_context_that_kills_its_process_costs_no_other():
    class Fragile(EvaluationHelpers):
        start_seconds, pieces = -1.0, []

        def submit(self, function, /, *args, on_report=None):
            self.pieces.append(list(args[-1]))
            future = Future()
            if 50 in args[-1]:
                future.set_exception(WorkerLostError("The worker crashed."))
            else:
                future.set_result(function(*args))
            return future

    set_troubles({})
    helpers = Fragile(20)  # so many that all is theirs
    played = play(specification(), helpers=helpers)
    assert played.errors == {50: "WorkerLostError: The worker crashed."}
    assert np.flatnonzero(np.isnan(played.returns).any(axis=1)).tolist() == [50]
    assert 1 <= helpers.pieces.count([50]) <= 2


@pytest.mark.parametrize("why", ["too little", "not by name", "compiled"])
def test_no_process_is_started_without_need(why):
    spec, helpers = specification(), EvaluationHelpers(1)
    if why == "not by name":
        spec = specification(lambda context: make_family("CartPole").make())
        helpers = eager()
        spec.make_trainer().evaluate = lambda *_, **__: evaluation.Evaluation(np.zeros((60, 10)))
    if why == "compiled":
        helpers = eager()
        spec.make_trainer().evaluates_on_host = False
    with helpers:
        play(spec, helpers=helpers)
        assert not helpers.pids


def test_small_pieces_of_work_add_up():
    helpers = EvaluationHelpers(1)
    helpers.start_seconds = 1.0
    assert [helpers.pay(0.4) for _ in range(3)] == [False, False, True]
