"""Figure of a season of `Crop`: water, nitrogen, growth and money."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sdmbtl.palette import BLUE, GREEN, GREY, ORANGE

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Season:
    """Record of the W weeks of a season.

    Attributes:
        title: Of the figure.
        rain: (W,) mm in each week.
        irrigation: (W,) mm given at the beginning of each week.
        nitrogen: (W,) kg/ha given at the beginning of each week.
        soil_water: (W + 1,) water in reach of the roots, as a share of the capacity.
        soil_nitrogen: (W + 1,) mineral nitrogen in the soil, kg/ha.
        crop_nitrogen: (W + 1,) nitrogen in the crop, kg/ha.
        stage: (W + 1,) 0 at emergence, 1 at flowering, 2 at maturity.
        straw: (W + 1,) leaves and stems, t/ha.
        grain: (W + 1,) t/ha.
        money: (W,) $/ha that each week added.
    """

    title: str
    rain: Floats
    irrigation: Floats
    nitrogen: Floats
    soil_water: Floats
    soil_nitrogen: Floats
    crop_nitrogen: Floats
    stage: Floats
    straw: Floats
    grain: Floats
    money: Floats


def season_figure(season: Season) -> Figure:
    """Draw a season."""
    figure = Figure(figsize=(9.0, 9.5), layout="constrained")
    figure.suptitle(season.title, fontsize=12, fontweight="bold")
    water, soil, nitrogen, growth, money = figure.subplots(
        5, 1, sharex=True, height_ratios=[1, 1, 1.2, 1.3, 1]
    )
    _draw_water(water, season)
    _draw_soil(soil, season)
    _draw_nitrogen(nitrogen, season)
    _draw_growth(growth, season)
    _draw_money(money, season)
    money.set_xlabel("weeks after sowing")
    money.set_xlim(-0.9, len(season.rain) + 0.2)
    for axes in (water, soil, nitrogen, growth, money):
        axes.spines[["top", "right"]].set_visible(False)
        _mark_stages(axes, season)
    _name_stages(water, season)
    return figure


def _draw_water(axes: Axes, season: Season) -> None:
    weeks = np.arange(len(season.rain))
    axes.bar(weeks + 0.3, season.rain, 0.4, color=GREY, label="rain")
    axes.bar(weeks + 0.7, season.irrigation, 0.4, color=BLUE, label="irrigation")
    axes.set_ylabel("water\n(mm a week)")
    axes.legend(frameon=False, ncols=2, fontsize=8, loc="upper right")


def _draw_soil(axes: Axes, season: Season) -> None:
    axes.plot(100 * season.soil_water, color=BLUE)
    axes.axhline(100, color=GREY, linewidth=0.8, linestyle=":")
    axes.axhline(0, color=GREY, linewidth=0.8, linestyle=":")
    axes.text(0, 102, "full", fontsize=8, color=GREY, va="bottom")
    axes.text(0, 2, "plants wilt", fontsize=8, color=GREY, va="bottom")
    axes.set_ylabel("water in reach\nof the roots (%)")


def _draw_nitrogen(axes: Axes, season: Season) -> None:
    axes.plot(season.soil_nitrogen, color=ORANGE, label="in the soil")
    axes.plot(season.crop_nitrogen, color=GREEN, label="in the crop")
    top = max(season.soil_nitrogen.max(), season.crop_nitrogen.max())
    for week in np.flatnonzero(season.nitrogen):
        axes.annotate(
            f"{season.nitrogen[week]:.0f} kg",
            (week, season.soil_nitrogen[week]),
            (week, 1.15 * top),
            arrowprops={"arrowstyle": "->", "color": ORANGE},
            ha="center",
            fontsize=8,
        )
    axes.set_ylim(0, 1.35 * top)
    axes.set_ylabel("nitrogen\n(kg/ha)")
    axes.legend(frameon=False, fontsize=8, loc="center right")


def _draw_growth(axes: Axes, season: Season) -> None:
    weeks = np.arange(len(season.grain))
    axes.fill_between(weeks, season.straw, color=GREEN, alpha=0.5, label="leaves and stems")
    total = season.straw + season.grain
    axes.fill_between(weeks, season.straw, total, color=ORANGE, alpha=0.7, label="grain")
    axes.set_ylabel("dry matter\n(t/ha)")
    axes.legend(frameon=False, fontsize=8, loc="upper left")


def _draw_money(axes: Axes, season: Season) -> None:
    sums = np.concatenate([[0.0], np.cumsum(season.money)])
    axes.plot(sums, color=GREY)
    axes.axhline(0, color=GREY, linewidth=0.8, linestyle=":")
    axes.annotate(f"{sums[-1]:,.0f} $", (len(sums) - 1, sums[-1]), ha="right", va="bottom")
    axes.set_ylabel("grain minus costs\nso far ($/ha)")


def _stages(season: Season) -> dict[str, float]:
    """Return the weeks of emergence, flowering and maturity that are reached."""
    names = {"emergence": 0.0, "flowering": 1.0, "maturity": 2.0}
    reached = {name: np.flatnonzero(season.stage >= stage) for name, stage in names.items()}
    return {name: float(weeks[0]) for name, weeks in reached.items() if len(weeks)}


def _mark_stages(axes: Axes, season: Season) -> None:
    for week in _stages(season).values():
        axes.axvline(week, color=GREEN, linewidth=0.8, linestyle="--", zorder=0)


def _name_stages(axes: Axes, season: Season) -> None:
    for name, week in _stages(season).items():
        axes.annotate(
            name,
            (week, 1.0),
            xycoords=("data", "axes fraction"),
            fontsize=8,
            ha="center",
            va="bottom",
        )
