"""The tracker of docs/guides/tracking.md, with one that writes a file."""

import json
import re
from pathlib import Path

import pytest
from small_study import open_small

RECIPES = Path(__file__).parents[2] / "docs" / "guides" / "tracking.md"


class JsonLines:
    """Logs as a run of Weights & Biases does, to a file."""

    def __init__(self, path):
        self.path = path

    def log(self, numbers, step):
        with self.path.open("a") as file:
            file.write(json.dumps({"step": step, **numbers}) + "\n")


def log_to():
    (code,) = re.findall(r"```python\n(def log_to\(.*?)```", RECIPES.read_text(), re.DOTALL)
    assert len(code.splitlines()) <= 10
    names = {}
    exec(code, names)  # noqa: S102 (our own page)
    return names["log_to"]


def test_a_tracker_gets_curves_and_what_they_add_up_to(tmp_path):
    study, path = open_small(tmp_path / "study"), tmp_path / "log.jsonl"
    study.run(budget=2, callbacks=[log_to()(JsonLines(path), study)])
    records = [json.loads(line) for line in path.read_text().splitlines()]
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
