"""A season of maize or wheat: nitrogen and water, week by week."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium

from sdmbtl.checks import check_float
from sdmbtl.contexts import Range, SpaceLike
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.errors import FamilyError
from sdmbtl_crops.varieties import variety_of
from sdmbtl_crops.weather import Years, years_of

if TYPE_CHECKING:
    from sdmbtl.environments.functional import FunctionalEnvironment

#: Largest doses that may be offered: kg of nitrogen on a hectare, mm of water.
MOST_NITROGEN, MOST_WATER = 400.0, 150.0

#: Features of the spaces "wide" and "paper".
CLIMATE = {
    "rain": Range(0.25, 1.5, 6),
    "temperature": Range(-5.0, 7.5, 6),
    "radiation": Range(0.5, 1.3, 6),
}
PAPER = {**CLIMATE, "rain": Range(0.5, 3.0, 6)}


class Crop(EnvironmentFamily):
    """A season of maize or wheat in weekly decisions, on a crop model after LINTUL3.

    Each week one dose of nitrogen and one of water are chosen; an action is
    `nitrogen number * number of water doses + water number`. The reward is the value that the week
    adds to the grain minus its costs, in dollars a hectare: its sum over the season is the profit.
    The season ends at maturity, or after 26 weeks. Each episode draws a year of weather, and the
    water and nitrogen of the soil at sowing.

    The features `rain` and `radiation` are factors on the weather of the record, `temperature` is
    in kelvin that are added; `soil` is the water it holds between the wilting point and field
    capacity, in m3/m3; prices are in dollars for a kg of dry grain, a kg of nitrogen and a mm of
    water on a hectare.

    There is no range of returns: profits are shown in dollars a hectare, and losses have no bound.

    Spaces: "wide" has 0.25 to 1.5 times the rain. "paper" has the paper's factors of rain, 0.5 to
    3; instead of its factors on 20 degrees, -5 to +7.5 kelvin; and at most 1.3 times the light, as
    no sky is brighter. "farms" has soils and prices.

    Args:
        crop: "maize" or "wheat".
        site: Source of the weather: "champion" (Nebraska, 1982 to 2018), or your own CSV file.
        years: "train" draws years for training, and evaluation plays the others, every third;
            "test" draws only those; "all" draws every year in both.
        nitrogen: The doses on offer, in kg/ha; (0,) switches nitrogen off.
        irrigation: The doses on offer, in mm; (0,) switches it off.
        space: The default space, instead of "wide".
        return_range: As for every family.

    Raises:
        FamilyError: If an option is not usable.
    """

    name = "Crop"
    defaults: Mapping[str, float] = {
        "rain": 1.0,
        "temperature": 0.0,
        "radiation": 1.0,
        "soil": 0.15,
        # 4.53 $ for a bushel of 25.4 kg with 15.5 % water; nitrogen as in CyclesGym, too.
        "grain_price": 0.211,
        "nitrogen_price": 0.496,
        # 2.1 to 2.6 inches are worth 20.12 $ an acre (University of Nebraska, CropWatch 2009).
        "water_price": 0.8,
    }
    ranges: Mapping[str, Mapping[str, Range]] = {
        "wide": CLIMATE,
        "paper": PAPER,
        "farms": {
            "soil": Range(0.06, 0.24, 6),
            "grain_price": Range(0.1, 0.4, 6, "log"),
            "water_price": Range(0.2, 3.0, 6, "log"),
        },
    }
    positive = frozenset({"rain", "radiation", "soil"})
    training: Mapping[str, Mapping[str, Any]] = {
        "ppo": {
            "total_timesteps": 200_000,
            "num_envs": 64,
            "num_steps": 32,
            "minibatch_size": 512,
            "update_epochs": 8,
            "learning_rate": 0.001,
            "anneal_lr": True,
            "gamma": 1.0,
            "gae_lambda": 0.95,
            "ent_coef": 0.005,
            "reward_scale": 0.005,
            "eval_every": 10,
        },
        "sb3": {
            "total_timesteps": 100_000,
            "num_envs": 16,
            "norm_obs": False,
            "norm_reward": True,
            "num_steps": 128,
            "minibatch_size": 512,
            "gamma": 1.0,
            "learning_rate": 0.001,
        },
    }

    def __init__(
        self,
        crop: str = "maize",
        site: str = "champion",
        years: Years = "train",
        nitrogen: Sequence[float] = (0.0, 30.0, 60.0, 120.0),
        irrigation: Sequence[float] = (0.0, 15.0, 30.0, 45.0),
        *,
        space: SpaceLike | None = None,
        return_range: tuple[float, float] | None = None,
    ) -> None:
        super().__init__(space=space, return_range=return_range)
        self.crop, self.site, self.years = crop, site, years
        self.nitrogen = _doses("nitrogen", nitrogen, MOST_NITROGEN, "kg/ha")
        self.irrigation = _doses("irrigation", irrigation, MOST_WATER, "mm")
        variety_of(crop)
        years_of(site, years)

    def build(self, context: dict[str, float], render_mode: str | None) -> gymnasium.Env[Any, Any]:
        """Return the season of a context."""
        from sdmbtl.environments.functional.gymnasium_view import GymnasiumView

        return GymnasiumView(self.functional(), context, render_mode)

    def functional(self) -> FunctionalEnvironment:
        """Return the season as pure functions."""
        from sdmbtl_crops.functional_crop import FunctionalCrop

        return FunctionalCrop(**self.options())

    def for_evaluation(self) -> EnvironmentFamily:
        """Return the family with the years that are kept from training."""
        if self.years != "train":
            return self
        return type(self)(**{**self.settings()["options"], "years": "test"})

    def options(self) -> dict[str, Any]:
        """Return the crop, the place, the years and the doses."""
        return {
            "crop": self.crop,
            "site": self.site,
            "years": self.years,
            "nitrogen": list(self.nitrogen),
            "irrigation": list(self.irrigation),
        }

    def describe_feature(self, name: str) -> str:
        """Describe a feature, with its unit."""
        return FEATURES[name]


#: Descriptions of the features.
FEATURES = {
    "rain": "factor on the rain of the record",
    "temperature": "kelvin added to the temperature of the record",
    "radiation": "factor on the sunlight of the record",
    "soil": "water the soil holds for plants, in m3/m3",
    "grain_price": "dollars for a kg of dry grain",
    "nitrogen_price": "dollars for a kg of nitrogen",
    "water_price": "dollars for a mm of water on a hectare",
}


def _doses(name: str, given: Sequence[float], most: float, unit: str) -> tuple[float, ...]:
    """Check the doses on offer.

    Raises:
        FamilyError: If there are none, or one is not a number or outside of the bounds.
    """
    if isinstance(given, int | float):
        given = (given,)
    if isinstance(given, str) or not isinstance(given, Sequence) or not len(given):
        raise FamilyError(
            f"{name!r} must list the doses on offer in {unit}, such as [0, 30]. "
            f"Got {given!r} instead."
        )
    doses = tuple(check_float(name, dose, error=FamilyError) for dose in given)
    for dose in doses:
        if not 0 <= dose <= most:
            raise FamilyError(
                f"A dose of {name!r} must be from 0 to {most:g} {unit}. Got {dose:g} instead."
            )
    return doses
