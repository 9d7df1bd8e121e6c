"""The growth of a field: balances, directions, and a season of LINTUL3's example."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sdmbtl_crops.growth import (
    RECOVERY,
    Day,
    Soil,
    grow,
    interpolate,
    sow,
)
from sdmbtl_crops.season import Climate, daily_rows, in_climate
from sdmbtl_crops.varieties import MAIZE, VARIETIES
from sdmbtl_crops.weather import load_weather

WEATHER = load_weather("champion")
ROWS = daily_rows(WEATHER)
DRY, WET = WEATHER.years.index(2002), WEATHER.years.index(1993)
SEASON = 180

#: Each is compiled for itself.
each_variety = pytest.mark.parametrize(
    "variety",
    [
        pytest.param(variety, marks=[] if variety is MAIZE else [pytest.mark.slow], id=name)
        for name, variety in VARIETIES.items()
    ],
)


@partial(jax.jit, static_argnums=3)
def play(field, days, soil, variety):
    def step(field, day):
        after, flows = grow(field, day, soil, variety)
        return after, (after, flows)

    return jax.lax.scan(step, field, days)


def season(
    variety=MAIZE,
    year=WET,
    *,
    nitrogen=15.0,
    irrigation=0.0,
    water=0.6,
    mineral=4.0,
    soil=0.15,
    **climate,
):
    """The field at the beginning and at the end, its days, and all flows."""
    first = variety.sowing_day - 1
    rows = jnp.asarray(ROWS[year, first : first + SEASON], dtype=float)
    given = np.zeros((2, SEASON))
    given[0, 14:98:7] = irrigation
    given[1, [7, 35]] = 2 / 3 * nitrogen, 1 / 3 * nitrogen
    usual = {"rain": 1.0, "temperature": 0.0, "radiation": 1.0}
    climate = Climate(*(jnp.asarray(v, dtype=float) for v in {**usual, **climate}.values()))
    days = in_climate(rows, climate, jnp.asarray(given[0]), jnp.asarray(given[1]))
    ground = Soil(jnp.asarray(soil, dtype=float), jnp.asarray(0.03, dtype=float))
    start = sow(jnp.asarray(water, dtype=float), jnp.asarray(mineral, dtype=float), ground)
    end, (fields, flows) = play(start, days, ground, variety)
    return start, end, days, fields, flows


def grain(*arguments, **options):
    return float(season(*arguments, **options)[1].grain)


def test_a_table_is_linear_between_its_points_and_constant_outside():
    table = ((0.0, 1.0), (2.0, 5.0), (3.0, -1.0))
    x = np.linspace(-1, 4, 51)
    expected = np.interp(x, *np.array(table).T)
    np.testing.assert_allclose(interpolate(table, jnp.asarray(x)), expected, atol=1e-5)


@each_variety
@pytest.mark.parametrize("irrigation", [0.0, 60.0])
def test_no_water_is_lost_or_made(variety, irrigation):
    with jax.enable_x64(True):
        start, end, days, _, flows = season(variety, irrigation=irrigation, rain=1.5)
        into = days.rain.sum() + days.irrigation.sum()
        out = sum(
            getattr(flows, name).sum()
            for name in ("transpiration", "evaporation", "interception", "drainage", "runoff")
        )
        stored = (end.water + end.deep_water) - (start.water + start.deep_water)
        assert float(flows.transpiration.sum()) > 50
        assert float(into) == pytest.approx(float(out + stored), abs=1e-6)


@each_variety
@pytest.mark.parametrize("nitrogen", [0.0, 20.0])
def test_no_nitrogen_is_lost_or_made(variety, nitrogen):
    with jax.enable_x64(True):
        start, end, _, fields, flows = season(variety, nitrogen=nitrogen, irrigation=45.0)
        leaves, roots = variety.seedling
        largest = variety.leaf_nitrogen[0][1]
        seed = largest * (leaves + variety.root_share * roots)
        into = RECOVERY * nitrogen + 0.03 * SEASON + seed
        plant = end.leaf_nitrogen + end.stem_nitrogen + end.root_nitrogen + end.grain_nitrogen
        out = flows.leached.sum() + flows.litter.sum()
        assert float(flows.leached.sum()) > 0
        assert into == pytest.approx(float(end.mineral - start.mineral + plant + out), abs=1e-6)
        amounts = [part for name, part in fields._asdict().items() if name != "stage"]
        assert float(jnp.stack(amounts).min()) >= 0


@each_variety
def test_all_dry_matter_comes_from_growth(variety):
    with jax.enable_x64(True):
        _, end, _, fields, flows = season(variety)
        above = end.leaves + end.dead_leaves + end.stems + end.grain
        assert float(flows.growth.sum()) > 100
        assert float(above) < float(flows.growth.sum()) + variety.seedling[0]
        # Until flowering no root dies: what is there is what has grown.
        first = int(np.argmax(np.asarray(fields.stage) >= 0))
        last = int((np.asarray(fields.stage) < 1).sum()) - 1
        shoot = [fields.leaves, fields.dead_leaves, fields.stems, fields.grain, fields.roots]
        total = sum(np.asarray(part) for part in shoot)
        gained = float(flows.growth[first + 1 : last + 1].sum())
        assert total[last] - total[first] == pytest.approx(gained, abs=1e-6)


@each_variety
def test_single_precision_is_enough(variety):
    single = grain(variety, irrigation=20.0)
    with jax.enable_x64(True):
        assert single == pytest.approx(grain(variety, irrigation=20.0), rel=1e-3)


@each_variety
@pytest.mark.parametrize(
    ("name", "values", "given"),
    [
        ("rain", (0.25, 0.5, 1.0, 1.5), {"year": DRY}),
        ("nitrogen", (0.0, 5.0, 15.0, 30.0), {"irrigation": 30.0, "mineral": 2.0}),
        ("radiation", (0.5, 0.75, 1.0, 1.3), {"irrigation": 45.0, "nitrogen": 30.0}),
    ],
)
def test_more_of_what_is_scarce_makes_more_grain(variety, name, values, given):
    grains = [grain(variety, **given, **{name: value}) for value in values]
    assert grains == sorted(grains)
    assert max(grains) > 1.5 * grains[0]
    if name == "nitrogen":  # and less with each dose
        assert grains[3] - grains[2] < grains[2] - grains[0]


def test_warmth_shortens_the_season_and_costs_grain():
    given = {"irrigation": 45.0, "nitrogen": 30.0}
    with_warmth = {t: season(MAIZE, DRY, **given, temperature=t) for t in (0.0, 5.0)}
    days = {t: int((s[3].stage < 2).sum()) for t, s in with_warmth.items()}
    assert days[5.0] < days[0.0] - 15
    assert with_warmth[5.0][1].grain < 0.9 * with_warmth[0.0][1].grain


def test_a_saturated_soil_drowns_and_a_dry_one_parches():
    soil = Soil(jnp.float32(0.15), jnp.float32(0.03))
    day = Day(*map(jnp.float32, (20.0, 20.0, 22.0, 0.0, 5.0, 0.0, 0.0)))
    start = sow(jnp.float32(0.8), jnp.float32(5.0), soil)._replace(
        stage=jnp.float32(0.5),
        leaves=jnp.float32(100.0),
        leaf_area=jnp.float32(2.0),
        leaf_nitrogen=jnp.float32(4.0),
        depth=jnp.float32(0.5),
        water=jnp.float32(160.0),
    )

    def growth(content):
        field = start._replace(water=jnp.float32(1000 * 0.5 * content))
        return float(grow(field, day, soil, MAIZE)[1].growth)

    assert growth(0.2) == 0.0
    assert growth(0.32) > 10.0
    assert growth(0.45) == pytest.approx(0.0, abs=1e-3)
