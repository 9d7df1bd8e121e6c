"""The paper's two experiments: on synthetic matrices, and on matrices of real training."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sdmbtl.checks import check_int
from sdmbtl.errors import BenchmarkError
from sdmbtl_lab.benchmarks.benchmark import Benchmark
from sdmbtl_lab.benchmarks.columns import (
    ABLATION,
    INDEPENDENT,
    MYOPIC,
    RANDOM,
    SEQUENTIAL,
    with_both_ends,
)
from sdmbtl_lab.benchmarks.problem import MatrixProblem
from sdmbtl_lab.benchmarks.synthetic import (
    GRIDS,
    SyntheticProblem,
    further_configurations,
    paper_configurations,
)
from sdmbtl_lab.matrices.shipped import matrix_names

#: The paper's selectors, and M/GP-MBTL with our detector; on real matrices also the paper's
#: ablation and the baselines.
SYNTHETIC_SELECTORS = (RANDOM, "gp-mbtl", "m-mbtl", "m/gp-mbtl", "m/gp-mbtl-unbiased", MYOPIC)
REAL_SELECTORS = (
    *(INDEPENDENT, RANDOM, "gp-mbtl", "m-mbtl", "m/gp-mbtl", "m/gp-mbtl-unbiased"),
    *(*ABLATION, MYOPIC, SEQUENTIAL),
)
#: K of the synthetic tables, and of those on real matrices, where the paper has 12 and 50.
SYNTHETIC_ROUNDS = 50
REAL_POLICIES = (6, 12, 50)
#: Matrices that are drawn from the seeds, as in the paper.
REAL_TRIALS = 100
#: Data enter the aggregate for K policies while the oracle is this far above random choice.
LEAST_MARGIN = 0.01

_SYNTHETIC_NOTES = (
    "J = f(x) + g(y) + h(x,y) + 500 + noise: policy quality, task difficulty, dissimilarity.",
    "Random is the exact expectation over all random choices; the oracle knows the matrices.",
)
_REAL_NOTES = (
    "Each matrix has its rows drawn from the seeds. The intervals say how well the mean "
    "over such matrices is known, not how other training runs would come out.",
    "Margin: Myopic Oracle minus Random with K policies.",
    "Independent trains a policy on every context, N instead of K. Multi-task is one policy that "
    "sees its context, trained with the steps of K.",
)


def synthetic_benchmark(
    dim: int,
    noise: float,
    trials: int | None = None,
    rounds: int = SYNTHETIC_ROUNDS,
    selectors: Sequence[str] = SYNTHETIC_SELECTORS,
    configurations: Sequence[SyntheticProblem] = (),
) -> Benchmark:
    """The experiment on synthetic matrices in 3, 5 or 7 dimensions.

    Args:
        dim: Number of dimensions.
        noise: Standard deviation of the noise.
        trials: W; the paper's number if None. Without noise all matrices are equal: one is run.
        rounds: K, the number of trained policies.
        selectors: Names of selectors.
        configurations: Kinds of matrices, which get this noise; the paper's if left out.
    """
    kinds = tuple(configurations) or paper_configurations(dim)
    if any(kind.dim != dim for kind in kinds):
        raise BenchmarkError(f"Every configuration must have {dim} dimensions.")
    usual = GRIDS[dim][3]
    wanted = check_int("trials", usual if trials is None else trials, low=1, error=BenchmarkError)
    check_int("rounds", rounds, low=1, high=len(kinds[0].space), error=BenchmarkError)
    problems = tuple(replace(kind, noise=noise) for kind in kinds)
    name = f"synthetic-{dim}d-noise{noise:g}{_which(problems)}"
    name += _chosen(selectors, SYNTHETIC_SELECTORS)
    # A quick look must not take the place of the paper's experiment.
    if noise > 0 and wanted != usual:
        name += f"-w{wanted}"
    effects = dict.fromkeys(kind.f for kind in kinds)
    further = f" with {', '.join(effects)} f" if "quadratic" in effects else ""
    return Benchmark(
        problems=problems,
        selectors=tuple(selectors),
        trials=wanted if noise > 0 else 1,
        policies=(rounds,),
        name=name if rounds == SYNTHETIC_ROUNDS else f"{name}-k{rounds}",
        title=f"{dim}D synthetic data{further}, noise {noise:g}",
        settings={"kind": "synthetic", "dim": dim, "noise": noise},
        seeds="noise of trial t: np.random.RandomState(t); selectors: seed t",
        notes=_SYNTHETIC_NOTES,
    )


def real_benchmark(
    data: Sequence[str] = (),
    trials: int = REAL_TRIALS,
    policies: Sequence[int] = REAL_POLICIES,
    selectors: Sequence[str] = REAL_SELECTORS,
) -> Benchmark:
    """The experiment on matrices of real training.

    Args:
        data: Names of shipped data sets, or paths; all shipped ones if left out.
        trials: Number of matrices that are drawn from the seeds of each data set: every row, a
            training run, comes from one of the seeds.
        policies: Numbers of trained policies that are reported.
        selectors: Names of selectors.
    """
    places = tuple(data) or matrix_names()
    problems = tuple(map(MatrixProblem, places))
    name = "real"  # a part must not replace the full run
    if places != matrix_names():
        name += f"-{short_names([problem.name for problem in problems])}"
    name += _chosen(selectors, REAL_SELECTORS)
    if trials != REAL_TRIALS:
        name += f"-w{trials}"
    reported = tuple(sorted(set(policies)))
    return Benchmark(
        problems=problems,
        selectors=tuple(selectors),
        trials=trials,
        policies=reported,
        name=name if reported == REAL_POLICIES else f"{name}-k{_joined(reported)}",
        title="real matrices",
        headers=("data", "N", "seeds", "margin"),
        settings={"kind": "real"},
        seeds="matrix t: rows drawn with a seed derived from t; selectors: seed t",
        notes=_REAL_NOTES,
        least_margin=LEAST_MARGIN,
    )


def short_names(names: Sequence[str]) -> str:
    """Names in the name of a file; a few in full, many by a hash."""
    if len(names) > 3:
        return f"{len(names)}-{hashlib.sha256(' '.join(names).encode()).hexdigest()[:6]}"
    return _joined(name.replace("/", "") for name in names)


def _chosen(selectors: Sequence[str], usual: Sequence[str]) -> str:
    """Return the part of a file name that names the selectors; empty for the paper's."""
    every = with_both_ends(selectors)
    added = [name for name in every if name not in usual]
    if set(every) >= set(usual):
        return f"-with-{short_names(added)}" if added else ""
    return f"-{short_names([n for n in every if n not in (RANDOM, MYOPIC)] or [RANDOM])}"


def _joined(parts: Iterable[object]) -> str:
    return "-".join(map(str, parts))


def _which(kinds: tuple[SyntheticProblem, ...]) -> str:
    """Return the part of a file name that names the kinds of matrices."""
    dim = kinds[0].dim
    noise = kinds[0].noise
    known = {paper_configurations(dim, noise): "", further_configurations(dim, noise): "-further"}
    return known.get(kinds, "-some")
