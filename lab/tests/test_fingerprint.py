"""The fingerprint covers the code of the named modules, and nothing else."""

from textwrap import dedent

import pytest

from sdmbtl_lab.fingerprint import code_fingerprint

FILES = {
    "__init__.py": "raise SystemExit('this is not executed')\n",
    "numbers.py": '''
        """Numbers."""
        FACTOR = 3  # a number

        def number(x):
            """Multiply."""
            return x * FACTOR
        ''',
    "inner/__init__.py": "",
    "inner/one.py": "one = 1\n",
}


@pytest.fixture
def changed(tmp_path, monkeypatch):
    """Change a file and say whether the fingerprint of the package is another."""
    folder = tmp_path / "made_up"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(dedent(text))
    monkeypatch.syspath_prepend(tmp_path)

    def change(name, before, after):
        old = _fresh()
        path = folder / name
        assert before in path.read_text()
        path.write_text(path.read_text().replace(before, after))
        return _fresh() != old

    return change


def _fresh():
    code_fingerprint.cache_clear()
    return code_fingerprint("made_up")


def test_docstrings_comments_and_layout_do_not_count(changed):
    assert not changed("numbers.py", '"""Numbers."""', '"""Other words."""')
    assert not changed("numbers.py", '"""Multiply."""', '"""Take several times."""')
    assert not changed("numbers.py", "# a number", "# another comment")
    assert not changed("numbers.py", "x * FACTOR", "(x   * FACTOR)")


def test_code_anywhere_in_the_package_counts(changed):
    assert changed("numbers.py", "FACTOR = 3", "FACTOR = 4")
    assert changed("inner/one.py", "one = 1", "one = 2")


def test_other_modules_do_not_count():
    code_fingerprint.cache_clear()
    known = {code_fingerprint(f"sdmbtl.selectors.{name}") for name in ("base", "choice", "trial")}
    assert len(known) == 3
    assert code_fingerprint("json", "csv") == code_fingerprint("csv", "json", "csv")
