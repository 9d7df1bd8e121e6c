"""Gains in words, the same wherever they are told."""

from __future__ import annotations

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def expected_to_add(policies: int, gain: float, span: float) -> str:
    """What some more policies are expected to add to the mean best return.

    Args:
        policies: Number of further policies.
        gain: What they are expected to add.
        span: Width of the range of returns; 0 if it is not known.
    """
    are = "policy is" if policies == 1 else "policies are"
    return f"{in_words(policies)} more {are} expected to add {share_of(gain, span)}"


def have_added(policies: int, gain: float, span: float) -> str:
    """What the last policies added to the mean best return.

    Args:
        policies: Number of policies.
        gain: What they added.
        span: Width of the range of returns; 0 if it is not known.
    """
    last = "policy" if policies == 1 else f"{in_words(policies)} policies"
    return f"the last {last} added {share_of(gain, span)}"


def share_of(gain: float, span: float) -> str:
    """A gain as a share of the range of returns, and as it is."""
    if span <= 0:
        return f"{gain:.3g} to the mean best return"
    return f"{percent(gain / span)} of the range of returns ({gain:.3g})"


def percent(share: float) -> str:
    """A share in percent with two digits, all that an estimate is good for."""
    value = 100 * share
    if 0 < value < 0.01:
        return "less than 0.01 %"
    return f"{value:.0f} %" if abs(value) >= 10 else f"{value:.2g} %"


def in_words(number: int) -> str:
    """A small number as a word."""
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)
