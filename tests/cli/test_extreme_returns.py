"""One extreme return does not end a study: every command works with it."""

import json
import math

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.studies import Study

SPACE = ContextSpace(a=range(3), b=range(3))
LARGEST = 1.7e308


def made(path, selector, rows, **options):
    study = Study.open(path, space=SPACE, selector=selector, **options)
    for row in rows:
        study.tell(study.ask(), row)
    return study


@pytest.mark.parametrize(
    ("selector", "known"),
    [("auto", None), ("generalist-first", (0.0, 500.0)), ("m/gp-mbtl", (0.0, 500.0))],
)
@pytest.mark.parametrize("value", [5e-324, 1e155, -1e200, LARGEST])
def test_every_command_works(command, tmp_path, selector, value, known):
    rows = np.random.default_rng(0).uniform(0.0, 0.9, size=(6, 9))
    rows[:, 0] = value
    rows[3] = value  # all equal
    rows[5, 1:] *= value  # a mixture of sizes
    study = made(tmp_path / "s", selector, rows, return_range=known)
    status = command.json("status", study.path)
    assert status["policies"] == 6
    assert math.isfinite(status["performance"])
    for name in ("status", "targets", "portfolio", "detect"):
        assert "nan" not in command(name, study.path).stdout
        command.json(name, study.path)
    chosen = command.json("portfolio", study.path, "--context", "a=0.5 b=0.5")["choice"]
    assert chosen["expected_return"] is not None
    command("portfolio", study.path, "--context", "a=0 b=0", "--smallest", "0")
    assert json.loads(command("ask", study.path).stdout)["id"] == 6


def test_the_largest_numbers_have_means(command, tmp_path):
    study = made(tmp_path / "s", "auto", np.full((3, 9), LARGEST))
    assert study.performance == LARGEST
    assert study.portfolio().mean_return == LARGEST
    assert command.json("status", study.path)["best_single"]["performance"] == LARGEST
    episodes = np.full((9, 4), np.finfo(float).max)
    assert study.tell(study.ask(), episodes).row[0] == np.finfo(float).max


def test_a_portfolio_chooses_the_same_in_any_unit(tmp_path):
    rows = np.random.default_rng(0).normal(size=(4, 9, 3))
    chosen = []
    for place, factor in enumerate((1.0, 2.0**-900, 2.0**900)):
        portfolio = made(tmp_path / str(place), "random", rows * factor).portfolio()
        choice = portfolio.choose({"a": 0.4, "b": 1.7})
        figures = (choice.expected_return, choice.uncertainty, *choice.interval)
        chosen.append((choice.policy, *(figure / factor for figure in figures)))
        assert np.array_equal(portfolio.means.argmax(axis=0), rows.mean(axis=2).argmax(axis=0))
        chosen[-1] += (len(portfolio.smallest()),)
    assert chosen[0] == chosen[1] == chosen[2]


def test_a_range_without_a_finite_width_is_refused(command, tmp_path):
    text = "[dimensions.a]\nvalues = [1, 2]\n[returns]\nmin = -1.7e308\nmax = 1.7e308\n"
    (tmp_path / "space.toml").write_text(text)
    error = command.error("ask", tmp_path / "s", "--space", tmp_path / "space.toml")
    assert "finite width" in error
    assert not (tmp_path / "s").exists()
