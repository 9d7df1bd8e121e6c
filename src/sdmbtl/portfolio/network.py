"""The record of a network that was distilled from a portfolio: the notes of its file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from sdmbtl.errors import PolicyError
from sdmbtl.files import unsafe_path_reason
from sdmbtl.foreign import DAMAGED
from sdmbtl.policies import load_notes

#: Knowledge of a network about its context, which is also the name of its file.
Knowledge = Literal["told", "hidden"]
CONTEXTS: tuple[str, ...] = get_args(Knowledge)


@dataclass(frozen=True)
class NetworkRecord:
    """A network distilled from a portfolio, and its returns.

    Attributes:
        context: "told" or "hidden".
        mean_return: Mean return over the targets.
        standard_error: Its standard error.
        portfolio_return: Mean return of the portfolio, which it was distilled from.
        policies: Number of the portfolio's policies.
        steps: Environment steps that it was distilled with.
        evaluation_steps: Environment steps by which it was measured.
        curve: (steps, estimated mean return) during distillation.
        identity: Hash of everything that decided the outcome.
    """

    context: str
    mean_return: float
    standard_error: float
    portfolio_return: float
    policies: int
    steps: int
    evaluation_steps: int
    curve: list[tuple[int, float]]
    identity: str


def read_record(path: Path) -> NetworkRecord | None:
    """Read the record of a network; None if there is no file, or another one."""
    if unsafe_path_reason(path, path.parent) is not None:
        return None
    try:
        notes = load_notes(path)
        record = NetworkRecord(**notes)
        return replace(record, curve=[(int(at), float(mean)) for at, mean in record.curve])
    except (FileNotFoundError, PolicyError, *DAMAGED):
        return None
