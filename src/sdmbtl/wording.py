"""Numbers, contexts and times in words, the same wherever they are shown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def printable(text: str, *, keep: str = "") -> str:
    r"""A text with escapes for all that is not seen, as what steers a terminal or turns a line.

    >>> print(printable("red: \x1b[31m, back: \u202e"))
    red: \x1b[31m, back: \u202e

    Args:
        text: The text.
        keep: What stays as it is, such as the end of a line where there may be several.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text
    )


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """A number of things.

    >>> counted(1, "target"), counted(2, "policy", "policies")
    ('1 target', '2 policies')
    """
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def in_words(number: int) -> str:
    """A small number as a word."""
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)


def sentence(text: str) -> str:
    """A text with a capital and a full stop.

    >>> sentence("three more policies are pending")
    'Three more policies are pending.'
    """
    return f"{text[:1].upper()}{text[1:]}."


def percent(share: float) -> str:
    """A share in percent with two digits, all that an estimate is good for.

    >>> percent(0.123), percent(0.0123), percent(1e-9)
    ('12 %', '1.2 %', 'less than 0.01 %')
    """
    value = 100 * share
    if 0 < value < 0.01:
        return "less than 0.01 %"
    return f"{value:.0f} %" if abs(value) >= 10 else f"{value:.2g} %"


def whole_percent(share: float) -> str:
    """A share in whole percent; neither 0 nor 100 % unless it is so, up to rounding.

    >>> whole_percent(0.126), whole_percent(0.001), whole_percent(0.999)
    ('13 %', 'less than 1 %', 'more than 99 %')
    """
    if 1e-12 < share < 0.005:
        return "less than 1 %"
    if 0.995 <= share < 1 - 1e-12:
        return "more than 99 %"
    return f"{100 * share:.0f} %"


def duration(seconds: float) -> str:
    """A time in a few letters.

    >>> duration(42), duration(600), duration(9000)
    ('42 s', '10 min', '2 h 30 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def figure(value: float | None, digits: str = ".4g") -> str:
    """A number as text; a dash if there is none."""
    return "-" if value is None or math.isnan(value) else format(value, digits)


def chosen_by(strategy: str, structure: str | None, model: str | None) -> str:
    """What chose a context, in a word or two: the model, where the predicted gain decided."""
    if strategy == "improvement":
        return model or "first policy"
    found = structure if model is None else model
    return strategy if found is None else f"{strategy} ({found})"


def gain_figure(gain: float | None, span: float | None) -> str:
    """A gain as a share of the known range of returns, as it is if there is none."""
    if gain is None or span is None:
        return figure(gain, "+.4g")
    return figure(gain / span, "+.3f")


def shown_context(context: Mapping[str, object]) -> str:
    """A context as a short text.

    >>> shown_context({"length": 0.5, "mass": 2.0})
    'length=0.5 mass=2'
    """
    return " ".join(
        f"{name}={value:.4g}" if isinstance(value, int | float) else f"{name}={value!r}"
        for name, value in context.items()
    )


def points(share: float) -> str:
    """A difference of coverage in points, hundredths of it, with two digits.

    >>> points(0.123), points(0.01), points(0.0123), points(1e-9)
    ('12 points', '1 point', '1.2 points', 'less than 0.01 points')
    """
    value = 100 * share
    if 0 < value < 0.01:
        return "less than 0.01 points"
    text = f"{value:.0f}" if abs(value) >= 10 else f"{value:.2g}"
    return f"{text} point" if text == "1" else f"{text} points"


def rise_in_words(gain: float, return_range: tuple[float, float] | None) -> str:
    """What rises, and by how much: coverage if the range of returns is known.

    >>> rise_in_words(15.0, (0.0, 500.0)), rise_in_words(15.0, None)
    ('coverage by 3 points', 'the mean best return by 15')
    """
    if return_range is None:
        return f"the mean best return by {gain:.3g}"
    low, high = return_range
    return f"coverage by {points(gain / (high - low))}"


def gain_in_words(gain: float, span: float, *, known: bool) -> str:
    """A gain as points of coverage or a share of the returns so far, and as it is.

    Args:
        gain: The rise of the mean best return.
        span: Width of the range of returns; 0 if there is none.
        known: Whether that is the known range, not that of the returns so far.
    """
    if span <= 0:
        return f"{gain:.3g} to the mean best return"
    if known:
        return f"{points(gain / span)} of coverage ({gain:.3g} in return)"
    return f"{percent(gain / span)} of the range of returns so far ({gain:.3g})"


def covered_in_words(covered: Mapping[str, Any], noun: str = "targets") -> list[str]:
    """The low end of the coverage, and how much is solved, in sentences.

    Args:
        covered: The coverage as JSON data, see `Coverage.to_dict`.
        noun: What is covered.
    """
    near = whole_percent(covered["within_5_percent"])
    worst = f"Worst tenth {covered['worst_tenth']:.3f}"
    lines = [f"{worst}; {near} of the {noun} within 5 % of the best return."]
    if not covered["range_known"]:
        low, high = covered["range"]
        mean = f"mean {covered['coverage']:.3f}"
        lines.insert(0, f"As shares of the returns so far, {low:.4g} to {high:.4g}: {mean}.")
    return lines


def reach_in_words(reach: Mapping[str, Any], *, known: bool) -> str:
    """How many more policies a coverage takes, as in `Reach.to_dict`.

    >>> found = {"coverage": 0.95, "reached": False, "policies": [3, 7], "steps": [9000, 21_000]}
    >>> reach_in_words(found, known=True)
    '95 % coverage: predicted after 3 to 7 more policies (9,000 to 21,000 steps)'

    Args:
        reach: The forecast as JSON data.
        known: Whether the range of returns is known, so that this is coverage.
    """
    share = whole_percent(reach["coverage"])
    what = f"{share} coverage" if known else f"{share} of the range so far"
    if reach["reached"]:
        return f"{what} is reached"
    if reach["policies"] is None:
        levels = f"{reach['levels_off_at']:.2f}, at best at {reach['levels_off_between'][1]:.2f}"
        return f"{what}: not predicted; forecasts level off at {levels}"
    first, last = reach["policies"]
    steps = "" if reach["steps"] is None else f" ({_from_to(*reach['steps'])} steps)"
    if last is None:
        return f"{what}: predicted after {_policies(first)} or later{steps}"
    return f"{what}: predicted after {_policies(last, first)}{steps}"


def _policies(last: int, first: int | None = None) -> str:
    """A number of further policies, or an interval."""
    noun = "policy" if last == 1 and first in (None, 1) else "policies"
    return f"{_from_to(last if first is None else first, last)} more {noun}"


def _from_to(low: int, high: int | None) -> str:
    """An interval of whole numbers, without an end if that is not known."""
    if high is None:
        return f"{low:,} or more"
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def expected_to_add(policies: int, gain: float, span: float, *, known: bool) -> str:
    """What some more policies are expected to add to the mean best return."""
    are = "policy is" if policies == 1 else "policies are"
    added = gain_in_words(gain, span, known=known)
    return f"{in_words(policies)} more {are} expected to add {added}"


def have_added(policies: int, gain: float, span: float, *, known: bool) -> str:
    """What the last policies added to the mean best return."""
    last = "policy" if policies == 1 else f"{in_words(policies)} policies"
    return f"the last {last} added {gain_in_words(gain, span, known=known)}"
