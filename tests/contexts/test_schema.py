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
]


def test_a_file_that_is_read_is_valid(tmp_path):
    (tmp_path / "space.toml").write_text(GOOD)
    toml.load_space(tmp_path / "space.toml")
    jsonschema.validate(tomllib.loads(GOOD), space_schema())


@pytest.mark.parametrize("text", BAD)
def test_a_file_that_is_refused_is_not_valid(text, tmp_path):
    (tmp_path / "space.toml").write_text(text)
    with pytest.raises(ContextError):
        toml.load_space(tmp_path / "space.toml")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(text), space_schema())
