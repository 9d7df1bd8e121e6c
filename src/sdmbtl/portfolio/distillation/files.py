"""Files of networks: a distillation that can be killed and continued."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np

from sdmbtl.machine import CORE, TRAINING, versions
from sdmbtl.policies import policy_bytes, save_policy
from sdmbtl.portfolio.distillation.distiller import Distillation, Distiller
from sdmbtl.portfolio.network import NetworkRecord, read_record
from sdmbtl.seeds import derived_seed
from sdmbtl.training.checkpoint import Checkpoint
from sdmbtl.training.progress import Progress

#: Targets on which a network is measured, with an episode on each.
MEASURED = 128


def distill_to_file(
    path: Path,
    distiller: Distiller,
    steps: int,
    *,
    progress: Progress | None = None,
    checkpoint_seconds: float = 60.0,
) -> NetworkRecord:
    """Distil a network, measure it and write it, with its record as the notes of the file.

    After a kill the same call continues where the last checkpoint was. Once the file is there, the
    same call does nothing.
    """
    identity = _identity(distiller, steps)
    known = read_record(path)
    if known is not None and known.identity == identity:
        return known
    checkpoint = Checkpoint(path.with_name(f".{path.stem}-{identity[:16]}.npz"), checkpoint_seconds)
    made = distiller.run(steps, progress, checkpoint)
    record = measure(distiller, made, identity)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_policy(path, made.policy, asdict(record))
    checkpoint.delete()
    return record


def measure(distiller: Distiller, made: Distillation, identity: str = "") -> NetworkRecord:
    """Play a network on targets, an episode on each, and compare it with the portfolio there.

    The difference to what the portfolio expects varies less than the returns themselves, so that
    few episodes tell the mean over all targets.
    """
    portfolio, space = distiller.portfolio, distiller.space
    number, seed = min(MEASURED, len(space)), derived_seed(distiller.seed, "measuring")
    chosen = np.random.default_rng(seed).choice(len(space), number, replace=False)
    targets = space.targets[np.sort(chosen)]
    played = distiller.evaluate(made.policy, targets, episodes=1, seed=seed)
    expected = np.array([portfolio.choose(target).expected_return for target in targets])
    differences = played.returns[:, 0] - expected
    error = differences.std(ddof=1) / np.sqrt(number) if number > 1 else np.nan
    return NetworkRecord(
        context=distiller.context,
        mean_return=float(portfolio.mean_return + differences.mean()),
        standard_error=float(error),
        portfolio_return=portfolio.mean_return,
        policies=len(portfolio),
        steps=made.steps,
        evaluation_steps=played.steps,
        curve=made.curve,
        identity=identity,
    )


def _identity(distiller: Distiller, steps: int) -> str:
    """Return a hash of everything that the network depends on."""
    portfolio = distiller.portfolio
    decisive = {
        "space": portfolio.space.to_dict(),
        "family": distiller.family.name,
        "context": distiller.context,
        "steps": steps,
        "seed": distiller.seed,
        "versions": versions((*CORE, *TRAINING)),
    }
    digest = hashlib.sha256(json.dumps(decisive, sort_keys=True).encode())
    for member in portfolio:
        digest.update(policy_bytes(portfolio.policy(member.id).acting()))
        digest.update(member.returns.tobytes())
    return digest.hexdigest()
