"""The same decisions on PCSE's LINTUL3."""

import os
import subprocess
import sys
from importlib.util import find_spec

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sdmbtl.environments import make_family
from sdmbtl_crops.weather import load_weather

pytestmark = [
    pytest.mark.skipif(find_spec("pcse") is None, reason="needs pcse"),
    pytest.mark.filterwarnings("ignore"),  # what pcse says when it is imported
]

YEAR = load_weather("champion").years.index(2007)
PLANS = {
    "nothing": {},
    "early nitrogen": {1: (120.0, 0.0)},
    "usual": {1: (100.0, 0.0), 5: (50.0, 0.0)},
    "some water": dict.fromkeys(range(4, 16, 2), (0.0, 30.0)),
    "both": {**dict.fromkeys(range(4, 16), (0.0, 30.0)), 1: (120.0, 30.0), 5: (60.0, 30.0)},
    "too much of both": dict.fromkeys(range(16), (120.0, 45.0)),
}


def pcse_profit(family, plan):
    env = family.build(dict(family.defaults), None)
    env.start(YEAR, 0.6, 4.0)
    total = 0.0
    for week in range(26):
        reward, ended = env.apply(*plan.get(week, (0.0, 0.0)))
        total += reward
        if ended:
            return total
    return total


def own_profit(family, plan):
    twin = family.functional()
    parameters = jnp.array(list(family.defaults.values()))
    apply = jax.jit(twin.apply)
    state = twin.start(*map(jnp.float32, (YEAR, 0.6, 4.0)), parameters)
    total = 0.0
    for week in range(26):
        doses = map(jnp.float32, plan.get(week, (0.0, 0.0)))
        state, reward, ended = apply(state, *doses, parameters)
        total += float(reward)
        if ended:
            break
    return total


@pytest.mark.slow
def test_plans_have_the_same_order_and_about_the_same_profits_in_both_models():
    slow, fast = make_family("Crop", model="pcse"), make_family("Crop")
    theirs = np.array([pcse_profit(slow, plan) for plan in PLANS.values()])
    ours = np.array([own_profit(fast, plan) for plan in PLANS.values()])
    assert theirs.argmax() == list(PLANS).index("both")
    np.testing.assert_array_equal(ours.argsort(), theirs.argsort())
    np.testing.assert_allclose(ours, theirs, atol=500)


def test_it_is_an_environment_of_the_same_kind():
    slow, fast = make_family("Crop", model="pcse"), make_family("Crop")
    theirs, ours = (family.make(observe_context=True) for family in (slow, fast))
    assert theirs.observation_space == ours.observation_space
    assert theirs.action_space == ours.action_space
    assert slow.functional() is None
    seen = []
    for env in (theirs, ours):
        env.reset(seed=0)
        for _ in range(8):
            observation, *_ = env.step(5)
        seen.append(observation)
    # Weeks, doses and context are the same; the year is drawn by other generators.
    np.testing.assert_allclose(seen[0][[0, 6, 7, -3, -2, -1]], seen[1][[0, 6, 7, -3, -2, -1]])
    assert np.isfinite(seen[0]).all()


def test_rain_has_an_effect():
    dry, wet = (make_family("Crop", model="pcse") for _ in range(2))
    profits = []
    for family, rain in ((dry, 0.25), (wet, 1.5)):
        env = family.build(family.full_context({"rain": rain}), None)
        env.start(YEAR, 0.3, 6.0)
        total = 0.0
        ended = False
        while not ended:
            reward, ended = env.apply(0.0, 0.0)
            total += reward
        profits.append(total)
    assert profits[1] > profits[0] + 100


def test_two_processes_can_import_it_at_once(tmp_path):
    code = "from sdmbtl_crops.pcse_season import load_pcse; print(load_pcse().__name__)"
    home = {**os.environ, "HOME": str(tmp_path), "USER": "farmer", "JAX_PLATFORMS": "cpu"}
    both = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=home)
        for _ in range(2)
    ]
    assert [process.communicate()[0].decode().split() for process in both] == [["pcse"]] * 2
    assert (tmp_path / ".pcse").is_dir()


def test_its_import_leaves_the_loggers_of_others_alone():
    code = (
        "import logging\nmine = logging.getLogger('mine')\nlogging.basicConfig()\n"
        "before = list(logging.root.handlers)\n"
        "from sdmbtl_crops.pcse_season import load_pcse\nload_pcse()\n"
        "print(mine.disabled, logging.root.handlers == before, logging.root.level)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "30"]
