"""Data of training and evaluation: a job, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.checks import check_bool, check_int, short_text
from sdmbtl.errors import TrainerError, TrainingError
from sdmbtl.policies import Policy


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """One policy to be trained.

    Attributes:
        contexts: (M, D) contexts it is trained on, in the order of the space's dimensions. Every
            episode takes one of them at random.
        seed: Root of every random number of this run.
        attempt: Number of earlier attempts, for callers that retry.
        parent: The policy to start from; None for a start from scratch.
        steps: Environment steps; None for the trainer's own number.
        sees_context: The policy sees the context: its unit coordinates in the space follow each
            observation. A policy that is trained on one context never sees them change, so that
            its untrained weights on them only add noise on other contexts.

    Raises:
        TrainerError: If there is no context, the contexts are not an array of numbers, another
            value is not usable, or the parent sees the context and this policy does not.
    """

    contexts: NDArray[np.float64]
    seed: int
    attempt: int = 0
    parent: Policy | None = None
    steps: int | None = None
    sees_context: bool = False

    def __post_init__(self) -> None:
        contexts = context_array(self.contexts)
        if not len(contexts):
            raise TrainerError("A training run needs at least one context. Got none.")
        contexts.setflags(write=False)
        object.__setattr__(self, "contexts", contexts)
        for name, low in (("seed", 0), ("attempt", 0), ("steps", 1)):
            value = getattr(self, name)
            if name != "steps" or value is not None:
                number = check_int(name, value, low=low, error=TrainerError)
                object.__setattr__(self, name, number)
        check_bool("sees_context", self.sees_context, error=TrainerError)
        if self.parent is not None and self.parent.sees_context > self.sees_context:
            raise TrainerError(
                "A policy that does not see its context cannot start from one that does. Give "
                "sees_context=True."
            )


@dataclass(frozen=True)
class Training:
    """A finished training run.

    Attributes:
        policy: The best policy seen, by its mean return on the training contexts.
        steps: Environment steps that were taken.
        source_return: Mean return of the policy on its training contexts, in the evaluation by
            which it was found the best: a little too high, as the best of several noisy means.
        curve: (steps, mean return on the training contexts) during training.
        evaluation_steps: Environment steps of the evaluations during training, which `steps` does
            not include.
    """

    policy: Policy
    steps: int
    source_return: float
    curve: list[tuple[int, float]] = field(default_factory=list)
    evaluation_steps: int = 0


@dataclass(frozen=True)
class Failure:
    """A training run, or an evaluation, that failed: the error, and the attempt of the job."""

    error: str
    attempt: int = 0


@dataclass(frozen=True)
class Evaluation:
    """Returns of a policy on contexts.

    Attributes:
        returns: (n, episodes) returns; NaN on contexts whose evaluation failed, or that were not
            to be evaluated.
        errors: Errors by the number of the context.
        steps: Environment steps that were played, those of failed episodes included.
    """

    returns: NDArray[np.float64]
    errors: dict[int, str] = field(default_factory=dict)
    steps: int = 0

    def complete(self) -> NDArray[np.float64]:
        """Return the (n, episodes) returns, of which none may be missing.

        Raises:
            TrainingError: If the evaluation failed on a context.
        """
        if self.errors:
            raise TrainingError(self.describe_errors())
        return self.returns

    def describe_errors(self) -> str:
        """Describe the first error, and the number of contexts with one."""
        first = self.errors[min(self.errors)]
        if len(self.returns) == 1:
            return first
        count = f"{len(self.errors)} of {len(self.returns)} contexts"
        return f"The evaluation failed on {count}. The first error: {first}"


def context_array(contexts: ArrayLike) -> NDArray[np.float64]:
    """Copy contexts into an (n, D) array; a `TrainerError` if they are something else."""
    try:
        array = np.array(contexts, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if array.size == 0:
        return array.reshape(0, 0)
    if array.ndim != 2:
        raise TrainerError(
            "Contexts are an array with one row for each, in the order of the space's dimensions; "
            f"space.vector(context) makes one of a dict. Got {short_text(contexts)} instead."
        )
    return array
