"""The server of a live page: for this machine alone, and read-only."""

import http.client
import threading
from contextlib import contextmanager

import pytest
from report_studies import add_policy, told_study

from sdmbtl.callbacks import Event, RunProgress
from sdmbtl.callbacks.displays import LIVE_FILE, LiveFile
from sdmbtl.errors import StudyError
from sdmbtl.report.live import LivePage, LiveServer
from sdmbtl.studies import Study
from sdmbtl.studies.leases import LeaseKeeper


@contextmanager
def served(page):
    """A server that answers until the end."""
    with LiveServer(page) as server:
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
    with served(LivePage(Study.open(study.path))) as server:
        yield server


def ask(server, path="/", method="GET", host=None, **headers):
    """Status, headers and content of the answer to a request."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=300)
    sent = {"Host": host or f"127.0.0.1:{server.server_port}"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, headers=sent)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), content.decode()


def test_the_page_is_live(server):
    status, headers, page = ask(server)
    assert status == 200
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert 'data-live="yes"' in page
    assert "connect-src 'self'" in page
    assert "study: 3 policies" in page
    assert server.server_address[0] == "127.0.0.1"
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"


def test_a_page_is_made_and_sent_only_after_a_change(server, study, monkeypatch):
    tag = ask(server)[1]["ETag"]
    with monkeypatch.context() as patch:
        patch.setattr("sdmbtl.report.live.make_page", None)
        assert ask(server, If_None_Match=tag)[::2] == (304, "")
    add_policy(study)
    status, headers, page = ask(server, If_None_Match=tag)
    assert status == 200
    assert headers["ETag"] != tag
    assert "study: 4 policies" in page


def test_the_policy_in_training_is_shown_while_a_process_works(server, study):
    assert 'class="now"' not in ask(server)[2]
    trial = study.ask()
    with LeaseKeeper(study.store), LiveFile(RunProgress(study, budget=9), study.path) as live:
        live(Event("training", trial, 10, 40, 7.5, 200.0, evaluations=((10, 7.5),)))
        page = ask(server)[2]
        assert '<progress value="0.25">' in page
        assert "10/40  return 7.5 · policy 4 of 9" in page
        assert "200 steps/s" in page
        assert f'"policy":{trial.id},"share":0.25' in page
        assert '"curve":[[10,7.5]]' in page
        shown = (study.path / LIVE_FILE).read_text()
        (study.path / LIVE_FILE).write_text('{"policy": 0, "curve": "of somebody else"}')
        assert 'class="now"' not in ask(server)[2]
        (study.path / "elsewhere.json").write_text(shown)
        (study.path / LIVE_FILE).unlink()
        (study.path / LIVE_FILE).symlink_to("elsewhere.json")
        assert 'class="now"' not in ask(server)[2], "links are not followed"
    assert not (study.path / LIVE_FILE).exists()


def test_others_are_refused(server):
    for foreign in (
        {"host": "evil.example"},
        {"host": "127.0.0.1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ):
        status, headers, text = ask(server, **foreign)
        assert status == 403
        assert "policies" not in text
        assert "Access-Control-Allow-Origin" not in headers


def test_its_own_names_and_origin_are_welcome(server):
    for name in ("127.0.0.1", "localhost"):
        own = f"{name}:{server.server_port}"
        answer = ask(server, host=own, Origin=f"http://{own}", Sec_Fetch_Site="same-origin")
        assert answer[0] == 200


def test_nothing_can_be_changed_and_there_is_nothing_else(server):
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "HEAD"):
        assert ask(server, "/", method)[0] == 501
    for path in ("/study.db", "/../study.db", "/data.json"):
        assert ask(server, path)[0] == 404


def test_a_study_that_cannot_be_read_now_is_said(server, monkeypatch):
    def refuse(study):
        raise StudyError("It is damaged.")

    monkeypatch.setattr("sdmbtl.report.live.study_data", refuse)
    status, _, text = ask(server)
    assert status == 503
    assert "It is damaged." in text
