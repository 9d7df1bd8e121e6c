"""ask and tell, for training elsewhere."""

import json

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.errors import BusyError
from sdmbtl.studies import Study

ROW = json.dumps([1, 2, 3, 4, 5, 6, 7, 8])


@pytest.fixture
def study(command, tiny, tmp_path):
    path = tmp_path / "study"
    command("ask", path, "--space", tiny)
    return path


def test_ask_makes_a_study_and_prints_json(command, tiny, tmp_path):
    result = command("ask", tmp_path / "s", "--space", tiny, "--selector", "random", "--seed", 3)
    one = json.loads(result.stdout)
    assert list(one) == [
        *("id", "context", "strategy", "structure", "model", "reason", "numbers", "attributes")
    ]
    assert (one["id"], one["strategy"]) == (0, "random")
    two = command("ask", tmp_path / "s", "-n", 2).stdout.splitlines()
    assert [json.loads(line)["id"] for line in two] == [1, 2]
    assert [list(json.loads(line)) for line in two] == [list(one)] * 2
    status = command.json("status", tmp_path / "s")
    assert (status["pending"], status["seed"], status["environment"]) == (3, 3, None)


def test_the_settings_of_a_study_stay(command, study, tiny):
    assert "seed: recorded 0, now 4" in command.error("ask", study, "--space", tiny, "--seed", 4)
    assert "give --space FILE.toml too" in command.error("ask", study, "--seed", 4)


def test_tell_the_only_one_that_is_pending(command, study):
    result = command("tell", study, "-", given=ROW)
    assert "1 policy on 8 targets: mean best return 4.5" in result.stdout
    assert "No policy is pending" in command.error("tell", study, "-", given=ROW)


def test_tell_by_number_context_and_object(command, study, tmp_path):
    asked = [json.loads(command("ask", study).stdout) for _ in range(3)]
    text = command.error("tell", study, "-", given=ROW)
    assert "4 policies are pending" in text
    assert text.count("\n  --id ") == 4
    episodes = [[i, i + 1] for i in range(8)]
    (tmp_path / "row.json").write_text(json.dumps(episodes))
    assert command.json("tell", study, tmp_path / "row.json", "--id", 1)["performance"] == 4.0
    named = json.dumps({**asked[1], "returns": [9] + [None] * 7, "source_return": 2})
    assert command.json("tell", study, "-", given=named)["performance"] == pytest.approx(
        41 / 8 - 0.0625
    )
    context = json.dumps(asked[2]["context"])
    status = command.json("tell", study, "-", "--context", context, given=ROW)
    assert [entry["status"] for entry in status["rounds"]] == ["pending", *["finished"] * 3]


def test_tell_a_policy_that_was_never_asked(command, study):
    status = command.json(
        *("tell", study, "-", "--context", "length=0.5, masscart=1", "--context", "masspole=0.1"),
        given=ROW,
    )
    assert status["rounds"][1]["context"] == {"length": 0.5, "masscart": 1.0, "masspole": 0.1}
    assert status["rounds"][1]["strategy"] == "reported"


def test_failed_and_cancelled(command, study):
    command("ask", study)
    status = command.json("tell", study, "--id", 0, "--failed", "--error", "no memory")
    assert status["rounds"][0]["errors"] == ["no memory"]
    status = command.json("tell", study, "--cancelled")
    assert [entry["status"] for entry in status["rounds"]] == ["failed", "cancelled"]


@pytest.mark.parametrize(
    ("arguments", "given", "text"),
    [
        ([], None, "What are its returns?"),
        (["none.json"], None, "'none.json' cannot be read: No such file"),
        (["-"], "[1, 2", "is not valid JSON"),
        (["-"], "[1, 2]", "shape (8,)"),
        (["-"], "3", "A row is a list"),
        (["-"], '{"row": [1]}', "Got ['row'] instead"),
        (["-"], "[Infinity, 1, 1, 1, 1, 1, 1, 1]", "must be finite"),
        (["-", "--id", "7"], ROW, "There is no trial 7"),
        (["-", "--context", "length=1"], ROW, "has no 'masscart'"),
        (["-", "--context", "{"], ROW, "--context is not valid JSON"),
        (["-", "--failed"], ROW, "has no returns"),
        (["--failed", "--cancelled"], None, "not both"),
        (["-", "--error", "x"], ROW, "give --failed too"),
    ],
)
def test_what_cannot_be_reported(arguments, given, text, command, study):
    assert text in command.error("tell", study, *arguments, given=given)
    assert command.json("status", study)["pending"] == 1


@pytest.mark.parametrize("name", ["resume", "evaluate"])
def test_policies_that_are_elsewhere(name, command, study):
    assert "are trained elsewhere" in command.error(name, study)


def test_targets_are_listed_in_the_order_of_a_row(command, study):
    before = command.json("targets", study)
    assert [t["target"] for t in before] == list(range(8))
    assert before[0]["policy"] is None
    assert before[0]["context"] != before[1]["context"]
    command("tell", study, "-", given=ROW)
    after = command.json("targets", study)
    assert [t["mean_return"] for t in after] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert {t["policy"] for t in after} == {0}
    assert [t["context"] for t in after] == [t["context"] for t in before]
    text = command("targets", study).stdout
    assert len(text.splitlines()) == 9
    assert "mean return" in text


def test_reported_twice(command, study):
    command("tell", study, "-", "--id", 0, given=ROW)
    text = command.error("tell", study, "-", "--id", 0, given=ROW)
    assert "This was reported before" in text
    assert "--replace" in text
    assert "--repeat" in text
    assert "skip_if_finished" not in text


