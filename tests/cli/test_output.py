"""Printing, errors and output files."""

import io
import os
import sqlite3
import threading
from pathlib import Path

import pytest
from command_runner import terminal
from rich.console import Console

from sdmbtl.cli.output import ArgumentError, print_lines, write_output
from sdmbtl.errors import MissingPackageError
from sdmbtl.studies import Study


def write_page(file):
    file.write_text("page")


def test_an_output_is_replaced_completely(tmp_path):
    path = tmp_path / "page.html"
    write_output(path, write_page)
    path.write_text("old")

    def fail(file):
        file.write_text("half")
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="full"):
        write_output(path, fail)
    assert path.read_text() == "old"
    write_output(path, write_page)
    assert path.read_text() == "page"
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize(
    "name", ["study.db", "study.backup.db", "study.lock", "policies/0000.safetensors"]
)
def test_files_of_a_study_are_not_replaced(trained, tmp_path, name):
    link = tmp_path / "link"
    link.symlink_to(trained[0] / name)
    for path in (trained[0] / name, link):
        with pytest.raises(ArgumentError, match=path.name):
            write_output(path, write_page)


@pytest.mark.parametrize(
    "words",
    [
        ("report", "{study}", "-o"),
        ("portfolio", "{study}", "--figure"),
        ("play", "{study}", "-o"),
        ("compare", "{study}", "-o"),
    ],
)
def test_no_command_replaces_a_database(command, trained, words):
    database = trained[0] / "study.db"
    before = database.read_bytes()
    words = [word.format(study=trained[0]) for word in words]
    assert str(database) in command.error(*words, database)
    assert database.read_bytes() == before


def test_pipes_and_links_are_written_into(tmp_path):
    pipe, link, target = tmp_path / "pipe", tmp_path / "link", tmp_path / "target"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_output(pipe, write_page)
    reader.join()
    assert read == ["page"]
    assert pipe.is_fifo()
    link.symlink_to(target)
    write_output(link, write_page)
    assert link.is_symlink()
    assert target.read_text() == "page"
    write_output(tmp_path / ".." / tmp_path.name / "plain", write_page)


def test_errors_name_the_path_as_given(command, trained, tmp_path):
    for path in (tmp_path, tmp_path / "none" / "page.html", "/dev/full"):
        with pytest.raises(OSError, match=str(path)):
            write_output(Path(path), write_page)
    assert Path("/dev/full").is_char_device()
    place = tmp_path / "none" / "page.html"
    assert f"Cannot use '{place}'" in command.error("report", trained[0], "-o", place)


REASON = "a reason that does not fit into one row of a terminal, with numbers such as 0.264/0.264 "


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
        (MemoryError("40 GiB"), "not enough memory (40 GiB)"),
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
