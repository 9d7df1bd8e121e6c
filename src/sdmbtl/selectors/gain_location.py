"""Location of a gain: the targets it is for, in a few words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: The gaining targets are high or low in a dimension if their mean differs from that of all targets
#: by this many standard deviations. A gain that grows evenly from one end to the other has 0.58.
SHIFTED = 0.5


def where_gained(
    gains: NDArray[np.floating], targets: NDArray[np.float64], names: Sequence[str]
) -> str | None:
    """The one or two dimensions in which the gaining targets differ most from all targets.

    Args:
        gains: (N,) improvement on each target, none of them negative.
        targets: (N, D) the targets in unit coordinates.
        names: The D coordinates; "ground=ice" is one of a category.

    Returns:
        Such as "high length and low mass"; None if the gain is spread evenly, or there is none.

    >>> line = np.linspace(0.0, 1.0, 5)
    >>> targets = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    >>> where_gained(targets[:, 0] * (targets[:, 1] < 0.3), targets, ["length", "mass"])
    'high length and low mass'
    >>> where_gained(np.ones(25), targets, ["length", "mass"])
    """
    total = float(gains.sum())
    if not total > 0:
        return None
    varied = np.flatnonzero(np.ptp(targets, axis=0) > 0)
    standard = (targets[:, varied] - targets[:, varied].mean(axis=0)) / targets[:, varied].std(
        axis=0
    )
    shifts = (np.asarray(gains, dtype=np.float64) / total) @ standard
    most = np.argsort(-np.abs(shifts), kind="stable")[:2]
    named = sorted(int(d) for d in most if abs(shifts[d]) >= SHIFTED)
    return " and ".join(_level(names[varied[d]], bool(shifts[d] > 0)) for d in named) or None


def _level(name: str, high: bool) -> str:
    if "=" in name:
        return name if high else name.replace("=", " other than ")
    return f"{'high' if high else 'low'} {name}"
