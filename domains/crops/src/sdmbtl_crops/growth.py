"""A field from day to day: the equations of LINTUL3 as pure functions of arrays.

Light that is intercepted makes dry matter; the lack of water and of nitrogen reduces it; the stage
of development decides where it goes (Spitters and Schapendonk 1990; Shibu et al. 2010, "LINTUL3, a
simulation model for nitrogen-limited situations", European Journal of Agronomy 32). Five things
are as in LINTUL5 (Wolf 2012) or EPIC (Williams 1990), because decisions depend on them:

* the soil below the roots holds water, which drains into it and is found by growing roots;
* the surface of the soil dries, so that evaporation falls with the root of the days without rain;
* the use of light depends on temperature;
* nitrogen leaves the soil with the water that drains out of it;
* before emergence and after maturity the field is bare.

All amounts are for a square metre: dry matter and nitrogen in g, water in mm.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp

from sdmbtl_crops.varieties import Table, Variety

#: Depth of the soil in m, whatever grows on it.
DEPTH = 1.2
#: Depth of the soil in which seeds lie and from which water evaporates, in m.
SEED_DEPTH = 0.1
#: Water contents when air dry and at the wilting point; where wetness harms, above field capacity;
#: saturation, above field capacity (the soil of LINTUL3's example, whose capacity is 0.2).
AIR_DRY, WILTING, WET, SATURATED = 0.10, 0.20, 0.05, 0.10
#: Most water that drains in a day, in mm.
DRAINAGE = 30.0
#: Nitrogen that the soil makes available in a day, in g/m2: 30 kg/ha in a season of 100 days.
MINERALISATION = 0.03
#: Kilograms a hectare in a gram a square metre.
HECTARE = 10.0
#: Rain or irrigation that wets the soil's surface, in mm.
WETTING = 0.5
#: Share of fertilizer nitrogen that reaches the soil's mineral nitrogen.
RECOVERY = 0.7
#: Days in which nitrogen is moved to the grain; what roots give of it, as a share of the shoot's;
#: the stage from which it moves.
MOVING_DAYS, ROOTS_GIVE, MOVES_FROM = 10.0, 0.15, 0.8


class Day(NamedTuple):
    """Weather of a day, and the doses given on it.

    Attributes:
        radiation: In MJ/m2.
        temperature: Mean, in degrees Celsius.
        daytime: Mean while there is light.
        rain: In mm.
        et0: Evapotranspiration of short grass in mm.
        irrigation: In mm.
        nitrogen: Fertilizer in g/m2.
    """

    radiation: jax.Array
    temperature: jax.Array
    daytime: jax.Array
    rain: jax.Array
    et0: jax.Array
    irrigation: jax.Array
    nitrogen: jax.Array


class Soil(NamedTuple):
    """Constants of a soil.

    Attributes:
        capacity: Water between the wilting point and field capacity, in m3/m3.
        mineralisation: Nitrogen that becomes available each day, in g/m2.
    """

    capacity: jax.Array
    mineralisation: jax.Array


class Field(NamedTuple):
    """State of a field.

    Attributes:
        warmth: Temperature sum since sowing, until emergence.
        stage: 0 at emergence, 1 at flowering, 2 at maturity; below 0 before emergence.
        leaf_area: Of green leaves, m2/m2.
        leaves: Green dry matter.
        dead_leaves: Dry matter.
        stems: Dry matter.
        roots: Living dry matter.
        grain: Dry matter.
        depth: Of the roots, in m.
        water: In the soil with roots, in mm.
        deep_water: In the soil below.
        dry_days: Days since the soil's surface was last wet, from 1.
        mineral: Nitrogen in the soil that can be taken up.
        leaf_nitrogen: In green leaves.
        stem_nitrogen: In stems.
        root_nitrogen: In living roots.
        grain_nitrogen: In grain.
    """

    warmth: jax.Array
    stage: jax.Array
    leaf_area: jax.Array
    leaves: jax.Array
    dead_leaves: jax.Array
    stems: jax.Array
    roots: jax.Array
    grain: jax.Array
    depth: jax.Array
    water: jax.Array
    deep_water: jax.Array
    dry_days: jax.Array
    mineral: jax.Array
    leaf_nitrogen: jax.Array
    stem_nitrogen: jax.Array
    root_nitrogen: jax.Array
    grain_nitrogen: jax.Array


class Flows(NamedTuple):
    """Amounts that entered, left and moved on a day, for balances and figures.

    Attributes:
        growth: New dry matter.
        transpiration: In mm.
        evaporation: From the soil.
        interception: Rain that the leaves hold back.
        drainage: Out of the soil.
        runoff: In mm.
        uptake: Nitrogen that the crop takes up.
        leached: Nitrogen that leaves with the drainage.
        litter: Nitrogen in what dies.
        water_factor: Actual by possible transpiration.
        nitrogen_factor: The nitrogen nutrition index, 1 if there is enough.
    """

    growth: jax.Array
    transpiration: jax.Array
    evaporation: jax.Array
    interception: jax.Array
    drainage: jax.Array
    runoff: jax.Array
    uptake: jax.Array
    leached: jax.Array
    litter: jax.Array
    water_factor: jax.Array
    nitrogen_factor: jax.Array


def interpolate(table: Table, x: jax.Array) -> jax.Array:
    """Return the value of a table at x, as a sum of hinges, which compiles to arithmetic."""
    (first, start), *_ = table
    x = jnp.clip(x, first, table[-1][0])
    total: jax.Array = jnp.full_like(x, start)
    before = 0.0
    for (left, low), (right, high) in pairwise(table):
        slope = (high - low) / (right - left)
        total = total + (slope - before) * jnp.maximum(x - left, 0.0)
        before = slope
    return total


def sow(water: jax.Array, mineral: jax.Array, soil: Soil) -> Field:
    """Return a field that was sown today.

    Args:
        water: Share of the capacity that is filled, everywhere in the soil.
        mineral: Nitrogen in the soil.
        soil: The soil.
    """
    content = 1000 * (WILTING + water * soil.capacity)
    zero = jnp.zeros_like(content)
    return Field(
        warmth=zero,
        stage=zero - 1.0,
        leaf_area=zero,
        leaves=zero,
        dead_leaves=zero,
        stems=zero,
        roots=zero,
        grain=zero,
        depth=zero + SEED_DEPTH,
        water=content * SEED_DEPTH,
        deep_water=content * (DEPTH - SEED_DEPTH),
        dry_days=zero + 1,
        mineral=mineral + zero,
        leaf_nitrogen=zero,
        stem_nitrogen=zero,
        root_nitrogen=zero,
        grain_nitrogen=zero,
    )


def grow(field: Field, day: Day, soil: Soil, variety: Variety) -> tuple[Field, Flows]:
    """Advance a field by one day.

    The rates are those of the state in the morning (Euler's method, as in LINTUL).
    """
    field = _emerge(field, day, variety)
    alive = (field.stage >= 0) & (field.stage < 2)
    nitrogen = _nutrition(field, variety)
    water, possible = _transpire(field, day, soil, variety, alive)
    water_factor = jnp.where(possible > 0, water / jnp.maximum(possible, 1e-6), 1.0)
    plant, growth, dead = _build(field, day, variety, water_factor, nitrogen, alive)
    plant, uptake, litter = _feed(field, plant, variety, water_factor, dead, alive)
    ground, flows = _drain(field, day, soil, variety, water, plant)
    leached = (field.mineral - uptake) * -jnp.expm1(
        -flows.drainage / (1000 * DEPTH * (WILTING + soil.capacity + SATURATED))
    )
    mineral = field.mineral + soil.mineralisation + RECOVERY * day.nitrogen - uptake - leached
    flows = flows._replace(
        growth=growth,
        transpiration=water,
        uptake=uptake,
        leached=leached,
        litter=litter,
        water_factor=water_factor,
        nitrogen_factor=nitrogen,
    )
    return ground._replace(mineral=mineral), flows


def _emerge(field: Field, day: Day, variety: Variety) -> Field:
    """Place seedlings, on the day on which they appear."""
    warmth = field.warmth + jnp.where(
        field.stage < 0, interpolate(variety.development, day.temperature), 0.0
    )
    emerges = (field.stage < 0) & (warmth >= variety.emergence_sum)
    leaves, roots = variety.seedling
    concentration = variety.leaf_nitrogen[0][1]
    return field._replace(
        warmth=warmth,
        stage=jnp.where(emerges, 0.0, field.stage),
        leaf_area=jnp.where(emerges, leaves * variety.leaf_area, field.leaf_area),
        leaves=jnp.where(emerges, leaves, field.leaves),
        roots=jnp.where(emerges, roots, field.roots),
        leaf_nitrogen=jnp.where(emerges, leaves * concentration, field.leaf_nitrogen),
        root_nitrogen=jnp.where(
            emerges, roots * concentration * variety.root_share, field.root_nitrogen
        ),
    )


def _nutrition(field: Field, variety: Variety) -> jax.Array:
    """Return the nitrogen nutrition index: the shoot's, from the residual to the optimum."""
    largest = interpolate(variety.leaf_nitrogen, field.stage)
    wanted = variety.optimum * largest * (field.leaves + variety.stem_share * field.stems)
    fixed = variety.residual[0] * field.leaves + variety.residual[1] * field.stems
    has = field.leaf_nitrogen + field.stem_nitrogen
    share = (has - fixed) / jnp.maximum(wanted - fixed, 1e-6)
    return jnp.where(field.leaves + field.stems > 0, jnp.clip(share, 0.001, 1.0), 1.0)


def _transpire(
    field: Field, day: Day, soil: Soil, variety: Variety, alive: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return the water that the crop transpires, and would with enough of it."""
    covered = -jnp.expm1(-0.5 * field.leaf_area)
    held = jnp.minimum(day.rain, 0.25 * field.leaf_area)
    possible = jnp.where(alive, jnp.maximum(day.et0 * covered - 0.5 * held, 0.0), 0.0)
    content = field.water / (1000 * field.depth)
    tolerance = possible / (possible + variety.drought_tolerance)
    critical = jnp.maximum(0.01, tolerance * soil.capacity)
    capacity = WILTING + soil.capacity
    dry = (content - WILTING) / critical
    drowned = (capacity + SATURATED - content) / (SATURATED - WET)
    factor = jnp.clip(jnp.minimum(dry, drowned), 0.0, 1.0)
    return possible * factor, possible


def _build(
    field: Field,
    day: Day,
    variety: Variety,
    water: jax.Array,
    nitrogen: jax.Array,
    alive: jax.Array,
) -> tuple[Field, jax.Array, jax.Array]:
    """Grow organs, and let leaves and roots die.

    Returns:
        The plant of the evening without its nitrogen, the new dry matter, and that which died, of
        leaves and roots, as (2,).
    """
    lack = 1 - nitrogen
    light = 0.5 * day.radiation * -jnp.expm1(-variety.extinction * field.leaf_area)
    use = variety.light_use * interpolate(variety.warmth, day.daytime)
    stress = jnp.minimum(water, jnp.exp(-variety.starving_light * lack))
    growth = jnp.where(alive, use * light * stress, 0.0)

    stage = jnp.clip(field.stage, 0.0, 2.0)
    to_roots = interpolate(variety.to_roots, stage)
    to_roots = jnp.minimum(0.95, to_roots * jnp.maximum(1.0, 1 / (water + 0.5)))
    shoot = growth * (1 - to_roots)
    usual = interpolate(variety.to_leaves, stage)
    # A lack of nitrogen makes less leaf and more stem; it counts where water is not scarcer.
    to_leaves = usual * jnp.where(nitrogen < water, jnp.exp(-lack), 1.0)
    to_stems = interpolate(variety.to_stems, stage) + usual - to_leaves
    to_grain = interpolate(variety.to_grain, stage)

    step = jnp.where(alive, interpolate(variety.development, day.temperature), 0.0)
    total = jnp.where(
        stage < 1,
        stage * variety.flowering_sum,
        variety.flowering_sum + (stage - 1) * variety.ripening_sum,
    )
    old = jnp.where(total >= variety.ageing_sum, interpolate(variety.ageing, day.temperature), 0.0)
    crowded = field.leaf_area / variety.shading_leaf_area - 1
    shaded = variety.shading_death * jnp.clip(crowded, 0.0, 1.0)
    dying = jnp.where(alive, jnp.maximum(old, shaded) + variety.starving_death * lack, 0.0)
    dead_roots = jnp.where(alive & (stage >= 1), variety.root_death * field.roots, 0.0)

    effective = jnp.maximum(day.temperature - variety.base_temperature, 0.0)
    young = (stage < 0.2) & (field.leaf_area < 0.75)
    area = variety.leaf_area * jnp.exp(-variety.starving_area * lack)
    sprouting = field.leaf_area * jnp.expm1(variety.young_leaf_growth * effective) * water
    new_area = jnp.where(young, sprouting * jnp.exp(-lack), area * shoot * to_leaves)
    rate = jnp.where(stage < 1, step / variety.flowering_sum, step / variety.ripening_sum)
    dead_leaves = dying * field.leaves
    plant = field._replace(
        stage=jnp.where(alive, jnp.minimum(stage + rate, 2.0), field.stage),
        leaf_area=jnp.where(alive, field.leaf_area * (1 - dying) + new_area, field.leaf_area),
        leaves=field.leaves - dead_leaves + shoot * to_leaves,
        dead_leaves=field.dead_leaves + dead_leaves,
        stems=field.stems + shoot * to_stems,
        roots=field.roots + growth * to_roots - dead_roots,
        grain=field.grain + shoot * to_grain,
    )
    return plant, growth, jnp.stack([dead_leaves, dead_roots])


def _feed(
    field: Field,
    plant: Field,
    variety: Variety,
    water: jax.Array,
    dead: jax.Array,
    alive: jax.Array,
) -> tuple[Field, jax.Array, jax.Array]:
    """Take up nitrogen, move it to the grain, and lose it with dead matter.

    Returns:
        The plant with its nitrogen, the uptake, the loss.
    """
    stage = jnp.clip(field.stage, 0.0, 2.0)
    largest = interpolate(variety.leaf_nitrogen, stage)
    concentrations = (largest, variety.stem_share * largest, variety.root_share * largest)
    masses = (field.leaves, field.stems, field.roots)
    has = (field.leaf_nitrogen, field.stem_nitrogen, field.root_nitrogen)
    wanted = [
        jnp.maximum(c * m - n, 0.0) for c, m, n in zip(concentrations, masses, has, strict=True)
    ]
    demand = sum(wanted, jnp.zeros_like(stage))
    takes_up = alive & (stage < variety.uptake_until) & (water > 0.01)
    uptake = jnp.where(takes_up, jnp.minimum(demand, field.mineral), 0.0)
    filled = uptake / jnp.maximum(demand, 1e-9)

    spare = [
        jnp.maximum(n - r * m, 0.0) for n, r, m in zip(has, variety.residual, masses, strict=True)
    ]
    spare[2] = jnp.minimum(spare[2], ROOTS_GIVE * (spare[0] + spare[1]))
    supply = sum(spare, jnp.zeros_like(stage))
    missing = jnp.maximum(variety.grain_nitrogen * field.grain - field.grain_nitrogen, 0.0)
    moves = jnp.where(alive & (stage > MOVES_FROM), jnp.minimum(missing, supply) / MOVING_DAYS, 0.0)
    given = moves / jnp.maximum(supply, 1e-9)

    lost = (variety.residual[0] * dead[0], variety.residual[2] * dead[1])
    lost = (jnp.minimum(lost[0], has[0]), jnp.minimum(lost[1], has[2]))
    plant = plant._replace(
        leaf_nitrogen=has[0] + filled * wanted[0] - given * spare[0] - lost[0],
        stem_nitrogen=has[1] + filled * wanted[1] - given * spare[1],
        root_nitrogen=has[2] + filled * wanted[2] - given * spare[2] - lost[1],
        grain_nitrogen=field.grain_nitrogen + moves,
    )
    return plant, uptake, lost[0] + lost[1]


def _drain(
    field: Field, day: Day, soil: Soil, variety: Variety, transpired: jax.Array, plant: Field
) -> tuple[Field, Flows]:
    """Move water through both parts of the soil, and roots from one into the other."""
    capacity = WILTING + soil.capacity
    content = field.water / (1000 * field.depth)
    bare = jnp.exp(-0.5 * field.leaf_area)
    wetness = jnp.clip((content - AIR_DRY) / (capacity - AIR_DRY), 0.0, 1.0)
    dry_days = jnp.where(day.rain + day.irrigation >= WETTING, 1.0, field.dry_days + 1)
    crust = jnp.sqrt(dry_days) - jnp.sqrt(dry_days - 1)
    evaporation = day.et0 * bare * jnp.minimum(wetness, crust)
    interception = jnp.minimum(day.rain, 0.25 * field.leaf_area)
    available = jnp.maximum(field.water - 1000 * field.depth * AIR_DRY, 0.0)
    evaporation = jnp.minimum(evaporation, jnp.maximum(available - transpired, 0.0))
    after = field.water + day.rain + day.irrigation - interception - evaporation - transpired
    percolation = jnp.clip(after - 1000 * field.depth * capacity, 0.0, DRAINAGE)
    most = 1000 * field.depth * (capacity + SATURATED)
    runoff = jnp.maximum(after - percolation - most, 0.0)
    after = after - percolation - runoff

    below = DEPTH - field.depth
    deep = field.deep_water + percolation
    drainage = jnp.clip(deep - 1000 * below * capacity, 0.0, DRAINAGE)
    deep = deep - drainage
    # Roots grow into the soil below them, so it is there that water must be.
    moist = deep > 1000 * below * WILTING
    grows = (field.stage >= 0) & (field.stage < 1) & moist
    speed = jnp.where(grows, variety.root_speed, 0.0)
    deeper = jnp.minimum(speed, jnp.maximum(variety.root_depth - field.depth, 0.0))
    explored = deep * deeper / jnp.maximum(below, 1e-3)
    ground = plant._replace(
        depth=field.depth + deeper,
        water=after + explored,
        deep_water=deep - explored,
        dry_days=dry_days,
    )
    none = jnp.zeros_like(after)
    flows = Flows(
        growth=none,
        transpiration=transpired,
        evaporation=evaporation,
        interception=interception,
        drainage=drainage,
        runoff=runoff,
        uptake=none,
        leached=none,
        litter=none,
        water_factor=none,
        nitrogen_factor=none,
    )
    return ground, flows
