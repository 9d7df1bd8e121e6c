"""A context space as notebooks show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdmbtl.contexts.dimension import Dimension, Levels
from sdmbtl.markup import html_lines, html_table
from sdmbtl.wording import counted

if TYPE_CHECKING:
    from sdmbtl.contexts.space import ContextSpace


def space_as_html(space: ContextSpace) -> str:
    """The dimensions as a table."""
    headers = ("dimension", "lowest", "highest", "unit", "scale", "values")
    rows = [
        (name, f"{d.low:g}", f"{d.high:g}", d.unit or "", d.scale, _values(d))
        for name, d in space.dimensions.items()
    ]
    kind = "a grid" if space.is_grid else "a list"
    return html_lines(f"{counted(len(space), 'target')}, {kind}") + html_table(headers, rows)


def _values(dimension: Dimension) -> str:
    return str(len(dimension.values)) if isinstance(dimension, Levels) else "all between"
