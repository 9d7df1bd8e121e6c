"""The journal: nothing that was written is lost, nothing that does not fit is used."""

import json
from dataclasses import dataclass

import pytest

from sdmbtl_lab.benchmarks.journal import Journal

HEADING = {"benchmark": "a", "code": "1"}


def journal(folder, **changes):
    return Journal(folder / "a.jsonl", {**HEADING, **changes})


@dataclass(frozen=True)
class Square:
    number: int

    @property
    def label(self):
        return f"square of {self.number}"

    def keys(self):
        return [(str(self.number),)]

    def compute(self):
        return [((str(self.number),), {"value": self.number**2})]


@pytest.mark.parametrize("jobs", [1, 2])
def test_all_work_is_done_once(tmp_path, jobs):
    kept = journal(tmp_path)
    kept.write(("3",), {"value": "by hand"})
    seen = []
    kept.complete(
        [Square(n) for n in range(5)],
        jobs=jobs,
        progress=lambda done, total, label: seen.append((done, total, label)),
    )
    assert [s[:2] for s in seen] == [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]
    assert {label for _, _, label in seen} == {"", *(f"square of {n}" for n in (0, 1, 2, 4))}
    again = journal(tmp_path)
    assert [again[str(n),]["value"] for n in range(5)] == [0, 1, 4, "by hand", 16]


@pytest.mark.parametrize("changed", [{"code": "2"}, {"trials": 3}])
def test_records_of_other_settings_or_code_are_not_used(tmp_path, changed):
    journal(tmp_path).write(("x",), {"value": 1})
    assert len(journal(tmp_path)) == 1
    other = journal(tmp_path, **changed)
    assert len(other) == 0
    assert "set aside" in other.note


def test_damaged_heading_starts_afresh(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("not json\n")
    kept = journal(tmp_path)
    assert len(kept) == 0
    assert "set aside" in kept.note
    assert (tmp_path / "a.old").read_text() == "not json\n"
    assert json.loads(path.read_text()) == HEADING


def test_damaged_lines_are_skipped(tmp_path):
    kept = journal(tmp_path)
    kept.write(("x",), {"value": 1})
    with kept.path.open("a") as file:
        file.write('{"half\n[1]\n')
    kept.write(("y",), {"value": 2})
    again = journal(tmp_path)
    assert len(again) == 2
    assert again.note == "2 damaged lines were skipped."
    assert journal(tmp_path).note == ""
