"""The figure of a season."""

import numpy as np
import pytest

from sdmbtl_crops.season_figure import Season, season_figure


@pytest.mark.parametrize("last_stage", [1.6, 2.0])
def test_decisions_stages_and_the_profit_are_named(last_stage):
    weeks = np.arange(21.0)
    season = Season(
        title="A season",
        rain=np.full(20, 12.0),
        irrigation=np.where(np.arange(20) == 9, 30.0, 0.0),
        nitrogen=np.where(np.arange(20) == 4, 60.0, 0.0),
        soil_water=np.linspace(0.9, 0.2, 21),
        soil_nitrogen=np.linspace(60, 5, 21),
        crop_nitrogen=np.linspace(0, 150, 21),
        stage=np.linspace(-0.2, last_stage, 21),
        straw=np.minimum(weeks, 10),
        grain=np.maximum(weeks - 10, 0),
        money=np.full(20, 50.0),
    )
    figure = season_figure(season)
    texts = {text.get_text() for axes in figure.axes for text in axes.texts}
    assert {"60 kg", "emergence", "flowering", "1,000 $"} <= texts
    assert ("maturity" in texts) == (last_stage == 2.0)
    bars = [patch.get_height() for patch in figure.axes[0].patches]
    assert bars == [12.0] * 20 + [0.0] * 9 + [30.0] + [0.0] * 10
