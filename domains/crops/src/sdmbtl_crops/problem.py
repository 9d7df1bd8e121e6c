"""The decision problem of a season, whichever model grows the crop."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Nitrogen that the soil makes available in a day, in g/m2: 30 kg/ha in a season of 100 days.
MINERALISATION = 0.03
#: At sowing: shares of the soil's capacity that are filled, mineral nitrogen in g/m2.
WATER_AT_SOWING, NITROGEN_AT_SOWING = (0.3, 0.9), (2.0, 6.0)
#: What it costs to go over the field with a spreader, 7.3 $ an acre (Iowa Farm Custom Rate Survey
#: 2012: liquid fertilizer 4 to 12 $), and to set up irrigation, in $/ha.
SPREADING, SETTING_UP = 18.0, 3.0
#: g/m2 to kg/ha.
HECTARE = 10.0

#: What a farmer knows, and by what it is divided, so that each is about from 0 to 1.
OBSERVED = {
    "week": 26.0,
    "stage": 2.0,
    "leaf area": 5.0,
    "dry matter above the ground": 2000.0,
    "water in reach of the roots": 1.0,
    "water in all of the soil": 1.0,
    "nitrogen so far": 200.0,
    "irrigation so far": 300.0,
    "temperature of the last week": 30.0,
    "rain of the last week": 50.0,
    "radiation of the last week": 30.0,
    "rain of the last four weeks": 150.0,
}
SCALES = np.array(list(OBSERVED.values()), dtype=np.float32)


def weekly_profit(grain: Any, nitrogen: Any, irrigation: Any, prices: Any) -> Any:
    """Dollars a hectare, of numbers or arrays.

    Args:
        grain: New grain in g/m2.
        nitrogen: In kg/ha.
        irrigation: In mm.
        prices: Of grain, nitrogen and water.
    """
    grain_price, nitrogen_price, water_price = prices
    spent = nitrogen_price * nitrogen + SPREADING * (nitrogen > 0)
    spent = spent + water_price * irrigation + SETTING_UP * (irrigation > 0)
    return grain_price * HECTARE * grain - spent
