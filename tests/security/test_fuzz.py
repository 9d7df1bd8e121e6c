"""Files that were changed at random: read, or refused by an error of this package."""

import json
import shutil
import sqlite3
import warnings
from collections import Counter
from contextlib import closing

import crafted_bombs as bombs
import numpy as np
import pytest
import safetensors.numpy
from mutations import mutated_bytes, mutated_json, mutated_text
from sdmbtl.studies.records import put_seal
from typer.testing import CliRunner

from sdmbtl.cli import app
from sdmbtl.contexts import load_space
from sdmbtl.errors import SdmbtlError
from sdmbtl.policies import load_policy, policy_bytes
from sdmbtl.portfolio import Portfolio
from sdmbtl.studies import Study
from sdmbtl.transfer import ObservedRows
from sdmbtl_lab.matrices import TransferDataset, TransferMatrices
from sdmbtl_lab.matrices.region_recipe import RegionRecipe

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


def run_command(*arguments):
    """Run a command; its error of this package is raised again."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code:
        raise SdmbtlError(result.stderr)


class Subject:
    """Something that is read, and how it is changed before.

    Args:
        folder: Where the original is made.
    """

    def __init__(self, folder):
        self.original = folder / "original"
        self.make()

    def make(self):
        """Write the original."""

    def change(self, path, rng):
        """Write a changed copy of it."""
        path.write_bytes(mutated_bytes(self.original.read_bytes(), rng))

    def read(self, path):
        """Read that, and use it a little."""


class Rows(Subject):
    def make(self):
        bombs.make_rows(self.original)

    def read(self, path):
        ObservedRows.load(path)


class RowsHeader(Rows):
    """The header of the archive, with everything else as it should be."""

    def change(self, path, rng):
        header = {"version": 1, "kind": "rows", "space": bombs.SPACE.to_dict()}
        text = json.dumps(mutated_json(header, rng))
        path.write_bytes(bombs.zip_of(bombs.header_entry(text=text), *bombs.rows_entries()))


class Dataset(Subject):
    """A data set whose card was changed, or its archive."""

    def make(self):
        self.original = self.original.with_suffix(".npz")
        returns = np.arange(32.0).reshape(2, 4, 4)
        noise = np.ones((2, 4))
        card = {"name": "few", "seeds": 2, "recipe": {"episodes": 1}}
        matrices = TransferMatrices(bombs.SPACE, returns)
        TransferDataset(matrices, noise, noise, {2: noise}, card).save(self.original)

    def change(self, path, rng):
        card = self.original.with_suffix(".json").read_text()
        path.write_bytes(self.original.read_bytes())
        if rng.random() < 0.5:
            path.write_bytes(mutated_bytes(self.original.read_bytes(), rng))
        path.with_suffix(".json").write_text(mutated_text(card, rng))

    def read(self, path):
        TransferDataset.load(path)


class PolicyFile(Subject):
    def make(self):
        self.original.write_bytes(policy_bytes(bombs.mlp(), {"context": {"a": 1.0}}))

    def read(self, path):
        policy = load_policy(path)
        policy.act(np.zeros(policy.observation_size, np.float32))


class PolicyHeader(PolicyFile):
    """The description of a policy, with its arrays as they should be."""

    def make(self):
        from gymnasium import spaces

        spaced = {"observation_space": spaces.Dict(a=spaces.Box(-1, 1, (1,)), b=spaces.Discrete(2))}
        policy = bombs.mlp(action_space=spaces.MultiBinary(1), **spaced)
        self.original.write_bytes(policy_bytes(policy, {"context": {"a": 1.0}}))

    def change(self, path, rng):
        content = self.original.read_bytes()
        length = int.from_bytes(content[:8], "little")
        text = json.loads(content[8 : 8 + length])["__metadata__"]["sdmbtl"]
        arrays = safetensors.numpy.load(content)
        metadata = {"sdmbtl": mutated_text(text, rng)}
        path.write_bytes(safetensors.numpy.save(arrays, metadata=metadata))

    def read(self, path):
        load_policy(path)


class NetworkHeader(PolicyHeader):
    """The description of a network of Stable-Baselines3."""

    def make(self):
        self.original.write_bytes(bombs.network_bytes(bombs.NORMALIZED, bombs.STATISTICS))


class Space(Subject):
    def make(self):
        self.original.write_text(TOML)

    def read(self, path):
        load_space(path)


class RecipeFile(Subject):
    def make(self):
        bombs.make_recipe(self.original)

    def change(self, path, rng):
        path.write_text(mutated_text(self.original.read_text(), rng))

    def read(self, path):
        RegionRecipe.load(path)


class PortfolioManifest(Subject):
    def make(self):
        bombs.make_portfolio(self.original)

    def change(self, path, rng):
        shutil.copytree(self.original, path)
        manifest = path / "portfolio.json"
        manifest.write_text(mutated_text(manifest.read_text(), rng))

    def read(self, path):
        portfolio = Portfolio.load(path)
        portfolio.choose({"a": 1.5})


class PortfolioFiles(PortfolioManifest):
    def change(self, path, rng):
        shutil.copytree(self.original, path)
        files = [path / "portfolio.json", path / "returns.npz", path / "policies/0001.safetensors"]
        file = files[int(rng.integers(len(files)))]
        file.write_bytes(mutated_bytes(file.read_bytes(), rng))


class StudyFile(Subject):
    def make(self):
        bombs.make_study(self.original)

    def change(self, path, rng):
        shutil.copytree(self.original, path)
        file = path / "study.db"
        file.write_bytes(mutated_bytes(file.read_bytes(), rng))

    def read(self, path):
        study = Study.open(path)
        study.status()
        study.database.check()
        study.ask()


class StudyRecords(StudyFile):
    """A record that was changed, with the checksum of what it is now."""

    def change(self, path, rng):
        shutil.copytree(self.original, path)
        with closing(sqlite3.connect(path / "study.db")) as database:
            found = database.execute(
                "SELECT kind, key, text, data FROM records WHERE kind != 'seal'"
            )
            records = found.fetchall()
            kind, key, text, data = records[int(rng.integers(len(records)))]
            database.execute(*bombs.put(kind, key, mutated_text(text, rng), data))
            put_seal(database, writes=9)
            database.commit()

    def read(self, path):
        study = Study.open(path)
        study.status()
        study.database.check()


class ToldRow(Subject):
    """What is told by the command, in a file."""

    def make(self):
        self.study = bombs.make_study(self.original.parent / "study")
        self.original.write_text('{"context": {"a": 3.0}, "returns": [1.0, 2.0, null, 3]}')

    def change(self, path, rng):
        if rng.random() < 0.5:
            super().change(path, rng)
        else:
            path.write_text(mutated_text(self.original.read_text(), rng))

    def read(self, path):
        study = path.with_name(f"{path.name}-study")
        shutil.copytree(self.study, study)
        run_command("tell", study, path)


class ResultFile(Subject):
    """The result of a benchmark, shown by the command."""

    def make(self):
        bombs.make_result(self.original)

    def change(self, path, rng):
        path.write_text(mutated_text(self.original.read_text(), rng))

    def read(self, path):
        run_command("lab", "bench", "show", path)


SUBJECTS = (
    *(Rows, RowsHeader, Dataset, PolicyFile, PolicyHeader, NetworkHeader, Space, RecipeFile),
    *(PortfolioManifest, PortfolioFiles, StudyFile, StudyRecords, ToldRow, ResultFile),
)


def run(kind, folder, cases):
    """Change and read something so often; how often it was read, and how often refused."""
    subject = kind(folder)
    outcomes = Counter()
    for seed in range(cases):
        path = folder / f"{seed}{subject.original.suffix}"
        subject.change(path, np.random.default_rng([seed, cases]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                subject.read(path)
                outcomes["read"] += 1
            except SdmbtlError:
                outcomes["refused"] += 1
            except Exception as error:
                raise AssertionError(f"{kind.__name__}, case {seed} of {cases}: {path}") from error
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return outcomes


@pytest.mark.parametrize("kind", SUBJECTS)
def test_changed_files(kind, tmp_path):
    outcomes = run(kind, tmp_path, 40)
    assert outcomes["refused"] > 5, outcomes


@pytest.mark.slow
@pytest.mark.parametrize("kind", SUBJECTS)
def test_thousands_of_changed_files(kind, tmp_path, capsys):
    outcomes = run(kind, tmp_path, 2000)
    with capsys.disabled():
        print(f"\n{kind.__name__}: {dict(outcomes)}")
