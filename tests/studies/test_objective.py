"""Studies with weights and an objective other than the mean."""

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.errors import SelectorError
from sdmbtl.studies import Study
from sdmbtl.studies.describe import status_lines

SPACE = ContextSpace(a=range(10), b=range(10))


def told(path, objective, space=SPACE):
    """Return a study by ask and tell; its policy is bad in a corner, and less so on the left."""
    study = Study.open(
        path,
        space=space,
        selector="generalist-first",
        objective=objective,
        return_range=(0.0, 1.0),
    )
    low = np.all(space.unit_targets > 0.8, axis=1)
    row = np.where(low, 0.1, np.where(space.unit_targets[:, 0] < 0.6, 0.75, 1.0))
    study.tell(study.ask(), row)
    study.tell(study.ask(), row)  # the generalist continued, in vain
    return study, low


def test_choices_and_status_follow_the_objective(tmp_path):
    study, low = told(tmp_path / "worst", "cvar:0.04")
    trial = study.ask()
    assert low[SPACE.nearest(trial.source.vector)], "there are the four worst targets"
    snapshot = study.snapshot()
    assert snapshot.objective == "cvar:0.04"
    assert snapshot.objective_level == pytest.approx(0.1)
    assert "objective cvar:0.04: 10.0 %" in status_lines(snapshot)
    again = Study.open(tmp_path / "worst")
    assert str(again.selector.objective) == "cvar:0.04"
    assert again.snapshot().objective_level == snapshot.objective_level
    mean, _ = told(tmp_path / "mean", "mean")
    elsewhere = SPACE.nearest(mean.ask().source.vector)
    assert not low[elsewhere], "more is missing on the left, in all"
    assert not any("objective" in line for line in status_lines(mean.snapshot()))


def test_everything_shown_is_weighted(tmp_path):
    weights = np.where(SPACE.targets[:, 0] == 9, 5.0, 1.0)
    study, _ = told(tmp_path / "study", "mean", SPACE.weighted(weights))
    mean = np.average(study.selector.expected_best, weights=weights)
    snapshot = Study.open(tmp_path / "study").snapshot()
    assert snapshot.performance == pytest.approx(mean)
    assert snapshot.coverage == pytest.approx(mean)
    assert snapshot.best_single.performance == pytest.approx(mean)
    assert snapshot.rounds[-1].performance == pytest.approx(mean)
    assert study.portfolio().mean_return == pytest.approx(mean, abs=0.02)


def test_only_some_selectors_take_an_objective(tmp_path):
    with pytest.raises(SelectorError, match="objective"):
        Study.open(tmp_path, space=SPACE, selector="predictive", objective="worst")
