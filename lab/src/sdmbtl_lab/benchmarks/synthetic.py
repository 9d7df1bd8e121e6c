"""The paper's synthetic transfer matrices, exactly, and a few more kinds.

J(pi_x, y) = 500 + f(x) + g(y) + h(x, y) + noise on the grid 0..n-1 in each dimension, with
h(x, y) = -(left · [x - y]_- + right · [x - y]_+). Matrix t draws its noise from NumPy's legacy
generator with seed t, one standard normal number for each pair, so the data are the same bits
everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_float
from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import BenchmarkError
from sdmbtl_lab.benchmarks.problem import Problem

Effect = Literal["constant", "linear", "quadratic", "random", "smooth"]
#: A seed, as NumPy takes it.
Seed = int | np.random.SeedSequence

#: Number of bumps of a smooth effect, and the range of their widths in units of the grid.
BUMPS, BUMP_WIDTHS = 5, (0.2, 0.5)
#: Place of the top of a quadratic effect in each dimension, as a share of the grid.
TOP = 0.7


def effect(
    kind: Effect, contexts: NDArray[np.float64], slope: float, seed: Seed
) -> NDArray[np.float64]:
    """(N,) values of f or g on (N, D) contexts of a grid that begins at 0.

    "quadratic" is a hill with its top off the middle, "random" a number for each context,
    "smooth" a sum of a few random hills and hollows; all have the standard deviation of the
    linear effect, which has this slope in every dimension.
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
    """Add h(x, y) = -(left · [x - y]_- + right · [x - y]_+) to an (S, N) block, in place.

    Args:
        block: Returns.
        sources: (S, D) contexts x.
        targets: (N, D) contexts y.
        left: (D,) slopes where the source is below the target; negative ones make returns fall.
        right: (D,) slopes where the source is above it; positive ones make returns fall.
    """
    for d, (below, above) in enumerate(zip(left, right, strict=True)):
        difference = sources[:, d, None] - targets[:, d]
        block -= below * np.minimum(difference, 0) + above * np.maximum(difference, 0)


CONSTANT = 500.0

#: For each dimension: values per dimension, slope of f, slope of g, matrices in the paper.
GRIDS: dict[int, tuple[int, float, float, int]] = {
    3: (8, 4.0, 3.0, 100),
    5: (5, 2.0, 2.0, 5),
    7: (4, 2.0, 2.0, 5),
}
#: Slopes of h to the left; to the right it is 3 everywhere. -3 makes it the L1 distance.
LEFT_SLOPES: dict[int, dict[str, tuple[float, ...]]] = {
    3: {"non-distance": (1, 1, -3), "l1": (-3,) * 3},
    5: {
        "l1": (-3,) * 5,
        "non-distance 1": (1, 1, 1, -3, -3),
        "non-distance 2": (1, 1, 1, 1, -3),
    },
    7: {"l1": (-3,) * 7, "non-distance": (1, 1, 1, 1, 1, -3, -3)},
}
RIGHT_SLOPE = 3.0
#: Rows are made in blocks of about this many numbers.
BLOCK = 4_000_000


