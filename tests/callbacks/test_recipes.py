"""The tracker of docs/guides/tracking.md."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from small_study import open_small

RECIPES = Path(__file__).parents[2] / "docs" / "guides" / "tracking.md"


def test_a_tracker_gets_curves_and_what_they_add_up_to(tmp_path):
    (code,) = re.findall(r"```python\n(def log_to\(.*?)```", RECIPES.read_text(), re.DOTALL)
    names, records = {}, []
    exec(code, names)  # noqa: S102 (our own page)
    tracker = SimpleNamespace(log=lambda numbers, step: records.append({"step": step, **numbers}))
    study = open_small(tmp_path / "study")
    study.run(budget=2, callbacks=[names["log_to"](tracker, study)])
    begun = study.random_actions.steps
    first = begun + 4096 + study.trials[0].run.evaluation_steps
    assert [record["step"] for record in records] == [
        *(begun + 2048, begun + 4096, first),
        *(first + 2048, first + 4096, study.steps),
    ]
    curves = [value for trial in study.trials for _, value in trial.run.curve]
    assert [r["mean_return"] for r in records if "policy" in r] == curves
    best = [entry["performance"] for entry in study.status()["rounds"]]
    assert [r["mean_best_return"] for r in records if "policy" not in r] == pytest.approx(best)
