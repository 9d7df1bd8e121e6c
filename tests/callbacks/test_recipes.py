"""The tracker of docs/recipes.md, with one that writes a file."""

import json
import logging
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from small_study import open_small

RECIPES = Path(__file__).parents[2] / "docs" / "recipes.md"


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


def test_how_it_is_passed_to_a_study(monkeypatch, tmp_path):
    """The blocks around it, with trackers that only take down what they get."""
    monkeypatch.setattr(logging, "basicConfig", lambda **settings: None)
    logged = []
    for name, attribute, value in (
        ("wandb", "init", lambda project: SimpleNamespace(log=take_down(logged, project))),
        ("mlflow", "log_metrics", take_down(logged, "mlflow")),
    ):
        module = ModuleType(name)
        setattr(module, attribute, value)
        monkeypatch.setitem(sys.modules, name, module)
    section = RECIPES.read_text().partition("## Progress and tracking")[2]
    given = []
    names = {"study": SimpleNamespace(run=lambda **arguments: given.append(arguments))}
    for code in re.findall(r"```python\n(.*?)```", section, re.DOTALL):
        exec(code, names)  # noqa: S102 (our own page)
    assert [sorted(arguments) for arguments in given] == [
        ["budget", "tensorboard"],
        ["budget", "callbacks"],
        ["budget", "callbacks"],
    ]
    study = open_small(tmp_path / "study")
    names["study"].performance, names["study"].steps = 1.0, 7
    study.run(budget=1, callbacks=given[1]["callbacks"] + given[2]["callbacks"])
    assert {name for name, _ in logged} == {"cartpole", "mlflow"}


def take_down(logged, name):
    return lambda numbers, step: logged.append((name, {**numbers, "step": step}))
