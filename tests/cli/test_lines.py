"""Lines of commands: whole on a terminal of 80 columns, one line each elsewhere."""

import io

import pytest
from rich.console import Console
from sdmbtl.cli.progress import RunDisplay

from sdmbtl.cli import ask_tell
from sdmbtl.cli.output import chosen_by, gain_figure, print_lines
from sdmbtl.studies import Event, Study

REASON = (
    "additive-quality predicted the gains of the rows so far as well as any, score 0.46 "
    "(mountain 0.44): difficulty of the target plus quality of the policy plus a slope for each "
    "side; from one end of a dimension to the other (left/right): length 0.264/0.264, masscart "
    "0.263/0.263, masspole 0.265/0.265; expected to raise the mean best return by 10.3"
)


def console(*, terminal, width=80):
    return Console(
        file=io.StringIO(), force_terminal=terminal, width=width, highlight=False, color_system=None
    )


def written(where):
    return [line.rstrip() for line in where.file.getvalue().splitlines()]


@pytest.fixture
def study_and_trial(trained):
    """A study and its last policy, as if it had been chosen for a long reason."""
    study = Study.open(trained[0])
    trial = study.trials[-1].updated(
        model="additive-quality", reason=REASON, numbers={"expected_gain": 10.3}
    )
    return study, trial


@pytest.mark.parametrize(
    ("strategy", "structure", "model", "text"),
    [
        ("improvement", None, "plateau", "plateau"),
        ("improvement", None, None, "first policy"),
        ("random", None, "none", "random (none)"),
        ("m-mbtl", "mountain", None, "m-mbtl (mountain)"),
        ("m-mbtl", None, "plateau", "m-mbtl (plateau)"),
        ("reported", None, None, "reported"),
    ],
)
def test_what_chose_a_context(strategy, structure, model, text):
    assert chosen_by(strategy, structure, model) == text


def test_gains():
    assert gain_figure(25.0, 500.0) == "+0.050"
    assert gain_figure(25.0, None) == "+25"
    assert gain_figure(None, 500.0) == "-"


def test_lines_are_wrapped_between_words_on_a_terminal_only():
    for terminal in (True, False):
        where = console(terminal=terminal)
        print_lines(where, REASON)
        lines = written(where)
        assert " ".join(lines) == REASON
        assert max(map(len, lines)) <= 80 or not terminal
        assert (len(lines) == 1) != terminal


def test_a_finished_policy_takes_two_lines_of_a_narrow_terminal(study_and_trial):
    study, trial = study_and_trial
    where = console(terminal=True)
    RunDisplay(study, where, budget=12)(Event("finished", trial))
    first, second = written(where)
    assert first.startswith(" 4/12  policy 2  length=")
    assert "  own return " in first
    assert second.startswith("       coverage 0.")
    assert second.endswith("(+0.000, expected +0.021)  additive-quality")


def test_only_a_return_is_shown_as_an_expected_gain(study_and_trial):
    """M-MBTL's number is a reduction of distance."""
    study, trial = study_and_trial
    where = console(terminal=False)
    trial = trial.updated(strategy="m-mbtl", model=None, numbers={"distance": 3.5})
    RunDisplay(study, where, budget=12)(Event("finished", trial))
    (line,) = written(where)
    assert line.endswith(" (+0.000)  m-mbtl")


@pytest.mark.parametrize("terminal", [True, False])
def test_a_finished_policy_takes_one_line_where_there_is_room(terminal, study_and_trial):
    study, trial = study_and_trial
    where = console(terminal=terminal, width=140 if terminal else 80)
    RunDisplay(study, where, budget=12)(Event("finished", trial))
    (line,) = written(where)
    assert line.endswith("(+0.000, expected +0.021)  additive-quality")
    assert "  coverage 0." in line


def test_the_whole_reason_while_a_policy_is_trained(study_and_trial):
    study, trial = study_and_trial
    display = RunDisplay(study, console(terminal=True), budget=12)
    display(Event("training", trial, 1024, 4096, 17.0))
    where = console(terminal=True)
    where.print(display._picture())
    lines = written(where)
    assert max(map(len, lines)) <= 80
    assert f"improvement: {REASON}" in " ".join(lines)


def test_ask_on_a_terminal(command, tiny, tmp_path, monkeypatch):
    where = console(terminal=True)
    monkeypatch.setattr(ask_tell, "note_console", lambda: where)
    path = tmp_path / ("long" * 20)
    command("ask", path, "--space", tiny)
    lines = written(where)
    assert lines[0].startswith("Train on length=")
    assert lines[1] == "Why: The context with the smallest mean distance to all targets."
    assert lines[2:] == [f"Then: sdmbtl tell {path} ROW.json --id 0"]  # to be copied
