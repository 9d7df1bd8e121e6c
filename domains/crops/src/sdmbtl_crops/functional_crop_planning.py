"""Years of a farm as pure functions."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from sdmbtl.environments.functional.base import FunctionalEnvironment
from sdmbtl_crops.crop_planning import CropPlanning
from sdmbtl_crops.growth import (
    DEPTH,
    HECTARE,
    MINERALISATION,
    WILTING,
    Day,
    Field,
    Soil,
    grow,
    sow,
)
from sdmbtl_crops.season import Climate, daily_rows, in_climate
from sdmbtl_crops.varieties import MAIZE, WHEAT, Variety
from sdmbtl_crops.weather import load_weather

YEARS, WEEKS = 19, 14
#: Day of the year on which the first of the weeks begins.
FIRST_DAY = 75
#: Fertilizer at sowing, in g/m2.
FERTILIZER = 10.0
#: Share of the mineral nitrogen that is still there after the winter, and of the nitrogen in
#: leaves, stems and roots that has become mineral by then. The rest is bound in the soil or lost.
KEPT, RETURNED = 0.5, 0.25
#: At the beginning: share of the soil's capacity that is filled, mineral nitrogen in g/m2.
WATER, MINERAL = 0.6, 4.0
#: Wheat that is sown takes its time to emerge; in LINTUL3's example it is there already.
CROPS = (MAIZE, replace(WHEAT, emergence_sum=100.0))


class FunctionalCropPlanning(FunctionalEnvironment):
    """The state is (year, share of water in the soil, mineral nitrogen, last crop, last grain)."""

    defaults = CropPlanning.defaults
    observation_size = 5
    actions = Discrete(len(CROPS) * WEEKS)
    max_steps = YEARS

    def reset(self, key: jax.Array, parameters: jax.Array) -> jax.Array:
        """Return the first year, which is always the same."""
        del key, parameters
        return jnp.array([0.0, WATER, MINERAL, 0.0, 0.0])

    def step(
        self, state: jax.Array, action: jax.Array, parameters: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Advance a year; the reward is the value of its grain."""
        year, water, mineral = state[0].astype(jnp.int32), state[1], state[2]
        crop, week = action // WEEKS, action % WEEKS
        soil = Soil(parameters[3], jnp.full_like(water, MINERALISATION))
        rows = jnp.asarray(_record())[year]
        field = sow(water, mineral, soil)
        sowing = FIRST_DAY + 7 * week
        # Both crops are grown and one is taken, which side by side costs the same as branching.
        ends = [_grow_year(field, rows, sowing, Climate(*parameters[:3]), soil, c) for c in CROPS]
        end = jax.tree.map(lambda maize, wheat: jnp.where(crop == 0, maize, wheat), *ends)
        price = jnp.where(crop == 0, parameters[4], parameters[5])
        reward = price * HECTARE * end.grain / 1000
        content = (end.water + end.deep_water) / (1000 * DEPTH)
        residues = end.leaf_nitrogen + end.stem_nitrogen + end.root_nitrogen
        after = (
            state[0] + 1,
            (content - WILTING) / soil.capacity,
            KEPT * end.mineral + RETURNED * residues,
            crop.astype(water.dtype),
            end.grain,
        )
        return jnp.stack(after), reward, year + 1 >= YEARS

    def observe(self, state: jax.Array, parameters: jax.Array) -> jax.Array:
        """Return the state, each part about from 0 to 1."""
        del parameters
        return state / jnp.array([YEARS, 1.0, 20.0, 1.0, 1000.0])


@lru_cache(maxsize=1)
def _record() -> NDArray[np.float32]:
    """Return the recorded weather, (years, 365, 5)."""
    return daily_rows(load_weather("champion"))[:YEARS].astype(np.float32)


def _grow_year(
    field: Field, rows: jax.Array, sowing: jax.Array, climate: Climate, soil: Soil, variety: Variety
) -> Field:
    """Return a field at the end of a year.

    Args:
        field: On the first of January.
        rows: (365, 5) the recorded weather.
        sowing: Number of the day on which it is sown.
        climate: Changes to the weather.
        soil: The soil.
        variety: The crop.
    """
    number = jnp.arange(len(rows))
    none = jnp.zeros(len(rows))
    days = in_climate(rows, climate, none, jnp.where(number == sowing, FERTILIZER, 0.0))

    def step(field: Field, today: tuple[Day, jax.Array]) -> tuple[Field, None]:
        day, number = today
        after, _ = grow(field, day, soil, variety)
        # A seed that is not in the ground yet feels no warmth.
        return after._replace(warmth=jnp.where(number < sowing, 0.0, after.warmth)), None

    return jax.lax.scan(step, field, (days, number))[0]
