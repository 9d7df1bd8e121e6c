"""Numbers, contexts, times and gains in words."""

import pytest

from sdmbtl.wording import chosen_by, duration, rise_in_words, shown_context


@pytest.mark.parametrize(
    ("gain", "text"),
    [
        (15.0, "coverage by 3 points"),
        (5.0, "coverage by 1 point"),
        (4.0, "coverage by 0.8 points"),
        (0.0, "coverage by 0 points"),
        (0.001, "coverage by less than 0.01 points"),
    ],
)
def test_a_rise_of_coverage(gain, text):
    assert rise_in_words(gain, (-100.0, 400.0)) == text


def test_times():
    texts = [duration(seconds) for seconds in (0, 89.4, 90, 5369, 5400, 360_000)]
    assert texts == ["0 s", "89 s", "2 min", "89 min", "1 h 30 min", "100 h 0 min"]


def test_contexts():
    assert shown_context({"a": 0.123456, "kind": "x"}) == "a=0.1235 kind='x'"


@pytest.mark.parametrize(
    ("strategy", "structure", "model", "text"),
    [
        ("improvement", None, "plateau", "plateau"),
        ("improvement", None, None, "first policy"),
        ("random", None, "none", "random (none)"),
        ("m-mbtl", "mountain", None, "m-mbtl (mountain)"),
        ("m-mbtl", None, "plateau", "m-mbtl (plateau)"),
        ("reported", None, None, "reported"),
    ],
)
def test_what_chose_a_context(strategy, structure, model, text):
    assert chosen_by(strategy, structure, model) == text
