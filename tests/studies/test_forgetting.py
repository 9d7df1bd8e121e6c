"""A recorded row can be corrected or taken back, and what it was is kept."""

import numpy as np
import pytest
from small_study import open_small

from sdmbtl import ContextSpace
from sdmbtl.errors import SelectorError, UnknownTrialError
from sdmbtl.selectors import make_selector
from sdmbtl.studies import Study
from sdmbtl.studies.doctor import examine

SPACE = ContextSpace(a=range(4))
ROWS = np.array([[9.0, 1.0, 1.0, 1.0], [2.0, 8.0, 2.0, 2.0], [3.0, 3.0, 7.0, 3.0]])


@pytest.fixture
def study(tmp_path):
    """Three policies that were trained elsewhere, the first far too good."""
    study = Study.open(tmp_path / "study", space=SPACE, selector="auto")
    for row in ROWS:
        study.tell(study.ask(), row)
    return study


def test_a_forgotten_policy_is_as_if_it_had_never_been(study):
    first = study.trials[0]
    forgotten = study.forget(0, reason="another reward")
    assert (forgotten.id, forgotten.status, forgotten.row) == (0, "forgotten", None)
    assert [m.id for m in study.portfolio()] == [1, 2]
    assert np.array_equal(study.selector.rows.returns, ROWS[1:])
    assert study.performance == np.max(ROWS[1:], axis=0).mean()
    assert study.n_finished == 2
    left = make_selector("auto", SPACE)
    left.load_trials(study.trials)
    assert not left.history.is_taken(first.source)
    asked = [study.ask().index for _ in range(2)]
    assert first.index in asked, "its context may be chosen again"


def test_the_history_is_kept_and_shown(study):
    study.tell(0, ROWS[0] + 1, correct=True, reason="units")
    study.forget(0)
    study.tell(0, ROWS[0] - 1, correct=True)
    again = Study.open(study.path)
    earlier = again.trials[0].earlier
    assert [(e.became, e.reason) for e in earlier] == [("finished", "units"), ("forgotten", None)]
    assert np.array_equal([e.row for e in earlier], [ROWS[0], ROWS[0] + 1])
    shown = again.status()["rounds"][0]["earlier"]
    assert shown[0] == {
        "row": ROWS[0].tolist(),
        "source_return": None,
        "became": "finished",
        "reason": "units",
    }
    assert again.trials == study.trials
    assert again.trials[0].status == "finished"


def test_a_row_that_is_only_completed_has_no_earlier_one(study):
    part = ROWS[0].copy()
    part[2] = np.nan
    trial = study.tell(study.ask(), part)
    assert study.tell(trial, ROWS[0], correct=True).earlier == ()
    assert len(study.tell(trial, part + 1, correct=True).earlier) == 1


def test_what_cannot_be_forgotten(study):
    pending = study.ask()
    for number, text in ((pending.id, "is pending.*cancelled"), (9, "There is no trial 9")):
        with pytest.raises(SelectorError, match=text):
            study.forget(number)
    study.forget(0)
    with pytest.raises(SelectorError, match="Trial 0 is forgotten"):
        study.forget(0)
    with pytest.raises(UnknownTrialError, match="no trial"):
        study.forget({"a": 0.5})
    with pytest.raises(SelectorError, match="'reason' must be a text"):
        study.forget(1, reason=3)
    with pytest.raises(SelectorError, match="correct=True"):
        study.tell(pending, ROWS[0], reason="none")


def test_one_that_was_trained_here(tmp_path):
    study = open_small(tmp_path / "study")
    study.run(budget=2, progress=False)
    returns, policy = study.returns[0], study.files.path(0).read_bytes()
    study.forget(0, reason="wrong physics")
    assert [m.id for m in study.portfolio()] == [1]
    study.files.path(0).unlink()
    assert examine(study.path).healthy, "nobody needs its file"
    study.files.path(0).write_bytes(policy)
    study.run(budget=2, progress=False)
    assert [t.status for t in study.trials] == ["forgotten", "finished", "finished"]
    back = study.tell(0, returns, correct=True)
    assert back.status == "finished"
    assert study.portfolio()[0].policy is not None
