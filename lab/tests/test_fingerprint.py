"""The fingerprint covers the code that makes the numbers, and nothing else."""

import sys
from textwrap import dedent

import pytest

from sdmbtl_lab import fingerprint
from sdmbtl_lab.fingerprint import code_fingerprint, import_closure

FILES = {
    "__init__.py": "from made_up.numbers import number\nfrom made_up.other import other\n",
    "numbers.py": '''
        """Numbers."""
        from made_up import helpers  # a module
        from made_up.constants import FACTOR

        def number(x):
            """Multiply."""
            return helpers.twice(x) * FACTOR
        ''',
    "helpers.py": "def twice(x):\n    return 2 * x\n",
    "constants.py": "FACTOR = 3\n",
    "other.py": "from made_up.lonely import one\n\ndef other():\n    return one\n",
    "lonely.py": "one = 1\n",
    "user.py": """
        from typing import TYPE_CHECKING
        from made_up import number
        if TYPE_CHECKING:
            from made_up.other import other
        """,
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "made_up"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(dedent(text))
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    fingerprint._location.cache_clear()
    assert "made_up" not in sys.modules, "nothing is executed"


@pytest.fixture
def changed(package):
    """Change a file and say whether the fingerprint of `made_up.user` is another."""

    def change(name, before, after):
        old = _fresh()
        path = package / name
        assert before in path.read_text()
        path.write_text(path.read_text().replace(before, after))
        return _fresh() != old

    return change


def _fresh():
    fingerprint._fingerprint.cache_clear()
    return code_fingerprint("made_up.user")


def test_docstrings_comments_and_layout_do_not_count(changed):
    assert not changed("numbers.py", '"""Numbers."""', '"""Other words."""')
    assert not changed("numbers.py", '"""Multiply."""', '"""Take several times."""')
    assert not changed("numbers.py", "# a module", "# another comment")
    assert not changed("helpers.py", "2 * x", "(2   * x)")


def test_a_constant_far_away_counts(changed):
    assert changed("constants.py", "FACTOR = 3", "FACTOR = 4")
    assert changed("helpers.py", "2 * x", "x * 2")


def test_an_unrelated_module_does_not_count(changed):
    assert not changed("lonely.py", "one = 1", "one = 2")
    assert not changed("other.py", "return one", "return -one")


def test_what_is_imported_is_followed_to_where_it_is_defined(package):
    inner = {"made_up.numbers", "made_up.helpers", "made_up.constants"}
    assert import_closure("made_up.user") == {"made_up.user", *inner}
    assert import_closure("made_up.user", stop_at=["made_up.numbers"]) == {
        "made_up.user",
        "made_up.numbers",
    }
    assert import_closure("made_up") >= {"made_up", "made_up.lonely", "made_up.user"}, "a package"


def test_selectors_know_their_own_code_and_no_others():
    mountain = import_closure("sdmbtl.selectors.mountain_selector")
    assert {"sdmbtl.selectors.clustering", "sdmbtl.contexts.space"} <= mountain
    assert "sdmbtl.selectors.gp_selector" not in mountain
    both = import_closure("sdmbtl.selectors.structure_detection_selector")
    assert mountain < both
    assert "sdmbtl.selectors.gp_selector" in both
    assert not any(m.startswith(("sdmbtl.cli", "sdmbtl.studies")) for m in both)


def test_code_without_a_file():
    assert code_fingerprint("__main__") == code_fingerprint("__main__")
    assert code_fingerprint("no_such_package") != code_fingerprint("__main__")
