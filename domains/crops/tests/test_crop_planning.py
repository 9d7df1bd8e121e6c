"""Years of a farm."""

import jax
import jax.numpy as jnp
import numpy as np

from sdmbtl.environments import make_family
from sdmbtl_crops.functional_crop_planning import WEEKS, YEARS

FAMILY = make_family("CropPlanning")
TWIN = FAMILY.functional()
STEP = jax.jit(jax.vmap(TWIN.step, (0, 0, None)))


def parameters(**context):
    return jnp.array(list(FAMILY.full_context(context).values()), dtype=jnp.float32)


def play(actions, **context):
    """(n,) returns of (n, 19) plans, and the last states."""
    given = parameters(**context)
    states = jnp.tile(TWIN.reset(jax.random.PRNGKey(0), given), (len(actions), 1))
    total, ended = 0.0, False
    for year in range(YEARS):
        assert not np.any(ended)
        states, reward, ended = STEP(states, jnp.asarray(actions[:, year]), given)
        total = total + np.asarray(reward)
    assert np.all(ended)
    return total, np.asarray(states)


def constant(crop, week):
    return np.full((1, YEARS), crop * WEEKS + week)


def test_each_crop_has_its_climate():
    plans = np.concatenate([constant(0, 5), constant(1, 0)])
    warm, _ = play(plans, rain=1.5)
    cold, _ = play(plans, rain=1.5, temperature=-5.0)
    assert warm[0] > 1.2 * warm[1]
    assert cold[1] > 1.2 * cold[0]


def test_the_week_matters():
    returns, _ = play(np.concatenate([constant(0, week) for week in (0, 5, 13)]))
    assert returns[1] > returns[0]
    assert returns[1] > 1.5 * returns[2]


def test_the_soil_is_carried_over():
    # The same last year after 18 years of late maize, and of early wheat.
    plans = np.concatenate([constant(0, 13), constant(1, 0)])
    plans[:, -1] = 5
    _, states = play(plans)
    assert abs(states[0, 4] - states[1, 4]) > 1.0
    assert np.all(states[:, 2] < 30)  # nitrogen does not pile up over the years


def test_the_gymnasium_view_ends_after_19_years():
    env = FAMILY.make({"rain": 1.5})
    env.reset(seed=0)
    ends = [env.step(5)[2] for _ in range(YEARS)]
    assert ends == [False] * (YEARS - 1) + [True]
