"""The server of a live page: for this machine alone, and read-only."""

import http.client
import json
import threading
from contextlib import contextmanager

import pytest
from report_studies import add_policy, told_study

from sdmbtl.errors import StudyError
from sdmbtl.report import study_data
from sdmbtl.report.live import LiveData, LiveServer


@contextmanager
def served(data):
    """A server that answers until the end."""
    with LiveServer(data) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def study(tmp_path):
    return told_study(tmp_path / "study")


@pytest.fixture
def server(study):
    with served(LiveData(lambda: study_data(study), lambda: len(study.trials))) as server:
        yield server


def ask(server, path="/", method="GET", host=None, **headers):
    """Status, headers and content of the answer to a request."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    sent = {"Host": host or f"127.0.0.1:{server.server_port}"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, headers=sent)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), content.decode()


def test_it_listens_on_this_machine_alone(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.url == f"http://127.0.0.1:{server.server_port}/"


def test_page_and_data(server, study):
    status, headers, page = ask(server)
    assert status == 200
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert 'data-live="yes"' in page
    assert "connect-src 'self'" in page
    status, headers, text = ask(server, "/data.json")
    assert (status, headers["Content-Type"]) == (200, "application/json; charset=utf-8")
    assert json.loads(text)["headline"] == study_data(study).headline


def test_what_has_not_changed_is_not_sent_again(server, study):
    tag = ask(server, "/data.json")[1]["ETag"]
    assert ask(server, "/data.json", If_None_Match=tag)[::2] == (304, "")
    add_policy(study)
    status, headers, text = ask(server, "/data.json", If_None_Match=tag)
    assert status == 200
    assert headers["ETag"] != tag
    assert len(json.loads(text)["policies"]) == 4


def test_data_are_gathered_only_after_a_change(study):
    gathered = []

    def gather():
        gathered.append(1)
        return study_data(study)

    data = LiveData(gather, lambda: len(study.trials))
    first = data.current()
    assert data.current() == first
    assert len(gathered) == 1
    add_policy(study)
    assert data.current()[2] != first[2]
    assert len(gathered) == 2


@pytest.mark.parametrize(
    "foreign",
    [
        {"host": "evil.example"},
        {"host": "evil.example:80"},
        {"host": "127.0.0.1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
@pytest.mark.parametrize("path", ["/", "/data.json"])
def test_others_are_refused(server, foreign, path):
    status, headers, text = ask(server, path, **foreign)
    assert status == 403
    assert "policies" not in text
    assert "Access-Control-Allow-Origin" not in headers


def test_its_own_names_and_origin_are_welcome(server):
    for name in ("127.0.0.1", "localhost"):
        own = f"{name}:{server.server_port}"
        answer = ask(server, host=own, Origin=f"http://{own}", Sec_Fetch_Site="same-origin")
        assert answer[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_nothing_can_be_changed(server, method):
    assert ask(server, "/data.json", method)[0] == 501


@pytest.mark.parametrize("path", ["/study.db", "/../study.db", "/data.json/", "/favicon.ico"])
def test_there_is_nothing_else(server, path):
    assert ask(server, path)[0] == 404


def test_head_has_no_content(server):
    status, headers, text = ask(server, method="HEAD")
    assert (status, text) == (200, "")
    assert int(headers["Content-Length"]) > 10_000


def test_a_study_that_cannot_be_read_now_is_said():
    def gather():
        raise StudyError("It is damaged.")

    with served(LiveData(gather, int)) as server:
        assert ask(server)[::2] == (503, "The data cannot be read now: It is damaged.")


def test_other_sites_cannot_frame_or_sniff(server):
    _, headers, _ = ask(server)
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
