"""Workers in virtual time: what they wait for, what is equal, and what was measured."""

import pytest

import parallel_choice
from parallel_choice import simulate_workers
from sdmbtl.contexts import ContextSpace
from sdmbtl.selectors import make_selector
from sdmbtl.testing.spaces import example_matrix
from sdmbtl_lab.benchmarks import paper_configurations, simulate

SPACE = ContextSpace(a=range(5), b=range(5))
MATRIX = example_matrix(SPACE)


@pytest.fixture
def fixed(monkeypatch):
    """Runs of known length; run 1 fails."""
    monkeypatch.setattr(
        parallel_choice, "training_run", lambda _, n: ({0: 5.0, 1: 1.0}.get(n, 2.0), n == 1)
    )


def workers(q, mode, policies=4):
    return simulate_workers(make_selector("predictive", SPACE), MATRIX, q, mode, policies=policies)


def test_one_worker_is_the_usual_simulation(monkeypatch):
    monkeypatch.setattr(parallel_choice, "FAILING", 0.0)
    expected = simulate(make_selector("predictive", SPACE), MATRIX, 6).curve
    for mode in ("asynchronous", "lockstep"):
        found = workers(1, mode, policies=6)
        assert list(found.curve) == expected
        assert found.busy == pytest.approx(1.0)


@pytest.mark.usefixtures("fixed")
def test_asynchronous_workers_do_not_wait():
    # Worker A: 0-5. Worker B: 0-1 (fails), 1-3, 3-5; then the last one is there at 5, with A's.
    found = workers(2, "asynchronous", policies=3)
    assert found.time == 5.0
    assert len(found.curve) == 3


@pytest.mark.usefixtures("fixed")
def test_in_lockstep_all_wait_for_the_longest():
    # 0-5 (one of two fails), then two from 5 to 7.
    found = workers(2, "lockstep", policies=3)
    assert found.time == 7.0
    assert found.busy == pytest.approx((5 + 1 + 2 + 2) / (2 * 7))


def test_no_run_is_started_that_would_be_one_too_many(monkeypatch):
    monkeypatch.setattr(parallel_choice, "FAILING", 0.0)
    selector = make_selector("predictive", SPACE)
    simulate_workers(selector, MATRIX, 20, "asynchronous", policies=4)
    assert len(selector.trials) == 4


def test_a_summary_has_a_line_for_each_number_of_workers(monkeypatch):
    monkeypatch.setattr(parallel_choice, "WORKERS", (1, 2, 8))
    monkeypatch.setattr(parallel_choice, "POLICIES", 4)
    problem = paper_configurations(3, 5.0)[0]
    table = parallel_choice.summary({"a": parallel_choice.measure("m-mbtl", problem, trials=1)})
    asynchronous, lockstep = (table[mode] for mode in ("asynchronous", "lockstep"))
    assert list(asynchronous) == ["1", "2", "8"]
    assert asynchronous["1"] == lockstep["1"]
    assert asynchronous["2"]["time"] <= lockstep["2"]["time"] <= lockstep["1"]["time"]
