"""How large a grid of targets may be."""

from __future__ import annotations

import math
from collections.abc import Mapping

from sdmbtl.limits import check_limit, shown_count


def check_grid(levels: Mapping[str, int]) -> None:
    """Refuse a grid of too many targets, before its values are made.

    Args:
        levels: For each dimension the number of its values.

    Raises:
        LimitError: If there are more combinations than targets are allowed.
    """
    shape = " x ".join(map(shown_count, levels.values()))
    check_limit("targets", math.prod(levels.values()), f"The grid of {shape} targets has")
