"""Numbers, contexts, times and gains in words."""

import pytest

from sdmbtl.wording import (
    chosen_by,
    counted,
    covered_in_words,
    duration,
    expected_to_add,
    gain_figure,
    have_added,
    in_words,
    percent,
    rise_in_words,
    shown_context,
)


def test_expected_gains():
    assert expected_to_add(3, 0.0012, 0.4, known=False) == (
        "three more policies are expected to add 0.3 % of the range of returns so far (0.0012)"
    )
    assert expected_to_add(1, 12.0, 100.0, known=True) == (
        "one more policy is expected to add 12 points of coverage (12 in return)"
    )


def test_gains_that_came():
    assert have_added(2, -0.05, 1.0, known=True) == (
        "the last two policies added -5 points of coverage (-0.05 in return)"
    )
    assert have_added(1, 0.5, 1.0, known=False) == (
        "the last policy added 50 % of the range of returns so far (0.5)"
    )


@pytest.mark.parametrize("known", [True, False])
def test_no_range(known):
    assert expected_to_add(3, 0.0, 0.0, known=known) == (
        "three more policies are expected to add 0 to the mean best return"
    )


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


def test_coverage_in_sentences():
    covered = {"coverage": 0.9, "worst_tenth": 0.5, "within_5_percent": 0.75, "range": [0.0, 500.0]}
    worst = "Worst tenth 0.500; 75 % of the targets within 5 % of the best return."
    assert covered_in_words({**covered, "range_known": True}) == [worst]
    assert covered_in_words({**covered, "range_known": False}, "contexts") == [
        "As shares of the returns so far, 0 to 500: mean 0.900.",
        worst.replace("targets", "contexts"),
    ]


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


def test_gains():
    assert gain_figure(25.0, 500.0) == "+0.050"
    assert gain_figure(25.0, None) == "+25"
    assert gain_figure(None, 500.0) == "-"
