"""The parts that synthetic transfer matrices are made of: f(x), g(y) and h(x - y)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sdmbtl.errors import BenchmarkError

Effect = Literal["constant", "linear", "quadratic", "random", "smooth"]
#: What NumPy takes as a seed.
Seed = int | np.random.SeedSequence

#: Number of bumps of a smooth effect, and the range of their widths in units of the grid.
BUMPS, BUMP_WIDTHS = 5, (0.2, 0.5)
#: Where the top of a quadratic effect is in each dimension, as a share of the grid.
TOP = 0.7


def check_effect(part: str, kind: str) -> None:
    """Refuse an unknown kind of f or g.

    Raises:
        BenchmarkError: If there is no such kind.
    """
    if kind not in get_args(Effect):
        raise BenchmarkError(f"{part!r} must be one of {get_args(Effect)}. Got {kind!r} instead.")


def effect(
    kind: Effect, contexts: NDArray[np.float64], slope: float, seed: Seed
) -> NDArray[np.float64]:
    """(N,) values of f or g.

    "quadratic" is a hill with its top off the middle, "random" a number for each context,
    "smooth" a sum of a few random hills and hollows; all have the standard deviation of the
    linear effect.

    Args:
        kind: What it looks like.
        contexts: (N, D) contexts of a grid that begins at 0.
        slope: Slope of the linear effect, in every dimension.
        seed: Seed of "random" and "smooth".
    """
    if kind == "constant":
        return np.zeros(len(contexts))
    linear: NDArray[np.float64] = slope * contexts.sum(axis=1)
    if kind == "linear":
        return linear
    if kind == "quadratic":
        shape = -((contexts - TOP * contexts.max(axis=0)) ** 2).sum(axis=1)
    elif kind == "random":
        shape = np.random.default_rng(seed).standard_normal(len(contexts))
    else:
        shape = _bumps(contexts / contexts.max(axis=0), np.random.default_rng(seed))
    return np.asarray((shape - shape.mean()) * (linear.std() / shape.std()))


def _bumps(unit: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """(N,) sum of Gaussian bumps, up and down, over (N, D) contexts in 0..1."""
    centres = rng.random((BUMPS, unit.shape[1]))
    widths = rng.uniform(*BUMP_WIDTHS, (BUMPS, 1)) * np.sqrt(unit.shape[1])
    squares = (((unit[:, None] - centres) / widths) ** 2).sum(axis=2)
    return np.asarray(np.exp(-squares / 2) @ rng.standard_normal(BUMPS))


def add_slopes(
    block: NDArray[np.float64],
    sources: NDArray[np.float64],
    targets: NDArray[np.float64],
    left: Sequence[float],
    right: Sequence[float],
) -> None:
    """Add h(x, y) = -(left · [x - y]_- + right · [x - y]_+) to a block, in place.

    Args:
        block: (S, N) returns.
        sources: (S, D) contexts x.
        targets: (N, D) contexts y.
        left: (D,) slopes where the source is below the target; negative ones make returns fall.
        right: (D,) slopes where the source is above it; positive ones make returns fall.
    """
    for d, (below, above) in enumerate(zip(left, right, strict=True)):
        difference = sources[:, d, None] - targets[:, d]
        block -= below * np.minimum(difference, 0) + above * np.maximum(difference, 0)
