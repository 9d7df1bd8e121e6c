"""The largest grid of targets."""

from __future__ import annotations

import math
from collections.abc import Mapping

from sdmbtl.checks import MAX_COUNT, check_int
from sdmbtl.errors import ContextError


def check_grid(levels: Mapping[str, int]) -> None:
    """Refuse a grid of too many targets, before its values are made.

    Args:
        levels: The number of values of each dimension.

    Raises:
        ContextError: If there are more combinations than `MAX_COUNT`.
    """
    for name, number in levels.items():
        check_int(f"levels of {name}", number, low=0, high=MAX_COUNT, error=ContextError)
    if math.prod(levels.values()) > MAX_COUNT:
        shape = " x ".join(f"{number:,}" for number in levels.values())
        raise ContextError(
            f"A grid of {shape} targets is too large: at most {MAX_COUNT:,} are allowed. Use "
            "fewer levels, or a sample of the space."
        )
