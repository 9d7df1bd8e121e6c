"""Nothing wrong is recorded by `tell`, and what is can be taken back."""

import json

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.errors import SdmbtlError
from sdmbtl.studies import Study

ROW = [1.0, 2.0, 3.0, 4.0]
SPACE = ContextSpace(a=[0.0, 1.0], b=[0.0, 1.0])


@pytest.fixture
def study(tmp_path):
    """A study with a finished policy, and one that is pending."""
    study = Study.open(tmp_path / "study", space=SPACE, selector="random", seed=1)
    study.tell(study.ask(), ROW)
    study.ask()
    return study


def recorded(study):
    return [trial.to_dict() for trial in Study.open(study.path).trials]


@pytest.mark.parametrize(
    ("report", "text"),
    [
        ({"id": "77"}, "Got '77' instead"),
        ({"id": 1.0}, "Got 1.0 instead"),
        ({"id": True}, "Got True instead"),
        ({"id": None}, "Got None instead"),
        ({"id": 77}, "There is no trial 77"),
        ({"id": -1}, "There is no trial -1"),
        ({"context": [0, 1]}, r"The 'context' of a row is an object"),
        ({"context": {"a": 0.0}}, "has no 'b'"),
        ({"id": 1, "context": "other"}, "Got 'other' instead"),
    ],
)
def test_a_wrong_name_is_not_taken_for_the_pending_policy(command, study, report, text):
    before = recorded(study)
    assert text in command.error(
        "tell", study.path, "-", given=json.dumps({"returns": ROW} | report)
    )
    assert recorded(study) == before


def test_an_id_and_a_context_must_be_of_the_same_policy(command, study):
    before, pending = recorded(study), study.trials[1]
    other = SPACE.target((pending.index + 1) % 4)
    given = json.dumps({"returns": ROW, "id": 1, "context": other})
    assert "Policy 1 is the one for" in command.error("tell", study.path, "-", given=given)
    context = json.dumps(other)
    text = command.error(
        "tell", study.path, "-", "--id", 1, "--context", context, given=json.dumps(ROW)
    )
    assert "Correct the id or the context" in text
    given = json.dumps({"returns": ROW, "id": 0})
    text = command.error("tell", study.path, "-", "--id", 1, given=given)
    assert "--id and the row name different policies: 1 and 0" in text
    assert recorded(study) == before
    given = json.dumps({"returns": ROW, "id": 1, "context": pending.context})
    command("tell", study.path, "-", "--id", 1, given=given)
    assert Study.open(study.path).trials[1].status == "finished"


def test_an_id_and_a_region(command, tmp_path):
    study = Study.open(tmp_path / "s", space=SPACE, selector="generalist-first", width=0.5)
    study.tell(study.ask(), ROW)
    asked = json.loads(command("ask", study.path).stdout)
    wrong = json.dumps({**asked, "returns": ROW, "parent": None, "width": 0.25})
    assert "Correct the id or the context" in command.error("tell", study.path, "-", given=wrong)
    command("tell", study.path, "-", given=json.dumps({**asked, "returns": ROW}))


BAD = [
    [[[1.0]] * 2] * 2,
    [[[1.0], [2.0]]] * 4,
    ["1", 2, 3, 4],
    ["1", None, 3, 4],
    [True, 2, 3, 4],
    [1, 2, 3, [4]],
    [[1, 2], [3], [4, 5], [6, 7]],
    [np.inf, 1, 1, 1],
    [[np.inf, -np.inf]] * 4,
    [10**400, 1, 1, 1],
    [1 + 2j, 1, 1, 1],
    [None] * 4,
    [[], [], [], []],
    [1, 2, 3],
    "1234",
    {"a": 1},
    5.0,
    np.array([True, False, True, True]),
    np.array(["1", "2", "3", "4"]),
    np.array([1, 2, 3, 4], dtype="datetime64[s]"),
]


@pytest.mark.parametrize("bad", BAD, ids=[str(n) for n in range(len(BAD))])
def test_a_study_refuses_what_a_selector_refuses(study, bad):
    before = recorded(study)
    with pytest.raises(SdmbtlError, match="Got"):
        study.selector.reported_trial(1, bad)
    with pytest.raises(SdmbtlError, match="Got"):
        study.tell(1, bad)
    assert recorded(study) == before


