"""A terminal on which text is text: nothing that is printed can steer it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from sdmbtl.wording import printable


class PlainConsole(Console):
    """Rich without markup, and with escapes for control characters in all that is printed.

    Names, errors and paths may come from files of somebody else. They are escaped here, where all
    text passes, so that nobody has to remember it.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Turn anything into pieces of text, and the codes that Rich itself needs."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(printable(text, keep="\n"), style)
