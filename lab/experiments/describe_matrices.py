"""Write docs/research/data, figures and results/anatomy.json from the transfer matrices.

python lab/experiments/describe_matrices.py             # the shipped ones: a minute
python lab/experiments/describe_matrices.py PATH...     # others
python lab/experiments/describe_matrices.py --check     # fail if a page is out of date
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

# Matrices of this size gain nothing from threads, and lose much where the cores are busy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from experiment import ROOT, markdown_table
from sdmbtl.json_data import as_json
from sdmbtl.wording import counted
from sdmbtl_lab.figures import matrix_figure
from sdmbtl_lab.figures.panels import save_matrix_figure
from sdmbtl_lab.matrices import TransferDataset, load_matrix, matrix_names
from sdmbtl_lab.matrices.anatomy import anatomy

#: Steps for each policy in the paper, where it has the environment.
PAPER_STEPS = {"CartPole": 5_000_000, "BipedalWalker": 5_000_000}
#: Meaning of a return.
MEANINGS = {
    "CartPole": "steps until the pole falls or the cart leaves the track, at most 500",
    "Pendulum": "minus the cost of 200 steps: angle from upright, speed and torque, all squared",
    "Acrobot": "minus the steps until the tip is up",
    "MountainCar": "minus the steps until the car is on the hill",
    "Traffic": "[speed, less standing, less CO2](../../examples/traffic.md#the-task)",
    "Crop": "[profit of a season](../../examples/crop.md#a-week-of-crop) in $/ha",
    "CropPlanning": "[profit of 19 years](../../examples/crop.md#cropplanning) in 1,000 $/ha",
    "BipedalWalker": "distance, minus the cost of the motors, minus 100 for a fall",
}
#: Family -> a return above which a policy is able to do something, and what.
ABLE = {"BipedalWalker": (200.0, "walk")}
DIGITS = 5

INTRODUCTION = Path(__file__).with_name("matrices_introduction.md").read_text()


def measure_all(names: Iterable[str], figures: Path) -> list[dict[str, Any]]:
    """Measure and draw data sets; return card and anatomy of each."""
    figures.mkdir(parents=True, exist_ok=True)
    results = []
    for name in names:
        dataset = load_matrix(name)
        found = anatomy(dataset)
        save_matrix_figure(matrix_figure(dataset, found), figures / f"matrix-{dataset.name}.png")
        print(dataset.name, flush=True)
        results.append(
            {
                "card": _short_card(dataset),
                "anatomy": as_json(found, DIGITS),
                "able": _count_able(dataset),
            }
        )
    return results


def _count_able(dataset: TransferDataset) -> dict[str, Any] | None:
    """Count the policies that solve their own context, where that is defined."""
    family = dataset.card.get("recipe", {}).get("family", {}).get("name")
    if family not in ABLE:
        return None
    least, what = ABLE[family]
    own = dataset.returns.diagonal(axis1=1, axis2=2)
    return {"what": what, "above": least, "policies": int((own > least).sum()), "of": own.size}


def _short_card(dataset: TransferDataset) -> dict[str, Any]:
    """Return the card without the values of the contexts, which are in the data."""
    card = json.loads(json.dumps(dict(dataset.card)))
    recipe = card.get("recipe", {})
    recipe.pop("targets", None)
    recipe.get("family", {}).get("options", {}).pop("space", None)
    return dict(card)


# -- the document ----------------------------------------------------------------------------


def documents(results: list[dict[str, Any]]) -> dict[str, str]:
    """Return the text of each page of docs/research/data, by its name."""
    found = [result["anatomy"] for result in results]
    names = [one["name"] for one in found]
    index = INTRODUCTION.format(summary=summary_table(found), pages="\n".join(names))
    pages = {
        result["anatomy"]["name"]: section(result["card"], result["anatomy"], result["able"])
        for result in results
    }
    return {"index": index, **pages}


def summary_table(found: list[dict[str, Any]]) -> str:
    """Return the table with one row for each data set."""
    heads = ["data set", "contexts", "seeds", "f, g, h", "distance R²", "seeds agree", "own, best"]
    heads += ["oracle", "random", "margin", "Mountain"]
    rows = []
    for one in found:
        few, shares = one["few_policies"], one["shares"]
        k = few["margin_round"] - 1
        cells = [
            f"[{one['name']}]({one['name']}.md)",
            f"{one['size']['contexts']} in {len(one['size']['dimensions'])}D",
            str(one["size"]["seeds"]),
            ", ".join(f"{100 * share:.0f} %" for share in shares.values()),
            _number(one["gap"]["mountain_r2"], 2),
            _number(one["run_variance"]["row_correlation"], 2),
            f"{few['own']:.2f}, {few['everything']:.2f}",
            f"{few['oracle'][k]:.3f}",
            f"{few['random'][k]:.3f}",
            f"{few['margin']:.3f}",
            "yes" if one["detection"]["structure"] == "mountain" else "no",
        ]
        rows.append(cells)
    return markdown_table(heads, rows)


def section(card: dict[str, Any], found: dict[str, Any], able: dict[str, Any] | None) -> str:
    """Return the page about one data set."""
    name = found["name"]
    lines = card_lines(card, found)
    if able is not None:
        lines.append(
            "**Policies that {what}** in their own context, with a return above {above:g}: "
            "{policies} of {of} ({share:.0f} %).".format(
                **able, share=100 * able["policies"] / able["of"]
            )
        )
    parts = [
        f"# {name}",
        "\n".join(f"- {line}" for line in lines),
        f"![The transfer matrix of {name}](../../figures/matrix-{name}.png)",
        "[Legend](index.md#numbers)",
    ]
    return "\n\n".join(parts) + "\n"


def card_lines(card: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return the provenance of the data."""
    recipe, size = card.get("recipe", {}), found["size"]
    seeds = counted(size["seeds"], "seed")
    lines = [f"**Contexts:** {size['contexts']}, with {seeds}: {_dimensions(size['dimensions'])}."]
    family = recipe.get("family", {}).get("name")
    if family is not None:
        lines.insert(0, f"**Environment:** {family}{_options(recipe['family'])}.")
        meaning = f"{MEANINGS[family]}; " if family in MEANINGS else ""
        lines.append(f"**Returns:** {meaning}{size['lowest']:.4g} to {size['highest']:.4g}.")
        lines.append(_training(recipe, family))
    return lines


