"""Nothing that is shown can steer a terminal: one function escapes, and everything passes it."""

import ast
import io
import warnings
from contextlib import nullcontext
from pathlib import Path

import pytest
from foreign_files import ESCAPES
from rich.table import Table
from rich.text import Text

import sdmbtl
from sdmbtl import ContextSpace
from sdmbtl.callbacks import Event, LineDisplay, RunProgress
from sdmbtl.callbacks.terminal_display import TerminalDisplay
from sdmbtl.cli.output import print_lines, say
from sdmbtl.console import PlainConsole
from sdmbtl.contexts import Interval, load_space
from sdmbtl.errors import ContextError, StudyError
from sdmbtl.selectors.trial import TrainingRun
from sdmbtl.studies import Study
from sdmbtl.wording import printable

SPACE = ContextSpace(mass=[1.0, 2.0])
NAMES = ["a\nb", "a\x1b[31m", "a\u202eb", "\x00", "", " ", "a\x9bb", "a\u2028b", "\u2066a", "a\tb"]


def is_plain(text):
    return printable(text, keep="\n") == text


def plain_console():
    return PlainConsole(file=io.StringIO(), force_terminal=True, width=80, color_system=None)


def test_what_is_seen_stays():
    for text in ("mass=2", "größe [m]", "\u05d0\u05d1", "漢字", "x\\n"):
        assert printable(text) is text
    assert printable("a\nb\tc\x1b\u202e\udcff") == "a\\nb\\tc\\x1b\\u202e\\udcff"
    assert printable("a\nb\r", keep="\n") == "a\nb\\r"


# -- names where they enter ----------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_names_of_dimensions(name, tmp_path):
    data = SPACE.to_dict()
    data["dimensions"][0]["name"] = name
    file = tmp_path / "space.toml"
    quoted = "".join(f"\\u{ord(c):04x}" for c in name)
    file.write_text(f'[dimensions."{quoted}"]\nvalues = [1, 2]\n')
    for make in (
        lambda: ContextSpace(**{name: [1.0, 2.0]}),
        lambda: ContextSpace.sample(2, **{name: Interval(0.0, 1.0)}),
        lambda: ContextSpace.from_dict(data),
        lambda: load_space(file),
    ):
        with pytest.raises(ContextError, match="name of a dimension") as error:
            make()
        assert is_plain(str(error.value))


# -- what is shown -------------------------------------------------------------------------


def test_errors_and_lines(capsys):
    assert is_plain(str(StudyError(f"Failed: {ESCAPES}")))
    say(ESCAPES, err=True)
    say(ESCAPES)
    shown = capsys.readouterr()
    assert is_plain(shown.out + shown.err)
    console = plain_console()
    print_lines(f"one line: {ESCAPES}", hanging=2, console=console)
    assert is_plain(console.file.getvalue())
    assert "[red]x[/red]" in console.file.getvalue()


def test_a_console_shows_text_as_it_is():
    console = plain_console()
    table = Table(box=None)
    table.add_column(ESCAPES)
    table.add_row(ESCAPES)
    console.print(ESCAPES, Text(ESCAPES), table, "[bold]:smile:")
    shown = console.file.getvalue()
    assert is_plain(shown)
    assert "[bold]:smile:" in shown
    assert "[red]x[/red]" in shown


def test_progress_of_a_run(tmp_path):
    study = Study.open(tmp_path / "study", space=SPACE)
    asked = study.ask()
    trial = asked.updated(
        strategy=ESCAPES, reason=ESCAPES, model=ESCAPES, run=TrainingRun(0, (ESCAPES,))
    )
    lines, console = [], plain_console()
    terminal = TerminalDisplay(RunProgress(study), console)
    for display in (LineDisplay(RunProgress(study), lines.append), terminal):
        display(Event("failed", trial))
        display(Event("finished", trial, warning=ESCAPES))
        display(Event("asked", trial))
    console.print(terminal.picture())
    assert len(lines) == 3
    assert all(line.isprintable() for line in lines)
    assert is_plain(console.file.getvalue())


def test_warnings_of_recorded_errors(tmp_path, monkeypatch):
    from sdmbtl.studies import study as module
    from sdmbtl.training import Evaluation

    study = Study.open(tmp_path / "study", space=SPACE)
    played = Evaluation([[1.0], [float("nan")]], {1: ESCAPES})
    monkeypatch.setattr(module, "evaluate_chosen", lambda *_: played)
    monkeypatch.setattr(module, "evaluation_helpers", lambda *_: nullcontext())
    monkeypatch.setattr(Study, "trainer", None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        study.evaluate()
    assert str(caught[0].message).isprintable()


# -- there is one way to the terminal ------------------------------------------------------


def test_everything_is_printed_in_one_place():
    root = Path(sdmbtl.__file__).parent
    allowed = {
        "typer.secho": {"cli/output.py"},
        "print": {"callbacks/displays.py"},  # lines that a display has escaped
    }
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                where = f"{path.relative_to(root).as_posix()}:{node.lineno}"
                assert called not in ("typer.echo", "click.echo", "Console"), where
                if called in allowed:
                    assert path.relative_to(root).as_posix() in allowed[called], where
