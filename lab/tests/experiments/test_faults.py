"""The table of faults: every row has held, and two that are quick are measured again."""

import json
from pathlib import Path

import pytest

import faults
import make_tables
from fault_parts.processes import Settings
from sdmbtl.training import registry

RESULT = Path(faults.__file__).parents[2] / "results" / "faults.json"
pytestmark = pytest.mark.skipif(
    not RESULT.exists(), reason="results are not part of a source distribution"
)

#: Importing the module of its trainer has named it for all other tests of this process, too.
SEARCH = registry._TRAINERS.pop("search", None)


@pytest.fixture
def rows():
    return json.loads(RESULT.read_text())["rows"]


def test_every_row_has_held(rows):
    assert set(rows) >= set(faults.ROWS) - {"speed"}
    assert {name: row["held"] for name, row in rows.items()} == dict.fromkeys(rows, True)


def test_the_table_has_a_line_for_each(rows):
    lines = make_tables.faults_table().splitlines()
    assert len(lines) == 2 + len(rows)
    for line, row in zip(lines[2:], rows.values(), strict=True):
        assert row["ours"] in line
        assert line.count("|") == 5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["locks", "stopped", "ill"])
def test_a_row_still_holds(name, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setitem(registry._TRAINERS, "search", SEARCH)
    row = faults.ROWS[name](Settings(tmp_path, 8, 2, None, 0))
    assert row["held"], row
