"""Numbers, contexts, times and gains in words."""

import pytest

from sdmbtl.wording import (
    counted,
    duration,
    expected_to_add,
    have_added,
    in_words,
    percent,
    shown_context,
)


def test_expected_gains():
    assert expected_to_add(3, 0.0012, 0.4) == (
        "three more policies are expected to add 0.3 % of the range of returns (0.0012)"
    )
    assert expected_to_add(1, 12.0, 100.0) == (
        "one more policy is expected to add 12 % of the range of returns (12)"
    )


def test_gains_that_came():
    assert have_added(2, -0.05, 1.0) == (
        "the last two policies added -5 % of the range of returns (-0.05)"
    )
    assert have_added(1, 0.5, 1.0) == "the last policy added 50 % of the range of returns (0.5)"


def test_no_range():
    assert expected_to_add(3, 0.0, 0.0) == (
        "three more policies are expected to add 0 to the mean best return"
    )


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (1e-7, "less than 0.01 %"),
        (0.00312, "0.31 %"),
        (0.09999, "10 %"),
        (-0.0312, "-3.1 %"),
    ],
)
def test_percent(share, text):
    assert percent(share) == text


def test_times():
    texts = [duration(seconds) for seconds in (0, 89.4, 90, 5369, 5400, 360_000)]
    assert texts == ["0 s", "89 s", "2 min", "89 min", "1 h 30 min", "100 h 0 min"]


def test_contexts():
    assert shown_context({"a": 0.123456, "kind": "x"}) == "a=0.1235 kind='x'"


def test_things_counted():
    assert [counted(n, "policy", "policies") for n in (0, 1)] == ["0 policies", "1 policy"]
    assert counted(2, "target") == "2 targets"


def test_numbers_in_words():
    assert [in_words(n) for n in (1, 10, 11)] == ["one", "ten", "11"]
