"""PCSE's LINTUL3 on the weather and parameters of `Crop`: a second model of the same decisions.

    python pcse_season.py < seasons.json

reads seasons `{"context": {...}, "year": i, "plan": [[nitrogen, irrigation], ...]}` and prints
their profits as JSON. PCSE opens files and changes loggers when it is imported, so it never runs in
the process of the tests.

The soil below the roots always holds the same water in LINTUL3, as much as at sowing. Features
that LINTUL3 lacks are put into the weather it sees: irrigation into the rain, the effect of
temperature on the use of light into the radiation, and the drying surface of the soil into the
evaporation of bare soil.
"""

import json
import re
import sys
from contextlib import redirect_stdout
from datetime import date, timedelta
from itertools import chain

import jax.numpy as jnp
import numpy as np

from sdmbtl_crops.functional_crop import SETTING_UP, SPREADING
from sdmbtl_crops.growth import (
    AIR_DRY,
    DRAINAGE,
    HECTARE,
    MINERALISATION,
    MOVES_FROM,
    MOVING_DAYS,
    RECOVERY,
    ROOTS_GIVE,
    SATURATED,
    SEED_DEPTH,
    WET,
    WETTING,
    WILTING,
    interpolate,
)
from sdmbtl_crops.season import WEEK, Climate, in_climate, season_weather
from sdmbtl_crops.varieties import MAIZE

#: Sowing, in any year: the model has no use for the real one.
BEGIN = date(1990, 1, 1) + timedelta(days=MAIZE.sowing_day - 1)
#: Share of the capacity that is filled, and mineral nitrogen in g/m2.
WATER, MINERAL = 0.6, 4.0


def profit(pcse, context, year, plan):
    """Play a season, and return its dollars a hectare."""
    content = WILTING + WATER * context["soil"]
    sky = make_sky(pcse, context, year, dict(enumerate(water for _, water in plan)))
    provider = pcse.base.ParameterProvider(
        cropdata=crop_parameters(MAIZE),
        soildata=soil_parameters(context["soil"]),
        sitedata={"WCI": content, "WCSUBS": content, "WMFAC": False, "IRRIGF": False},
    )
    calendar = {
        "crop_name": "maize",
        "variety_name": "maize",
        "crop_start_date": BEGIN,
        "crop_start_type": "sowing",
        "crop_end_date": BEGIN + timedelta(days=MAIZE.longest_weeks * WEEK - 1),
        "crop_end_type": "earliest",
        "max_duration": 366,
    }
    season = {BEGIN: {"CropCalendar": calendar, "TimedEvents": None, "StateEvents": None}}
    model = pcse.models.LINTUL3(provider, sky, [season])

    def fertilize(amount, recovery):
        signal = pcse.signals.apply_n
        model._send_signal(signal=signal, amount=amount, recovery=recovery)

    fertilize(MINERAL, recovery=1.0)
    spent = 0.0
    for nitrogen, irrigation in plan:
        if nitrogen:
            fertilize(nitrogen / HECTARE, RECOVERY)
        spent += context["nitrogen_price"] * nitrogen + SPREADING * (nitrogen > 0)
        spent += context["water_price"] * irrigation + SETTING_UP * (irrigation > 0)
        model.run(days=WEEK)
        if model.flag_terminate:
            break
    grain = float(model.get_output()[-1]["WSO"] or 0.0)
    return context["grain_price"] * HECTARE * grain - spent


