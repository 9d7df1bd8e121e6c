"""A season of a crop as pure functions."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Discrete

from sdmbtl.environments.functional.base import FunctionalEnvironment
from sdmbtl_crops.crop import Crop
from sdmbtl_crops.growth import DEPTH, HECTARE, MINERALISATION, WILTING, Field, Soil, sow
from sdmbtl_crops.season import Climate, grow_week, season_weather
from sdmbtl_crops.varieties import variety_of
from sdmbtl_crops.weather import Years, years_of

#: At sowing: shares of the soil's capacity that are filled, mineral nitrogen in g/m2.
WATER_AT_SOWING, NITROGEN_AT_SOWING = (0.3, 0.9), (2.0, 6.0)
#: Costs of going over the field with a spreader, 7.3 $ an acre (Iowa Farm Custom Rate Survey
#: 2012: liquid fertilizer 4 to 12 $), and of setting up irrigation, in $/ha.
SPREADING, SETTING_UP = 18.0, 3.0

#: Entries of an observation and their divisors, so that each is about from 0 to 1.
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


class FunctionalCrop(FunctionalEnvironment):
    """The season of `Crop`; its arguments are those of the family.

    The state is (year, week, nitrogen in kg/ha, irrigation in mm, field...).

    Raises:
        FamilyError: If an option is not usable.
    """

    defaults = Crop.defaults
    observation_size = len(SCALES)

    def __init__(
        self,
        crop: str = "maize",
        site: str = "champion",
        years: Years = "train",
        nitrogen: Sequence[float] = (0.0,),
        irrigation: Sequence[float] = (0.0,),
    ) -> None:
        self.crop, self.site = crop, site
        self.years = years_of(site, years)
        self.nitrogen, self.irrigation = tuple(nitrogen), tuple(irrigation)
        self.actions = Discrete(len(self.nitrogen) * len(self.irrigation))
        self.max_steps = variety_of(crop).longest_weeks  # until the harvest at the latest

    def reset(self, key: jax.Array, parameters: jax.Array) -> jax.Array:
        """Sow in a year that is drawn."""
        year_key, water_key, nitrogen_key = jax.random.split(key, 3)
        year = jax.random.choice(year_key, jnp.array(self.years))
        low, high = WATER_AT_SOWING
        water = jax.random.uniform(water_key, minval=low, maxval=high)
        low, high = NITROGEN_AT_SOWING
        mineral = jax.random.uniform(nitrogen_key, minval=low, maxval=high)
        return self.start(year, water, mineral, parameters)

    def start(
        self, year: jax.Array, water: jax.Array, mineral: jax.Array, parameters: jax.Array
    ) -> jax.Array:
        """Return the (S,) state of a field that is sown.

        Args:
            year: Position in the record.
            water: Share of the soil's capacity that is filled.
            mineral: Nitrogen in the soil, in g/m2.
            parameters: (P,) the context.
        """
        field = sow(water, mineral, self.soil(parameters))
        zero = jnp.zeros_like(field.water)
        return jnp.stack([year.astype(zero.dtype), zero, zero, zero, *field])

    def step(
        self, state: jax.Array, action: jax.Array, parameters: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Advance a week; the reward is the value it adds to the grain minus its costs."""
        nitrogen = jnp.array(self.nitrogen)[action // len(self.irrigation)]
        irrigation = jnp.array(self.irrigation)[action % len(self.irrigation)]
        return self.apply(state, nitrogen, irrigation, parameters)

    def apply(
        self, state: jax.Array, nitrogen: jax.Array, irrigation: jax.Array, parameters: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Advance a week with any doses, in kg/ha and mm."""
        variety = variety_of(self.crop)
        year, week = state[0].astype(jnp.int32), state[1].astype(jnp.int32)
        field = Field(*state[4:])
        rows = jnp.asarray(season_weather(self.site, self.crop).days)[year, week]
        after, _ = grow_week(
            field,
            rows,
            Climate(*parameters[:3]),
            self.soil(parameters),
            variety,
            irrigation,
            nitrogen / HECTARE,
        )
        grain_price, nitrogen_price, water_price = parameters[4:]
        spent = nitrogen_price * nitrogen + SPREADING * (nitrogen > 0)
        spent = spent + water_price * irrigation + SETTING_UP * (irrigation > 0)
        reward = grain_price * HECTARE * (after.grain - field.grain) - spent
        ended = (after.stage >= 2) | (week + 1 >= variety.longest_weeks)
        given = jnp.stack([state[0], state[1] + 1, state[2] + nitrogen, state[3] + irrigation])
        return jnp.concatenate([given, jnp.stack(after)]), reward, ended

    def observe(self, state: jax.Array, parameters: jax.Array) -> jax.Array:
        """Return a farmer's knowledge; see `OBSERVED`."""
        year, week = state[0].astype(jnp.int32), state[1].astype(jnp.int32)
        field, climate = Field(*state[4:]), Climate(*parameters[:3])
        recent = jnp.asarray(season_weather(self.site, self.crop).recent)[year, week]
        above = field.leaves + field.dead_leaves + field.stems + field.grain
        capacity = 1000 * parameters[3]
        reach = (field.water - 1000 * WILTING * field.depth) / (capacity * field.depth)
        both = (field.water + field.deep_water - 1000 * WILTING * DEPTH) / (capacity * DEPTH)
        weather = (
            recent[0] + climate.temperature,
            recent[1] * climate.rain,
            recent[2] * climate.radiation,
            recent[3] * climate.rain,
        )
        plant = (field.stage, field.leaf_area, above)
        return jnp.stack([state[1], *plant, reach, both, *state[2:4], *weather]) / SCALES

    def soil(self, parameters: jax.Array) -> Soil:
        """Return the soil of a context."""
        return Soil(parameters[3], jnp.full_like(parameters[3], MINERALISATION))
