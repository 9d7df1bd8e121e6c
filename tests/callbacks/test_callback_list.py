"""Callbacks: called in order, entered and left, and their errors do not end a run."""

import pytest

from sdmbtl.callbacks import Event, one_callback


class Notes:
    """Writes down what happens to it."""

    def __init__(self):
        self.notes = []

    def __enter__(self):
        self.notes.append("entered")
        return self

    def __exit__(self, kind, error, traceback):
        self.notes.append(kind)

    def __call__(self, event):
        self.notes.append(event.stage)


def test_context_managers_are_entered_and_learn_with_what_a_run_ended(study):
    notes, stages = Notes(), []

    def interrupt(event):
        stages.append(event.stage)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), one_callback([notes, interrupt]) as tell:
        tell(Event("asked", study.trials[0]))
    assert notes.notes == ["entered", "asked", KeyboardInterrupt]
    assert stages == ["asked"]


def test_who_cannot_be_entered_leaves_nobody_open():
    class Broken(Notes):
        def __enter__(self):
            raise LookupError

    notes = Notes()
    with pytest.raises(LookupError), one_callback([notes, Broken()]):
        pass
    assert notes.notes == ["entered", LookupError]


def test_an_error_at_the_end_is_a_warning(caplog):
    class Unreachable(Notes):
        def __exit__(self, *_):
            raise OSError("the server is gone")

    with one_callback([Unreachable()]):
        pass
    assert "A callback failed at the end of the run." in caplog.text
