"""More kinds of transfer matrices than the paper's, to try a change of a selector on.

J(x, y) = f(x) + g(y) + h(x - y) + run(x) + noise(x, y), then clipped where returns saturate.
They come in two sets with different numbers: a selector is developed on `DEVELOPMENT`; a change is
real if it wins on `CHECK` too. Whoever learns from the check set moves it to the development set
and makes a new one.

f, g and h belong to the variation, run and noise to the matrix: they cannot be known before
training, and the Myopic Oracle, with one sequence for all matrices, knows no more of them than
their mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import BenchmarkError
from sdmbtl.seeds import seed_sequence
from sdmbtl_lab.benchmarks import Problem
from sdmbtl_lab.benchmarks.effects import Effect, add_slopes, check_effect, effect

#: Degrees of freedom of heavy-tailed noise.
TAIL = 3


class Dissimilarity(Protocol):
    """How the return depends on the way from source to target."""

    @property
    def n_dimensions(self) -> int:
        """D."""

    def between(self, contexts: NDArray[np.float64]) -> NDArray[np.float64]:
        """(N, N) values of h for (N, D) contexts as sources (rows) and targets."""


@dataclass(frozen=True)
class Slopes:
    """A change of return for each step between source and target, as in the paper.

    Attributes:
        left: For each dimension, where the source is below the target: -3 makes returns fall by
            3 a step.
        right: For each dimension, where the source is above it: 3 makes returns fall by 3 a step.
    """

    left: tuple[float, ...]
    right: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.left) != len(self.right):
            raise BenchmarkError(
                "Slopes must be given for as many dimensions to the left as to the right. "
                f"Got {len(self.left)} and {len(self.right)} instead."
            )

    @property
    def n_dimensions(self) -> int:
        """D."""
        return len(self.left)

    def between(self, contexts: NDArray[np.float64]) -> NDArray[np.float64]:
        """(N, N) values of h for (N, D) contexts as sources (rows) and targets."""
        h = np.zeros((len(contexts), len(contexts)))
        add_slopes(h, contexts, contexts, self.left, self.right)
        return h


def _symmetric(*losses: float) -> Slopes:
    """Slopes of a distance: returns fall by so much a step, to either side."""
    return Slopes(tuple(-loss for loss in losses), losses)


@dataclass(frozen=True)
class Plateau:
    """A policy serves its neighbourhood and, everywhere farther off, is equally bad.

    h = -height · (1 - exp(-sum over j of (d_j / reach_j)²)), d the steps from source to target.

    Attributes:
        height: How far returns fall in the end.
        reach: Steps in each dimension after which they have fallen by 63 % of that.
    """

    height: float
    reach: tuple[float, ...]

    @property
    def n_dimensions(self) -> int:
        """D."""
        return len(self.reach)

    def between(self, contexts: NDArray[np.float64]) -> NDArray[np.float64]:
        """(N, N) values of h for (N, D) contexts as sources (rows) and targets."""
        squares = np.zeros((len(contexts), len(contexts)))
        for d, reach in enumerate(self.reach):
            squares += ((contexts[:, d, None] - contexts[:, d]) / reach) ** 2
        return np.asarray(-self.height * (1 - np.exp(-squares)))


@dataclass(frozen=True)
class Variation(Problem):
    """One kind of transfer matrix.

    Attributes:
        kind: What is inside, its name; with the number of the matrix the seed of random numbers.
            So recorded names stay as they are: "luck" in them is noise between training runs.
        sizes: Number of values in each dimension.
        h: Task dissimilarity.
        f: Kind of the policy quality.
        f_slope: Its slope if linear; the other kinds have the same standard deviation.
        g: Kind of the task difficulty.
        g_slope: Its slope, as for f.
        noise: Standard deviation of the noise.
        heavy_tails: Whether the noise has Student's t distribution instead of the normal one.
        run_deviation: Standard deviation between training runs; a run moves its whole row.
        failures: Share of the training runs that fail.
        failure_drop: How far the row of a failed run falls.
        floor: Quantile of the matrix without noise below which returns are cut off.
        ceiling: Quantile of it above which they are cut off.
    """

    kind: str
    sizes: tuple[int, ...]
    h: Dissimilarity
    f: Effect = "constant"
    f_slope: float = 0.0
    g: Effect = "constant"
    g_slope: float = 0.0
    noise: float = 0.0
    heavy_tails: bool = False
    run_deviation: float = 0.0
    failures: float = 0.0
    failure_drop: float = 0.0
    floor: float = 0.0
    ceiling: float = 1.0

    def __post_init__(self) -> None:
        check_effect("f", self.f)
        check_effect("g", self.g)
        if self.h.n_dimensions != len(self.sizes):
            raise BenchmarkError(
                f"'h' of {self.name!r} must have {len(self.sizes)} dimensions, one for each of the "
                f"sizes {self.sizes}. Got {self.h.n_dimensions} instead."
            )
        if not 0 <= self.failures <= 1:
            raise BenchmarkError(
                f"'failures' of {self.name!r} is a share and must be in 0..1. "
                f"Got {self.failures!r} instead."
            )
        if not 0 <= self.floor < self.ceiling <= 1:
            raise BenchmarkError(
                f"'floor' and 'ceiling' of {self.name!r} are quantiles and must be in 0..1, the "
                f"floor below the ceiling. Got {self.floor!r} and {self.ceiling!r} instead."
            )

    @property
    def name(self) -> str:
        """What is inside."""
        return self.kind

    @property
    def label(self) -> str:
        """What to show while it is worked on."""
        return f"{self.name}, {self._grid}"

    @property
    def labels(self) -> Mapping[str, str]:
        """Header -> text of its row in a table."""
        # The name is a seed and a key of recorded results; what is shown need not be.
        return {"variation": self.name.replace("luck", "run-variance"), "grid": self._grid}

    @property
    def _grid(self) -> str:
        return "x".join(map(str, self.sizes))

    @property
    def rounds(self) -> int:
        """The most policies that are trained: on half of the contexts."""
        return len(self.space) // 2

    @property
    def space(self) -> ContextSpace:
        """The grid of contexts: 0, 1, ... in each dimension."""
        return _grid(self.sizes)

    def noiseless(self) -> NDArray[np.float64]:
        """(N, N) f + g + h: before noise, not cut off."""
        return _noiseless(self).copy()

    def matrix(self, number: int) -> NDArray[np.float64]:
        """(N, N) returns of one of its matrices."""
        plain = _noiseless(self)
        returns = plain + self._row_offsets(number)[:, None] + self._noise(number)
        low, high = np.quantile(plain, [self.floor, self.ceiling])
        return np.clip(
            returns,
            low if self.floor > 0 else None,
            high if self.ceiling < 1 else None,
        )

    def _row_offsets(self, number: int) -> NDArray[np.float64]:
        """(N,) offset of each training run, failures among them."""
        n = len(self.space)
        runs = self.run_deviation * self._rng("luck", number).standard_normal(n)
        failed = self._rng("failures", number).random(n) < self.failures
        return np.asarray(runs - self.failure_drop * failed)

    def _noise(self, number: int) -> NDArray[np.float64]:
        """(N, N) noise of standard deviation `noise`."""
        n, rng = len(self.space), self._rng("noise", number)
        if self.heavy_tails:
            # The variance of Student's t is degrees / (degrees - 2).
            return np.asarray(
                self.noise / np.sqrt(TAIL / (TAIL - 2)) * rng.standard_t(TAIL, (n, n))
            )
        return self.noise * rng.standard_normal((n, n))

    def _rng(self, part: str, number: int) -> np.random.Generator:
        return np.random.default_rng(seed_sequence(0, f"{part} of {self.name}", number))


@cache
def _grid(sizes: tuple[int, ...]) -> ContextSpace:
    return ContextSpace(**{f"c{d + 1}": range(size) for d, size in enumerate(sizes)})


@lru_cache(maxsize=2)
def _noiseless(variation: Variation) -> NDArray[np.float64]:
    """(N, N) f + g + h of a variation; not to be changed."""
    contexts = variation.space.targets
    f_seed, g_seed = (seed_sequence(0, f"{part} of {variation.name}") for part in "fg")
    f = effect(variation.f, contexts, variation.f_slope, f_seed)
    g = effect(variation.g, contexts, variation.g_slope, g_seed)
    return np.asarray(f[:, None] + g + variation.h.between(contexts))


DEVELOPMENT: tuple[Variation, ...] = (
    Variation(
        "distance",
        sizes=(40, 5),
        h=_symmetric(5, 1),
        noise=2,
    ),
    Variation(
        "one-sided-linear-f",
        sizes=(12, 12),
        h=Slopes((0, -1), (8, 4)),
        f="linear",
        f_slope=5,
        noise=5,
    ),
    Variation(
        "irrelevant-smooth-f",
        sizes=(8, 8, 4, 2),
        h=_symmetric(7, 3, 0, 0),
        f="smooth",
        f_slope=4,
        noise=5,
    ),
    Variation(
        "smooth-f-quadratic-g",
        sizes=(5, 5, 5, 4),
        h=_symmetric(4, 3, 3, 2),
        f="smooth",
        f_slope=4,
        g="quadratic",
        g_slope=3,
        noise=2,
    ),
    Variation(
        "luck",
        sizes=(6, 6, 6),
        h=_symmetric(4, 4, 2),
        g="linear",
        g_slope=3,
        noise=2,
        run_deviation=8,
    ),
    Variation(
        "failures-floor",
        sizes=(10, 10, 4),
        h=_symmetric(5, 3, 3),
        noise=2,
        failures=0.15,
        failure_drop=60,
        floor=0.5,
    ),
    Variation(
        "quadratic-f-ceiling",
        sizes=(8, 8, 8),
        h=_symmetric(5, 4, 3),
        f="quadratic",
        f_slope=3,
        noise=3,
        ceiling=0.95,
    ),
    Variation(
        "plateau-smooth-g",
        sizes=(12, 12),
        h=Plateau(100, (3, 4)),
        g="smooth",
        g_slope=3,
        noise=5,
    ),
    Variation(
        "rising-left-linear-f-heavy-tails-floor-ceiling",
        sizes=(7, 7, 7),
        h=Slopes((1, 1, -3), (3, 3, 3)),
        f="linear",
        f_slope=4,
        noise=10,
        heavy_tails=True,
        floor=0.02,
        ceiling=0.995,
    ),
    Variation(
        "one-sided-luck-ceiling",
        sizes=(20, 20),
        h=Slopes((0, -3), (4, 3)),
        f="linear",
        f_slope=2,
        noise=2,
        run_deviation=10,
        ceiling=0.95,
    ),
    Variation(
        "one-sided-irrelevant-heavy-tails-floor-ceiling",
        sizes=(8, 5, 4, 3),
        h=Slopes((0, -5, 0, 0), (7, 5, 0, 0)),
        f="smooth",
        f_slope=5,
        noise=8,
        heavy_tails=True,
        floor=0.02,
        ceiling=0.99,
    ),
    Variation(
        "line-random-f",
        sizes=(40,),
        h=_symmetric(4),
        f="random",
        f_slope=1.5,
        noise=20,
    ),
    # These were a check set once; what failed on them led to changes.
    Variation(
        "unequal-distance-floor",
        sizes=(22, 22),
        h=_symmetric(2, 5),
        floor=0.5,
    ),
    Variation(
        "one-sided-quadratic-f",
        sizes=(7, 7, 5),
        h=Slopes((-6, -1, 0), (0, 1, 8)),
        f="quadratic",
        f_slope=4,
        noise=4,
    ),
    Variation(
        "irrelevant-random-g-floor",
        sizes=(25, 3, 3, 2),
        h=_symmetric(6, 0, 4, 0),
        g="random",
        g_slope=0.3,
        noise=4,
        floor=0.4,
    ),
    Variation(
        "smooth-f-smooth-g",
        sizes=(18, 14),
        h=_symmetric(3, 4),
        f="smooth",
        f_slope=5,
        g="smooth",
        g_slope=2,
        noise=3,
    ),
    Variation(
        "strong-luck-linear-f",
        sizes=(5, 4, 4, 4),
        h=_symmetric(6, 4, 4, 3),
        f="linear",
        f_slope=1,
        noise=3,
        run_deviation=15,
    ),
    Variation(
        "failures-smooth-f",
        sizes=(21, 11),
        h=_symmetric(3, 5),
        f="smooth",
        f_slope=2,
        noise=4,
        failures=0.2,
        failure_drop=80,
    ),
    Variation(
        "linear-f-floor-ceiling",
        sizes=(9, 8, 7),
        h=_symmetric(3, 6, 4),
        f="linear",
        f_slope=2,
        noise=3,
        floor=0.2,
        ceiling=0.96,
    ),
    Variation(
        "plateau-luck",
        sizes=(7, 7, 6),
        h=Plateau(70, (2, 3, 5)),
        g="linear",
        g_slope=3,
        noise=3,
        run_deviation=10,
    ),
    Variation(
        "rising-right-random-f-heavy-tails-floor-ceiling",
        sizes=(16, 16),
        h=Slopes((-4, -3), (-1, 3)),
        f="random",
        f_slope=1.5,
        noise=6,
        heavy_tails=True,
        floor=0.01,
        ceiling=0.999,
    ),
    Variation(
        "one-sided-failures-floor-ceiling",
        sizes=(10, 9, 5),
        h=Slopes((-5, -2, 0), (0, 4, 6)),
        f="smooth",
        f_slope=4,
        noise=3,
        failures=0.1,
        failure_drop=70,
        floor=0.1,
        ceiling=0.98,
    ),
    Variation(
        "one-sided-irrelevant-luck-heavy-tails-floor-ceiling",
        sizes=(6, 6, 5, 3),
        h=Slopes((-6, -4, 0, 0), (0, 4, 0, 0)),
        f="quadratic",
        f_slope=4,
        noise=6,
        heavy_tails=True,
        run_deviation=6,
        floor=0.03,
        ceiling=0.99,
    ),
    Variation(
        "line-plateau-quadratic-f",
        sizes=(120,),
        h=Plateau(60, (9,)),
        f="quadratic",
        f_slope=0.4,
        noise=15,
    ),
)

CHECK: tuple[Variation, ...] = (
    Variation(
        "three-distances-linear-f-smooth-g",
        sizes=(11, 6, 6),
        h=_symmetric(2, 7, 5),
        f="linear",
        f_slope=2,
        g="smooth",
        g_slope=4,
        noise=6,
    ),
    Variation(
        "one-sided-smooth-f",
        sizes=(15, 13),
        h=Slopes((-2, 0), (5, 6)),
        f="smooth",
        f_slope=3,
        noise=3,
    ),
    Variation(
        "irrelevant-linear-f-random-g",
        sizes=(9, 7, 3, 3),
        h=_symmetric(0, 5, 0, 6),
        f="linear",
        f_slope=1.5,
        g="random",
        g_slope=2,
        noise=5,
    ),
    Variation(
        "quadratic-f-quadratic-g-ceiling",
        sizes=(17, 17),
        h=_symmetric(4, 2),
        f="quadratic",
        f_slope=3,
        g="quadratic",
        g_slope=2,
        noise=4,
        ceiling=0.9,
    ),
    Variation(
        "luck-smooth-f",
        sizes=(9, 9, 4),
        h=_symmetric(5, 3, 2),
        f="smooth",
        f_slope=5,
        noise=2,
        run_deviation=5,
    ),
    Variation(
        "failures-linear-f",
        sizes=(8, 7, 6),
        h=_symmetric(4, 5, 3),
        f="linear",
        f_slope=3,
        noise=4,
        failures=0.12,
        failure_drop=50,
    ),
    Variation(
        "smooth-f-floor",
        sizes=(19, 19),
        h=_symmetric(4, 3),
        f="smooth",
        f_slope=4,
        noise=2,
        floor=0.3,
    ),
    Variation(
        "plateau-ceiling",
        sizes=(10, 7, 6),
        h=Plateau(90, (4, 2, 8)),
        g="quadratic",
        g_slope=3,
        noise=4,
        ceiling=0.97,
    ),
    Variation(
        "plateau-failures-smooth-f",
        sizes=(14, 16),
        h=Plateau(80, (5, 3)),
        f="smooth",
        f_slope=2,
        noise=3,
        failures=0.1,
        failure_drop=60,
    ),
    Variation(
        "rising-left-heavy-tails-floor-ceiling",
        sizes=(6, 5, 4, 4),
        h=Slopes((2, -3, -2, 1), (4, 3, 2, 5)),
        noise=7,
        heavy_tails=True,
        floor=0.03,
        ceiling=0.98,
    ),
    Variation(
        "one-sided-luck-quadratic-f-floor-ceiling",
        sizes=(13, 8, 4),
        h=Slopes((0, -4, -3), (5, 0, 3)),
        f="quadratic",
        f_slope=2,
        noise=3,
        run_deviation=4,
        floor=0.05,
        ceiling=0.97,
    ),
    Variation(
        "line-distance-smooth-f",
        sizes=(90,),
        h=_symmetric(2),
        f="smooth",
        f_slope=2,
        noise=12,
    ),
)
