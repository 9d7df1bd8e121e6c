"""Text about events: rows of a table, the current activity, the time left."""

import io
from dataclasses import replace

import pytest
from rich.console import Console
from small_study import open_small

from sdmbtl.callbacks import Event, LineDisplay, RunProgress
from sdmbtl.callbacks.terminal_display import TerminalDisplay


def picture(progress):
    """Lines that a terminal of 80 columns shows now."""
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    console.print(TerminalDisplay(progress, console).picture())
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


@pytest.fixture
def trial(study):
    return study.trials[-1]


def test_a_finished_policy_is_a_row_of_a_table(study, trial):
    progress = RunProgress(study, budget=12)
    (row,) = progress.take(Event("finished", trial))
    head = progress.header()
    assert head.split() == ["#", "trained", "on", "from", "steps", "coverage"]
    assert row.startswith("  2  length=")
    assert row[:80].index("–") == head.index("from") + 3
    level = f"{100 * study.performance / 500:.1f} %"
    assert row.split("–")[1].split() == ["4,096", *level.split(), "+0.0"]
    assert len(row) <= 80


def test_a_gain_has_its_sign(study, trial):
    progress = RunProgress(study)
    progress._performance = study.performance + 25  # an estimate that was too high
    assert progress.take(Event("finished", trial))[0].endswith("  -5.0")


def test_warnings_failures_and_losses_are_marked(study, trial):
    run = replace(trial.run, errors=("boom",), lost=("it hung",))
    broken = trial.updated(run=run)
    progress = RunProgress(study)
    assert progress.take(Event("finished", trial, warning="odd"))[1] == "  ! odd"
    (failed,) = progress.take(Event("failed", broken))
    assert failed == "  ! policy 2: attempt 1 failed, trying again with another seed: boom"
    (given_up,) = progress.take(Event("failed", broken.updated(status="failed")))
    assert "given up: boom" in given_up
    (lost,) = progress.take(Event("lost", broken))
    assert lost == "  ! policy 2: started again: it hung"
    event = Event("continued", trial, 2048, 4096, policies=3)
    assert progress.take(event) == ["    continues policy 2 and 2 more at 2,048 of 4,096 steps"]


@pytest.mark.parametrize(
    ("stage", "numbers", "text"),
    [
        ("asked", (), "training"),
        ("compiling", (0, 4096), "compiling PPO (once, 5–30 s)"),
        ("training", (1024, 4096, 20.5, 5400.0), "1,024/4,096  return 20.5"),
        ("training", (120_000, 500_000), "120k/500k"),
        ("continued", (1024, 4096), "1,024/4,096"),
        ("trained", (), "evaluating"),
        ("evaluating", (120, 512), "evaluating 120/512"),
        ("waiting", (), "another process works on it"),
        ("finished", (), "choosing a context"),
    ],
)
def test_the_current_activity(stage, numbers, text, study, trial):
    progress = RunProgress(study)
    progress.take(Event(stage, trial, *numbers))
    assert progress.activity() == text


def test_a_terminal_shows_the_policy_the_bar_the_reason_and_the_time(study, trial):
    progress = RunProgress(study, budget=9)
    progress.take(Event("training", trial, 120_000, 500_000, 212.4, 5400.0))
    row, *reason, _, footer = picture(progress)
    assert row.startswith("  2  length=")
    assert row.endswith("─ 120k/500k  return 212.4")
    assert " ".join(line.strip() for line in reason).startswith("why: ")
    assert footer.startswith(" policy 4 of 9 · 0:00 elapsed · about ")
    assert " left · 5,400 steps/s · " in footer
    assert footer.endswith(" · Ctrl-C is safe")
    big = 10**9
    progress.take(Event("training", trial, big - 1, big, -123456.7, 123_456.0, policies=8))
    assert max(map(len, picture(progress))) <= 80


def test_lines_are_written_with_a_header(study, trial):
    lines = []
    with LineDisplay(RunProgress(study), lines.append) as display:
        display(Event("training", trial, 10, 20))
        display(Event("finished", trial))
    assert [line.split()[0] for line in lines] == ["#", "2"]


def test_the_time_of_a_run_from_its_first_policy(tmp_path, monkeypatch):
    """Training of the first policy takes 100 s more: three others take 100 s each as well."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    study = open_small(tmp_path / "study")
    progress, limited = RunProgress(study, budget=4), RunProgress(study, budget=4, time_limit=60)
    trial = study.ask()
    for each in (progress, limited):
        each.take(Event("compiling", trial))
    now[0] = 25.0
    for each in (progress, limited):
        each.take(Event("training", trial, 500, 1000, 1.0, 5.0))
    assert progress.seconds_left() == pytest.approx(400), "compilation does not repeat"
    assert limited.seconds_left() == pytest.approx(35)
