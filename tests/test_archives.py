"""Archives of somebody else: only what is asked for is read, once its size is known."""

import io
import zipfile

import numpy as np
import pytest

from sdmbtl.archives import DAMAGED, ArrayArchive, open_archive, read_entry
from sdmbtl.errors import LimitError
from sdmbtl.limits import raised_limits

ARRAYS = {
    "numbers": np.arange(6.0).reshape(2, 3),
    "turned": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "codes": np.array([1, 2], dtype=np.uint8),
    "none": np.empty((0, 3)),
}


def packed(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file


def test_arrays_there_and_back():
    with ArrayArchive(packed(**ARRAYS), "a.npz") as archive:
        assert archive.names == list(ARRAYS)
        found = archive.read(ARRAYS)
        assert archive.header("codes") == ((2,), np.dtype(np.uint8))
    for name, array in ARRAYS.items():
        assert np.array_equal(found[name], array)
        assert found[name].dtype == array.dtype


def test_the_size_is_that_of_numbers_with_64_bits():
    archive = ArrayArchive(packed(**ARRAYS), "a.npz")
    with raised_limits(array_bytes=15), pytest.raises(LimitError, match="a.npz is too large.* 16;"):
        archive.read(["codes"])
    with raised_limits(array_bytes=16):
        assert archive.read(["codes"])["codes"].tolist() == [1, 2]
        with pytest.raises(LimitError, match="take in memory are 24; "):
            archive.read(["none"])


def test_texts():
    archive = ArrayArchive(packed(text=np.array("äbc"), numbers=np.zeros(2)), "a.npz")
    assert archive.text("text") == "äbc"
    with raised_limits(text_bytes=11), pytest.raises(LimitError, match="text 'text' are 12"):
        archive.text("text")
    with pytest.raises(ValueError, match="'numbers' is not a text but float64"):
        archive.text("numbers")
    with pytest.raises(ValueError, match="'text' does not hold numbers"):
        archive.read(["text"])
    with pytest.raises(KeyError, match="'more'"):
        archive.read(["more"])


def test_entries():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a", b"12345")
        archive.writestr("b", b"")
    with open_archive(file, "x.zip") as archive:
        assert read_entry(archive, "a", "x.zip") == b"12345"
        with raised_limits(array_bytes=4), pytest.raises(LimitError, match="entry 'a' are 5"):
            read_entry(archive, "a", "x.zip")
    with raised_limits(entries=1), pytest.raises(LimitError, match="SDMBTL_MAX_ENTRIES=2"):
        open_archive(file, "x.zip")


def test_a_changed_byte_is_noticed():
    file = packed(numbers=np.arange(1000.0))
    content = bytearray(file.getvalue())
    content[400] ^= 1
    with pytest.raises(DAMAGED):
        ArrayArchive(io.BytesIO(content), "a.npz").read(["numbers"])