def crop_parameters(variety):
    """A variety by the names of PCSE's LINTUL3, which the docstring of `Variety` has."""
    parameters = {}
    documented = re.findall(r"(\w+): .*\(([A-Z0-9, ]+)\)\.$", variety.__doc__, re.MULTILINE)
    for field, names in documented:
        values = getattr(variety, field)
        many = ", " in names
        for name, value in zip(names.split(", "), values if many else [values], strict=True):
            parameters[name] = flat(value) if isinstance(value, tuple) else value
    # PCSE wants shares of all growth, and has a few parameters that ours lacks.
    shares = {"FLVTB": variety.to_leaves, "FSTTB": variety.to_stems, "FSOTB": variety.to_grain}
    stages = sorted({s for table in (variety.to_roots, *shares.values()) for s, _ in table})
    shoot = 1 - at(variety.to_roots, stages)
    for name, table in shares.items():
        parameters[name] = flat(zip(stages, shoot * at(table, stages), strict=True))
    largest = variety.leaf_nitrogen[0][1]
    parameters |= {"DVSI": 0.0, "DVSEND": 2.0, "DVSDR": 1.0, "IDSL": 0, "DLO": 8.0, "DLC": 0.0}
    parameters |= {"WSTI": 0.0, "WSOI": 0.0, "NLAI": 1.0, "NPART": 1.0, "ROOTDI": SEED_DEPTH}
    parameters |= {"DVSNT": MOVES_FROM, "TCNT": MOVING_DAYS, "FNTRT": ROOTS_GIVE}
    coldest, warmest = variety.development[0][0], variety.development[-1][0]
    return parameters | {
        "TBASEM": coldest,
        "TEFFMX": warmest - coldest,
        "SLACF": [0.0, 1.0, 2.1, 1.0],
        "NFRLVI": largest,
        "NFRSTI": largest * variety.stem_share,
        "NFRRTI": largest * variety.root_share,
    }


def soil_parameters(capacity):
    """A soil by the names of PCSE's LINTUL3."""
    full = WILTING + capacity
    return {
        "WCAD": AIR_DRY,
        "WCWP": WILTING,
        "WCFC": full,
        "WCWET": full + WET,
        "WCST": full + SATURATED,
        "DRATE": DRAINAGE,
        "RNMIN": MINERALISATION,
    }


def make_sky(pcse, context, year, irrigation):
    """The weather of a season, with the irrigation of each week as rain at its beginning."""
    rows = season_weather("champion", "maize").days[year].reshape(-1, 5)
    climate = Climate(*(jnp.float32(context[n]) for n in ("rain", "temperature", "radiation")))
    none = jnp.zeros(len(rows))
    days = in_climate(jnp.asarray(rows), climate, none, none)
    light = np.asarray(days.radiation * interpolate(MAIZE.warmth, days.daytime), float)
    mean, et0 = np.asarray(days.temperature, float), np.asarray(days.et0, float)
    water = np.asarray(days.rain, float)
    for week, amount in irrigation.items():
        water[week * WEEK + 1] += amount  # PCSE has read the first day when a week begins

    class Sky(pcse.base.WeatherDataProvider):
        def __init__(self):
            super().__init__()
            self.latitude, self.longitude, self.elevation = 50.0, 0.0, 0.0

        def __call__(self, day, member_id=0):
            i = min((day - BEGIN).days, len(mean) - 1)
            dry_days = next((n for n in range(i + 1) if water[i - n] >= WETTING), i) + 1
            crust = dry_days**0.5 - (dry_days - 1) ** 0.5
            return pcse.base.WeatherDataContainer(
                LAT=50.0,
                LON=0.0,
                ELEV=0.0,
                DAY=day,
                VAP=10.0,
                WIND=2.0,
                **dict.fromkeys(("TMIN", "TMAX", "TEMP"), mean[i]),
                **dict.fromkeys(("E0", "ES0"), et0[i] * crust / 10),
                ET0=et0[i] / 10,
                RAIN=water[i] / 10,
                IRRAD=light[i] * 1e6,
            )

    return Sky()


def flat(table):
    return list(map(float, chain(*table)))


def at(table, x):
    return np.interp(x, *np.array(table).T)


if __name__ == "__main__":
    with redirect_stdout(sys.stderr):  # PCSE reports that it builds a database
        import pcse
        import pcse.base
        import pcse.models
        import pcse.signals

        profits = [profit(pcse, **season) for season in json.load(sys.stdin)]
    print(json.dumps(profits))
