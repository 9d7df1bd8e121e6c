"""Texts of the lab's command line as values."""

from __future__ import annotations

import re

from sdmbtl.cli.output import ArgumentError


def parse_whole_numbers(text: str, option: str) -> tuple[int, ...]:
    """Return whole numbers from 1 on, separated by commas; none of an empty text.

    Raises:
        ArgumentError: If a part is not one.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(re.fullmatch(r"0*[1-9][0-9]{0,17}", part) for part in parts):
        raise ArgumentError(
            f"{option} takes whole numbers >= 1 separated by commas, such as 6,12,50. "
            f"Got {text!r} instead."
        )
    return tuple(map(int, parts))
