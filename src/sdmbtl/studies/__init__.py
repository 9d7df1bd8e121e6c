"""Studies: the loop that chooses, trains and evaluates, and its durable state."""

from sdmbtl.studies.configuration import Configuration
from sdmbtl.studies.loop import Event
from sdmbtl.studies.stopping import Budget, NoGain, Standing, StopRule, TimeLimit, TotalSteps
from sdmbtl.studies.study import Study

__all__ = [
    "Budget",
    "Configuration",
    "Event",
    "NoGain",
    "Standing",
    "StopRule",
    "Study",
    "TimeLimit",
    "TotalSteps",
]
