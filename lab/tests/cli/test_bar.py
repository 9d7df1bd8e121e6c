"""The bar: how far, how long still, on a terminal and elsewhere."""

import io

import pytest
from rich.console import Console

from sdmbtl_lab.cli import bar
from sdmbtl_lab.cli.bar import WorkBar


class Clock:
    """A time that passes on command."""

    now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(bar, "time", clock)
    return clock


@pytest.fixture
def lines():
    """A console that is not a terminal."""
    return Console(file=io.StringIO(), width=60)


def printed(console):
    return console.file.getvalue().splitlines()


def test_time_left_comes_from_the_pace_of_this_run(clock, lines):
    with WorkBar(lines, "name", unit="policies") as work:
        work(100, 200, "")  # an earlier run's
        clock.now += 60
        work(110, 200, "seed 0, sources 0 to 9")
        clock.now += 60
        work(140, 200, "seed 0, multi-task")
    assert printed(lines) == [
        "110/200 policies, 9 min left (seed 0, sources 0 to 9)",
        "140/200 policies, 3 min left (seed 0, multi-task)",
    ]


def test_lines_now_and_then(clock, lines):
    with WorkBar(lines, "name") as work:
        for done in range(1, 7):
            clock.now += 25
            work(done, 6, f"piece {done}")
    assert printed(lines) == [
        "3/6 pieces, 2 min left (piece 3)",
        "6/6 pieces, 0 s left (piece 6)",
    ]


def test_no_time_has_passed_or_nothing_was_done(clock, lines):
    with WorkBar(lines, "name") as work:
        work(0, 6, "")
        work(1, 6, "piece 1")  # at the same moment
        clock.now += 1000
        work(0, 6, "nothing [yet]")
    assert printed(lines) == ["0/6 pieces (nothing [yet])"]


def test_nothing_left_to_do(clock, lines):
    with WorkBar(lines, "name") as work:
        work(6, 6, "")
    assert printed(lines) == []


def test_terminal(clock):
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with WorkBar(console, "a name [/with] brackets") as work:
        work(0, 40, "")
        clock.now += 10
        work(10, 40, "")
        work._bar.refresh()
    shown = console.file.getvalue()
    assert "10/40" in shown
    assert "30 s left" in shown
    assert "a name [/with] brackets" in shown