def test_a_row_is_corrected_or_repeated(command, study):
    command("tell", study, "-", "--id", 0, given=ROW)
    tens = json.dumps([10] * 8)
    status = command.json("tell", study, "-", "--id", 0, "--replace", given=tens)
    assert (status["policies"], status["performance"]) == (1, 10)
    ones = json.dumps([11] * 8)
    status = command.json("tell", study, "-", "--id", 0, "--repeat", given=ones)
    assert (status["policies"], status["performance"]) == (2, 11)
    first, second = status["rounds"]
    assert first["context"] == second["context"]
    text = command.error("tell", study, "-", "--replace", "--repeat", given=ROW)
    assert "either one more" in text


def test_several_rows_at_once_as_ask_printed_them(command, study):
    asked = command("ask", study, "-n", 2).stdout.splitlines()
    reports = [{**json.loads(line), "returns": [n] * 8} for n, line in enumerate(asked)]
    lines = "\n".join(map(json.dumps, reports))
    assert "recorded as finished.\nPolicy 2," in command("tell", study, "-", given=lines).stdout
    status = command.json("status", study)
    assert [entry["status"] for entry in status["rounds"]] == ["pending", "finished", "finished"]
    bad = json.dumps([{"id": 0, "returns": [1] * 8}, {"id": 1, "returns": [1] * 8}])
    text = command.error("tell", study, "-", given=bad)
    assert "Row 2 of 2; 1 before it is recorded: This was reported before" in text
    assert "name one policy" in command.error("tell", study, "-", "--id", 0, given=lines)


def test_attributes(command, study):
    asked = json.loads(command("ask", study, "--attribute", "job=4711").stdout)
    assert asked["attributes"] == {"job": 4711}
    given = json.dumps({**asked, "returns": [1] * 8, "attributes": {"node": "a7"}})
    command("tell", study, "-", "--attribute", "hours=2.5", given=given)
    assert Study.open(study).trials[1].attributes == {"job": 4711, "node": "a7", "hours": 2.5}


def test_a_misspelt_key_is_not_ignored(command, study):
    given = json.dumps({"returns": json.loads(ROW), "sorce_return": 3})
    text = command.error("tell", study, "-", given=given)
    assert "Unknown option 'sorce_return'" in text
    assert "Did you mean 'source_return'?" in text
    assert command.json("status", study)["pending"] == 1


def test_what_was_reported_of_the_source_is_shown(command, study):
    command("tell", study, "-", "--context", "length=0.3 masscart=1 masspole=0.1", given=ROW)
    given = json.dumps({"returns": json.loads(ROW), "source_return": 2.5})
    command("tell", study, "-", "--context", "length=0.4 masscart=1 masspole=0.1", given=given)
    command("tell", study, "-", "--id", 0, given=ROW)
    rounds = command.json("status", study)["rounds"]
    own = Study.open(study).trials[0]
    assert [entry["training_return"] for entry in rounds] == [own.row[own.index], None, 2.5]
    assert rounds[2]["source_return"] == 2.5


def test_a_context_as_a_table_shows_it(command, tmp_path):
    space = ContextSpace(a=[1 / 3, 2 / 3, 1.0])
    study = Study.open(tmp_path / "study", space=space)
    study.tell({"a": 1 / 3}, [3.0, 2.0, 1.0])
    shown = command.json("portfolio", tmp_path / "study", "--context", "a=0.3333")["choice"]
    assert shown["is_target"]
    near = command.json("portfolio", tmp_path / "study", "--context", "a=0.334")["choice"]
    assert not near["is_target"]
    text = command.error("portfolio", tmp_path / "study", "--context", "a=1", "--context", "a=2")
    assert "it has 'a' twice" in text


def test_status_names_a_policy_far_below_the_others(command, tmp_path):
    space = ContextSpace(a=range(6), b=range(6))
    gap = np.abs(space.targets[:, None] - space.targets).sum(axis=2)
    matrix = 50.0 - gap + 0.1 * np.random.default_rng(0).normal(size=gap.shape)
    study = Study.open(tmp_path / "s", space=space)
    for k in range(9):
        trial = study.ask()
        study.tell(trial, matrix[trial.index] - (200.0 if k == 7 else 0.0))
    lines = command("status", tmp_path / "s").stdout.splitlines()
    named = [line for line in lines if "may have failed" in line]
    assert named == ["policy 7 is far below the others: its training may have failed"]


def test_a_study_that_others_write_to_is_waited_for(command, study):
    held = Study.open(study).database.locked()
    with held:
        for words in (["ask", study], ["tell", study, "-"]):
            result = command(*words, "--wait", 0.01, given=ROW, status=75)
            assert "is writing to the study" in result.stderr
            assert "did not end within 0.01 s" in result.stderr
            assert not result.stdout
    assert "recorded as finished" in command("tell", study, "-", given=ROW).stdout


def test_of_several_rows_it_is_said_which_are_recorded(command, study, monkeypatch):
    """Whoever is refused in the middle knows what is left to report."""
    command("ask", study)
    tell, told = Study.tell, []

    def busy(self, *arguments, **options):
        told.append(arguments)
        if len(told) == 2:
            raise BusyError("Another process is writing.")
        return tell(self, *arguments, **options)

    monkeypatch.setattr(Study, "tell", busy)
    rows = "".join(json.dumps({"id": i, "returns": json.loads(ROW)}) + "\n" for i in range(2))
    result = command("tell", study, "-", given=rows, status=75)
    assert "Row 2 of 2; 1 before it is recorded: Another process" in result.stderr
