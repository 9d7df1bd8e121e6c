"""What the base class of selectors does, whatever a selector chooses: reports and records."""

import json
from functools import partial

import numpy as np
import pytest

from sdmbtl import ContextSpace, Trial, make_selector
from sdmbtl.contexts import Source
from sdmbtl.errors import (
    DuplicateTellError,
    RowError,
    SdmbtlError,
    SelectorError,
    UnknownTrialError,
)
from sdmbtl.testing import example_matrix, example_spaces
from sdmbtl.testing.selectors import _row, _run


@pytest.fixture(params=["random", "generalist-first"])
def factory(request):
    """One selector of points, and one of regions."""
    return partial(make_selector, request.param)


def test_tell_returns_the_record(factory):
    """`tell` returns the record; a report can be corrected."""
    space = example_spaces()["grid"]
    selector, matrix = factory(space, seed=0), example_matrix(space)
    asked = selector.ask()
    finished = selector.tell(asked, _row(space, matrix, asked))
    assert (asked.status, asked.row) == ("pending", None), "trials are values"
    assert finished.status == "finished", "tell must return the trial as it is now"
    assert selector.trials == (finished,), "the record must be what tell returned"
    corrected = selector.tell(finished, _row(space, matrix, asked) + 1.0, correct=True)
    assert selector.trials == (corrected,), "a correction must replace the trial"
    assert np.array_equal(selector.rows.returns[0], _row(space, matrix, asked) + 1.0), "stale row"
    selector.tell(finished, status="failed", correct=True)
    assert not len(selector.rows), "a trial that is corrected to failed has no row"


def test_forgotten_is_taken_back(factory):
    """A forgotten trial has no row, keeps what it had, and its context may come back."""
    space = ContextSpace(a=range(4))
    selector, matrix = factory(space, seed=0), example_matrix(space)
    first, second, *_ = _run(selector, rounds=3)
    selector.forget(first, reason="wrong")
    forgotten = selector.trials[first.id]
    assert (forgotten.status, forgotten.row) == ("forgotten", None), "it was not taken back"
    (earlier,) = forgotten.earlier
    assert earlier.reason == "wrong", "the reason must be kept"
    assert np.array_equal(earlier.row, _row(space, matrix, first)), "the row must be kept"
    assert np.array_equal(selector.rows.returns[0], _row(space, matrix, second)), "a stale row"
    fresh = factory(space, seed=0)
    fresh.load_state_dict(json.loads(json.dumps(selector.state_dict(), allow_nan=False)))
    assert fresh.ask() == selector.ask(), "the choice depends on what was forgotten"
    with pytest.raises(SelectorError):
        selector.forget(first)
    selector.tell(first.id, earlier.row, correct=True)
    assert len(selector.rows) == 3, "what was forgotten can be told again"


def test_refuses_bad_rows(factory):
    """Wrong rows give a RowError, change nothing, and the trial can still be reported."""
    space = example_spaces()["grid"]
    selector, matrix = factory(space, seed=0), example_matrix(space)
    trial = selector.ask()
    good = _row(space, matrix, trial)
    too_large = good * 1e101
    for bad in (good[:-1], too_large, "row", None):
        with pytest.raises(RowError):
            selector.tell(trial, bad)
    with pytest.raises(RowError):
        selector.tell(trial, good, source_return=np.inf)
    if trial.index is not None:
        other = float(good[trial.index]) + 48.0
        with pytest.raises(RowError):
            selector.tell(trial, good, source_return=other)
    assert len(selector.rows) == 0, "a refused row was kept"
    assert len(selector.pending) == 1, "a refused tell changed the trial"
    selector.tell(trial, good)


def test_refuses_bad_trials(factory):
    """Unknown ids, contexts and statuses give an error that says so."""
    space = example_spaces()["grid"]
    selector, row = factory(space, seed=0), example_matrix(space)[0]
    with pytest.raises(SdmbtlError):
        selector.tell({"a": 1.0, "b": np.nan}, row)
    trial = selector.ask()
    for given, status in ((row, "cancelled"), (row, "done"), (None, "finished")):
        with pytest.raises(SelectorError if status == "done" else RowError):
            selector.tell(trial, given, status=status)
    with pytest.raises(UnknownTrialError):
        selector.tell(5, row)
    foreign = Trial(trial.id, space.source(11), space.target(11), 11, "other", "from elsewhere")
    if foreign.source != trial.source:
        with pytest.raises(UnknownTrialError):
            selector.tell(foreign, row)


def test_refuses_second_tell(factory):
    """A second tell raises, by trial, id and source, unless it may be skipped."""
    space = example_spaces()["grid"]
    selector, matrix = factory(space, seed=0), example_matrix(space)
    trial = selector.ask()
    row = _row(space, matrix, trial)
    selector.tell(trial.id, row)
    names = [trial, trial.id, trial.source]
    if trial.source == Source(trial.source.center):
        names.append(trial.context)
    for again in names:
        with pytest.raises(DuplicateTellError):
            selector.tell(again, row + 1)
        selector.tell(again, row + 1, skip_if_finished=True)
    assert np.array_equal(selector.rows.best, row), "a skipped tell changed the rows"
