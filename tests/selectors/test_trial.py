"""The one record of a trial: a value, in two steps, corrected, through JSON."""

import json
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from sdmbtl import ContextSpace, make_selector
from sdmbtl.errors import SelectorError, StateError
from sdmbtl.selectors import TrainingRun, Trial

SPACE = ContextSpace(a=range(3))


def told_selector():
    selector = make_selector("random", SPACE)
    return selector, selector.tell({"a": 1}, [1.0, 2.0, np.nan])


class TestValue:
    def test_never_changes(self):
        _, trial = told_selector()
        with pytest.raises(FrozenInstanceError):
            trial.status = "failed"
        with pytest.raises(ValueError, match="read-only"):
            trial.row[0] = 3.0

    def test_keeps_a_row_of_its_own(self):
        selector, row = make_selector("random", SPACE), np.array([1.0, 2.0, 3.0])
        trial = selector.tell({"a": 1}, row)
        row[:] = 9.0
        assert trial.row.tolist() == [1.0, 2.0, 3.0]

    def test_through_json(self):
        _, trial = told_selector()
        run = TrainingRun(
            attempt=2,
            errors=("out of memory",),
            steps=1000,
            curve=((500, 1.0), (1000, 3.5)),
        )
        trial = trial.updated(run=run, source_return=None)
        data = json.loads(json.dumps(trial.to_dict(), allow_nan=False))
        back = Trial.from_dict(data, 0, SPACE)
        assert back == trial
        np.testing.assert_array_equal(back.row, trial.row)

    @pytest.mark.parametrize(
        ("damage", "complaint"),
        [
            ({"status": "done"}, "status 'done' with a row"),
            ({"row": None}, "status 'finished' without a row"),
            ({"source": {"center": ["x"]}}, "does not describe a source"),
            ({"source": {"center": [1.0, 2.0]}}, ""),
            ({"run": {"attempt": 1}}, "'curve'"),
            ({"colour": "red"}, "colour"),
        ],
    )
    def test_damaged(self, damage, complaint):
        _, trial = told_selector()
        with pytest.raises(StateError, match=f"Trial 3 is damaged.*{complaint}"):
            Trial.from_dict(trial.to_dict() | damage, 3, SPACE)


class TestTwoSteps:
    def test_batches_look_ahead(self):
        selector = make_selector("m-mbtl", SPACE)
        trials = selector.next_trials(2)
        assert [t.id for t in trials] == [0, 1]
        assert selector.trials == ()
        assert selector.next_trials(2) == trials
        selector.record(*trials)
        assert selector.pending == trials

    def test_a_trial_of_another_id_is_not_overwritten(self):
        selector = make_selector("random", SPACE)
        (stale,) = selector.next_trials(1)
        other = next(target for target in SPACE if target != stale.context)
        finished = selector.tell(other, [1.0, 2.0, 3.0])
        with pytest.raises(SelectorError, match="already on record.*Record what next_trials"):
            selector.record(stale)
        assert selector.trials == (finished,)


class TestSourceReturn:
    def test_that_repeats_the_row_is_not_kept_twice(self):
        selector = make_selector("random", SPACE)
        assert selector.tell({"a": 1}, [1.0, 2.0, 3.0], source_return=2.0).source_return is None

    @pytest.mark.parametrize("context", [{"a": 1}, {"a": 1.5}], ids=["not evaluated", "no target"])
    def test_where_the_row_does_not_say_it_counts(self, context):
        selector = make_selector("random", SPACE)
        finished = selector.tell(context, [1.0, np.nan, 3.0], source_return=50.0)
        assert finished.source_return == 50.0
        assert selector.rows.source_returns.tolist() == [50.0]


class TestCorrections:
    def test_replace_row_and_status(self):
        selector, first = told_selector()
        selector.tell({"a": 2}, [5.0, 5.0, 5.0])
        selector.tell(first, [7.0, 8.0, 9.0], correct=True)
        np.testing.assert_array_equal(selector.rows.returns, [[7.0, 8.0, 9.0], [5.0, 5.0, 5.0]])
        selector.tell(first, status="cancelled", correct=True)
        assert len(selector.rows) == 1
        assert selector.trials[0].row is None
        assert {selector.ask().index, selector.ask().index} == {0, 1}, "the context came back"
