"""How well training goes, and how far few policies get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl_lab.matrices.anatomy.scales import Floats
from sdmbtl_lab.matrices.dataset import TransferDataset
from sdmbtl_lab.matrices.margins import CHOICE_ROUND, choice_margin, oracle_curve, random_curve
from sdmbtl_lab.matrices.transfer_matrices import min_max

#: Rounds of the curves of oracle and random choice.
ROUNDS = 20
#: A target that no policy of any seed brings above this is not solved.
SOLVED = 0.5
#: Contexts whose mean is off the middle by this, in unit coordinates, are mostly low or high.
MOSTLY = 0.1


@dataclass(frozen=True)
class Training:
    """How well training goes.

    Attributes:
        own: Mean return of the policies on the contexts that they were trained on.
        best: Mean return of the best policy for each target.
        own_is_best: Share of contexts whose own policy has 0.95 of their best policy's return.
        unsolved: Indices of the targets that no policy of any seed solves.
        unsolved_where: Where they lie, by dimension.
    """

    own: float
    best: float
    own_is_best: float
    unsolved: tuple[int, ...]
    unsolved_where: str


@dataclass(frozen=True)
class FewPolicies:
    """How far few policies get; means over the seeds.

    Attributes:
        at_top: Share of all returns that are at least 0.99.
        single: Mean return of the best single policy.
        single_covers: Share of targets on which it has 0.95 of their best policy's return.
        oracle: (K,) mean best return after k policies of the greedy oracle, one sequence for all
            seeds.
        random: (K,) the same expected for random choice.
        everything: The same with all policies.
        margin: Oracle minus random choice after `margin_round` policies.
        margin_round: Number of policies at which the margin is taken.
        hard_targets: Share of targets on which fewer than 5 % of the policies have 0.9 of the best
            policy's return.
        multi_task: Number of policies -> mean return of one multi-task policy with their steps.
    """

    at_top: float
    single: float
    single_covers: float
    oracle: Floats
    random: Floats
    everything: float
    margin: float
    margin_round: int
    hard_targets: float
    multi_task: Mapping[int, float]


def measure_training(space: ContextSpace, returns: Floats) -> Training:
    """Measure training; `returns` is (W, N, N), scaled."""
    best = returns.max(axis=1)  # (W, N)
    own = returns.diagonal(axis1=1, axis2=2)
    unsolved = np.flatnonzero(best.max(axis=0) < SOLVED)
    return Training(
        own=float(own.mean()),
        best=float(best.mean()),
        own_is_best=float((own >= 0.95 * best).mean()),
        unsolved=tuple(unsolved.tolist()),
        unsolved_where=_where(space, unsolved),
    )


def _where(space: ContextSpace, chosen: NDArray[np.intp]) -> str:
    """Where some contexts lie, by dimension: "mass >= 2, length 1 to 3, mostly low force"."""
    if not len(chosen):
        return ""
    tendency = space.unit_targets[chosen].mean(axis=0) - space.unit_targets.mean(axis=0)
    parts = []
    for (name, dimension), values, shift in zip(
        space.dimensions.items(), space.targets[chosen].T, tendency, strict=True
    ):
        low, high = float(values.min()), float(values.max())
        at_low, at_high = low <= dimension.low, high >= dimension.high
        if at_low and at_high:
            if abs(shift) >= MOSTLY:
                parts.append(f"mostly {'high' if shift > 0 else 'low'} {name}")
        elif low == high:
            parts.append(f"{name} = {low:.3g}")
        elif at_low:
            parts.append(f"{name} <= {high:.3g}")
        elif at_high:
            parts.append(f"{name} >= {low:.3g}")
        else:
            parts.append(f"{name} {low:.3g} to {high:.3g}")
    return ", ".join(parts) or "all over the space"


def measure_few_policies(
    dataset: TransferDataset, returns: Floats, low: float, high: float
) -> FewPolicies:
    """Measure them; `returns` is (W, N, N), scaled from `low` and `high`."""
    rounds = min(ROUNDS, returns.shape[1])
    best = returns.max(axis=1)
    single = returns.mean(axis=2).argmax(axis=1)
    single_rows = returns[np.arange(len(returns)), single]  # (W, N)
    reach = (returns >= 0.9 * best[:, None]).mean(axis=1)  # (W, N) share of the policies
    return FewPolicies(
        at_top=float((returns >= 0.99).mean()),
        single=float(single_rows.mean()),
        single_covers=float((single_rows >= 0.95 * best).mean()),
        oracle=oracle_curve(returns, rounds),
        random=random_curve(returns, rounds),
        everything=float(best.mean()),
        margin=choice_margin(returns),
        margin_round=min(CHOICE_ROUND, rounds),
        hard_targets=float((reach < 0.05).mean()),
        multi_task={
            k: float(min_max(np.asarray(values), low, high).mean())
            for k, values in sorted(dataset.multi_task.items())
        },
    )
