"""A signal ends a command between two pieces of work, and never in the middle of one."""

import gc
import os
import signal
import subprocess
import sys
import weakref

import pytest
import typer

from sdmbtl.cli.signals import Stopped, StopSignals


class Thing:
    """Something that can be referred to weakly."""


def interrupt(*_):
    os.kill(os.getpid(), signal.SIGINT)


def in_a_callback_of_the_garbage_collection():
    gc.callbacks.append(interrupt)
    try:
        gc.collect()
    finally:
        gc.callbacks.remove(interrupt)


def in_a_destructor():
    thing = Thing()
    weakref.finalize(thing, interrupt)
    del thing
    gc.collect()


def run(work):
    signals = StopSignals()
    with signals.ending_with("It is kept."):
        work()
        with pytest.raises(Stopped):
            signals.check()


@pytest.mark.parametrize(
    "work", [in_a_callback_of_the_garbage_collection, in_a_destructor, interrupt]
)
def test_nothing_is_raised_where_a_signal_comes(work, monkeypatch, capsys):
    dropped = []
    monkeypatch.setattr(sys, "unraisablehook", dropped.append)
    # A second one would end this process: the callback is called before and after.
    monkeypatch.setattr(signal, "SIG_DFL", signal.SIG_IGN)
    with pytest.raises(typer.Exit) as end:
        run(work)
    assert not dropped
    assert end.value.exit_code == 128 + signal.SIGINT
    assert capsys.readouterr().err == "It is kept.\n"


TWICE = """
import os, signal, time
from sdmbtl.cli.signals import StopSignals
signal.signal(signal.SIGINT, signal.default_int_handler)
with StopSignals().ending_with("never said"):
    os.kill(os.getpid(), signal.SIGINT)
    print("still here", flush=True)
    os.kill(os.getpid(), signal.{second})
    time.sleep(600)
"""


@pytest.mark.parametrize("second", ["SIGINT", "SIGTERM"])
def test_a_second_signal_ends_at_once(second):
    ended = subprocess.run(
        [sys.executable, "-c", TWICE.format(second=second)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.returncode == -getattr(signal, second)
    assert ended.stdout == "still here\n"
    assert ended.stderr == "Stopping at the next safe moment; a second signal ends at once.\n"


def test_a_signal_that_is_ignored_stays_so():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with StopSignals().ending_with("never said"):
            interrupt()
    finally:
        signal.signal(signal.SIGINT, before)
