"""Names of selectors and baselines in tables, and the order in which they stand."""

from __future__ import annotations

from collections.abc import Iterable

from sdmbtl.checks import did_you_mean
from sdmbtl.errors import BenchmarkError
from sdmbtl.selectors.make import selector_names, split_options

#: Baselines that are computed from the whole matrix instead of by ask and tell.
RANDOM, INDEPENDENT = "random", "independent"
MYOPIC, SEQUENTIAL = "myopic-oracle", "sequential-oracle"
ORACLES = (MYOPIC, SEQUENTIAL)
#: One policy that was trained on all targets; its returns come with a data set.
MULTI_TASK = "multi-task"
#: The selector of single contexts that has no detector, and one strategy after its first policy.
PREDICTIVE = "predictive"
#: Each of the paper's strategies with random choice in place of the other.
ABLATION = ("m+random", "gp+random")

TITLES = {
    RANDOM: "Random",
    "gp-mbtl": "GP-MBTL",
    "gp-mbtl-original": "GP-MBTL (original)",
    "m-mbtl": "M-MBTL",
    "m/gp-mbtl": "M/GP-MBTL",
    "m/gp-mbtl-unbiased": "M/GP-MBTL (unbiased)",
    "m+random": "M+Random",
    "gp+random": "GP+Random",
    INDEPENDENT: "Independent",
    MULTI_TASK: "Multi-task",
    MYOPIC: "Myopic Oracle",
    SEQUENTIAL: "Sequential Oracle",
}


def titles(names: Iterable[str]) -> tuple[str, ...]:
    """Headers of the columns of selectors."""
    return tuple(TITLES.get(name, name) for name in names)


def column_order(names: Iterable[str]) -> list[str]:
    """Baselines first and the oracles last, as the paper has it."""
    names = list(names)
    first = [n for n in (INDEPENDENT, MULTI_TASK, RANDOM) if n in names]
    last = [n for n in ORACLES if n in names]
    return [*first, *(n for n in names if n not in (*first, *last)), *last]


def without_baselines(names: Iterable[str]) -> list[str]:
    """Return selectors that choose one context after another, without those that set the scale."""
    apart = (INDEPENDENT, MULTI_TASK, RANDOM, *ORACLES)
    return [name for name in names if name not in apart]


def with_both_ends(selectors: Iterable[str]) -> tuple[str, ...]:
    """Selectors, and random and the Myopic Oracle, which set the scale."""
    names = tuple(selectors)
    known = sorted({*selector_names(), *ORACLES})
    for name in names:
        plain, _ = split_options(name)
        if plain not in known and ":" not in plain:
            raise BenchmarkError(
                f"Unknown selector {name!r}. Known are: {', '.join(known)}."
                f"{did_you_mean(name, known)}"
            )
    return (*names, *(name for name in (RANDOM, MYOPIC) if name not in names))
