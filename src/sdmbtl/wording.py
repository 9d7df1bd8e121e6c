"""Numbers, contexts and times as text, the same wherever they are shown; small pieces of HTML."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sdmbtl.contexts import ContextSpace
    from sdmbtl.selectors import Trial


def printable(text: str, *, keep: str = "") -> str:
    r"""Escape invisible characters, such as codes that steer a terminal or end a line.

    >>> print(printable("red: \x1b[31m, back: \u202e"))
    red: \x1b[31m, back: \u202e

    Args:
        text: The text.
        keep: Characters that stay as they are, such as the end of a line.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text
    )


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Count things.

    >>> counted(1, "target"), counted(2, "policy", "policies")
    ('1 target', '2 policies')
    """
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def sentence(text: str) -> str:
    """Add a capital and a full stop.

    >>> sentence("three more policies are pending")
    'Three more policies are pending.'
    """
    return f"{text[:1].upper()}{text[1:]}."


def coverage_text(share: float) -> str:
    """Format a coverage.

    >>> coverage_text(0.9699)
    '97.0 %'
    """
    return f"{100 * share:.1f} %"


def whole_percent(share: float) -> str:
    """Format a share in whole percent; 0 and 100 % only if exact, up to rounding.

    >>> whole_percent(0.126), whole_percent(0.001), whole_percent(0.999)
    ('13 %', 'less than 1 %', 'more than 99 %')
    """
    if 1e-12 < share < 0.005:
        return "less than 1 %"
    if 0.995 <= share < 1 - 1e-12:
        return "more than 99 %"
    return f"{100 * share:.0f} %"


def duration(seconds: float) -> str:
    """Format a time.

    >>> duration(42), duration(600), duration(9000)
    ('42 s', '10 min', '2 h 30 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def clock(seconds: float) -> str:
    """Format a time as on a clock.

    >>> clock(21), clock(605), clock(9000)
    ('0:21', '10:05', '2:30:00')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def short_count(number: int) -> str:
    """Format a number of steps in few characters.

    >>> short_count(4096), short_count(30_720), short_count(2_500_000)
    ('4,096', '30.7k', '2.5M')
    """
    if number < 10_000:
        return f"{number:,}"
    return f"{number / 1e6:.3g}M" if number >= 999_500 else f"{number / 1e3:.3g}k"


def figure(value: float | None, digits: str = ".4g") -> str:
    """Format a number; a dash if there is none."""
    return "-" if value is None or math.isnan(value) else format(value, digits)


def chosen_by(strategy: str, structure: str | None, model: str | None) -> str:
    """Name the chooser of a context: the model, where the predicted gain decided."""
    if strategy == "improvement":
        return model or "first policy"
    found = structure if model is None else model
    return strategy if found is None else f"{strategy} ({found})"


def gain_figure(gain: float | None, span: float | None) -> str:
    """Format a gain for a table: in points of coverage, or as a return without a known range.

    >>> gain_figure(25.0, 500.0), gain_figure(25.0, None), gain_figure(None, None)
    ('+5.0', '+25', '-')
    """
    if gain is None or span is None:
        return figure(gain, "+.4g")
    return figure(100 * gain / span, "+.1f")


def gain_text(gain: float, span: float | None) -> str:
    """Format a gain in a sentence.

    >>> gain_text(25.0, 500.0), gain_text(25.0, None)
    ('+5.0 points', '+25 in mean best return')
    """
    unit = "in mean best return" if span is None else "points"
    return f"{gain_figure(gain, span)} {unit}"


def shown_context(context: Mapping[str, object]) -> str:
    """Format a context.

    >>> shown_context({"length": 0.5, "mass": 2.0})
    'length=0.5 mass=2'
    """
    return " ".join(
        f"{name}={value:.4g}" if isinstance(value, int | float) else f"{name}={value!r}"
        for name, value in context.items()
    )


def rise_in_words(gain: float, return_range: tuple[float, float] | None) -> str:
    """Describe the rise of the coverage, or the mean best return without a known range.

    >>> rise_in_words(15.0, (0.0, 500.0)), rise_in_words(15.0, None)
    ('coverage by 3.0 points', 'the mean best return by 15')
    """
    if return_range is None:
        return f"the mean best return by {gain:.3g}"
    low, high = return_range
    return f"coverage by {100 * gain / (high - low):.1f} points"


def level_figure(performance: float | None, coverage: float | None) -> str:
    """Write a level as a coverage, or as a mean return if the range of returns is not known."""
    return figure(performance) if coverage is None else coverage_text(coverage)


def trained_on(space: ContextSpace, trials: Sequence[Trial], trial: Trial) -> str:
    """Name the source of a policy, and whether it continues a policy of the whole space."""
    words = space.describe(trial.source.where)
    if trial.parent is None or not space.is_whole(trial.source):
        return words
    return f"{words}, continued" if space.is_whole(trials[trial.parent].source) else words


def html_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table.

    >>> html_table(["name"], [["<b>"]])
    '<table><thead><tr><th>name</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head = _cells("th", headers)
    body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_lines(title: str, lines: Iterable[str] = ()) -> str:
    """A line in bold, and others below it.

    >>> html_lines("A & B", ["one"])
    '<div><strong>A &amp; B</strong><br>one</div>'
    """
    return (
        f"<div>{'<br>'.join([f'<strong>{_escaped(title)}</strong>', *map(_escaped, lines)])}</div>"
    )


def _cells(tag: str, values: Iterable[object]) -> str:
    return "".join(f"<{tag}>{_escaped(value)}</{tag}>" for value in values)


def _escaped(value: object) -> str:
    return escape(printable(str(value)))
