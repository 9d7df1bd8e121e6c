"""One figure that shows a transfer matrix from all sides, and its small file.

Everything is drawn on new figures, never through pyplot: nothing global is changed.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from PIL import Image

from sdmbtl.contexts import ContextSpace, Levels
from sdmbtl.files import write_atomically
from sdmbtl.palette import BLACK, BLUE, GREEN, GREY, LIGHT, MAP, ORANGE
from sdmbtl.wording import counted
from sdmbtl_lab.matrices import TransferDataset
from sdmbtl_lab.matrices.anatomy import Anatomy, Effect
from sdmbtl_lab.matrices.dataset import min_max

#: No more slices of a grid than this stand side by side.
MOST_SLICES = 10
#: With more panels than this side by side there is no room for words below their axes.
MOST_WORDY = 4
WIDTH, MAP_HEIGHT, LINES_HEIGHT, PANEL_HEIGHT = 11.0, 1.95, 2.2, 2.9
SMALL = 8

Floats = NDArray[np.float64]


def matrix_figure(dataset: TransferDataset, found: Anatomy) -> Figure:
    """Draw a data set.

    The effects of source and target over the contexts; the matrix itself; how returns fall with
    the difference of source and target in each dimension; two training runs of each source; how
    far few policies get.
    """
    space = dataset.space
    # Slices of grids with two or three dimensions, otherwise lines.
    as_maps = space.is_grid and space.n_dimensions in (2, 3)
    draw, height = (_draw_slices, MAP_HEIGHT) if as_maps else (_draw_lines, LINES_HEIGHT)
    heights = [height, height, PANEL_HEIGHT, PANEL_HEIGHT]
    figure = Figure(figsize=(WIDTH, sum(heights) + 0.4), layout="constrained")
    figure.suptitle(_title(found), fontsize=12, fontweight="bold")
    quality, difficulty, gap, rest = figure.subfigures(
        4, 1, squeeze=False, height_ratios=heights
    ).ravel()
    mean = found.few_policies.random[0]
    _head(quality, "Policies: mean return over all targets, by context trained on")
    draw(quality, space, found.quality, mean)
    _head(difficulty, "Targets: mean return of all policies, by context")
    draw(difficulty, space, found.difficulty, mean)
    _head(gap, "Return minus the target's mean, by difference of source and target")
    _draw_gap(gap, found)
    matrix, runs, policies = rest.subplots(1, 3, width_ratios=[1.15, 1, 1.3])
    _draw_matrix(rest, matrix, dataset, found)
    _draw_run_variance(runs, dataset, found)
    _draw_few_policies(policies, found)
    # For good: the layout keeps moving things when it is drawn again.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def _title(found: Anatomy) -> str:
    size = found.size
    return (
        f"{found.name}: {size.contexts} contexts, {counted(size.seeds, 'seed')}; "
        f"returns {size.lowest:.4g} to {size.highest:.4g} drawn as 0 to 1"
    )


def _head(figure: SubFigure, title: str) -> None:
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")


def _draw_lines(figure: SubFigure, space: ContextSpace, effect: Effect, mean: float) -> None:
    """Main effects on top of the mean return: one line for each dimension."""
    panels = figure.subplots(1, space.n_dimensions, sharey=True, squeeze=False)[0]
    for panel, main in zip(panels, effect.main_effects, strict=True):
        dimension = space.dimensions[main.name]
        positions = dimension.to_unit(main.values)
        panel.plot(positions, main.means + mean, ".-", color=BLUE)
        shown = evenly_spread(len(main.values), 4)
        panel.set_xticks(positions[shown], [f"{main.values[i]:.3g}" for i in shown])
        scale = " (log)" if dimension.scale == "log" else ""
        panel.set_xlabel(f"{main.name}{scale}", fontsize=SMALL)
        _plain(panel)
    panels[0].set_ylabel("mean return", fontsize=SMALL)


def _draw_slices(figure: SubFigure, space: ContextSpace, effect: Effect, mean: float) -> None:
    """A map of the effect, on top of the mean return, for each value of one dimension of a grid.

    The others are the sides of the maps.
    """
    values = (effect.values + mean).reshape(space.shape)
    axes = [(name, d.values) for name, d in space.dimensions.items() if isinstance(d, Levels)]
    slices = [("", values)]
    if len(axes) > 2:  # the dimension with the fewest values is sliced; of several the last
        sliced = min(range(len(axes)), key=lambda d: (len(axes[d][1]), -d))
        name, levels = axes.pop(sliced)
        slices = [
            (f"{name} = {levels[number]:.3g}", np.asarray(values.take(number, axis=sliced)))
            for number in evenly_spread(len(levels), MOST_SLICES)
        ]
    (down, rows), (across, columns) = axes
    panels = figure.subplots(1, len(slices), sharex=True, sharey=True, squeeze=False)[0]
    low, high = float(values.min()), float(values.max())
    for panel, (title, table) in zip(panels, slices, strict=True):
        image = panel.imshow(table, origin="lower", cmap=MAP, vmin=low, vmax=high, aspect="auto")
        panel.set_title(title, fontsize=SMALL)
        panel.set_xticks([0, table.shape[1] - 1], _ends(columns), fontsize=SMALL - 1)
        panel.set_yticks([0, table.shape[0] - 1], _ends(rows), fontsize=SMALL - 1)
        _align_ends(panel)
        panel.tick_params(length=2)
    panels[0].set_ylabel(down, fontsize=SMALL)
    figure.supxlabel(across, fontsize=SMALL)
    figure.colorbar(image, ax=panels, pad=0.01, aspect=12).ax.tick_params(labelsize=SMALL - 1)


def _draw_gap(figure: SubFigure, found: Anatomy) -> None:
    curves = found.gap.curves
    panels = figure.subplots(1, len(curves), sharey=True, squeeze=False)[0]
    ticks = ["-1\nsource lowest", "0\nequal", "1\nsource highest"]
    if len(curves) > MOST_WORDY:
        ticks = ["-1", "0", "1"]
    for panel, curve in zip(panels, curves, strict=True):
        panel.axvline(0, color=LIGHT, lw=1, zorder=0)
        panel.axhline(0, color=LIGHT, lw=1, zorder=0)
        panel.plot(curve.differences, curve.relative, ".-", color=BLUE, label="as it is (f + h)")
        panel.plot(
            curve.differences, curve.interaction, ".--", color=ORANGE, label="equal policies (h)"
        )
        panel.plot(
            curve.differences, curve.mountain, ":", color=GREY, label="a mountain's h, fitted"
        )
        panel.set_xlabel(f"{curve.name}: source - target", fontsize=SMALL)
        panel.set_xticks([-1, 0, 1], ticks)
        _align_ends(panel)
        _plain(panel)
    panels[0].set_ylabel("relative return", fontsize=SMALL)
    lines, names = panels[0].get_legend_handles_labels()
    figure.legend(lines, names, loc="upper right", ncols=3, fontsize=SMALL - 1, frameon=False)


def _draw_matrix(figure: SubFigure, panel: Axes, dataset: TransferDataset, found: Anatomy) -> None:
    returns = min_max(dataset.matrices.mean(), found.size.lowest, found.size.highest)
    image = panel.imshow(returns, cmap=MAP, vmin=0, vmax=1, interpolation="antialiased")
    mean = ", mean over seeds" if found.size.seeds > 1 else ""
    panel.set_title(f"The matrix{mean}", fontsize=10, loc="left")
    panel.set_xlabel("target index", fontsize=SMALL)
    panel.set_ylabel("source index", fontsize=SMALL)
    panel.tick_params(labelsize=SMALL - 1)
    panel.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    panel.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    figure.colorbar(image, ax=panel, pad=0.02, aspect=18).ax.tick_params(labelsize=SMALL - 1)


def _draw_run_variance(panel: Axes, dataset: TransferDataset, found: Anatomy) -> None:
    panel.set_title("Run to run: mean return of a policy", fontsize=10, loc="left")
    _plain(panel)
    if found.size.seeds < 2:
        panel.set_xticks([])
        panel.set_yticks([])
        panel.text(0.5, 0.5, "one seed:\nnothing to compare", ha="center", va="center", color=GREY)
        return
    rows = min_max(dataset.returns.mean(axis=2), found.size.lowest, found.size.highest)
    low, high = float(rows[:2].min()), float(rows[:2].max())
    panel.plot([low, high], [low, high], color=LIGHT, lw=1, zorder=0)
    panel.plot(rows[0], rows[1], ".", color=BLUE, ms=3, alpha=0.6)
    panel.set_xlabel("trained with seed 0", fontsize=SMALL)
    panel.set_ylabel("trained with seed 1", fontsize=SMALL)
    if found.run_variance.row_correlation is not None:
        text = f"correlation {found.run_variance.row_correlation:.2f}"
        panel.text(0.03, 0.95, text, transform=panel.transAxes, fontsize=SMALL, va="top")


def _draw_few_policies(panel: Axes, found: Anatomy) -> None:
    few = found.few_policies
    rounds = np.arange(1, len(few.oracle) + 1)
    panel.set_title("Best return by number of policies", fontsize=10, loc="left")
    panel.axhline(few.everything, color=GREY, lw=1, ls=":", label=f"all {found.size.contexts}")
    panel.plot(rounds, few.oracle, ".-", color=ORANGE, label="oracle")
    panel.plot(rounds, few.random, ".-", color=BLUE, label="random")
    shown = [k for k in few.multi_task if k <= len(rounds)]
    if shown:
        values = [few.multi_task[k] for k in shown]
        panel.plot(shown, values, "D", color=GREEN, ms=5, label="multi-task, same steps")
    panel.set_xlabel("policies", fontsize=SMALL)
    panel.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    panel.legend(fontsize=SMALL - 1, frameon=False, loc="lower right")
    _plain(panel)


def _plain(panel: Axes) -> None:
    """No frame but the axes, small numbers."""
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=SMALL - 1)


def _align_ends(panel: Axes) -> None:
    """The first and the last label below an axis stay inside of it."""
    labels = panel.get_xticklabels()
    labels[0].set_horizontalalignment("left")
    labels[-1].set_horizontalalignment("right")


def evenly_spread(count: int, most: int) -> list[int]:
    """Up to `most` of the first `count` numbers, with both ends."""
    some: list[int] = np.unique(np.linspace(0, count - 1, most).round().astype(int)).tolist()
    return some


def _ends(values: Floats) -> list[str]:
    return [f"{values[0]:.3g}", f"{values[-1]:.3g}"]


#: Dots per inch.
RESOLUTION = 100
#: Colours of the map, and shades of each other colour towards white.
MAP_SHADES, SHADES = 192, 12


def save_matrix_figure(figure: Figure, path: Path) -> None:
    """Write a figure as a PNG file with few colours; the same figure gives the same bytes."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=RESOLUTION)
    colours = Image.new("P", (1, 1))
    # A palette of the image's own would spend itself on the maps and change the lines' colours.
    colours.putpalette(_palette().tobytes())
    with Image.open(drawn) as image:
        indexed = image.convert("RGB").quantize(palette=colours, dither=Image.Dither.NONE)
    small = io.BytesIO()
    indexed.save(small, format="png", optimize=True)
    write_atomically(path, small.getvalue())


def _palette() -> NDArray[np.uint8]:
    """(n, 3) every colour of a figure: the map, and the others in shades towards white."""
    shades = np.linspace(0, 1, SHADES)[:, None]
    lines = [1 - shades * (1 - np.array(to_rgb(c))) for c in (BLUE, ORANGE, GREEN, GREY, BLACK)]
    of_map = colormaps[MAP](np.linspace(0, 1, MAP_SHADES))[:, :3]
    return np.asarray(np.rint(255 * np.concatenate([of_map, *lines])), dtype=np.uint8)
