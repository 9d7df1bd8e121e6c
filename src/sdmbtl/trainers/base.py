"""What every trainer does: train policies on contexts, evaluate a policy on contexts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import truth_value
from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.errors import TrainerError
from sdmbtl.policies import Policy

#: Called during training with steps done, steps in all, and the latest mean return.
Progress = Callable[[int, int, float], None]


@dataclass(frozen=True)
class TrainingJob:
    """One policy to be trained.

    Attributes:
        contexts: The contexts it is trained on: one for a source policy, all targets for the
            multi-task baseline. Every episode takes one of them at random.
        seed: Root of every random number of this training.
    """

    contexts: tuple[Mapping[str, float], ...]
    seed: int


@dataclass(frozen=True)
class Training:
    """A trained policy and how it came about.

    Attributes:
        policy: The best policy seen, by its mean return on the training contexts.
        steps: Environment steps that were really taken.
        source_return: Mean return of the policy on its training contexts, in the evaluation by
            which it was found the best: a little lucky.
        curve: (steps, mean return on the training contexts), as training went on.
    """

    policy: Policy
    steps: int
    source_return: float
    curve: list[tuple[int, float]] = field(default_factory=list)


class Trainer(ABC):
    """Trains and evaluates policies in one family of environments.

    Args:
        family: The environments.
        space: The context space: which features vary, and between which values.
        observe_context: Whether policies see the context (its coordinates in the space) at the
            end of each observation. Off by default: a policy that is trained on one context never
            sees it change, so that its untrained weights on it only add noise on other contexts.
            The multi-task baseline needs it.
    """

    name: ClassVar[str]

    def __init__(
        self, family: EnvironmentFamily, space: ContextSpace, *, observe_context: bool = False
    ) -> None:
        self.family = family
        self.space = space
        self.observe_context = truth_value("observe_context", observe_context, error=TrainerError)

    @abstractmethod
    def train(
        self, jobs: Sequence[TrainingJob], progress: Progress | None = None
    ) -> list[Training]:
        """Train one policy for each job. The same job gives the same policy.

        Raises:
            TrainingError: If a training went wrong.
        """

    @abstractmethod
    def evaluate(
        self,
        policy: Policy,
        contexts: Sequence[Mapping[str, float]],
        *,
        episodes: int,
        seed: int,
    ) -> NDArray[np.float64]:
        """(n, episodes) returns of a policy on n contexts. The same seed gives the same returns."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Every setting that changes the outcome, as JSON data."""
