"""Recipe of a transfer matrix of points."""

from __future__ import annotations

from dataclasses import dataclass

from sdmbtl.checks import check_int, short_text
from sdmbtl.errors import MatrixError
from sdmbtl.training import TrainerSpec
from sdmbtl_lab.matrices.recipe import Recipe

#: Number of source policies whose steps together the multi-task policies are trained with.
MULTI_TASK_POLICIES = (6, 12, 50)


@dataclass(frozen=True)
class MatrixRecipe(Recipe):
    """A policy for every target, and some for all of them.

    Attributes:
        multi_task: Multi-task policies get the steps of these numbers of source policies.
    """

    multi_task: tuple[int, ...] = MULTI_TASK_POLICIES

    def __post_init__(self) -> None:
        super().__post_init__()
        numbers = {check_int("multi_task", b, low=1, error=MatrixError) for b in self.multi_task}
        if numbers and "total_timesteps" not in self.training:
            raise MatrixError(
                "The steps of multi-task policies are counted in those of the others, but "
                f"'training' has no 'total_timesteps': {short_text(self.training)}. "
                "Use multi_task=()."
            )
        self.put(multi_task=tuple(sorted(numbers)))

    def multi_task_specification(self, policies: int) -> TrainerSpec:
        """Return the training of one policy for all contexts, with the steps of several."""
        steps = self.training["total_timesteps"] * policies
        return self.specification(total_timesteps=steps)
