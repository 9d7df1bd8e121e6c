"""Files that were changed at random: read, or refused by an error of this package."""

import json
import shutil
import sqlite3
import warnings
from collections import Counter
from contextlib import closing

import numpy as np
import pytest
import safetensors.numpy
from foreign_files import SPACE, base_study
from mutations import mutated_bytes, mutated_text
from portfolio_makers import linear_policy, some_portfolio

from sdmbtl.contexts import load_space
from sdmbtl.errors import SdmbtlError
from sdmbtl.policies import load_policy, policy_bytes
from sdmbtl.portfolio import Portfolio
from sdmbtl.studies import Study
from sdmbtl.transfer.storage import load_arrays, save_arrays

TOML = """
[dimensions.mass]
values = [0.1, 1, 10]
discrete = false
[dimensions.length]
low = 0.05
high = 5.0
levels = 8
scale = "log"
path = "unwrapped.l"
[returns]
min = 0
max = 500
"""


def make_rows(path):
    save_arrays(path, kind="rows", space=SPACE, arrays={"returns": np.arange(8.0).reshape(2, 4)})


def load_rows(path):
    return load_arrays(path, kind="rows", arrays={"returns": ("rows", "targets")})


def make_policy(path):
    path.write_bytes(policy_bytes(linear_policy(1.0, 2.0, 3.0, 4.0), {"context": {"a": 1.0}}))


def change_bytes(path, rng):
    path.write_bytes(mutated_bytes(path.read_bytes(), rng))


def change_policy_header(path, rng):
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    text = json.loads(content[8 : 8 + length])["__metadata__"]["sdmbtl"]
    metadata = {"sdmbtl": mutated_text(text, rng)}
    path.write_bytes(safetensors.numpy.save(safetensors.numpy.load(content), metadata=metadata))


def change_manifest(path, rng):
    file = path / "portfolio.json"
    file.write_text(mutated_text(file.read_text(), rng))


def change_study_file(path, rng):
    with closing(sqlite3.connect(path / "study.db")) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # all of it is in this file
    change_bytes(path / "study.db", rng)


RECORDS = (
    ("SELECT name, value FROM facts", "UPDATE facts SET value = ? WHERE name = ?"),
    ("SELECT id, body FROM trials", "UPDATE trials SET body = ? WHERE id = ?"),
)


def change_study_record(path, rng):
    with closing(sqlite3.connect(path / "study.db")) as database, database:
        read, write = RECORDS[rng.integers(2)]
        rows = database.execute(read).fetchall()
        which, value = rows[int(rng.integers(len(rows)))]
        database.execute(write, (mutated_text(value, rng), which))


def read_study(path):
    study = Study.open(path)
    study.status()
    study.ask()


def read_portfolio(path):
    portfolio = Portfolio.load(path)
    portfolio.choose(portfolio.space.target(0))


#: Makes a file, changes it, reads it.
SUBJECTS = {
    "rows": (make_rows, change_bytes, load_rows),
    "policy": (make_policy, change_bytes, load_policy),
    "policy header": (make_policy, change_policy_header, load_policy),
    "space": (lambda path: path.write_text(TOML), change_bytes, load_space),
    "portfolio": (lambda path: some_portfolio().export(path), change_manifest, read_portfolio),
    "study": (base_study, change_study_file, read_study),
    "study record": (base_study, change_study_record, read_study),
}


def run(name, folder, cases):
    """Change and read something this often; count how often it was read and refused."""
    make, change, read = SUBJECTS[name]
    original = folder / "original.npz"
    make(original)
    outcomes = Counter()
    for seed in range(cases):
        path = folder / f"{seed}.npz"
        (shutil.copytree if original.is_dir() else shutil.copy)(original, path)
        change(path, np.random.default_rng([seed, cases]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                read(path)
                outcomes["read"] += 1
            except SdmbtlError:
                outcomes["refused"] += 1
            except Exception as error:
                raise AssertionError(f"{name}, case {seed} of {cases}: {path}") from error
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return outcomes


@pytest.mark.parametrize("name", SUBJECTS)
def test_changed_files(name, tmp_path):
    assert run(name, tmp_path, 20)["refused"] > 2


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
def test_a_thousand_changed_files(name, tmp_path, capsys):
    outcomes = run(name, tmp_path, 1000)
    with capsys.disabled():
        print(f"\n{name}: {dict(outcomes)}")
