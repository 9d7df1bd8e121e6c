"""Printing and errors."""

import io
import sqlite3
import warnings

import pytest
from command_runner import terminal
from rich.console import Console

from sdmbtl.cli.output import print_lines, warnings_as_notes
from sdmbtl.errors import MissingPackageError
from sdmbtl.studies import Study


@pytest.mark.parametrize(
    "words",
    [
        ("report", "{study}", "-o"),
        ("portfolio", "{study}", "--figure"),
        ("play", "{study}", "-o"),
    ],
)
def test_no_command_replaces_a_database(command, trained, words):
    database = trained[0] / "study.db"
    before = database.read_bytes()
    words = [word.format(study=trained[0]) for word in words]
    assert "must end with" in command.error(*words, database)
    assert database.read_bytes() == before


def test_a_warning_of_every_step_is_shown_once(capsys):
    with warnings_as_notes():
        for _ in range(3):
            warnings.warn("\x1b[33mWARN: outside of the space\x1b[0m", stacklevel=1)
    assert capsys.readouterr().err == "Note: outside of the space\n"


REASON = "a reason that does not fit into one row of a terminal, with numbers such as 0.264/0.264 "


def test_an_empty_line_stays():
    where = terminal()
    print_lines("one", "", "two", hanging=2, console=where)
    assert [line.strip() for line in where.file.getvalue().splitlines()] == ["one", "", "two"]


def test_lines_are_wrapped_between_words_on_a_terminal_only():
    for where in (terminal(), Console(file=io.StringIO(), width=80)):
        print_lines(REASON * 3, console=where)
        lines = [line.rstrip() for line in where.file.getvalue().splitlines()]
        assert " ".join(lines).split() == (REASON * 3).split()
        assert (len(lines) == 1) != where.is_terminal
        assert max(map(len, lines)) <= 80 or not where.is_terminal


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (PermissionError(13, "Permission denied", "place"), "'place': Permission denied."),
        (sqlite3.OperationalError("unable to open"), "database cannot be used: unable to open"),
        (MissingPackageError("pip install 'sdmbtl[jax]'", name="jax"), "'sdmbtl[jax]'"),
    ],
)
def test_expected_errors_are_sentences(command, tmp_path, monkeypatch, error, text):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(Study, "open", fail)
    assert text in command.error("status", tmp_path)


def test_unexpected_errors_are_defects(command, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise ModuleNotFoundError("No module named 'sdmbtl.moon'", name="sdmbtl.moon")

    monkeypatch.setattr(Study, "open", fail)
    with pytest.raises(ModuleNotFoundError):
        command("status", tmp_path)