@dataclass(frozen=True)
class SyntheticProblem(Problem):
    """One kind of synthetic transfer matrix.

    Attributes:
        dim: D, the number of dimensions: 3, 5 or 7.
        f: Kind of the policy quality.
        g: Kind of the task difficulty.
        h: Name of the task dissimilarity, a key of `LEFT_SLOPES[dim]`.
        noise: Standard deviation of the noise.
    """

    dim: int
    f: Effect
    g: Effect
    h: str
    noise: float = 0.0

    def __post_init__(self) -> None:
        _check_dim(self.dim)
        check_float("noise", self.noise, low=0, error=BenchmarkError)

    @property
    def name(self) -> str:
        """A short unique name."""
        return f"{self.dim}d-f-{self.f}-g-{self.g}-h-{self.h.replace(' ', '-')}"

    @property
    def label(self) -> str:
        """Label in the progress display."""
        h = self.h.replace("non-distance", "non-dist.")
        return f"f {self.f[:5]}, g {self.g[:5]}, h {h}"

    @property
    def labels(self) -> Mapping[str, str]:
        """Header -> text of its row in a table, as in the paper."""
        f, g, h = (part.capitalize() for part in (self.f, self.g, self.h))
        return {"f(x)": f, "g(y)": g, "h(x,y)": "L1 norm" if h == "L1" else h}

    @property
    def is_mountain(self) -> bool:
        """True for the Mountain structure: constant f, h a distance."""
        return self.f == "constant" and self.h == "l1"

    @property
    def space(self) -> ContextSpace:
        """The grid of contexts."""
        return _grid(self.dim)

    @property
    def one_matrix(self) -> bool:
        """True if there is no noise."""
        return self.noise == 0

    def matrix(self, number: int) -> NDArray[np.floating]:
        """(N, N) returns; the number is the seed of the noise. float32 if the matrix is large."""
        n = len(self.space)
        matrix = np.empty((n, n), dtype=np.float32 if n > 10_000 else np.float64)
        generator = np.random.RandomState(number)
        for where, block in self._noiseless_blocks():
            if self.noise > 0:
                block += self.noise * generator.standard_normal(block.shape)
            matrix[where] = block
        return matrix

    def _noiseless_blocks(self) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yield some rows at a time of 500 + f + g + h."""
        contexts = self.space.targets
        _, f_slope, g_slope, _ = GRIDS[self.dim]
        f = effect(self.f, contexts, f_slope, seed=1)
        g = effect(self.g, contexts, g_slope, seed=2)
        left = LEFT_SLOPES[self.dim][self.h]
        right = (RIGHT_SLOPE,) * self.dim
        rows = max(BLOCK // len(contexts), 1)
        for start in range(0, len(contexts), rows):
            where = slice(start, start + rows)
            block = CONSTANT + f[where, None] + g
            add_slopes(block, contexts[where], contexts, left, right)
            yield where, block


def paper_configurations(dim: int, noise: float = 0.0) -> tuple[SyntheticProblem, ...]:
    """The configurations of the paper's table for 3, 5 or 7 dimensions, in its order."""
    _check_dim(dim)
    if dim == 7:
        pairs: list[tuple[Effect, Effect]] = [("constant", "constant"), ("constant", "linear")]
    elif dim == 5:
        pairs = [(f, g) for f in ("linear", "constant") for g in ("linear", "constant")]
    else:
        pairs = [(f, g) for f in ("constant", "linear") for g in ("linear", "constant")]
    return tuple(SyntheticProblem(dim, f, g, h, noise) for f, g in pairs for h in LEFT_SLOPES[dim])


def further_configurations(dim: int, noise: float = 0.0) -> tuple[SyntheticProblem, ...]:
    """Configurations beyond the paper: quadratic, smooth and random f, quadratic and random g.

    A smooth f can be learned from the policies trained so far. A random f, a number for each
    context, cannot: only training there shows it, so no selector is expected to pass random
    choice by it, while the oracles know it.
    """
    _check_dim(dim)
    qualities: tuple[Effect, ...] = ("quadratic", "smooth", "random")
    difficulties: tuple[Effect, ...] = ("quadratic", "random")
    return tuple(
        SyntheticProblem(dim, f, g, h, noise)
        for f in qualities
        for g in difficulties
        for h in LEFT_SLOPES[dim]
    )


def illustrated_configurations() -> tuple[SyntheticProblem, ...]:
    """The eight configurations of which the paper shows a matrix: four, without and with noise."""
    kinds: tuple[tuple[Effect, Effect, str], ...] = (
        ("constant", "constant", "l1"),
        ("constant", "linear", "non-distance"),
        ("linear", "constant", "l1"),
        ("linear", "linear", "l1"),
    )
    return tuple(SyntheticProblem(3, *kind, noise) for noise in (0.0, 30.0) for kind in kinds)


@cache
def _grid(dim: int) -> ContextSpace:
    _check_dim(dim)
    return ContextSpace(**{f"c{d + 1}": range(GRIDS[dim][0]) for d in range(dim)})


def _check_dim(dim: int) -> None:
    if dim not in GRIDS:
        raise BenchmarkError(
            f"Synthetic data exist for 3, 5 and 7 dimensions. Got dim={dim!r} instead."
        )
