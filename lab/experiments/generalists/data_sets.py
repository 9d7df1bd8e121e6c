"""The data sets: environments, targets, and how much is measured on each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from generalists.long_runs import LongRuns
from sdmbtl.contexts import ContextSpace
from sdmbtl.environments import EnvironmentFamily, make_family
from sdmbtl.training import make_trainer

#: Total units at which coverage is measured.
MARKS = (1, 2, 3, 4, 6, 8, 12)
#: Of a space with more targets than this a sample is covered: evaluation takes long.
MOST_TARGETS = 512


@dataclass(frozen=True)
class DataSet:
    """A family of environments and the targets to cover.

    Attributes:
        name: Name in the result.
        environment: Name of the family.
        space_name: Name of its space.
        tiny: For a trial of the script itself: a unit is two evaluation intervals.
    """

    name: str
    environment: str
    space_name: str = "wide"
    tiny: bool = False

    @cached_property
    def family(self) -> EnvironmentFamily:
        """The environments."""
        return make_family(self.environment)

    @cached_property
    def space(self) -> ContextSpace:
        """The targets."""
        space = self.family.space(self.space_name)
        if len(space) <= MOST_TARGETS:
            return space
        return ContextSpace.sample(MOST_TARGETS, seed=0, **space.dimensions)

    @property
    def options(self) -> dict[str, Any]:
        """Settings of the trainer in addition to those that the family recommends."""
        return {"total_timesteps": 20_480} if self.tiny else {}

    def trainer(self, *, chunk: int = 8) -> LongRuns:
        """A trainer with the family's settings, in this process."""
        usual = make_trainer("ppo", self.family, self.space, chunk=chunk, **self.options)
        return LongRuns(self.family, self.space, **usual.settings())

    @cached_property
    def unit(self) -> int:
        """Environment steps of one unit: what the trainer is set to for one policy."""
        return int(self.trainer().settings()["total_timesteps"])

    @property
    def return_range(self) -> tuple[float, float]:
        """Lowest and highest return of an episode."""
        known = self.family.return_range
        if known is None:
            raise ValueError(f"The range of returns of {self.environment} is not known.")
        return known


#: In the order in which they are measured: what takes least first.
DATA_SETS = (
    DataSet("CartPole wide", "CartPole", "wide"),
    DataSet("CartPole forces", "CartPole", "forces"),
    DataSet("Drone", "Drone", "delivery"),
    DataSet("Acrobot", "Acrobot"),
    DataSet("Pendulum", "Pendulum"),
    DataSet("MountainCar", "MountainCar"),
    DataSet("CartPole everything", "CartPole", "everything"),
)
