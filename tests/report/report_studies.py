"""Studies to be shown, made by ask and tell in no time."""

import numpy as np

from sdmbtl import ContextSpace, Interval, Levels
from sdmbtl.studies import Study

#: A text that would do harm wherever it is taken for HTML or for a script.
HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=document.title=1>"

SPACES = {
    "line": ContextSpace(mass=Levels(np.geomspace(0.1, 10, 12), unit="kg")),
    "plane": ContextSpace(gravity=np.linspace(1, 20, 6), mass=np.geomspace(0.1, 10, 5)),
    "cube": ContextSpace(
        length=Levels([0.5, 1.0, 2.0], unit="m"), mass=Levels([3.0, 1.0, 2.0]), wind=range(4)
    ),
    "five": ContextSpace(**{name: [0.0, 0.5, 1.0] for name in "abcde"}),
    "list": ContextSpace.sample(
        40, gravity=Interval(1, 20, unit="m/s²"), mass=Interval(0.1, 10, "log"), wind=Interval(0, 5)
    ),
}


def returns_of(space, trial):
    """Good where it was trained, worse further away, and worse where the first dimension is high.

    Between 0 and 10.
    """
    distance = np.abs(space.unit_targets - space.to_unit(trial.source.vector)).mean(axis=1)
    row = 10 - 8 * np.maximum(distance - trial.width / 4, 0) - 4 * space.unit_targets[:, 0]
    return np.clip(row, 0, 10)


def told_study(path, space=SPACES["cube"], policies=3, **options):
    """A study in which so many policies were reported."""
    settings = {"selector": "random", "return_range": (0.0, 10.0), **options}
    study = Study.open(path, space=space, **settings)
    for _ in range(policies):
        add_policy(study)
    return study


def add_policy(study):
    trial = study.ask()
    return study.tell(trial, returns_of(study.space, trial))


def hostile_study(path):
    """A study all of whose texts are hostile, with a failed and a pending policy."""
    dimensions = {HOSTILE: Levels([1.0, 2.0, 3.0], unit=HOSTILE), "b": [1.0, 2.0], "c": [0.0, 1.0]}
    study = told_study(path, ContextSpace(**dimensions))
    study.tell(study.ask(), status="failed", error=f"{HOSTILE}\u2028\nsecond line")
    study.forget(2, reason=HOSTILE)
    study.ask()
    return study
