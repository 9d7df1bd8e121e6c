"""Draw docs/figures/crop-season.png: a season of a trained policy in a year it has not seen.

python lab/experiments/draw_season.py [--year 2008] [--out FILE.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sdmbtl.environments import make_family
from sdmbtl.plots import save_figure
from sdmbtl.policies import Policy
from sdmbtl.training import TrainingJob, make_trainer
from sdmbtl_crops.growth import HECTARE, WILTING, Field
from sdmbtl_crops.season_figure import Season, season_figure
from sdmbtl_crops.weather import load_weather

FIGURE = Path(__file__).parents[2] / "docs" / "figures" / "crop-season.png"


def main() -> None:
    """Train, play and draw."""
    weather = load_weather("champion")
    kept = [weather.years[i] for i in weather.split()[1]]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--year", type=int, choices=kept, default=2008)
    parser.add_argument("--out", type=Path, default=FIGURE)
    given = parser.parse_args()
    family = make_family("Crop")
    trainer = make_trainer("ppo", family, family.space())
    context = [family.defaults[name] for name in trainer.space.names]
    (training,) = trainer.train_chunk([TrainingJob(np.array([context]), seed=0)])
    season = play(training.policy, family, weather.years.index(given.year), given.year)
    save_figure(season_figure(season), given.out, reduced=False)


def play(policy: Policy, family: Any, position: int, year: int) -> Season:
    """The season of a policy."""
    twin, context = family.functional(), family.defaults
    parameters = jnp.array(list(context.values()), dtype=jnp.float32)
    step, observe = jax.jit(twin.step), jax.jit(twin.observe)
    state = twin.start(*map(jnp.float32, (position, 0.6, 4.0)), parameters)
    states, doses, money, ended = [np.asarray(state)], [], [], False
    while not ended:
        action = int(policy.act(np.asarray(observe(state, parameters))))
        n, w = divmod(action, len(family.irrigation))
        doses.append((family.nitrogen[n], family.irrigation[w]))
        state, reward, ended = step(state, action, parameters)
        states.append(np.asarray(state))
        money.append(float(reward))
    field = Field(*np.stack(states).T[4:].astype(np.float64))
    nitrogen, irrigation = np.array(doses).T
    first = 120 + 7 * np.arange(len(doses))
    daily = load_weather("champion").days[position, :, 3]
    share = (field.water / (1000 * field.depth) - WILTING) / context["soil"]
    plant = field.leaf_nitrogen + field.stem_nitrogen + field.root_nitrogen + field.grain_nitrogen
    straw = field.leaves + field.dead_leaves + field.stems
    return Season(
        title=f"Maize in Champion, Nebraska, {year}: a policy that has not seen this year",
        rain=np.array([daily[day : day + 7].sum() for day in first]),
        irrigation=irrigation,
        nitrogen=nitrogen,
        soil_water=np.asarray(share),
        soil_nitrogen=np.asarray(HECTARE * field.mineral),
        crop_nitrogen=np.asarray(HECTARE * plant),
        stage=np.asarray(field.stage),
        straw=np.asarray(straw / 100),
        grain=np.asarray(field.grain / 100),
        money=np.array(money),
    )


if __name__ == "__main__":
    main()
