"""Texts of somebody else: what is read, and what is refused."""

import json
import math
import os
import threading

import pytest

from sdmbtl.errors import LimitError
from sdmbtl.limits import raised_limits
from sdmbtl.reading import parse_json, read_bytes, read_json, read_text


def nested(depth, inner="1"):
    return "[" * depth + inner + "]" * depth


def test_json_data():
    data = {"a": [1, 2.5, None, True], "b": {"c": "text, [with] {brackets}"}}
    assert parse_json(json.dumps(data)) == data
    assert math.isnan(parse_json("NaN"))
    assert parse_json("7") == 7


@pytest.mark.parametrize("text", ["", "{", "[1,]", "1 2", "\x00", "nul"])
def test_texts_that_are_not_json(text):
    with pytest.raises(ValueError, match="Expecting|Extra"):
        parse_json(text)


@pytest.mark.parametrize("text", [None, b"1", 3, [1]])
def test_what_is_not_a_text(text):
    with pytest.raises(ValueError, match="JSON is a text, not"):
        parse_json(text)


def test_depth():
    assert parse_json(nested(100))
    with pytest.raises(LimitError, match="f.json is nested too deeply. The depth is at least 101"):
        parse_json(nested(101), "f.json")
    with raised_limits(nesting=101):
        assert parse_json(nested(101))
    with pytest.raises(LimitError, match="nested too deeply"):
        parse_json('{"a":' * 101 + "1" + "}" * 101)
    with pytest.raises(ValueError, match="it is nested too deeply to be read"):
        parse_json(nested(100_000))


def test_numbers():
    assert parse_json(str(10**307)) == 10**307
    assert parse_json('"' + "9" * 500 + '"') == "9" * 500, "a text may be long"
    assert math.isinf(parse_json("1e999"))
    for digits in (309, 500, 5000):
        for text in ("9" * digits, "[[" + "9" * digits + "]]", '{"a": -' + "9" * digits + "}"):
            with pytest.raises(ValueError, match="a whole number of more than 308 digits"):
                parse_json(text)


def test_length_and_values():
    with raised_limits(text_bytes=5), pytest.raises(LimitError, match="MAX_TEXT_BYTES=6"):
        parse_json("[1, 2]")
    with raised_limits(values=2), pytest.raises(LimitError, match="SDMBTL_MAX_VALUES=3"):
        parse_json("[1, 2]")
    with raised_limits(values=3):
        assert parse_json("[1, 2]") == [1, 2]


def test_files(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"ä": 1}', encoding="utf-8")
    assert read_json(path) == {"ä": 1}
    with raised_limits(text_bytes=8):
        with pytest.raises(LimitError, match="a.json is too large. Its size in bytes is 9"):
            read_text(path)
        assert len(read_bytes(path)) == 9, "another limit holds for these"
    path.write_bytes(b"\xff")
    with pytest.raises(UnicodeDecodeError):
        read_json(path)
    with pytest.raises(FileNotFoundError):
        read_json(tmp_path / "none")


def test_what_has_no_size_is_read_up_to_the_limit(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for size in (100, 101):
        writer = threading.Thread(target=pipe.write_bytes, args=(bytes(size),))
        writer.start()
        with raised_limits(text_bytes=100):
            if size == 100:
                assert len(read_bytes(pipe, "text_bytes")) == 100
            else:
                with pytest.raises(LimitError, match="at least 101; at most 100"):
                    read_bytes(pipe, "text_bytes")
        writer.join()
