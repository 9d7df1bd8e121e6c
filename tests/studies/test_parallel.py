"""Several policies at once: as one after another, with faults, by several processes."""

import os
import signal
from collections import Counter
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest
from small_study import REGIONS, open_small, outcome
from stand_ins import evaluate, hand_over, make_study, train_one

from sdmbtl.errors import (
    ExecutorError,
    StudyError,
    TrainerError,
    WorkerLostError,
)
from sdmbtl.execution import Executor, ProcessExecutor
from sdmbtl.studies import Study, leases
from sdmbtl.studies.doctor import examine
from sdmbtl.studies.leases import LeaseKeeper
from sdmbtl.studies.stopping import STOP_RULES, STOPPED

HERE = Path(__file__).parent


class PlannedExecutor(Executor):
    """Does tasks in an order of one's own: each look at what is done finishes the next one.

    Args:
        workers: Tasks at once.
        pick: Which of those under way is done next.
        lose: Called with each task; an error it returns is what becomes of the task.
    """

    name = "planned"

    def __init__(self, workers, pick=lambda tasks: 0, lose=lambda function, arguments: None):
        super().__init__(workers)
        self.pick, self.lose = pick, lose
        self.under_way, self.most, self.done = [], 0, []

    def submit(self, function, /, *arguments, on_report=None):
        future = Future()
        self.under_way.append((future, function, arguments))
        self.most = max(self.most, len(self.under_way))
        if len(self.under_way) == self.workers:
            self.finish_one()
        return future

    def finish_one(self):
        future, function, arguments = self.under_way.pop(self.pick(self.under_way))
        error = self.lose(function, arguments)
        self.done.append(function.__name__)
        if error is not None:
            future.set_exception(error)
            return
        try:
            future.set_result(function(*arguments))
        except Exception as problem:  # noqa: BLE001
            future.set_exception(problem)

    def shutdown(self, wait=True, *, cancel_futures=False):
        pass


@pytest.fixture
def planned(monkeypatch):
    """Have tasks take no time, and those that are left be done when somebody waits."""
    from sdmbtl.studies import loop
    from sdmbtl.training import tasks

    def train(spec, jobs, progress, checkpoints):
        return [train_one(job, [job.seed for job in jobs]) for job in jobs]

    monkeypatch.setattr(tasks, "train", train)
    monkeypatch.setattr(tasks, "evaluate", evaluate_all)
    monkeypatch.setattr("sdmbtl.studies.study.measure_random_actions", lambda *_: None)
    made = []

    def wait_for(futures, seconds, return_when):
        executor = made[-1]
        if not any(future.done() for future in futures) and executor.under_way:
            executor.finish_one()
        return {future for future in futures if future.done()}, set()

    monkeypatch.setattr(loop, "wait", wait_for)

    def make(*arguments, **options):
        made.append(PlannedExecutor(*arguments, **options))
        return made[-1]

    return make


def evaluate_all(spec, policy, contexts, *, only, **options):
    return evaluate(spec, policy, contexts, **options)


def run(path, executor, budget=6, batch=1, **options):
    study = make_study(path, batch=batch, **options)
    study.run(budget, executor=executor, checkpoint_seconds=None)
    return study


def chosen(study):
    return [t.context["length"] for t in study.trials]


