"""The JSON Schema of space files agrees with the parser."""

import tomllib
from pathlib import Path

import pytest

from sdmbtl.contexts import toml
from sdmbtl.contexts.schema import space_schema
from sdmbtl.errors import ContextError

jsonschema = pytest.importorskip("jsonschema")
GOOD = (Path(__file__).parents[2] / "examples/carts.toml").read_text()
BAD = [
    "[dimensions.a]\nvalues = [1, 2]\nlevles = 3",
    "[dimensions.a]\nlevels = 3",
    "[dimensions.a]\nvalues = 3",
    "[dimensions.a]\nvalues = [1, 2]\n[returns]\nmin = 0",
    "[returns]\nmin = 0\nmax = 1",
    "valid = 3\n[dimensions.a]\nvalues = [1, 2]",
    "weights = 3\n[dimensions.a]\nvalues = [1, 2]",
    '[dimensions.a]\nvalues = [1, 2]\ndensity = {kind = "gauss"}',
    "[dimensions.a]\nvalues = [1, 2]\n[targets]\nsamples = 3",
]
EVERY_KEY = """
valid = "a < 2"
[dimensions.a]
low = 0
high = 3
unit = "kg"
density = {kind = "normal", mean = 1, sd = 1}
[targets]
list = [{a = 1, weight = 2}]
logged = "log.csv"
[splits.heavy]
a = [1, 2]
"""


def test_a_file_that_is_read_is_valid(tmp_path):
    (tmp_path / "space.toml").write_text(GOOD)
    toml.load_space(tmp_path / "space.toml")
    jsonschema.validate(tomllib.loads(GOOD), space_schema())


def test_every_table_is_known_and_every_key_described(tmp_path):
    (tmp_path / "log.csv").write_text("a\n1\n")
    (tmp_path / "space.toml").write_text(EVERY_KEY)
    toml.load_space(tmp_path / "space.toml")
    schema = space_schema()
    jsonschema.validate(tomllib.loads(EVERY_KEY), schema)
    tables = schema["properties"]
    keys = [tables["dimensions"]["additionalProperties"], tables["targets"], tables["returns"]]
    assert all(each["description"] for table in keys for each in table["properties"].values())


@pytest.mark.parametrize("text", BAD)
def test_a_file_that_is_refused_is_not_valid(text, tmp_path):
    (tmp_path / "space.toml").write_text(text)
    with pytest.raises(ContextError):
        toml.load_space(tmp_path / "space.toml")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(text), space_schema())
