"""A spool: requests are done once, whatever happens to who asks and who answers."""

import json
import threading

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.cli.serve import handle
from sdmbtl.errors import BusyError, StudyError
from sdmbtl.studies import Study
from sdmbtl.studies.spool import Spool, is_spool

ASK = {"do": "ask", "n": 1, "lease": 60.0, "attributes": {}}


@pytest.fixture
def study(tmp_path):
    return Study.open(tmp_path / "study", space=ContextSpace(x=np.arange(4)), selector="random")


@pytest.fixture
def spool(tmp_path):
    return Spool.make(tmp_path / "spool")


@pytest.fixture
def served(study, spool):
    """A spool whose owner answers."""
    over = threading.Event()

    def serve():
        while not over.wait(0.01):
            spool.serve(lambda number, request: handle(study, number, request))

    owner = threading.Thread(target=serve)
    owner.start()
    yield spool
    over.set()
    owner.join()


def tell(job, value=1.0):
    report = {"id": job["id"], "lease": job["lease"], "returns": [value] * 4}
    how = {"status": "finished", "repeat": False, "correct": False, "reason": None}
    return {"do": "tell", "reports": [report], "error": None, "how": how, "attributes": {}}


def test_jobs_ask_renew_and_tell(served, study):
    (job,) = served.request(ASK, 60.0)
    assert (job["id"], job["lease"]) == (0, 1)
    renew = {"do": "renew", "id": 0, "lease": 1}
    assert served.request(renew, 60.0) is True
    assert served.request({**renew, "lease": 2}, 60.0) is False
    (line,) = served.request(tell(job), 60.0)
    assert "recorded as finished" in line
    assert study.n_finished == 1


def test_a_request_that_comes_again_after_a_kill_is_done_once(study, spool):
    first = handle(study, "one", dict(ASK))
    assert handle(study, "one", dict(ASK)) == first
    assert handle(study, "two", dict(ASK)) != first
    assert len(study.trials) == 2
    for _ in range(2):
        handle(study, "three", tell(first[0]))
    assert study.n_finished == 1
    assert study.database.superseded() == []


def test_what_cannot_be_done_is_the_answer(served):
    with pytest.raises(StudyError, match="'ask', 'tell' or 'renew'. Got 'dance'"):
        served.request({"do": "dance"}, 60.0)


def test_without_an_owner_a_request_waits(study, spool):
    with pytest.raises(BusyError, match="Is 'sdmbtl serve' running"):
        spool.request(ASK, 0.0)
    assert spool.serve(lambda number, request: handle(study, number, request)) == 1
    assert len(study.trials) == 1


def test_a_file_that_is_being_written_is_left_alone(study, spool):
    (spool.path / "requests" / ".half.json").write_text('{"do": "as')
    assert spool.serve(lambda number, request: handle(study, number, request)) == 0


@pytest.mark.parametrize("text", ['{"do": "as', '{"do": "ask"}', "[]", "7", '{"do": "renew"}'])
def test_what_is_not_a_request_does_not_end_the_owner(study, spool, text):
    (spool.path / "requests" / "wrong.json").write_text(text)
    assert spool.serve(lambda number, request: handle(study, number, request)) == 1
    answer = json.loads((spool.path / "answers" / "wrong.json").read_text())
    assert "This is not a request of sdmbtl" in answer["error"]
    assert study.trials == ()
    assert list((spool.path / "requests").iterdir()) == []


def test_an_exhausted_study_is_an_answer(served):
    served.request({**ASK, "n": 4}, 60.0)
    with pytest.raises(StudyError, match="target"):
        served.request(ASK, 60.0)


def test_a_directory_is_a_spool_or_not(tmp_path, spool):
    assert is_spool(spool.path)
    with pytest.raises(StudyError, match="There is no spool in.*sdmbtl serve STUDY --spool DIR"):
        Spool(tmp_path)