@pytest.mark.parametrize("workers", [2, 5])
@pytest.mark.parametrize("batch", [1, 2])
def test_the_budget_is_exact_and_nothing_is_trained_twice(tmp_path, planned, workers, batch):
    executor = planned(workers, pick=lambda tasks: len(tasks) - 1)
    study = run(tmp_path / "study", executor, budget=7, batch=batch)
    assert study.n_finished == len(study.trials) == 7
    assert len(set(chosen(study))) == 7
    assert executor.most == min(workers, -(-7 // batch))
    assert examine(study.path).healthy


def test_the_same_order_of_completion_gives_the_same(tmp_path, planned):
    orders = [lambda tasks: 0, lambda tasks: 0, lambda tasks: len(tasks) - 1]
    studies = [
        run(tmp_path / str(n), planned(3, pick=pick), selector="m/gp-mbtl", budget=7)
        for n, pick in enumerate(orders)
    ]
    first, second, third = [(chosen(s), s.returns.tobytes()) for s in studies]
    assert first == second
    assert sorted(first[0]) != sorted(third[0]), "it is not for want of a difference"


def test_a_lost_worker_costs_nothing(tmp_path, planned):
    seen = Counter()

    def lose(function, arguments):
        seen[function.__name__] += 1
        if seen[function.__name__] in (2, 3):
            return WorkerLostError("The worker crashed (SIGSEGV).")
        return None

    study = run(tmp_path / "study", planned(1, lose=lose))
    reference = run(tmp_path / "reference", planned(1))
    assert study.returns.tobytes() == reference.returns.tobytes(), "with the same seeds"
    assert [t.run.lost for t in study.trials].count(("The worker crashed (SIGSEGV).",) * 2) == 1
    assert all(t.run.errors == () for t in study.trials)


def test_what_loses_every_worker_is_given_up_with_its_reason(tmp_path, planned):
    first = []

    def lose(function, arguments):
        if function.__name__ == "train_task":
            seed = arguments[1][0].seed
            first.append(seed) if not first else None
            if seed == first[0]:
                return WorkerLostError("The run did not end within 5 s.")
        return None

    executor = planned(2, lose=lose)
    study = run(tmp_path / "study", executor)
    failed = [t for t in study.trials if t.status == "failed"]
    assert len(failed) == 1
    assert len(failed[0].run.lost) == 2
    assert failed[0].run.errors == ("WorkerLostError: The run did not end within 5 s.",)
    assert study.n_finished == 6


def test_a_context_that_loses_every_worker_is_one_missing_return(tmp_path, planned):
    def lose(function, arguments):
        if function.__name__ == "evaluate_task" and 13 in arguments[3]:
            return WorkerLostError("The worker crashed (SIGSEGV).")
        return None

    study = run(tmp_path / "study", planned(1, lose=lose), budget=1)
    assert np.flatnonzero(np.isnan(study.trials[0].row)).tolist() == [13]
    assert study.store.errors()[0] == {13: "WorkerLostError: The worker crashed (SIGSEGV)."}


def test_an_error_of_the_set_up_ends_the_run(tmp_path, planned):
    executor = planned(2, lose=lambda *_: TrainerError("No such setting."))
    with pytest.raises(TrainerError, match="No such setting"):
        run(tmp_path / "study", executor)
    assert len(Study.open(tmp_path / "study").pending) == 2


def test_what_was_trained_is_evaluated_after_a_kill(tmp_path, planned):
    class Killed(BaseException):
        pass

    def die(event):
        if event.stage == "evaluating":
            raise Killed

    study = make_study(tmp_path / "study", batch=1)
    options = {"checkpoint_seconds": None}
    with pytest.raises(Killed):
        study.run(6, executor=planned(2), callbacks=[die], **options)
    assert any(t.has_policy for t in study.pending)
    again = Study.open(tmp_path / "study")
    executor = planned(1)
    again.run(6, executor=executor, **options)
    assert executor.done.count("train_task") < 6
    assert again.n_finished == len(again.trials) == 6


# -- several processes on one study ------------------------------------------------------------


def test_what_another_process_works_on_is_waited_for(tmp_path, planned):
    study = make_study(tmp_path / "study", batch=1)
    study.ask()
    hand_over(study)
    waits = []

    def watch(event):
        if event.stage == "waiting":
            waits.append(event.trial.id)
            other.__exit__()  # it gives up what it held

    with LeaseKeeper(study.store, alone=False) as other:
        assert [t.id for t in other.claim(study.pending)] == [0]
        mine = Study.open(study.path)
        mine.run(2, join=True, executor=planned(1), callbacks=[watch])
    assert waits == [0]
    assert mine.n_finished == len(mine.trials) == 2


def test_a_result_of_a_lease_that_was_lost_does_not_count(tmp_path, planned, monkeypatch, caplog):
    now = [1.8e9]
    monkeypatch.setattr(leases.time, "time", lambda: now[0])
    path = tmp_path / "study"
    taken = []

    def take_over(event):
        if event.stage == "asked" and not taken:
            taken.append(True)
            now[0] += 61.0  # as if this process had been stopped for so long
            other = Study.open(path)
            other.run(2, executor=planned(1), join=True, checkpoint_seconds=None)

    study = make_study(path, batch=1)
    executor = planned(1)
    study.run(2, executor=executor, callbacks=[take_over], checkpoint_seconds=None)
    assert study.n_finished == len(study.trials) == 2
    assert study.store.leases()[0].token == 2
    assert "given to another process" in caplog.text
    assert study.files.state(study.trials[0]) == "intact", "the late one was not put in its place"
    assert examine(path).healthy


# -- for real ----------------------------------------------------------------------------------


def same_policies(study, reference):
    return {key: outcome(study)[key] for key in ("policies", "returns")} == {
        key: reference[key] for key in ("policies", "returns")
    }


def test_one_of_several_processes_leaves_the_checkpoints_of_the_others(tmp_path):
    study = open_small(tmp_path / "study")
    others = tmp_path / "study" / "checkpoints" / "of-another-process.npz"
    others.parent.mkdir()
    others.write_bytes(b"")
    study.run(1, join=True, checkpoint_seconds=0.0)
    assert [*others.parent.iterdir()] == [others]
    study.run(2, checkpoint_seconds=0.0)
    assert not [*others.parent.iterdir()], "alone, whatever is there is old"


def test_processes_give_the_same_bytes_also_after_a_killed_worker(tmp_path, reference):
    killed = []

    def kill(event):
        if event.stage in ("compiling", "training") and not killed and executor.pids:
            killed.append(executor.pids[0])  # which takes seconds to start and to compile
            os.kill(killed[0], signal.SIGKILL)

    with ProcessExecutor(1) as executor:
        study = open_small(tmp_path / "study")
        study.run(4, executor=executor, callbacks=[kill])
    assert killed
    assert same_policies(study, reference)
    assert "SIGKILL" in study.trials[0].run.lost[0]


@pytest.mark.slow
def test_ray_gives_the_same_bytes(tmp_path, reference):
    pytest.importorskip("ray")
    study = open_small(tmp_path / "study")
    study.run(4, executor="ray")
    assert same_policies(study, reference)


@pytest.mark.slow
def test_jobs_of_submitit_give_the_same_bytes(tmp_path, reference):
    pytest.importorskip("submitit")
    study = open_small(tmp_path / "study")
    local = {"cluster": "local", "timeout_min": 30}
    study.run(4, executor="submitit", executor_options=local)
    assert same_policies(study, reference)
    assert examine(study.path).healthy
    assert list((study.path / "jobs").iterdir()) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:os.fork")  # by Ray, when another test has loaded JAX
def test_a_lost_node_of_ray_costs_only_what_it_worked_on(tmp_path):
    ray = pytest.importorskip("ray")
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    node = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    removed = []

    def remove(event):
        if event.stage == "finished" and not removed:
            removed.append(event.trial.id)
            cluster.remove_node(node, allow_graceful=False)

    study = open_small(tmp_path / "study")
    how = {"jobs": 2, "executor": "ray", "executor_options": {"address": cluster.address}}
    try:
        study.run(4, callbacks=[remove], **how)
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert removed
    assert [t.status for t in study.trials] == ["finished"] * 4, "the budget is exact"
    assert all(len(t.run.lost) <= 1 for t in study.trials)
    assert len(list((study.path / "policies").glob("*.safetensors"))) == 4
    assert examine(study.path).healthy


@pytest.mark.slow
def test_a_generalist_is_waited_for_only_by_what_starts_from_it(tmp_path):
    study = open_small(tmp_path / "study", **REGIONS)
    study.run(4, jobs=2)
    assert study.n_finished == 4
    assert study.space.is_whole(study.trials[0].source)
    assert study.trials[1].parent is None
    assert examine(study.path).healthy


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"jobs": 0}, "'jobs'"),
        ({"jobs": 2, "executor": "serial"}, "one task at a time"),
        ({"run_limit": 5.0}, "Unknown option 'time_limit'"),
    ],
)
def test_wrong_keywords_are_refused(tmp_path, options, text):
    study = make_study(tmp_path / "study")
    with study.store.transaction():
        study.store.set_fact(STOPPED, "by an earlier run")
    with pytest.raises((StudyError, ExecutorError), match=text):
        study.run(1, **options)
    facts = study.store.facts()
    assert facts[STOPPED] == "by an earlier run", "a refused run records nothing"
    assert STOP_RULES not in facts


def test_environments_of_this_process_alone_cannot_be_sent(tmp_path):
    import gymnasium

    from sdmbtl import ContextSpace

    def make(length):
        return gymnasium.make("CartPole-v1")

    space = ContextSpace(length=[0.5, 1.0])
    study = Study.open(tmp_path / "study", make, space=space, selector="predictive")
    with pytest.raises(StudyError, match="only this process has"):
        study.run(1, jobs=2)
