"""A live page in a real browser, while a study goes on."""

import threading

import pytest
from report_studies import SPACES, add_policy, told_study
from stand_ins import STAND_INS, make_study, run_quickly
from test_in_browser import move_slider
from test_live import served

from sdmbtl.report.live import LivePage
from sdmbtl.studies import Study


def test_news_come_by_themselves_and_the_reader_keeps_the_place(open_page, tmp_path):
    study = told_study(tmp_path / "mine", SPACES["cube"], policies=5)
    with served(LivePage(Study.open(study.path))) as server:
        page = open_page(server.url)
        page.wait("document.getElementById('live').textContent === '● live'")
        assert page.text("h1").startswith("mine: 5 policies")
        move_slider(page, "at-0", 1)
        move_slider(page, "up-to", 2)
        page.click("#policies details summary")
        page.run("document.getElementById('rows').scrollIntoView({behavior: 'instant'})")
        top = "document.getElementById('rows').getBoundingClientRect().top"
        before = page.run(top)
        add_policy(study)
        page.wait("document.querySelector('h1').textContent.startsWith('mine: 6 policies')")
        assert len(page.texts("#policies tbody tr")) == 6
        assert page.run(top) == pytest.approx(before, abs=2)
        assert page.run("document.querySelector(\"[data-key='at-0']\").value") == "1"
        assert page.text("[data-key='up-to-text']").startswith("2 of 6")
        move_slider(page, "up-to", 6)
        add_policy(study)
        page.wait("document.querySelector('h1').textContent.startsWith('mine: 7 policies')")
        assert page.text("[data-key='up-to-text']").startswith("7 of 7"), "all stays all"
        assert page.run("document.querySelector('#policies details').open")
        own = page.run("location.origin")
        assert all(url.startswith((own, "data:")) for url in page.requests)


def test_a_study_is_followed_from_its_first_policy_on(open_page, tmp_path, monkeypatch):
    """While it runs, in another thread."""
    for place, name, value in STAND_INS:
        if name != "training":
            monkeypatch.setattr(place, name, value)
    path = tmp_path / "study"
    make_study(path)
    with served(LivePage(Study.open(path))) as server:
        page = open_page(server.url)
        assert "no finished policy" in page.text("h1")
        run = threading.Thread(target=run_quickly, args=(path, 6))
        run.start()
        page.wait("document.querySelector('h1').textContent.includes('6 policies')")
        run.join()
        page.wait("document.querySelector('#coverage svg') !== null")
        assert len(page.texts("#policies tbody tr")) == 6


def test_a_server_that_is_gone_is_said(open_page, tmp_path):
    study = told_study(tmp_path / "mine", SPACES["line"], policies=1)
    with served(LivePage(Study.open(study.path))) as server:
        page = open_page(server.url)
        page.wait("document.getElementById('live').textContent === '● live'")
    page.wait("document.getElementById('live').textContent === '○ not connected'")
    assert page.text("h1").startswith("mine: 1 policy"), "what was shown stays"
    page.complaints.clear()  # the browser's own, about the connection
