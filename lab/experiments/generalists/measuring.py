"""Returns of policies on the targets, and the file of a measurement."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generalists.data_sets import DataSet
from sdmbtl.files import write_atomically
from sdmbtl.policies import Policy
from sdmbtl.seeds import derived_seed
from sdmbtl.training import Trainer

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]


@dataclass(frozen=True)
class Measured:
    """Result of one method with one seed.

    Attributes:
        rows: For each mark, the (N,) mean return in new episodes of the policy chosen for each
            target.
        notes: Further data to record, as JSON.
    """

    rows: Mapping[int, Floats]
    notes: dict[str, Any] = field(default_factory=dict)


def new_returns(
    data: DataSet, trainer: Trainer, policy: Policy, seed: int, only: Numbers | None = None
) -> Floats:
    """(N,) mean returns of a policy in new episodes, which are the same for all policies.

    Args:
        data: The data set.
        trainer: What plays the episodes.
        policy: The policy.
        seed: Root of the episodes.
        only: Targets to play on; NaN on all others.
    """
    played = trainer.evaluate(
        policy,
        data.space.targets,
        episodes=data.episodes,
        seed=derived_seed(seed, "new episodes"),
        only=None if only is None else only.tolist(),
    )
    return np.asarray(played.complete().mean(axis=1))


def fresh_rows(
    data: DataSet,
    trainer: Trainer,
    policies: Sequence[Policy],
    chosen: Mapping[int, Numbers],
    seed: int,
) -> dict[int, Floats]:
    """Return the returns on each target at each mark, in new episodes.

    Args:
        data: The data set.
        trainer: Trainer that plays the episodes.
        policies: All k policies.
        chosen: For each mark the (N,) number of the policy of each target.
        seed: Root of the episodes.
    """
    fresh = np.full((len(policies), len(data.space)), np.nan)
    for number, policy in enumerate(policies):
        needed = np.any([by_target == number for by_target in chosen.values()], axis=0)
        if needed.any():
            fresh[number] = new_returns(data, trainer, policy, seed, np.flatnonzero(needed))
    return {mark: fresh[best, np.arange(len(data.space))] for mark, best in chosen.items()}


def save(folder: Path, data: DataSet, seed: int, measured: Measured) -> None:
    """Keep a measurement: the rows as shares of the range of returns, and their summaries."""
    low, high = data.return_range
    shares = {mark: (row - low) / (high - low) for mark, row in sorted(measured.rows.items())}
    folder.mkdir(parents=True, exist_ok=True)
    packed = io.BytesIO()
    marks = {str(mark): row.astype(np.float16) for mark, row in shares.items()}
    np.savez_compressed(packed, allow_pickle=False, **marks)
    write_atomically(rows_path(folder, seed), packed.getvalue())
    summary = {
        "coverage": {str(mark): float(row.mean()) for mark, row in shares.items()},
        "worst_tenth": {str(mark): worst_tenth(row) for mark, row in shares.items()},
        "episodes": data.episodes,
        **measured.notes,
    }
    write_atomically(folder / f"{seed}.json", json.dumps(summary).encode())


def rows_path(folder: Path, seed: int) -> Path:
    """File of the rows of a measurement."""
    return folder / f"{seed}.npz"


def load_rows(folder: Path, seed: int) -> dict[str, Floats]:
    """For each mark, as text, the (N,) shares of the range of returns."""
    with np.load(rows_path(folder, seed), allow_pickle=False) as packed:
        return {mark: packed[mark].astype(np.float64) for mark in packed.files}


def worst_tenth(shares: Floats) -> float:
    """Mean over the tenth of the targets that have least."""
    return float(np.sort(shares)[: max(1, len(shares) // 10)].mean())
