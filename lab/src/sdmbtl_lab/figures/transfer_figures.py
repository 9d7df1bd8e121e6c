"""Figures of transfer matrices as the paper has them: whole, by dimension, and taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace, Levels
from sdmbtl.errors import FigureError
from sdmbtl.palette import MAP
from sdmbtl_lab.figures.panels import evenly_spread
from sdmbtl_lab.matrices import TransferDataset
from sdmbtl_lab.matrices.decomposition import Decomposition

if TYPE_CHECKING:
    from sdmbtl_lab.benchmarks.synthetic import SyntheticProblem

#: Inches of a panel, and of the column next to it.
PANEL, MARGIN = 2.6, 0.9
SMALL = 8
#: Labels on a side of a panel, at most.
MOST_LABELS = 4

Floats = NDArray[np.float64]


def transfer_matrix_figure(dataset: TransferDataset) -> Figure:
    """The return of every policy on every target, mean over the seeds."""
    figure = Figure(figsize=(2 * PANEL, 2 * PANEL - MARGIN / 2), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(dataset.matrices.mean(), cmap=MAP, interpolation="antialiased")
    axes.set_xlabel("target")
    axes.set_ylabel("source")
    axes.set_title(dataset.name, fontsize=10)
    figure.colorbar(image, ax=axes, label="mean return")
    return figure


def synthetic_matrices_figure(problems: Sequence[SyntheticProblem]) -> Figure:
    """A matrix of each configuration of synthetic data, four in a row, on its own scale."""
    across = min(4, len(problems))
    down = -(-len(problems) // across)
    size = (PANEL * across, (PANEL + 0.3) * down)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for panel, problem in zip(panels, problems, strict=False):
        matrix = problem.matrix(0)
        # The extremes of the noise would leave the rest of the matrix in one colour.
        low, high = np.percentile(matrix, [1, 99])
        panel.imshow(matrix, cmap=MAP, vmin=low, vmax=high, interpolation="antialiased")
        words = ", ".join(f"{part} {kind}" for part, kind in problem.labels.items())
        panel.set_title(f"noise {problem.noise:g}\n{words}", fontsize=SMALL - 1)
        panel.set_xticks([])
        panel.set_yticks([])
        panel.set_xlabel("target", fontsize=SMALL)
        panel.set_ylabel("source", fontsize=SMALL)
    return figure


def mean_transfer_figure(dataset: TransferDataset) -> Figure:
    """The mean transfer matrix of each dimension, see `mean_transfer`."""
    matrices = mean_transfer(dataset)
    figure = Figure(figsize=(PANEL * len(matrices) + MARGIN, PANEL), layout="constrained")
    panels = figure.subplots(1, len(matrices), squeeze=False)[0]
    low = min(float(matrix.min()) for matrix in matrices.values())
    high = max(float(matrix.max()) for matrix in matrices.values())
    for panel, (name, matrix) in zip(panels, matrices.items(), strict=True):
        image = panel.imshow(matrix, cmap=MAP, vmin=low, vmax=high)
        _label(panel, dataset.space, name)
        panel.set_title(name, fontsize=10)
    panels[0].set_ylabel("source", fontsize=SMALL)
    figure.colorbar(image, ax=panels, label="mean return")
    return figure


def decomposition_figure(dataset: TransferDataset) -> Figure:
    """f, g and h of the mean transfer matrix of each dimension: a row of maps for each."""
    matrices = mean_transfer(dataset)
    size = (4 * PANEL + MARGIN, PANEL * len(matrices))
    figure = Figure(figsize=size, layout="constrained")
    rows = figure.subplots(len(matrices), 4, squeeze=False)
    for row, (name, matrix) in zip(rows, matrices.items(), strict=True):
        for panel, (title, part) in zip(row, _parts(matrix).items(), strict=True):
            image = panel.imshow(part, cmap=MAP)
            _label(panel, dataset.space, name)
            panel.set_title(title, fontsize=10)
            figure.colorbar(image, ax=panel).ax.tick_params(labelsize=SMALL - 1)
        row[0].set_ylabel(f"{name}: source", fontsize=SMALL)
    return figure


def mean_transfer(dataset: TransferDataset) -> dict[str, Floats]:
    """Dimension -> (L, L) mean return by its values in source and target, all others equal."""
    space = dataset.space
    if not space.is_grid:
        raise FigureError(
            f"Transfer by dimension needs contexts that are a grid. Those of {dataset.name!r} are "
            "a list. Draw the whole matrix instead."
        )
    returns = dataset.matrices.mean().reshape(space.shape * 2)
    return {
        name: _along(returns, number, space.n_dimensions) for number, name in enumerate(space.names)
    }


def _along(returns: Floats, kept: int, dimensions: int) -> Floats:
    """Mean over the diagonals of all dimensions of a (sources..., targets...) array but one."""
    names = [chr(ord("a") + number) for number in range(dimensions)]
    columns = [name if number != kept else "Z" for number, name in enumerate(names)]
    found = np.einsum(f"{''.join(names)}{''.join(columns)}->{names[kept]}Z", returns)
    levels = returns.shape[kept]
    return np.asarray(found / (np.prod(returns.shape[:dimensions]) / levels))


def _parts(matrix: Floats) -> dict[str, Floats]:
    found = Decomposition.of(matrix)
    return {
        "J": matrix,
        "f(x)": np.broadcast_to(found.quality[:, None], matrix.shape),
        "g(y)": np.broadcast_to(found.difficulty, matrix.shape),
        "h(x, y)": found.dissimilarity,
    }


def _label(panel: Axes, space: ContextSpace, name: str) -> None:
    """Values of a dimension along both sides."""
    dimension = space.dimensions[name]
    values = dimension.values if isinstance(dimension, Levels) else np.empty(0)
    shown = evenly_spread(len(values), MOST_LABELS)
    words = [f"{values[number]:.3g}" for number in shown]
    panel.set_xticks(shown, words, fontsize=SMALL - 1)
    panel.set_yticks(shown, words, fontsize=SMALL - 1)
    panel.set_xlabel("target", fontsize=SMALL)