@pytest.mark.parametrize("own", ["3", True, np.inf, np.nan, [1.0, 2.0]])
def test_a_wrong_source_return(study, own):
    with pytest.raises(SdmbtlError, match="Got"):
        study.tell(1, [np.nan, *ROW[1:]], source_return=own)


def test_usual_rows_of_any_kind(study):
    for row in (
        ROW,
        tuple(ROW),
        np.array(ROW, dtype=np.float32),
        [1, 2, None, 4],
        [np.float32(1)] * 4,
    ):
        assert study.tell(1, row, correct=True).status == "finished"
    assert study.tell(1, np.ones((4, 3)), correct=True).row.tolist() == [1.0] * 4


def test_forget_and_undo(command, study):
    row = json.dumps([5.0] * 4)
    text = command("tell", study.path, "-", "--id", 0, "--replace", "--reason", "units", given=row)
    assert "policy 0 was corrected: units" in text.stdout
    text = command("forget", study.path, 0, "--reason", "a bug").stdout
    assert "forgotten; its row is kept" in text
    assert "1 policy forgotten" in text
    assert "policy 0 was forgotten: a bug" in text
    status = command.json("status", study.path)
    assert (status["policies"], status["forgotten"]) == (0, 1)
    earlier = status["rounds"][0]["earlier"]
    assert [e["row"] for e in earlier] == [ROW, [5.0] * 4]
    assert "forgotten" in command("status", study.path).stdout
    assert "is forgotten: it has no row" in command.error("forget", study.path, 0)
    assert "There is no trial 7" in command.error("forget", study.path, 7)
    given = json.dumps(earlier[-1]["row"])
    status = command.json("tell", study.path, "-", "--id", 0, "--replace", given=given)
    assert (status["policies"], status["performance"]) == (1, 5.0)
    assert "give --replace too" in command.error(
        "tell", study.path, "-", "--reason", "x", given=given
    )


def test_partial_rows_are_marked(command, tmp_path):
    space = ContextSpace(a=range(6))
    study = Study.open(tmp_path / "s", space=space)
    study.tell({"a": 2.0}, [50, 60, 70, np.nan, np.nan, np.nan])
    study.tell({"a": 4.0}, [10, np.nan, 12, 11, np.nan, np.nan])
    targets = command.json("targets", study.path)
    assert (targets[3]["policy"], targets[3]["predicted_policy"]) == (1, 0)
    assert targets[3]["predicted_return"] > targets[3]["mean_return"] == 11
    assert (targets[4]["policy"], targets[4]["predicted_policy"]) == (None, 0)
    assert targets[0]["predicted_return"] == targets[0]["mean_return"] == 50
    text = command("targets", study.path).stdout
    assert "predicted" in text
    assert "the best of those that were evaluated on the target" in " ".join(text.split())
    status = command.json("status", study.path)
    assert [e["evaluated_targets"] for e in status["rounds"]] == [3, 3]
    assert [e["performance_targets"] for e in status["rounds"]] == [3, 4]
    assert status["rounds"][1]["gain"] == 0.0, "a new target is not a gain, nor a loss"
    text = " ".join(command("status", study.path).stdout.split())
    assert "3 of 6" in text
    assert "mean best return 47.75 over the 4 with a return" in text
    assert "Evaluated on some of the targets only: policies 0, 1." in text
    assert "2 of 6 targets have no return: not counted above." in text


def test_complete_rows_say_nothing_of_it(command, study):
    assert "only" not in command("status", study.path).stdout
    assert "predicted" not in command("targets", study.path).stdout


def test_a_reason_is_shown_only_with_what_it_was_given_for(command, study, tmp_path):
    row = tmp_path / "row.json"
    row.write_text("[4.0, 3.0, 2.0, 1.0]")
    text = command("tell", study.path, row, "--id", 0, "--replace", "--reason", "typo").stdout
    assert "policy 0 was corrected: typo" in text
    text = command("forget", study.path, 0).stdout
    assert "policy 0 was forgotten" in text
    assert "typo" not in text
    assert "Policy 0 was forgotten. To record it again, give --replace." in command.error(
        "tell", study.path, row, "--id", 0
    )
    assert "typo" not in command("tell", study.path, row, "--id", 0, "--replace").stdout
