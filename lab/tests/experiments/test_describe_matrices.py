"""The pages about the transfer matrices agree with their cards and the results."""

import json

import numpy as np
import pytest

import describe_matrices
from sdmbtl import ContextSpace
from sdmbtl_lab.matrices import TransferDataset, TransferMatrices

SPACE = ContextSpace(friction=[0.5, 1.0, 4.0], scale=[6.0, 48.0])


def card(name="walker", **changes):
    recipe = {
        "family": {"name": "BipedalWalker", "options": {"space": SPACE.to_dict(), "mode": "x"}},
        "targets": SPACE.to_dict(),
        "trainer": "sb3",
        "training": {"total_timesteps": 60_000},
        "episodes": 3,
        "seed": 0,
        "multi_task": [],
    }
    return {"name": name, "seeds": 2, "recipe": recipe | changes}


def dataset(about, multi_task=None):
    returns = np.random.default_rng(0).normal(size=(2, 6, 6)).round(1)
    for own, walks in zip(returns, (5, 4), strict=True):
        np.fill_diagonal(own, [200.5] * walks + [200.0] * (6 - walks))
    return TransferDataset(
        TransferMatrices(SPACE, returns),
        returns.diagonal(axis1=1, axis2=2).copy(),
        np.zeros((2, 6)),
        multi_task or {},
        about,
    )


def script(*arguments):
    describe_matrices.main([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The document of two data sets."""
    path = tmp_path_factory.mktemp("document")
    dataset(card()).save(path / "walker.npz")
    cartpole = {"name": "CartPole", "options": {}}
    about = card("cart", family=cartpole, multi_task=[3], training={"total_timesteps": 500_000})
    dataset(about, {3: np.zeros((2, 6))}).save(path / "cart.npz")
    script(path / "walker.npz", path / "cart.npz", "--out", path)
    return path


def test_the_card_is_described(written):
    pages = written / "docs" / "research" / "data"
    walker, cart = ((pages / f"{name}.md").read_text() for name in ("walker", "cart"))
    assert (walker.splitlines()[0], cart.splitlines()[0]) == ("# walker", "# cart")
    for line in (
        "- **Environment:** BipedalWalker (mode x).",
        "- **Contexts:** 6, with 2 seeds: `friction` 0.5 to 4 in 3 values, `scale` 6 to 48 in 2 "
        "values.",
        "- **Training:** `sb3`, 60,000 steps for each policy, 1.2 % of the paper's 5,000,000. "
        "3 episodes for each policy on each context.",
        "![The transfer matrix of walker](../../figures/matrix-walker.png)",
    ):
        assert line in walker.splitlines()
    assert "minus the cost of the motors" in walker
    walk = "- **Policies that walk** in their own context, with a return above 200: 9 of 12 (75 %)."
    assert walk in walker.splitlines()
    assert "**Policies that" not in cart
    assert "500,000 steps for each policy, 10 % of the paper's 5,000,000. " in cart


def test_numbers_are_those_of_the_result_file(written):
    text = (written / "docs" / "research" / "data" / "index.md").read_text()
    walker, _ = json.loads((written / "results" / "anatomy.json").read_text())
    found = walker["anatomy"]
    (row,) = [line for line in text.splitlines() if line.startswith("| [walker](walker.md)")]
    few = found["few_policies"]
    assert f"| {few['oracle'][5]:.3f} | {few['random'][5]:.3f} | {few['margin']:.3f}" in row
    assert "| 6 in 2D | 2 |" in row
    assert "targets" not in walker["card"]["recipe"]
    assert "space" not in walker["card"]["recipe"]["family"]["options"]


def test_a_page_that_is_out_of_date_is_noticed(written):
    script("--check", "--out", written)
    page = written / "docs" / "research" / "data" / "walker.md"
    text = page.read_text()
    page.write_text(text.replace("1.2 %", "99 %"))
    with pytest.raises(SystemExit, match="does not match"):
        script("--check", "--out", written)
    page.write_text(text)
