"""What policies give on the targets, and how a measurement is kept."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from generalists.contexts import Floats, Numbers, worst_tenth
from generalists.data_sets import DataSet
from sdmbtl.files import write_atomically
from sdmbtl.policies import Policy
from sdmbtl.seeds import derived_seed
from sdmbtl.training import Trainer

#: Episodes on each target by which policies are chosen, and as many new ones that are reported.
EPISODES = 10
#: Fewer contexts than this are filled up: each number of episodes is compiled by itself.
FEWEST_CONTEXTS = 102


@dataclass(frozen=True)
class Measured:
    """What one method reaches with one seed.

    Attributes:
        rows: For each mark, the (N,) mean return in new episodes of the policy chosen for each
            target.
        notes: What else is recorded, as JSON data.
    """

    rows: Mapping[int, Floats]
    notes: dict[str, Any] = field(default_factory=dict)


def mean_returns(
    trainer: Trainer, policy: Policy, contexts: Floats, seed: int, key: str, *numbers: int
) -> Floats:
    """(n,) mean returns of a policy in episodes of their own for each key."""
    filled = np.resize(contexts, (max(len(contexts), FEWEST_CONTEXTS), contexts.shape[1]))
    episodes = derived_seed(seed, key, *numbers)
    returns = trainer.evaluate(policy, filled, episodes=EPISODES, seed=episodes).complete()
    return np.asarray(returns.mean(axis=1)[: len(contexts)])


def recorded_rows(data: DataSet, trainer: Trainer, policies: Sequence[Policy], seed: int) -> Floats:
    """(k, N) mean returns of policies on the targets, by which they are chosen."""
    targets = data.space.targets
    return np.stack(
        [mean_returns(trainer, p, targets, seed, "recorded", i) for i, p in enumerate(policies)]
    )


def fresh_rows(
    data: DataSet,
    trainer: Trainer,
    policies: Sequence[Policy],
    recorded: Floats,
    members: Mapping[int, Sequence[int]],
    seed: int,
) -> dict[int, Floats]:
    """What each target gets at each mark, in new episodes.

    Args:
        data: The data set.
        trainer: What plays the episodes.
        policies: All k policies.
        recorded: (k, N) returns by which one is chosen for each target.
        members: For each mark the numbers of the policies that there are by then.
        seed: Root of the episodes.
    """
    targets = data.space.targets
    chosen = {mark: chosen_policies(recorded, some) for mark, some in members.items()}
    fresh = np.full(recorded.shape, np.nan)
    for number, policy in enumerate(policies):
        needed = np.any([by_target == number for by_target in chosen.values()], axis=0)
        if needed.any():
            fresh[number, needed] = mean_returns(
                trainer, policy, targets[needed], seed, "fresh", number
            )
    return {mark: fresh[best, np.arange(len(targets))] for mark, best in chosen.items()}


def chosen_policies(recorded: Floats, members: Sequence[int]) -> Numbers:
    """(N,) for each target which of some policies has the highest recorded return."""
    best = recorded[list(members)].argmax(axis=0)
    return np.asarray(np.array(members, dtype=np.intp)[best])


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
