"""Draw docs/figures/coverage-against-steps.png from results/generalists.json.

python lab/experiments/draw_generalists.py
"""

from __future__ import annotations

import argparse
from pathlib import Path

from generalists.comparison import RESULT, Comparison
from generalists.figure import coverage_figure
from sdmbtl.plots import save_figure

FIGURE = Path(__file__).parents[2] / "docs" / "figures" / "coverage-against-steps.png"


def main() -> None:
    """Draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--result", type=Path, default=RESULT)
    parser.add_argument("--out", type=Path, default=FIGURE)
    given = parser.parse_args()
    save_figure(coverage_figure(Comparison.load(given.result)), given.out, reduced=False)


if __name__ == "__main__":
    main()
