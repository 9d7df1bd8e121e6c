"""A season of a crop as pure functions."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from gymnasium.spaces import Discrete

from sdmbtl.environments.functional.base import FunctionalEnvironment
from sdmbtl_crops.crop import Crop
from sdmbtl_crops.growth import DEPTH, WILTING, Field, Soil, sow
from sdmbtl_crops.problem import (
    HECTARE,
    MINERALISATION,
    NITROGEN_AT_SOWING,
    SCALES,
    WATER_AT_SOWING,
    weekly_profit,
)
from sdmbtl_crops.season import Climate, season_weather, week_of
from sdmbtl_crops.varieties import variety_of
from sdmbtl_crops.weather import Years, years_of


class FunctionalCrop(FunctionalEnvironment):
    """The state is (year, week, nitrogen in kg/ha, irrigation in mm, field...).

    Args:
        crop: As of `Crop`.
        site: As of `Crop`.
        years: As of `Crop`.
        nitrogen: As of `Crop`.
        irrigation: As of `Crop`.

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

    @property
    def actions(self) -> Discrete:
        """One for each pair of doses."""
        return Discrete(len(self.nitrogen) * len(self.irrigation))

    @property
    def max_steps(self) -> int:
        """The weeks until the harvest at the latest."""
        return variety_of(self.crop).longest_weeks

    def reset(self, key: jax.Array, parameters: jax.Array) -> jax.Array:
        """Sowing, in a year that is drawn."""
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
        """(S,) the state of a field that is sown.

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
        """A week; the reward is the value it adds to the grain, minus what is spent."""
        nitrogen = jnp.array(self.nitrogen)[action // len(self.irrigation)]
        irrigation = jnp.array(self.irrigation)[action % len(self.irrigation)]
        return self.apply(state, nitrogen, irrigation, parameters)

    def apply(
        self, state: jax.Array, nitrogen: jax.Array, irrigation: jax.Array, parameters: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """A week with any doses, in kg/ha and mm."""
        variety = variety_of(self.crop)
        year, week = state[0].astype(jnp.int32), state[1].astype(jnp.int32)
        field = Field(*state[4:])
        rows = jnp.asarray(season_weather(self.site, self.crop).days)[year, week]
        after, _ = week_of(
            field,
            rows,
            Climate(*parameters[:3]),
            self.soil(parameters),
            variety,
            irrigation,
            nitrogen / HECTARE,
        )
        gained = after.grain - field.grain
        reward = weekly_profit(gained, nitrogen, irrigation, parameters[4:])
        ended = (after.stage >= 2) | (week + 1 >= variety.longest_weeks)
        given = jnp.stack([state[0], state[1] + 1, state[2] + nitrogen, state[3] + irrigation])
        return jnp.concatenate([given, jnp.stack(after)]), reward, ended

    def observe(self, state: jax.Array, parameters: jax.Array) -> jax.Array:
        """What a farmer knows; see `OBSERVED`."""
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
        """The soil of a context."""
        return Soil(parameters[3], jnp.full_like(parameters[3], MINERALISATION))