def _dimensions(dimensions: list[dict[str, Any]]) -> str:
    return ", ".join(
        f"`{d['name']}` {d['low']:.4g} to {d['high']:.4g}"
        + (f" in {d['levels']} values" if d["levels"] else "")
        + (" (log)" if d["scale"] == "log" else "")
        for d in dimensions
    )


def _options(family: dict[str, Any]) -> str:
    options = {k: v for k, v in family.get("options", {}).items() if v is not None}
    return f" ({', '.join(f'{k} {v}' for k, v in options.items())})" if options else ""


def _training(recipe: dict[str, Any], family: str) -> str:
    steps = int(recipe["training"]["total_timesteps"])
    text = f"**Training:** `{recipe['trainer']}`, {steps:,} steps for each policy"
    paper = PAPER_STEPS.get(family)
    if paper is not None:
        text += f", {100 * steps / paper:.2g} % of the paper's {paper:,}"
    return f"{text}. {recipe['episodes']} episodes for each policy on each context."


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, draw and write, or check."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", nargs="*", help="names or paths; all that ship if left out")
    parser.add_argument("--out", type=Path, default=ROOT, help="write docs and results below this")
    parser.add_argument("--check", action="store_true", help="fail if a page is out of date")
    given = parser.parse_args(arguments)
    pages, kept = given.out / "docs" / "research" / "data", given.out / "results" / "anatomy.json"
    if given.check:
        for name, text in documents(json.loads(kept.read_text())).items():
            if (pages / f"{name}.md").read_text() != text:
                sys.exit(f"{pages / name}.md does not match {kept}. Run: make tables")
        return
    results = measure_all(given.data or matrix_names(), given.out / "docs" / "figures")
    kept.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(result, separators=(",", ":")) for result in results)
    kept.write_text(f"[\n{lines}\n]\n")
    pages.mkdir(parents=True, exist_ok=True)
    for name, text in documents(json.loads(kept.read_text())).items():
        (pages / f"{name}.md").write_text(text)


if __name__ == "__main__":
    main()
