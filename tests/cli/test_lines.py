"""Lines of commands: whole on a terminal of 80 columns, one line each elsewhere."""

import io

from rich.console import Console

from sdmbtl.cli import ask_tell
from sdmbtl.cli.output import print_lines

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


def test_lines_are_wrapped_between_words_on_a_terminal_only():
    for terminal in (True, False):
        where = console(terminal=terminal)
        print_lines(where, REASON)
        lines = written(where)
        assert " ".join(lines) == REASON
        assert max(map(len, lines)) <= 80 or not terminal
        assert (len(lines) == 1) != terminal


def test_ask_on_a_terminal(command, tiny, tmp_path, monkeypatch):
    where = console(terminal=True)
    monkeypatch.setattr(ask_tell, "note_console", lambda: where)
    path = tmp_path / ("long" * 20)
    command("ask", path, "--space", tiny)
    lines = written(where)
    assert lines[0].startswith("Train on length=")
    assert lines[1] == "Why: The context with the smallest mean distance to all targets."
    assert lines[2:] == [f"Then: sdmbtl tell {path} ROW.json --id 0"]  # to be copied
