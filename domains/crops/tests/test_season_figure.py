"""The figure of a season."""

import numpy as np

from sdmbtl.plots import save_figure
from sdmbtl_crops.season_figure import Season, season_figure


def season(**changes):
    weeks = np.arange(21.0)
    values = {
        "title": "A season",
        "rain": np.full(20, 12.0),
        "irrigation": np.where(np.arange(20) == 9, 30.0, 0.0),
        "nitrogen": np.where(np.arange(20) == 4, 60.0, 0.0),
        "soil_water": np.linspace(0.9, 0.2, 21),
        "soil_nitrogen": np.linspace(60, 5, 21),
        "crop_nitrogen": np.linspace(0, 150, 21),
        "stage": np.linspace(-0.2, 2.0, 21),
        "straw": np.minimum(weeks, 10),
        "grain": np.maximum(weeks - 10, 0),
        "money": np.full(20, 50.0),
    }
    return Season(**{**values, **changes})


def texts(figure):
    return [t.get_text() for axes in figure.axes for t in axes.texts]


def test_decisions_stages_and_the_profit_are_named():
    figure = season_figure(season())
    assert {"60 kg", "emergence", "flowering", "maturity", "1,000 $"} <= set(texts(figure))
    bars = [patch.get_height() for patch in figure.axes[0].patches]
    assert bars == [12.0] * 20 + [0.0] * 9 + [30.0] + [0.0] * 10


def test_a_season_that_never_ripens_has_no_maturity():
    named = texts(season_figure(season(stage=np.linspace(-0.2, 1.6, 21))))
    assert "flowering" in named
    assert "maturity" not in named


def test_it_is_saved(tmp_path):
    save_figure(season_figure(season()), tmp_path / "season.png", reduced=False)
    assert (tmp_path / "season.png").stat().st_size > 10_000
