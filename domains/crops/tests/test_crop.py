"""The season of a crop: decisions, rewards, years, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Discrete

from sdmbtl.environments import make_family
from sdmbtl.errors import FamilyError
from sdmbtl_crops.functional_crop import (
    NITROGEN_AT_SOWING,
    OBSERVED,
    SETTING_UP,
    SPREADING,
    WATER_AT_SOWING,
)
from sdmbtl_crops.weather import load_weather

FAMILY = make_family("Crop")
TWIN = FAMILY.functional()
PARAMETERS = jnp.array(list(FAMILY.defaults.values()), dtype=jnp.float32)
STEP, START = jax.jit(TWIN.step), jax.jit(TWIN.start)
WEATHER = load_weather("champion")


def play(actions, year=1993, water=0.6, mineral=4.0, parameters=PARAMETERS):
    """The rewards of a season, its states, and whether each step ended it."""
    year = WEATHER.years.index(year)
    state = START(*map(jnp.float32, (year, water, mineral)), parameters)
    rewards, states = [], [state]
    for action in actions:
        state, reward, ended = STEP(state, action, parameters)
        rewards.append(float(reward))
        states.append(state)
        if ended:
            break
    return rewards, states


def action(nitrogen=0, water=0):
    return FAMILY.nitrogen.index(nitrogen) * len(FAMILY.irrigation) + FAMILY.irrigation.index(water)


def grain(states):
    return float(states[-1][4 + 7])


def test_the_rewards_of_a_season_are_its_profit():
    plan = [action()] * 26
    plan[1], plan[8], plan[9] = action(120.0), action(60.0, 30.0), action(0, 45.0)
    rewards, states = play(plan)
    prices = FAMILY.defaults
    spent = 180 * prices["nitrogen_price"] + 2 * SPREADING
    spent += 75 * prices["water_price"] + 2 * SETTING_UP
    expected = prices["grain_price"] * 10 * grain(states) - spent
    assert sum(rewards) == pytest.approx(expected, rel=1e-4)
    assert float(states[-1][2]) == 180
    assert float(states[-1][3]) == 75


def test_a_season_ends_at_maturity_or_after_26_weeks():
    ripe, _ = play([action()] * 40, year=2002)
    assert 15 < len(ripe) < 24
    late, states = play([action()] * 40, parameters=PARAMETERS.at[1].set(-5.0))
    assert len(late) == 26
    assert float(states[-1][5]) < 2


def test_nitrogen_and_water_pay_in_a_dry_year():
    # 2000 had half of the usual rain in summer.
    dry = play([action()] * 26, year=2000)[1]
    plan = [action(0, 45.0 if 4 <= week <= 15 else 0) for week in range(26)]
    plan[1] = action(120.0)
    wet = play(plan, year=2000)[1]
    assert grain(wet) > 2 * grain(dry)


def test_what_is_observed():
    state = play([action(60.0, 15.0)] * 6)[1][-1]
    values = np.asarray(TWIN.observe(state, PARAMETERS)) * list(OBSERVED.values())
    seen = dict(zip(OBSERVED, values, strict=True))
    assert seen["week"] == pytest.approx(6)
    assert seen["nitrogen so far"] == pytest.approx(360)
    assert seen["irrigation so far"] == pytest.approx(90)
    rows = WEATHER.days[WEATHER.years.index(1993), 120 + 35 : 120 + 42]
    assert seen["rain of the last week"] == pytest.approx(rows[:, 3].sum(), rel=1e-4)
    assert seen["temperature of the last week"] == pytest.approx(rows[:, 1:3].mean(), rel=1e-4)
    month = WEATHER.days[WEATHER.years.index(1993), 120 + 14 : 120 + 42, 3]
    assert seen["rain of the last four weeks"] == pytest.approx(month.sum(), rel=1e-4)
    warmer = TWIN.observe(state, PARAMETERS.at[1].set(3.0)) * jnp.array(list(OBSERVED.values()))
    assert float(warmer[8]) - seen["temperature of the last week"] == pytest.approx(3.0, abs=1e-4)


def drawn(twin, number=400):
    keys = jax.random.split(jax.random.PRNGKey(0), number)
    return np.asarray(jax.vmap(twin.reset, (0, None))(keys, PARAMETERS))


def test_training_and_evaluation_have_years_of_their_own():
    train, test = WEATHER.split()
    assert set(drawn(TWIN)[:, 0].astype(int)) == set(train)
    evaluated = FAMILY.for_evaluation()
    assert set(drawn(evaluated.functional())[:, 0].astype(int)) == set(test)
    assert evaluated.for_evaluation() is evaluated
    everything = make_family("Crop", years="all")
    assert everything.for_evaluation() is everything
    assert len(set(drawn(everything.functional())[:, 0].astype(int))) == 37


def test_evaluation_keeps_all_other_options():
    given = make_family("Crop", crop="wheat", irrigation=[0.0], space="farms")
    evaluated = given.for_evaluation().settings()["options"]
    assert evaluated == {**given.settings()["options"], "years": "test"}


def test_soils_at_sowing_differ():
    states = drawn(TWIN)
    mineral = states[:, 4 + 12]
    assert NITROGEN_AT_SOWING[0] <= mineral.min() < mineral.max() <= NITROGEN_AT_SOWING[1]
    shares = (states[:, 4 + 9] + states[:, 4 + 10] - 240) / (1200 * 0.15)
    assert WATER_AT_SOWING[0] - 1e-3 <= shares.min() < shares.max() <= WATER_AT_SOWING[1] + 1e-3


def test_the_gymnasium_view_takes_the_same_steps():
    env = FAMILY.build(FAMILY.full_context({"rain": 0.5}), None)
    env.reset(seed=3)
    parameters = PARAMETERS.at[0].set(0.5)
    rng = np.random.default_rng(0)
    ended = False
    while not ended:
        before, chosen = env.state, int(rng.integers(16))
        after, reward, terminated = STEP(before, chosen, parameters)
        observation, expected, ended, truncated, _ = env.step(chosen)
        np.testing.assert_allclose(after, env.state, rtol=1e-5, atol=1e-4)
        np.testing.assert_allclose(
            observation, TWIN.observe(after, parameters), rtol=1e-5, atol=1e-5
        )
        assert float(reward) == pytest.approx(expected, rel=1e-4, abs=1e-3)
        assert bool(terminated) == ended
        assert not truncated


@pytest.mark.parametrize("off", [{"irrigation": [0]}, {"nitrogen": 0}])
def test_either_decision_can_be_switched_off(off):
    assert TWIN.actions == Discrete(16)
    assert make_family("Crop", **off).functional().actions == Discrete(4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nitrogen": [0, 500]}, "from 0 to 400 kg/ha"),
        ({"irrigation": [-5.0]}, "from 0 to 150 mm"),
        ({"irrigation": []}, "must list the doses"),
        ({"crop": "barley"}, "barley"),
        ({"site": "paris"}, "champion"),
        ({"years": "old"}, "train, test, all"),
    ],
)
def test_options_that_are_refused(options, message):
    with pytest.raises(FamilyError, match=message):
        make_family("Crop", **options)
