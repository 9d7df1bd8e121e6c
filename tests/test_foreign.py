"""Files of somebody else: the data that are read, and what is refused."""

import io
import json
import math
import os
import threading
import zipfile

import numpy as np
import pytest

from sdmbtl import foreign
from sdmbtl.errors import LimitError
from sdmbtl.foreign import DAMAGED, parse_json, read_bytes, read_json, read_npz

ARRAYS = {
    "numbers": np.arange(6.0).reshape(2, 3),
    "turned": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "codes": np.array([1, 2], dtype=np.uint8),
    "none": np.empty((0, 3)),
    "text": np.array("äbc"),
}


def test_json_there_and_back(tmp_path):
    data = {"a": [1, 2.5, None, True], "ä": {"c": "text, [with] {brackets}"}}
    path = tmp_path / "a.json"
    path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    assert read_json(path) == data
    assert math.isnan(parse_json("NaN"))


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[1,]", "1 2", "\x00", "nul", None, b"1", [1]),
        *("9" * 309, '{"a": [-' + "9" * 5000 + "]}"),
        *("[" * 101 + "]" * 101, '{"a":' * 101 + "1" + "}" * 101, "[" * 100_000),
    ],
    ids=lambda text: repr(text)[:12],
)
def test_texts_that_are_refused(text):
    with pytest.raises(ValueError, match="Expecting|Extra|JSON is a text|nested|digits"):
        parse_json(text)


def test_size_is_checked_before_reading(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    path.write_text("[1, 2]")
    monkeypatch.setattr(foreign, "MAX_TEXT", 5)
    with pytest.raises(LimitError, match="A JSON text is too large: 6 bytes"):
        parse_json("[1, 2]")
    assert read_bytes(path, 6) == b"[1, 2]"
    with pytest.raises(LimitError, match="a.json is too large"):
        read_bytes(path, 5)


@pytest.mark.parametrize("size", [100, 101])
def test_a_pipe_is_read_up_to_the_limit(size, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(bytes(size),))
    writer.start()
    try:
        if size == 100:
            assert len(read_bytes(pipe, 100)) == 100
        else:
            with pytest.raises(LimitError, match="too large"):
                read_bytes(pipe, 100)
    finally:
        writer.join()


class TestArrays:
    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / "a.npz"
        np.savez_compressed(path, **ARRAYS)
        return path

    def test_there_and_back(self, path):
        found = read_npz(path)
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(found[name], array, strict=True)
        assert list(read_npz(path, ["codes"])) == ["codes"]

    def test_arrays_that_are_too_large_in_memory(self, path, monkeypatch):
        np.savez_compressed(path, codes=np.zeros(1000, np.uint8))
        monkeypatch.setattr(foreign, "MAX_BYTES", 7999)
        with pytest.raises(LimitError, match="a.npz is too large: 8,000"):
            read_npz(path)
        monkeypatch.setattr(foreign, "MAX_BYTES", 900)
        with pytest.raises(LimitError, match="a.npz is too large: 1,"):
            read_npz(path)

    def test_an_array_that_says_it_is_larger_than_its_data(self, path):
        header = io.BytesIO()
        description = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
        np.lib.format.write_array_header_1_0(header, description)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.npy", header.getvalue())
        with pytest.raises(DAMAGED):
            read_npz(path)

    def test_objects_are_not_unpickled(self, path):
        np.savez(path, a=np.array([{}], dtype=object))
        with pytest.raises(ValueError, match="allow_pickle"):
            read_npz(path)

    def test_damage(self, path):
        content = bytearray(path.read_bytes())
        content[100] ^= 255
        path.write_bytes(content)
        with pytest.raises(DAMAGED):
            read_npz(path)
        path.write_bytes(b"no archive")
        with pytest.raises(DAMAGED):
            read_npz(path)
        with pytest.raises(FileNotFoundError):
            read_npz(path.with_name("none.npz"))
