"""What displays say of events, on a terminal of 80 columns and in lines."""

import io
from dataclasses import replace

import pytest
from rich.console import Console
from small_study import REGIONS, open_small

from sdmbtl.callbacks import Event, LineDisplay, Pace
from sdmbtl.callbacks.display import activity
from sdmbtl.callbacks.terminal_display import TerminalDisplay

REASON = (
    "additive-quality predicted the gains of the rows so far as well as any, score 0.46 "
    "(mountain 0.44): difficulty of the target plus quality of the policy plus a slope for each "
    "side; from one end of a dimension to the other (left/right): length 0.264/0.264, masscart "
    "0.263/0.263, masspole 0.265/0.265; expected to raise the mean best return by 10.3"
)


def console(width=80):
    return Console(
        file=io.StringIO(), force_terminal=True, width=width, highlight=False, color_system=None
    )


def written(where):
    return [line.rstrip() for line in where.file.getvalue().splitlines()]


@pytest.fixture
def trial(study):
    """The last policy, as if it had been chosen for a long reason."""
    return study.trials[-1].updated(
        model="additive-quality", reason=REASON, numbers={"expected_gain": 10.3}
    )


def lines_of(study, **options):
    lines = []
    return LineDisplay(study, lines.append, every=None, **options), lines


def picture(display):
    where = console()
    where.print(display.picture())
    return written(where)


# -- a policy that is finished, or failed ----------------------------------------------------------


def test_a_finished_policy_takes_two_lines_of_a_narrow_terminal(study, trial):
    where = console()
    TerminalDisplay(study, where, budget=12)(Event("finished", trial))
    first, second = written(where)
    assert first.startswith(" 4/12  policy 2  length=")
    assert "  own return " in first
    assert second.startswith("       coverage 0.")
    assert second.endswith("(+0.000, expected +0.021)  additive-quality")


def test_a_finished_policy_takes_one_line_where_there_is_room(study, trial):
    where = console(140)
    TerminalDisplay(study, where, budget=12)(Event("finished", trial))
    display, lines = lines_of(study, budget=12)
    display(Event("finished", trial))
    assert lines == written(where)
    assert lines[0].endswith("(+0.000, expected +0.021)  additive-quality")
    assert "  coverage 0." in lines[0]


def test_only_a_return_is_shown_as_an_expected_gain(study, trial):
    """M-MBTL's number is a reduction of distance."""
    display, lines = lines_of(study)
    display(Event("finished", trial.updated(strategy="m-mbtl", model=None, numbers={"x": 3.5})))
    assert lines[0].endswith(" (+0.000)  m-mbtl")


def test_the_steps_of_a_policy_are_those_taken(tmp_path):
    """2,049 are asked for, and a rollout is 2,048."""
    study = open_small(tmp_path / "study", **{**REGIONS, "specialist_steps": 2049})
    display, lines = lines_of(study)
    reported = []
    study.run(budget=3, callbacks=[display, reported.append])
    assert study.trials[2].steps == 2049
    assert any("policy 2  " in line and ", 4,096 steps  own return" in line for line in lines)
    last = [e for e in reported if e.stage == "training"][-1]
    assert (last.steps, last.total_steps) == (4096, 4096)


# -- what happens now ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stage", "numbers", "text"),
    [
        ("asked", (), "training ..."),
        ("compiling", (0, 4096), "compiling ..."),
        ("training", (1024, 4096), "1,024 of 4,096 steps"),
        ("training", (), "training ..."),
        ("continued", (1024, 4096), "1,024 of 4,096 steps"),
        ("trained", (), "evaluating ..."),
        ("evaluating", (), "evaluating ..."),
        ("evaluating", (120, 512), "evaluating 120 of 512 targets"),
    ],
)
def test_activity(stage, numbers, text, trial):
    assert activity(Event(stage, trial, *numbers)) == text


def test_a_terminal_shows_what_happens_now(study, trial):
    display = TerminalDisplay(study, console(), budget=9)
    display(Event("training", trial, 120_000, 500_000, 212.4, 5400.0))
    first, *reason, bar, figures, run = picture(display)
    assert first.startswith("Round 4 of 9  policy 2  length=")
    assert " ".join(reason) == f"improvement: {REASON}"
    assert bar.endswith(" 120,000 of 500,000 steps")
    assert figures == "5,400 steps/s, return 212.4, about 70 s left"
    assert run.startswith("coverage 0.")
    assert run.endswith(" left in all")
    display(Event("evaluating", trial, 3, 8))
    assert picture(display)[-2].endswith(" evaluating 3 of 8 targets")
    display(Event("compiling", trial, 0, 4096))
    assert picture(display)[-2] == "compiling ..."


def test_a_run_that_continues_says_where(study, trial):
    where = console()
    event = Event("continued", trial, 410_000, 1_000_000, 20.5)
    TerminalDisplay(study, where, budget=12)(event)
    assert written(where) == ["       continues policy 2 at 410,000 of 1,000,000 steps"]
    display, lines = lines_of(study)
    display(event)
    display(replace(event, policies=3))
    assert lines == [
        "     continues policy 2 at 410,000 of 1,000,000 steps",
        "     continues policy 2 and 2 more at 410,000 of 1,000,000 steps",
    ]


def test_nothing_is_wider_than_a_terminal(study, trial):
    display = TerminalDisplay(study, console(), budget=1000, time_limit=1e6)
    big = 10**9
    display(Event("training", trial, big - 1, big, -123456.7, 123_456.0, policies=8))
    assert max(map(len, picture(display))) <= 80


def test_the_line_of_a_log(study, trial):
    display, lines = lines_of(study)
    display(Event("training", trial, 120_000, 500_000, 212.4, 5400.0))
    known = "policy 2: 120,000 of 500,000 steps, 5,400 steps/s, return 212.4, about 70 s left"
    assert display.current_line() == known
    display(Event("training", trial, 20, 20, 1.5, 5400.0))
    assert display.current_line() == "policy 2: 20 of 20 steps, 5,400 steps/s, return 1.5"
    display(Event("training", trial, 10, 20))
    assert display.current_line() == "policy 2: 10 of 20 steps"
    display(Event("training", trial, 10, 20, policies=3))
    assert display.current_line() == "policy 2 and 2 more: 10 of 20 steps"
    display(Event("finished", trial))
    assert display.current_line() == "choosing a context ..."
    assert len(lines) == 1


def test_the_time_of_a_run_from_its_first_policy(tmp_path):
    """Nothing is known but that training of the first takes 100 s more: so do three others."""
    study = open_small(tmp_path / "study")
    display, _ = lines_of(study, budget=4)
    display(Event("training", study.ask(), 500, 1000, 1.0, 5.0))
    assert display.run_seconds_left() == pytest.approx(400, abs=5)
    assert display.current_line().endswith(", about 2 min left, about 7 min left in all")
    limited, _ = lines_of(study, budget=4, time_limit=60)
    limited(Event("training", study.trials[0], 500, 1000, 1.0, 5.0))
    assert limited.run_seconds_left() <= 60


def test_the_pace_leaves_out_what_comes_before_the_first_report(monkeypatch):
    now = iter([10.0, 30.0, 32.0, 34.0, 35.0])
    monkeypatch.setattr("time.monotonic", lambda: next(now))
    pace = Pace()
    found = [pace.steps_per_second(steps) for steps in (0, 5000, 7000, 9000, 4000)]
    nan = float("nan")  # the last report: of jobs that failed together and are tried one by one
    assert found == pytest.approx([nan, nan, 1000, 1000, nan], nan_ok=True)
