"""Location of a gain: the targets it is for, in a few words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: The gaining targets are high or low in a dimension if their mean differs from that of all targets
#: by this many standard deviations. A gain that grows evenly from one end to the other has 0.58.
SHIFTED = 0.5
#: They are in the middle if they are not shifted and their standard deviation is at most this share
#: of that of all targets. The middle half of a range has 0.5.
NARROW = 0.6
#: A second dimension is named if it differs by at least this share of the first.
ALSO = 0.25
#: A dimension whose standard deviation is not above this, in unit coordinates, does not vary.
CONSTANT = 1e-9
#: The smallest variance that counts, as a share of that of all targets: on a grid a gain may be for
#: a single level, which must not hide that it is for a part of another dimension too.
LEAST_VARIANCE = 0.05


def where_gained(
    gains: NDArray[np.floating], targets: NDArray[np.float64], names: Sequence[str]
) -> str | None:
    """The one or two dimensions in which the gaining targets differ most from all targets.

    Args:
        gains: (N,) improvement on each target, none of them negative.
        targets: (N, D) the targets in unit coordinates.
        names: The D dimensions.

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
    weights = np.asarray(gains, dtype=np.float64) / total
    middle, spread = targets.mean(axis=0), targets.std(axis=0)
    varied = np.flatnonzero(spread > CONSTANT)
    standard = (targets[:, varied] - middle[varied]) / spread[varied]
    shift = weights @ standard
    variance = np.maximum(weights @ standard**2 - shift**2, LEAST_VARIANCE)
    # How far two normal distributions are apart: shifts and widths on one scale.
    difference = 0.5 * (shift**2 + variance - 1.0 - np.log(variance))
    levels = [_level(float(s), float(v) ** 0.5) for s, v in zip(shift, variance, strict=True)]
    order = [d for d in np.argsort(-difference, kind="stable") if levels[d] is not None]
    named = [d for d in order[:2] if difference[d] >= ALSO * difference[order[0]]]
    return " and ".join(f"{levels[d]} {names[varied[d]]}" for d in sorted(named)) or None


def _level(shift: float, width: float) -> str | None:
    """Locate the gaining targets on a dimension; None if they lie where all do."""
    if abs(shift) >= SHIFTED:
        return "high" if shift > 0 else "low"
    return "middle" if width <= NARROW else None
