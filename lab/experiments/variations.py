"""More kinds of transfer matrices than the paper's, to try a change of a selector on.

J(x, y) = f(x) + g(y) + h(x - y) + run(x) + noise(x, y), then clipped where returns saturate.
variations.toml has two sets: a selector is developed on `DEVELOPMENT`; a change is real if it wins
on `CHECK` too. Whoever learns from the check set moves it to the development set and makes another.

f, g and h belong to the variation, run and noise to the matrix. They cannot be known before
training: the Myopic Oracle, with one sequence for all matrices, knows only their mean.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.seeds import seed_sequence
from sdmbtl_lab.benchmarks import Problem
from sdmbtl_lab.benchmarks.synthetic import Effect, add_slopes, effect

#: Degrees of freedom of heavy-tailed noise.
TAIL = 3


@dataclass(frozen=True)
class Slopes:
    """A change of return for each step between source and target, as in the paper.

    Attributes:
        left: (D,) where the source is below the target: -3 makes returns fall by 3 per step.
        right: (D,) where the source is above it: 3 makes returns fall by 3 per step.
    """

    left: tuple[float, ...]
    right: tuple[float, ...]

    def between(self, contexts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the (N, N) values of h for (N, D) contexts as sources (rows) and targets."""
        h = np.zeros((len(contexts), len(contexts)))
        add_slopes(h, contexts, contexts, self.left, self.right)
        return h


@dataclass(frozen=True)
class Plateau:
    """A policy serves its neighbourhood and is equally bad everywhere farther away.

    h = -height · (1 - exp(-sum over j of (d_j / reach_j)²)), d the steps from source to target.

    Attributes:
        height: Depth to which returns fall in the end.
        reach: (D,) steps after which they have fallen by 63 % of that.
    """

    height: float
    reach: tuple[float, ...]

    def between(self, contexts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the (N, N) values of h for (N, D) contexts as sources (rows) and targets."""
        squares = np.zeros((len(contexts), len(contexts)))
        for d, reach in enumerate(self.reach):
            squares += ((contexts[:, d, None] - contexts[:, d]) / reach) ** 2
        return np.asarray(-self.height * (1 - np.exp(-squares)))


@dataclass(frozen=True)
class Variation(Problem):
    """One kind of transfer matrix.

    Attributes:
        kind: Its name; with the number of the matrix, the seed of random numbers. "luck" in a
            name is noise between training runs.
        sizes: (D,) number of values in each dimension.
        h: Task dissimilarity.
        f: Kind of the policy quality, and of the task difficulty g.
        f_slope: Its slope if linear; the other kinds have the same standard deviation.
        noise: Standard deviation of the noise.
        heavy_tails: The noise has Student's t distribution instead of the normal one.
        run_deviation: Standard deviation between training runs; a run moves its whole row.
        failures: Share of the training runs that fail.
        failure_drop: Fall of the row of a failed run.
        floor: Quantile of the matrix without noise below which returns are cut off.
        ceiling: Quantile of it above which they are cut off.
    """

    kind: str
    sizes: tuple[int, ...]
    h: Slopes | Plateau
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

    @property
    def name(self) -> str:
        """Name of the problem."""
        return self.kind

    @property
    def labels(self) -> Mapping[str, str]:
        """Header -> text of its row in a table."""
        grid = "x".join(map(str, self.sizes))
        return {"variation": self.name.replace("luck", "run-variance"), "grid": grid}

    @property
    def rounds(self) -> int:
        """The most policies that are trained: on half of the contexts."""
        return len(self.space) // 2

    @property
    def space(self) -> ContextSpace:
        """The grid of contexts: 0, 1, ... in each dimension."""
        return _grid(self.sizes)

    def matrix(self, number: int) -> NDArray[np.float64]:
        """Return the (N, N) returns of one of its matrices."""
        plain, n = noiseless(self), len(self.space)
        runs = self.run_deviation * self._rng("luck", number).standard_normal(n)
        failed = self._rng("failures", number).random(n) < self.failures
        rng = self._rng("noise", number)
        if self.heavy_tails:  # the variance of Student's t is degrees / (degrees - 2)
            noise = self.noise / np.sqrt(TAIL / (TAIL - 2)) * rng.standard_t(TAIL, (n, n))
        else:
            noise = self.noise * rng.standard_normal((n, n))
        low, high = np.quantile(plain, [self.floor, self.ceiling])
        clipped: NDArray[np.float64] = np.clip(
            plain + (runs - self.failure_drop * failed)[:, None] + noise,
            low if self.floor > 0 else None,
            high if self.ceiling < 1 else None,
        )
        return clipped

    def _rng(self, part: str, number: int) -> np.random.Generator:
        return np.random.default_rng(seed_sequence(0, f"{part} of {self.name}", number))


@cache
def _grid(sizes: tuple[int, ...]) -> ContextSpace:
    return ContextSpace(**{f"c{d + 1}": range(size) for d, size in enumerate(sizes)})


@lru_cache(maxsize=2)
def noiseless(variation: Variation) -> NDArray[np.float64]:
    """Return the (N, N) f + g + h of a variation, shared by all callers."""
    contexts = variation.space.targets
    f_seed, g_seed = (seed_sequence(0, f"{part} of {variation.name}") for part in "fg")
    f = effect(variation.f, contexts, variation.f_slope, f_seed)
    g = effect(variation.g, contexts, variation.g_slope, g_seed)
    return np.asarray(f[:, None] + g + variation.h.between(contexts))


def _variation(entry: dict[str, Any]) -> Variation:
    """Make a variation from its table in variations.toml."""
    values: dict[str, Any] = {
        key: tuple(v) if isinstance(v, list) else v for key, v in entry.pop("h").items()
    }
    if "loss" in values:
        loss = values["loss"]
        values = {"left": tuple(-slope for slope in loss), "right": loss}
    h = Plateau(**values) if "reach" in values else Slopes(**values)
    return Variation(sizes=tuple(entry.pop("sizes")), h=h, **entry)


_SETS = tomllib.loads(Path(__file__).with_name("variations.toml").read_text())
DEVELOPMENT, CHECK = (tuple(map(_variation, _SETS[name])) for name in ("development", "check"))
