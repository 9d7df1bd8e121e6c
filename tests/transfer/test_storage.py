"""Files of arrays with their space: round trips, damage, other kinds and releases."""

import json
from contextlib import suppress

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.errors import MatrixError
from sdmbtl.transfer.storage import load_arrays, save_arrays

SPACE = ContextSpace(a=[0.0, 1.0], b=[1.0, 2.0, 4.0])
RETURNS = np.arange(12.0).reshape(2, 6)
SHAPES = {"returns": ("policies", "targets")}


@pytest.fixture
def path(tmp_path):
    """Path of an intact file."""
    save_arrays(tmp_path / "file.npz", kind="rows", space=SPACE, arrays={"returns": RETURNS})
    return tmp_path / "file.npz"


def load(path, kind="rows", shapes=SHAPES):
    return load_arrays(path, kind=kind, arrays=shapes)


def test_round_trip(path):
    space, arrays = load(path)
    assert space == SPACE
    np.testing.assert_array_equal(arrays["returns"], RETURNS)


def test_a_failed_write_leaves_the_old_file(path, monkeypatch):
    def write_half(file, **arrays):
        file.write(b"half a file")
        raise OSError("No space left on device")

    monkeypatch.setattr(np, "savez_compressed", write_half)
    with pytest.raises(OSError, match="No space"):
        save_arrays(path, kind="rows", space=SPACE, arrays={"returns": RETURNS + 1})
    np.testing.assert_array_equal(load(path)[1]["returns"], RETURNS)
    assert list(path.parent.iterdir()) == [path]


def test_no_file_and_no_objects(path, tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "other.npz")
    with pytest.raises(MatrixError, match="Object"):
        save_arrays(path, kind="rows", space=SPACE, arrays={"returns": np.array([None])})


@pytest.mark.parametrize("content", [b"", b"garbage", b"PK\x03\x04", b"\x80\x04N.", b"\x93NUMPY"])
def test_garbage(path, content):
    path.write_bytes(content)
    with pytest.raises(MatrixError, match="damaged"):
        load(path)


def test_truncated_or_changed_anywhere(path):
    content = path.read_bytes()
    for place in range(0, len(content), 13):
        path.write_bytes(content[:place])
        with pytest.raises(MatrixError, match="damaged"):
            load(path)
        changed = bytearray(content)
        changed[place] ^= 0xFF
        path.write_bytes(changed)
        with suppress(MatrixError):  # names and dates of the archive may change without harm
            np.testing.assert_array_equal(load(path)[1]["returns"], RETURNS)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"version": 2}, "version"),
        ({"kind": "matrices"}, "expected"),
        ({"space": {"dimensions": 3}}, "damaged"),
        ({"space": ContextSpace(a=[0.0, 1.0]).to_dict()}, "shape"),
    ],
)
def test_other_headers(path, change, word):
    header = {"version": 1, "kind": "rows", "space": SPACE.to_dict()} | change
    np.savez_compressed(path, header=np.array(json.dumps(header)), returns=RETURNS)
    with pytest.raises(MatrixError, match=word):
        load(path)
