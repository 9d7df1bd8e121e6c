"""Our growth model agrees with PCSE's LINTUL3 about which schedules are good."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sdmbtl.environments import make_family
from sdmbtl_crops.weather import load_weather

YEAR = load_weather("champion").years.index(2007)
FAMILY = make_family("Crop")
PLANS = {
    "nothing": {},
    "early nitrogen": {1: (120.0, 0.0)},
    "usual": {1: (100.0, 0.0), 5: (50.0, 0.0)},
    "some water": dict.fromkeys(range(4, 16, 2), (0.0, 30.0)),
    "both": {**dict.fromkeys(range(4, 16), (0.0, 30.0)), 1: (120.0, 30.0), 5: (60.0, 30.0)},
    "too much of both": dict.fromkeys(range(16), (120.0, 45.0)),
}
CONTEXTS = [FAMILY.full_context({}), FAMILY.full_context({"rain": 0.25})]
SEASONS = [
    {"context": context, "year": YEAR, "plan": [plan.get(w, (0.0, 0.0)) for w in range(26)]}
    for context in CONTEXTS
    for plan in PLANS.values()
]


def pcse_profits(home):
    """The profits in PCSE, which builds a database in the home directory."""
    made = subprocess.run(
        [sys.executable, Path(__file__).with_name("pcse_season.py")],
        input=json.dumps(SEASONS),
        env={**os.environ, "HOME": str(home)},
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    return np.reshape(json.loads(made.stdout), (len(CONTEXTS), len(PLANS)))


def own_profits():
    functions = FAMILY.functional()
    apply = jax.jit(functions.apply)
    profits = []
    for season in SEASONS:
        parameters = jnp.array(list(season["context"].values()))
        state = functions.start(*map(jnp.float32, (YEAR, 0.6, 4.0)), parameters)
        profits.append(0.0)
        for doses in season["plan"]:
            state, reward, ended = apply(state, *map(jnp.float32, doses), parameters)
            profits[-1] += float(reward)
            if ended:
                break
    return np.reshape(profits, (len(CONTEXTS), len(PLANS)))


@pytest.mark.slow
def test_plans_have_the_same_order_and_about_the_same_profits_in_both_models(tmp_path):
    theirs, ours = pcse_profits(tmp_path), own_profits()
    assert theirs[0].argmax() == list(PLANS).index("both")
    np.testing.assert_array_equal(ours[0].argsort(), theirs[0].argsort())
    np.testing.assert_allclose(ours, theirs, atol=500)
    # Without irrigation a quarter of the rain costs more than 100 $/ha in both.
    assert (theirs[0, :3] > theirs[1, :3] + 100).all()
    assert (ours[0, :3] > ours[1, :3] + 100).all()
