"""Texts of the command line as values."""

import pytest

from sdmbtl.cli.output import ArgumentError
from sdmbtl.cli.parsing import parse_context, parse_seconds, parse_settings


@pytest.mark.parametrize(
    ("text", "value"),
    [("90", 90), ("1.5m", 90), ("1h30m", 5400), ("1d", 86400)],
)
def test_times(text, value):
    assert parse_seconds(text, "--time") == value


@pytest.mark.parametrize(
    "text", ["", "-3s", "3 weeks", "1m1", "soon", "nan", "inf", "1e3", "9" * 400, "٣s"]
)
def test_texts_that_are_not_times(text):
    with pytest.raises(ArgumentError, match="--time is a time"):
        parse_seconds(text, "--time")


def test_settings_are_json_or_text():
    given = ["a=1", "b=[1, 2]", "c=text", "d=null", "e=x=y", "f="]
    expected = {"a": 1, "b": [1, 2], "c": "text", "d": None, "e": "x=y", "f": ""}
    assert parse_settings(given, "--set") == expected
    with pytest.raises(ArgumentError, match="'a' twice"):
        parse_settings(["a=1", "a=2"], "--set")
    for text in ("gamma", "=1"):
        with pytest.raises(ArgumentError, match="KEY=VALUE"):
            parse_settings([text], "--set")
    assert parse_context(["a=1, b=2", '{"c": 3}', "d=4"]) == {"a": 1, "b": 2, "c": 3, "d": 4}
    with pytest.raises(ArgumentError, match="'a' twice"):
        parse_context(["a=1", "a=2"])
