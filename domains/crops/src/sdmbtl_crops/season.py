"""A season in weeks: its weather in a climate, and the growth of a field in a week."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from sdmbtl_crops.growth import Day, Field, Flows, Soil, grow
from sdmbtl_crops.varieties import Variety, variety_of
from sdmbtl_crops.weather import Weather, load_weather

WEEK = 7


class Climate(NamedTuple):
    """Changes of a context to the recorded weather.

    Attributes:
        rain: Factor.
        temperature: Kelvin that are added.
        radiation: Factor.
    """

    rain: jax.Array
    temperature: jax.Array
    radiation: jax.Array


class SeasonWeather(NamedTuple):
    """Recorded weather of the seasons of all years.

    Attributes:
        days: (years, weeks, 7, 5) radiation, mean and daytime temperature, rain and
            evapotranspiration.
        recent: (years, weeks + 1, 4) of the week before each week: mean temperature, rain and mean
            radiation; and the rain of the four weeks before.
    """

    days: NDArray[np.float32]
    recent: NDArray[np.float32]


def daily_rows(weather: Weather) -> NDArray[np.float64]:
    """Return radiation, mean and daytime temperature, rain and ET0, (years, 365, 5)."""
    radiation, tmin, tmax, rain, et0 = np.moveaxis(weather.days, -1, 0)
    # The mean while there is light (Goudriaan and van Laar 1994).
    daytime = tmax - 0.25 * (tmax - tmin)
    return np.stack([radiation, (tmin + tmax) / 2, daytime, rain, et0], axis=-1)


@lru_cache(maxsize=8)
def season_weather(site: str, crop: str) -> SeasonWeather:
    """Return the weather of a site in the weeks in which a crop stands there."""
    variety, rows = variety_of(crop), daily_rows(load_weather(site))
    first, weeks = variety.sowing_day - 1, variety.longest_weeks
    days = rows[:, first : first + weeks * WEEK].reshape(len(rows), weeks, WEEK, -1)
    recent = np.stack([_recent(rows, first + week * WEEK) for week in range(weeks + 1)], axis=1)
    return SeasonWeather(days.astype(np.float32), recent.astype(np.float32))


def _recent(rows: NDArray[np.float64], day: int) -> NDArray[np.float64]:
    """Return the weather before a day, (years, 4)."""
    week, month = rows[:, day - WEEK : day], rows[:, day - 4 * WEEK : day]
    columns = [
        week[..., 1].mean(1),
        week[..., 3].sum(1),
        week[..., 0].mean(1),
        month[..., 3].sum(1),
    ]
    return np.stack(columns, axis=-1)


def grow_week(
    field: Field,
    rows: jax.Array,
    climate: Climate,
    soil: Soil,
    variety: Variety,
    irrigation: jax.Array,
    nitrogen: jax.Array,
) -> tuple[Field, Flows]:
    """Advance a field by some days; doses are given on the first of them.

    Args:
        field: State in the morning of the first day.
        rows: (days, 5) the recorded weather.
        climate: Changes to it.
        soil: The soil.
        variety: The crop.
        irrigation: In mm.
        nitrogen: In g/m2.

    Returns:
        The field after the last day, and the flows with a leading axis for the days.
    """
    first = jnp.arange(len(rows)) == 0
    days = in_climate(rows, climate, irrigation * first, nitrogen * first)

    def step(field: Field, day: Day) -> tuple[Field, Flows]:
        return grow(field, day, soil, variety)

    return jax.lax.scan(step, field, days)


def in_climate(
    rows: jax.Array, climate: Climate, irrigation: jax.Array, nitrogen: jax.Array
) -> Day:
    """Return the days of a climate.

    Evapotranspiration changes as Makkink's does: in proportion to radiation, and with temperature
    as the share s / (s + gamma), where s is the slope of the vapour pressure of saturated air.
    """
    radiation, mean, daytime, rain, et0 = jnp.moveaxis(rows, -1, 0)
    warmer = _energy_share(mean + climate.temperature) / _energy_share(mean)
    return Day(
        radiation=radiation * climate.radiation,
        temperature=mean + climate.temperature,
        daytime=daytime + climate.temperature,
        rain=rain * climate.rain,
        et0=et0 * climate.radiation * warmer,
        irrigation=irrigation,
        nitrogen=nitrogen,
    )


def _energy_share(temperature: jax.Array) -> jax.Array:
    pressure = 0.6108 * jnp.exp(17.27 * temperature / (temperature + 237.3))
    slope = 4098 * pressure / (temperature + 237.3) ** 2
    return slope / (slope + 0.066)
