"""Jobs, leases and the spool on the command line."""

import json
import os
import threading

import pytest
from sdmbtl.studies.spool import Spool

from sdmbtl.studies import Study, leases

ROW = [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.fixture
def study(command, tiny, tmp_path):
    path = tmp_path / "study"
    command("ask", path, "--space", tiny)
    command("tell", path, "-", given=json.dumps(ROW))
    return path


def ask(command, place, *options):
    return json.loads(command("ask", place, *options).stdout)


def told(line, **changes):
    return json.dumps({**line, "returns": ROW, **changes})


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--executor", "rays"), "Did you mean 'ray'?"),
        (("--address", "auto"), "give --executor ray too"),
        (("--memory-limit", 2), "give --jobs or --executor processes too"),
        (("--run-limit", "2h"), "give --jobs or --executor processes too"),
        (("--jobs", 2, "--run-limit", "soon"), "--run-limit"),
        (("--jobs", 0), "--jobs"),
    ],
)
def test_wrong_options_make_no_study(command, tmp_path, options, text):
    assert text in command.error("run", "CartPole", "--out", tmp_path / "study", *options)
    assert not (tmp_path / "study").exists()


def test_what_a_late_job_reports_is_superseded(command, study, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(leases, "machine_clock", lambda: now[0])
    slow = ask(command, study, "--lease", "1h")
    assert slow["lease"] == 1
    now[0] += 3601
    quick = ask(command, study, "--lease", "1h")
    assert (quick["id"], quick["lease"]) == (slow["id"], 2)
    late = command("tell", study, "-", given=told(slow)).stdout
    assert "recorded as superseded: its lease had run out" in late
    assert "was lent 2 times" in command.error(
        "tell", study, "-", "--id", slow["id"], given=json.dumps(ROW)
    )
    counted = command("tell", study, "-", "--id", 1, "--lease", 2, given=json.dumps(ROW)).stdout
    assert "recorded as finished" in counted
    status = command.json("status", study)
    assert (status["policies"], status["superseded"]) == (2, 1)


def test_a_lease_is_renewed_until_it_is_lost(command, study, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(leases, "machine_clock", lambda: now[0])
    line = ask(command, study, "--lease", "1h")
    now[0] += 3000
    command("renew", study, "--id", line["id"], "--lease", line["lease"])
    now[0] += 3000
    assert ask(command, study, "--lease", "1h")["id"] != line["id"]
    now[0] += 3601
    assert ask(command, study, "--lease", "1h")["id"] == line["id"]
    text = command.error("renew", study, "--id", line["id"], "--lease", line["lease"])
    assert "was given to somebody else" in text


def test_the_number_of_a_lease_is_checked(command, study):
    line = ask(command, study, "--lease", "1h")
    text = command.error("tell", study, "-", given=told(line, lease="first"))
    assert "The 'lease' of a row is the whole number of its lease" in text


class Owner:
    """Answers the requests of a spool in another thread, as `sdmbtl serve` would."""

    def __init__(self, command, study, place):
        self.command, self.study, self.place = command, study, place
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._answer)

    def _answer(self):
        from sdmbtl.cli.serve import handle

        study, spool = Study.open(self.study), Spool.make(self.place)
        while not self._ended.is_set():
            spool.serve(lambda number, request: handle(study, number, request))
            self._ended.wait(0.01)

    def __enter__(self):
        Spool.make(self.place)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()


def test_jobs_ask_and_tell_through_a_spool(command, study, tmp_path):
    place = tmp_path / "spool"
    with Owner(command, study, place):
        one, two = (ask(command, place, "--lease", "1h") for _ in range(2))
        assert one["id"] != two["id"]
        assert "recorded as finished" in command("tell", place, "-", given=told(one)).stdout
        again = command("tell", place, "-", given=told(one)).stdout
        assert "recorded as finished" in again, "a job that was not sure whether it was heard"
        assert "--failed" not in command("tell", place, "--id", two["id"], "--failed").stdout
        assert "Got shape (2,)" in command.error(
            "tell", place, "-", given=told(one, returns=[1, 2])
        )
    status = command.json("status", study)
    assert (status["policies"], status["failed"], status["pending"]) == (2, 1, 0)
    assert not list((place / "requests").iterdir()) + list((place / "answers").iterdir())


def test_a_request_that_was_answered_before_a_kill_is_done_once(command, study, tmp_path):
    from sdmbtl.cli.serve import handle

    opened = Study.open(study)
    request = {"do": "ask", "n": 2, "lease": None, "attributes": {"job": 7}}
    first, second = (handle(opened, "abc", request) for _ in range(2))
    assert [line["id"] for line in first] == [line["id"] for line in second] == [1, 2]
    assert len(Study.open(study).pending) == 2
    tell = {
        "do": "tell",
        "reports": [{**first[0], "returns": ROW}],
        "error": None,
        "how": {"status": "finished", "repeat": False, "correct": False, "reason": None},
        "attributes": {},
    }
    assert handle(opened, "def", tell) == handle(opened, "def", tell)
    assert Study.open(study).n_finished == 2


def test_without_an_owner_a_request_waits(command, study, tmp_path):
    place = tmp_path / "spool"
    spool = Spool.make(place)
    assert "Is 'sdmbtl serve' running?" in command("ask", place, "--wait", 0.2, status=75).stderr
    command("serve", study, "--spool", place, "--once")
    assert len(list((place / "answers").iterdir())) == 1
    assert len(Study.open(study).pending) == 1
    assert spool.serve(lambda *_: None) == 0


def test_a_torn_request_is_refused_and_the_rest_is_done(command, study, tmp_path):
    spool = Spool.make(tmp_path / "spool")
    (spool.path / "requests" / "torn.json").write_text('{"do": "as')
    (spool.path / "requests" / "odd.json").write_text('{"do": "dance"}')
    os.mkfifo(spool.path / "requests" / "pipe.json")
    (spool.path / "requests" / "link.json").symlink_to("/dev/zero")
    command("serve", study, "--spool", spool.path, "--once")
    answers = {p.stem: json.loads(p.read_text()) for p in (spool.path / "answers").iterdir()}
    assert "'ask', 'tell' or 'renew'. Got 'dance'" in answers["odd"]["error"]
    assert answers["torn"]["error"]
    assert set(answers) == {"torn", "odd"}, "what is not a file is not opened"


def test_a_network_file_system_is_warned_of(command, study, monkeypatch):
    from sdmbtl.studies import directory

    monkeypatch.setattr(directory, "network_file_system", lambda path: "nfs4")
    with pytest.warns(UserWarning, match=r"network file system \(nfs4\).*sdmbtl serve"):
        Study.open(study)
