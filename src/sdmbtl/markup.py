"""Small pieces of HTML, for notebooks: all text in them is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from sdmbtl.wording import printable


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
    return f"<div>{'<br>'.join([f'<strong>{_text(title)}</strong>', *map(_text, lines)])}</div>"


def _cells(tag: str, values: Iterable[object]) -> str:
    return "".join(f"<{tag}>{_text(value)}</{tag}>" for value in values)


def _text(value: object) -> str:
    return escape(printable(str(value)))
