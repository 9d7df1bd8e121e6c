"""`sdmbtl ask` and `sdmbtl tell`: training elsewhere."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.studies import Study, leases

SPACE = ContextSpace(a=[0.0, 1.0], b=[0.0, 1.0])
ROW = [1.0, 2.0, 3.0, 4.0]
GIVEN = json.dumps(ROW)
POINT = ("id", "context", "strategy", "structure", "model", "reason", "numbers")


@pytest.fixture
def study(tmp_path):
    """A study with a finished policy, and one that is pending."""
    study = Study.open(tmp_path / "study", space=SPACE, selector="random", seed=1)
    study.tell(study.ask(), ROW)
    study.ask()
    return study


def recorded(study):
    return [trial.to_dict() for trial in Study.open(study.path).trials]


def ask(command, path, *options):
    return json.loads(command("ask", path, *options).stdout)


def row(line, **changes):
    return json.dumps({**line, "returns": ROW, **changes})


# -- ask -------------------------------------------------------------------------------------------


def test_ask_makes_a_study_and_prints_json(command, tiny, tmp_path):
    path = tmp_path / "s"
    one = ask(command, path, "--space", tiny, "--selector", "random", "--seed", 3)
    assert (tuple(one), one["id"], one["strategy"]) == (POINT, 0, "random")
    two = [json.loads(line) for line in command("ask", path, "-n", 2).stdout.splitlines()]
    assert [line["id"] for line in two] == [1, 2]
    status = command.json("status", path)
    assert (status["pending"], status["seed"], status["environment"]) == (3, 3, None)
    assert "seed: recorded 3, now 4" in command.error(
        *("ask", path, "--space", tiny, "--selector", "random", "--seed", 4)
    )
    assert "give --space" in command.error("ask", path, "--seed", 4)


def test_ask_for_more_than_there_are(command, study):
    result = command("ask", study.path, "-n", 1_000_000_000)
    assert len(result.stdout.splitlines()) == 2
    assert "Only 2 contexts of 1000000000" in result.stderr


def test_ask_and_tell_regions(command, tiny, tmp_path):
    path = tmp_path / "study"
    regions = ("--selector", "generalist-first", "--selector-option", "width=0.25")
    asked = ask(command, path, "--space", tiny, *regions)
    assert asked["width"] == 1.0
    assert set(asked["region"]) == set(asked["context"])
    assert not {"parent", "steps"} & set(asked)
    returns = [float(number) for number in range(8)]
    command("tell", path, "-", given=row(asked, returns=returns))
    second = ask(command, path)
    assert (second["width"] in (0.25, 1.0), second["parent"]) == (True, 0)
    wrong = row(second, returns=returns, context=dict.fromkeys(second["context"], 0.3))
    assert "Correct the id or the context" in command.error("tell", path, "-", given=wrong)
    report = {key: second[key] for key in ("context", "width", "parent")}
    command("tell", path, "-", given=row(report, returns=returns))
    assert [t.status for t in Study.open(path).trials] == ["finished", "finished"]


# -- tell ------------------------------------------------------------------------------------------


def test_tell_the_only_one_that_is_pending(command, study):
    assert "recorded as finished" in command("tell", study.path, "-", given=GIVEN).stdout
    assert "0 policies are pending" in command.error("tell", study.path, "-", given=GIVEN)


def test_tell_by_number_row_and_context(command, study, tmp_path):
    first, second = (ask(command, study.path) for _ in range(2))
    text = command.error("tell", study.path, "-", given=GIVEN)
    assert "3 policies are pending" in text
    assert text.count("--id ") == 3
    (tmp_path / "row.json").write_text(json.dumps([[i, i + 1] for i in range(4)]))
    command("tell", study.path, tmp_path / "row.json", "--id", 1)
    partial = row(first, returns=[9, None, None, None], source_return=2)
    command("tell", study.path, "-", given=partial)
    context = json.dumps(second["context"])
    status = command.json("tell", study.path, "-", "--context", context, given=GIVEN)
    assert [entry["status"] for entry in status["rounds"]] == ["finished"] * 4
    rows = [trial.row for trial in Study.open(study.path).trials]
    np.testing.assert_array_equal(rows[1], [0.5, 1.5, 2.5, 3.5])
    np.testing.assert_array_equal(rows[first["id"]], [9.0, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(rows[second["id"]], [1.0, 2.0, 3.0, 4.0])


def test_tell_a_policy_that_was_never_asked(command, study):
    words = ("tell", study.path, "-", "--context", "a=0.5", "--context", "b=1")
    status = command.json(*words, given=GIVEN)
    assert status["rounds"][2]["context"] == {"a": 0.5, "b": 1.0}
    assert status["rounds"][2]["strategy"] == "reported"


def test_failed_and_cancelled(command, study):
    ask(command, study.path)
    status = command.json("tell", study.path, "--id", 1, "--failed", "--reason", "no memory")
    assert status["rounds"][1]["errors"] == ["no memory"]
    status = command.json("tell", study.path, "--cancelled")
    assert [e["status"] for e in status["rounds"]] == ["finished", "failed", "cancelled"]


def test_a_row_is_corrected(command, study):
    same = command("tell", study.path, "-", "--id", 0, given=GIVEN).stdout
    assert "was reported before" in same
    tens = json.dumps([10] * 4)
    text = command.error("tell", study.path, "-", "--id", 0, given=tens)
    assert "reported before" in text
    assert "--replace" in text
    replace = ("tell", study.path, "-", "--id", 0, "--replace", "--reason", "units")
    status = command.json(*replace, given=tens)
    assert (status["policies"], status["performance"]) == (1, 10)
    assert status["rounds"][0]["earlier"][0]["row"] == ROW


def test_forget_and_undo(command, study):
    text = command("tell", study.path, "--forget", "--id", 0, "--reason", "a bug").stdout
    assert "forgotten; its row is kept" in text
    assert "a bug" in text
    status = command.json("status", study.path)
    assert (status["policies"], status["forgotten"]) == (0, 1)
    assert "forgotten" in command.error("tell", study.path, "--forget", "--id", 0)
    assert "give --replace" in command.error("tell", study.path, "-", "--id", 0, given=GIVEN)
    status = command.json("tell", study.path, "-", "--id", 0, "--replace", given=GIVEN)
    assert (status["policies"], status["forgotten"]) == (1, 0)


def test_several_rows_at_once(command, study):
    lines = command("ask", study.path, "-n", 2).stdout.splitlines()
    text = command("tell", study.path, "-", given="\n".join(row(json.loads(x)) for x in lines))
    assert text.stdout.count("recorded as finished") == 2
    bad = "\n".join(json.dumps({"id": n, "returns": [n] * 4}) for n in (1, 2))
    result = command("tell", study.path, "-", given=bad, status=2)
    assert result.stdout.startswith("Policy 1, ")
    assert "reported before" in result.stderr
    assert "name one policy" in command.error("tell", study.path, "-", "--id", 0, given=bad)


@pytest.mark.parametrize(
    ("arguments", "given", "text"),
    [
        ([], None, "Give either returns"),
        (["none.json"], None, "'none.json'"),
        (["-"], "[1, 2", "not valid JSON"),
        (["-"], "", "not valid JSON"),
        (["-"], b"\xff\xfe\x00[1]", "UTF-8"),
        (["-"], "[1, 2]", "shape"),
        (["-"], "3", "A row is a list"),
        (["-"], '{"row": [1]}', "['row']"),
        (["-"], '{"returns": "1234"}', "'1234'"),
        (["-"], '{"returns": [1, 2, 3, 4], "contxt": {}}', "contxt"),
        (["-"], '{"returns": [1, 2, 3, 4], "lease": "first"}', "'lease'"),
        (["-"], '{"returns": [1, 2, 3, 4], "context": [0, 1]}', "'context'"),
        (["-"], '{"returns": [1, 2, 3, 4], "context": {"a": 0}}', "'b'"),
        *[(["-"], row({"id": value}), "'id'") for value in ("77", 1.0, True, None, [1])],
        *[(["-"], row({"id": value}), str(value)) for value in (77, -1, 10**30)],
        (["-", "--id", "99999999999999999999"], GIVEN, "99999999999999999999"),
        (["-", "--id", "1"], row({"id": 0}), "different policies"),
        (["-"], row({"id": 1, "context": {"a": 0.37, "b": 0.77}}), "Policy 1 is the one for"),
        (["-", "--context", "a=1"], GIVEN, "'b'"),
        (["-", "--context", "{"], GIVEN, "--context"),
        (["-", "--failed"], GIVEN, "no returns"),
        (["--failed", "--cancelled"], None, "exclude"),
        (["--replace", "--forget"], None, "exclude"),
        (["-", "--reason", "x"], GIVEN, "--reason"),
    ],
)
def test_wrong_reports_record_nothing(arguments, given, text, command, study):
    before = recorded(study)
    assert text in command.error("tell", study.path, *arguments, given=given)
    assert recorded(study) == before


# -- leases and locks ------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(leases, "time", SimpleNamespace(time=lambda: now[0]))
    return now


def test_a_late_result_is_superseded(command, study, clock):
    slow = ask(command, study.path, "--lease", "1h")
    assert slow["lease"] == 1
    clock[0] += 3601
    quick = ask(command, study.path, "--lease", "1h")
    assert (quick["id"], quick["lease"]) == (slow["id"], 2)
    assert "not recorded" in command("tell", study.path, "-", given=row(slow), status=2).stderr
    assert "lease" in command.error("tell", study.path, "-", "--id", slow["id"], given=GIVEN)
    words = ("tell", study.path, "-", "--id", slow["id"], "--lease", 2)
    assert "recorded as finished" in command(*words, given=GIVEN).stdout
    status = command.json("status", study.path)
    assert status["policies"] == 2


def test_a_lease_is_renewed_until_it_is_lost(command, study, clock):
    line = ask(command, study.path, "--lease", "1h")
    clock[0] += 3000
    command("tell", study.path, "--renew", "--id", line["id"], "--lease", line["lease"])
    clock[0] += 3000
    assert ask(command, study.path, "--lease", "1h")["id"] != line["id"]
    clock[0] += 3601
    assert ask(command, study.path, "--lease", "1h")["id"] == line["id"]
    text = command.error(
        "tell", study.path, "--renew", "--id", line["id"], "--lease", line["lease"]
    )
    assert "is lost" in text
    assert "55" in command.error("tell", study.path, "--renew", "--id", 55, "--lease", 1)


def test_a_study_that_another_process_writes_to_is_waited_for(command, study):
    with Study.open(study.path).store.transaction():
        for words in (["ask", study.path], ["tell", study.path, "-"]):
            result = command(*words, "--wait", 0.01, given=GIVEN, status=75)
            assert "is writing to" in result.stderr
            assert not result.stdout
    assert "recorded as finished" in command("tell", study.path, "-", given=GIVEN).stdout
