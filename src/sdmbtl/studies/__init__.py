"""Studies: the loop that chooses, trains and evaluates, and its durable state."""

from sdmbtl.callbacks import Callback, Event
from sdmbtl.studies.configuration import Configuration
from sdmbtl.studies.stopping import Budget, NoGain, StopRule, TimeLimit, TotalSteps
from sdmbtl.studies.study import Study

__all__ = [
    "Budget",
    "Callback",
    "Configuration",
    "Event",
    "NoGain",
    "StopRule",
    "Study",
    "TimeLimit",
    "TotalSteps",
]
