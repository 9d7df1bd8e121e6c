"""Years of a farm: each spring a crop and the week in which it is sown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium

from sdmbtl.contexts import Range
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl_crops.crop import CLIMATE, FEATURES, PAPER


class CropPlanning(EnvironmentFamily):
    """19 years in which each spring maize or wheat is sown, in one of 14 weeks.

    The paper's problem on CyclesGym, with the crop model of `Crop`. The weather of a context is
    always that of Champion, Nebraska, from 1982 to 2000; the soil carries its water and nitrogen
    from one year to the next. Every field gets 100 kg/ha of nitrogen when it is sown, and no
    irrigation. An action is `14 * crop + week`, where 0 is maize and 1 is wheat, and the first week
    begins on March 16. The reward is the value of the year's grain, in thousands of dollars for
    each hectare.

    There is little to choose: nothing is random, and a policy is a list of 19 pairs. In the paper
    an oracle gained 0.0016 over choosing contexts at random.

    Spaces: "wide" and "paper" have the climates of `Crop`.
    """

    name = "CropPlanning"
    twin = "sdmbtl_crops.functional_crop_planning:FunctionalCropPlanning"
    defaults: Mapping[str, float] = {
        "rain": 1.0,
        "temperature": 0.0,
        "radiation": 1.0,
        "soil": 0.15,
        # For a kg of dry grain: 4.53 $ for a bushel of maize, as in CyclesGym; 5.05 $ for one of
        # wheat, which is our choice.
        "maize_price": 0.211,
        "wheat_price": 0.215,
    }
    ranges: Mapping[str, Mapping[str, Range]] = {"wide": CLIMATE, "paper": PAPER}
    positive = frozenset({"rain", "radiation", "soil"})
    return_range = (0.0, 60.0)
    training: Mapping[str, Mapping[str, Any]] = {
        "ppo": {
            "total_timesteps": 30_400,
            "num_envs": 20,
            "num_steps": 38,
            "minibatch_size": 190,
            "update_epochs": 8,
            "learning_rate": 0.002,
            "anneal_lr": True,
            "gamma": 0.9,
            "gae_lambda": 0.9,
            "ent_coef": 0.01,
            "eval_every": 4,
        },
        "sb3": {
            "total_timesteps": 20_000,
            "num_envs": 4,
            "norm_obs": False,
            "norm_reward": False,
            "num_steps": 95,
            "minibatch_size": 95,
            "gamma": 0.9,
            "learning_rate": 0.001,
        },
    }

    def build(self, context: dict[str, float], render_mode: str | None) -> gymnasium.Env[Any, Any]:
        """Return the years of a context."""
        from sdmbtl.environments.functional.gymnasium_view import GymnasiumView
        from sdmbtl_crops.functional_crop_planning import FunctionalCropPlanning

        return GymnasiumView(FunctionalCropPlanning(), context, render_mode)

    def describe_feature(self, name: str) -> str:
        """Describe a feature, with its unit."""
        return FEATURES.get(name, "dollars for a kg of dry grain")
