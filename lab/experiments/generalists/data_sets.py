"""The data sets: environments, targets, and how much is measured on each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from generalists.long_runs import GymnasiumLongRuns, JaxLongRuns, LongRuns
from sdmbtl.contexts import ContextSpace, Levels, Range, space_from_ranges
from sdmbtl.environments import EnvironmentFamily, make_family
from sdmbtl.training import make_trainer
from sdmbtl.training.ppo.gymnasium_env import GymnasiumPPO

#: Total units at which coverage is measured, and where the environments are slow.
MARKS, FEW_MARKS = (1, 2, 3, 4, 6, 8, 12), (2, 4)
#: Of a space with more targets than this a sample is covered: evaluation takes long.
MOST_TARGETS = 512


@dataclass(frozen=True)
class DataSet:
    """A family of environments and the targets to cover.

    Attributes:
        name: Name in the result.
        environment: Name of the family.
        space_name: Name of its space.
        own_space: Another space in place of that.
        arguments: Arguments of the family.
        steps: Environment steps of one unit; None for what the trainer is set to for one policy.
        own_range: Returns that count as 0 and 1, for families whose range is not known.
        marks: Total units at which coverage is measured.
        episodes: New episodes on each target that are reported.
        scoring_episodes: Episodes on each target by which contexts are prioritised.
        is_foreign: Whether the environment is of a package for which nothing here was tuned.
        tiny: For a trial of the script itself: a unit is two evaluation intervals.
    """

    name: str
    environment: str
    space_name: str = "wide"
    own_space: ContextSpace | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    steps: int | None = None
    own_range: tuple[float, float] | None = None
    marks: tuple[int, ...] = MARKS
    episodes: int = 4
    scoring_episodes: int = 2
    is_foreign: bool = False
    tiny: bool = False

    @cached_property
    def family(self) -> EnvironmentFamily:
        """The environments."""
        return make_family(self.environment, space=self.own_space, **self.arguments)

    @cached_property
    def space(self) -> ContextSpace:
        """The targets."""
        space = self.own_space or self.family.space(self.space_name)
        if len(space) <= MOST_TARGETS:
            return space
        return ContextSpace.sample(MOST_TARGETS, seed=0, **space.dimensions)

    @property
    def options(self) -> dict[str, Any]:
        """Settings of the trainer in addition to those that the family recommends."""
        if self.tiny:
            return {"total_timesteps": 20_480}
        return {} if self.steps is None else {"total_timesteps": self.steps}

    @property
    def is_compiled(self) -> bool:
        """Return whether environments are compiled and seeds are trained side by side."""
        return self.family.functional() is not None

    def trainer(self, *, chunk: int = 8) -> LongRuns:
        """A trainer with the family's settings, in this process."""
        usual = make_trainer("ppo", self.family, self.space, **self.options)
        settings = usual.settings()
        if isinstance(usual, GymnasiumPPO):
            return GymnasiumLongRuns(self.family, self.space, **settings)
        return JaxLongRuns(self.family, self.space, **{**settings, "chunk": chunk})

    @cached_property
    def unit(self) -> int:
        """Environment steps of one unit: what the trainer is set to for one policy."""
        return int(self.trainer().settings()["total_timesteps"])

    @property
    def return_range(self) -> tuple[float, float]:
        """Lowest and highest return of an episode, or the returns that count as 0 and 1."""
        known = self.own_range or self.family.return_range
        if known is None:
            raise ValueError(f"The range of returns of {self.environment} is not known.")
        return known


#: Of environments that are stepped by Python.
SLOW: Mapping[str, Any] = {"marks": FEW_MARKS, "scoring_episodes": 1}


def _robot(name: str, best: float) -> DataSet:
    """A robot of MuJoCo in 27 worlds."""
    world = {
        "gravity": Range(5.0, 15.0, 3),
        "mass": Range(0.5, 2.0, 3, "log"),
        "friction": Range(0.25, 2.0, 3, "log"),
    }
    space = space_from_ranges(world)
    return DataSet(name, name, own_space=space, steps=50_000, own_range=(0.0, best), **SLOW)


#: In the order in which they are measured: what takes least first.
DATA_SETS = (
    DataSet("CartPole wide", "CartPole", "wide"),
    DataSet("CartPole forces", "CartPole", "forces"),
    DataSet("Drone", "Drone", "delivery"),
    DataSet("Acrobot", "Acrobot"),
    DataSet("Pendulum", "Pendulum"),
    DataSet("MountainCar", "MountainCar"),
    DataSet("CartPole everything", "CartPole", "everything"),
    DataSet(
        "gymnax Reacher",
        "generalists.foreign:make_reacher",
        own_space=space_from_ranges(
            {"torque_scale": Range(0.25, 4.0, 6, "log"), "dt": Range(0.02, 0.2, 6, "log")}
        ),
        steps=20_480,
        own_range=(0.0, 100.0),
        marks=FEW_MARKS,
        is_foreign=True,
    ),
    DataSet(
        "LunarLander",
        "gym:LunarLander-v3",
        own_space=space_from_ranges(
            {
                "gravity": Range(-11.5, -4.0, 3),
                "wind_power": Range(0.0, 20.0, 3),
                "turbulence_power": Range(0.0, 2.0, 3),
            }
        ),
        arguments={"enable_wind": True},
        steps=50_000,
        own_range=(-300.0, 300.0),
        **SLOW,
    ),
    _robot("Hopper", 3000.0),
    _robot("HalfCheetah", 3000.0),
    DataSet(
        "minigrid Crossing",
        "generalists.foreign:make_crossing",
        own_space=ContextSpace(
            size=Levels([5, 7, 9], discrete=True),
            rivers=Levels([1, 2, 3], discrete=True),
            lava=[False, True],
        ),
        steps=40_960,
        own_range=(0.0, 1.0),
        is_foreign=True,
        marks=FEW_MARKS,
    ),
    DataSet(
        "FlappyBird",
        "generalists.foreign:make_flappy_bird",
        own_space=ContextSpace(
            pipe_gap=Levels([90, 110, 130, 150, 170], discrete=True),
            screen_height=Levels([400, 450, 500, 550, 600], discrete=True),
        ),
        steps=20_480,
        own_range=(-10.0, 30.0),
        is_foreign=True,
        **SLOW,
    ),
    DataSet(
        "BipedalWalker",
        "BipedalWalker",
        "moderate",
        steps=100_000,
        own_range=(-120.0, 300.0),
        **SLOW,
    ),
)
