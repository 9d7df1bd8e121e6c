"""The season of a crop on PCSE's LINTUL3: a second model of the same decisions, for checks."""

from __future__ import annotations

import getpass
import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from datetime import date, timedelta
from functools import cache
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sdmbtl.errors import FamilyError, MissingPackageError
from sdmbtl.lock import exclusive
from sdmbtl_crops.growth import (
    AIR_DRY,
    DEPTH,
    DRAINAGE,
    MOVES_FROM,
    MOVING_DAYS,
    RECOVERY,
    ROOTS_GIVE,
    SATURATED,
    SEED_DEPTH,
    WET,
    WETTING,
    WILTING,
    Day,
    interpolate,
)
from sdmbtl_crops.problem import (
    HECTARE,
    MINERALISATION,
    NITROGEN_AT_SOWING,
    SCALES,
    WATER_AT_SOWING,
    weekly_profit,
)
from sdmbtl_crops.season import (
    WEEK,
    Climate,
    in_climate,
    season_weather,
)
from sdmbtl_crops.varieties import Table, Variety, variety_of
from sdmbtl_crops.weather import Years, years_of

#: The calendar year in which all seasons are simulated; the model has no use for the real one.
YEAR = 1990


@contextmanager
def _loggers_kept() -> Iterator[None]:
    """Put loggers back as they were: PCSE disables all that there are when it is imported."""
    before = [x for x in logging.root.manager.loggerDict.values() if isinstance(x, logging.Logger)]
    enabled = [logger for logger in before if not logger.disabled]
    level, handlers = logging.root.level, list(logging.root.handlers)
    try:
        yield
    finally:
        for logger in enabled:
            logger.disabled = False
        logging.root.setLevel(level)
        for added in [h for h in logging.root.handlers if h not in handlers]:
            logging.root.removeHandler(added)
            added.close()
        logging.root.handlers[:] = handlers


@cache
def load_pcse() -> ModuleType:
    """Import PCSE.

    The first import on a machine builds a database in the home directory, and says so on the
    standard output; two processes that do it at once spoil it.

    Raises:
        MissingPackageError: If it is not installed.
    """
    lock = Path(tempfile.gettempdir()) / f"sdmbtl-pcse-{getpass.getuser()}.lock"
    with (
        exclusive(lock, doing="imports pcse", error=FamilyError, wait=120),
        redirect_stdout(StringIO()),
        _loggers_kept(),
    ):
        try:
            import pcse
            import pcse.base
            import pcse.models
            import pcse.signals
        except ModuleNotFoundError:
            raise MissingPackageError(
                "The model 'pcse' needs the package pcse, which is not installed. Install it with: "
                "pip install 'sdmbtl[crop]'"
            ) from None
    module: ModuleType = pcse
    return module


class PcseSeason(gymnasium.Env[NDArray[np.float32], Any]):
    """A season on PCSE's LINTUL3, with the actions, observations and rewards of `Crop`.

    The soil below the roots always holds the same water in LINTUL3, as much as at sowing. Water is
    given as rain. What LINTUL3 does not know is put into the weather that it sees: the effect of
    temperature on the use of light into the radiation, and the soil's drying surface into the
    evaporation of bare soil.

    Args:
        context: A full context of `Crop`.
        crop: As of `Crop`.
        site: As of `Crop`.
        years: As of `Crop`.
        nitrogen: As of `Crop`.
        irrigation: As of `Crop`.
    """

    def __init__(
        self,
        context: Mapping[str, float],
        crop: str,
        site: str,
        years: Years,
        nitrogen: Sequence[float],
        irrigation: Sequence[float],
    ) -> None:
        self._context = dict(context)
        self._variety = variety_of(crop)
        self._weather = season_weather(site, crop)
        self._years = years_of(site, years)
        self._doses = (tuple(nitrogen), tuple(irrigation))
        self._climate = Climate(*(context[n] for n in ("rain", "temperature", "radiation")))  # type: ignore[arg-type]
        self.action_space: spaces.Space[Any] = spaces.Discrete(len(nitrogen) * len(irrigation))
        self.observation_space = spaces.Box(-np.inf, np.inf, (len(SCALES),), np.float32)
        self._pcse = load_pcse()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Sowing, in a year that is drawn."""
        super().reset(seed=seed, options=options)
        year = int(self.np_random.choice(self._years))
        water = float(self.np_random.uniform(*WATER_AT_SOWING))
        mineral = float(self.np_random.uniform(*NITROGEN_AT_SOWING))
        self.start(year, water, mineral)
        return self._observation(), {}

    def start(self, year: int, water: float, mineral: float) -> None:
        """Sow in a year of the record, with a share of water and g/m2 of mineral nitrogen."""
        variety = self._variety
        days = jnp.asarray(self._weather.days[year].reshape(-1, 5))
        none = jnp.zeros(len(days))
        self._year, self._week, self._given, self._grain = year, 0, [0.0, 0.0], 0.0
        begin = date(YEAR, 1, 1) + timedelta(days=variety.sowing_day - 1)
        self._sky = _make_sky(
            self._pcse, begin, in_climate(days, self._climate, none, none), variety
        )
        content = WILTING + water * self._context["soil"]
        provider = self._pcse.base.ParameterProvider(
            cropdata=crop_parameters(variety),
            soildata=soil_parameters(self._context["soil"]),
            sitedata={"WCI": content, "WCSUBS": content, "WMFAC": False, "IRRIGF": False},
        )
        self._model = self._pcse.models.LINTUL3(provider, self._sky, _calendar(variety, begin))
        self._fertilize(mineral, recovery=1.0)

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """A week."""
        nitrogens, irrigations = self._doses
        nitrogen = nitrogens[int(action) // len(irrigations)]
        irrigation = irrigations[int(action) % len(irrigations)]
        reward, ended = self.apply(nitrogen, irrigation)
        return self._observation(), reward, ended, False, {}

    def apply(self, nitrogen: float, irrigation: float) -> tuple[float, bool]:
        """A week with any doses, in kg/ha and mm: the reward, whether the season is over."""
        if nitrogen:
            self._fertilize(nitrogen / HECTARE, RECOVERY)
        self._sky.irrigation[self._model.day + timedelta(days=1)] = irrigation
        self._model.run(days=WEEK)
        self._week += 1
        self._given = [self._given[0] + nitrogen, self._given[1] + irrigation]
        grain = float(self._state()["WSO"] or 0.0)
        prices = [self._context[n] for n in ("grain_price", "nitrogen_price", "water_price")]
        reward = float(weekly_profit(grain - self._grain, nitrogen, irrigation, prices))
        self._grain = grain
        over = bool(self._model.flag_terminate) or self._week >= self._variety.longest_weeks
        return reward, over

    def _fertilize(self, amount: float, recovery: float) -> None:
        signal = self._pcse.signals.apply_n
        self._model._send_signal(signal=signal, amount=amount, recovery=recovery)

    def _state(self) -> dict[str, Any]:
        """Of the last day; after maturity the model has no crop any more, but its records."""
        record: dict[str, Any] = self._model.get_output()[-1] if self._week else {}
        names = ("DVS", "LAI", "TAGBM", "WSO", "WC", "WA")
        return {n: record.get(n, self._model.get_variable(n)) for n in names}

    def _observation(self) -> NDArray[np.float32]:
        state = {name: float(value or 0.0) for name, value in self._state().items()}
        capacity = self._context["soil"]
        depth = float(self._model.get_variable("ROOTD") or self._variety.root_depth)
        content = state["WC"] if self._week else state["WA"] / (1000 * SEED_DEPTH)
        below = float(self._model.parameterprovider["WCSUBS"])
        whole = (content * depth + below * (DEPTH - depth)) / DEPTH
        temperature, rain, radiation, month = self._weather.recent[self._year, self._week]
        seen = [
            self._week,
            state["DVS"],
            state["LAI"],
            state["TAGBM"],
            (content - WILTING) / capacity,
            (whole - WILTING) / capacity,
            *self._given,
            temperature + self._context["temperature"],
            rain * self._context["rain"],
            radiation * self._context["radiation"],
            month * self._context["rain"],
        ]
        return np.array(seen, dtype=np.float32) / SCALES


def crop_parameters(variety: Variety) -> dict[str, Any]:
    """A variety by the names that PCSE's LINTUL3 has."""
    return {**_development(variety), **_growth(variety), **_nitrogen(variety)}


def _development(variety: Variety) -> dict[str, Any]:
    """Stages, and what a seedling has."""
    return {
        "DVSI": 0.0,
        "DVSEND": 2.0,
        "DVSDR": 1.0,
        "IDSL": 0,
        "DLO": 8.0,
        "DLC": 0.0,
        "TBASEM": variety.development[0][0],
        "TEFFMX": variety.development[-1][0] - variety.development[0][0],
        "TSUMEM": variety.emergence_sum,
        "TSUM1": variety.flowering_sum,
        "TSUM2": variety.ripening_sum,
        "DTSMTB": _flat(variety.development),
        "WLVGI": variety.seedling[0],
        "WRTLI": variety.seedling[1],
        "WSTI": 0.0,
        "WSOI": 0.0,
    }


def _growth(variety: Variety) -> dict[str, Any]:
    """Light, leaves, roots and where dry matter goes, as shares of all growth."""
    shares = {
        "FLVTB": variety.to_leaves,
        "FSTTB": variety.to_stems,
        "FSOTB": variety.to_grain,
    }
    tables = (variety.to_roots, *shares.values())
    stages = sorted({stage for table in tables for stage, _ in table})
    shoot = 1 - _at(variety.to_roots, stages)
    parts = {
        name: np.column_stack([stages, shoot * _at(table, stages)]).ravel().tolist()
        for name, table in shares.items()
    }
    return {
        **parts,
        "FRTTB": _flat(variety.to_roots),
        "TBASE": variety.base_temperature,
        "LUE": variety.light_use,
        "K": variety.extinction,
        "SLAC": variety.leaf_area,
        "SLACF": [0.0, 1.0, 2.1, 1.0],
        "RGRL": variety.young_leaf_growth,
        "TSUMAG": variety.ageing_sum,
        "RDRT": _flat(variety.ageing),
        "RDRSHM": variety.shading_death,
        "LAICR": variety.shading_leaf_area,
        "RDRNS": variety.starving_death,
        "RDRRT": variety.root_death,
        "ROOTDI": SEED_DEPTH,
        "ROOTDM": variety.root_depth,
        "RRDMAX": variety.root_speed,
        "TRANCO": variety.drought_tolerance,
    }


def _nitrogen(variety: Variety) -> dict[str, Any]:
    """Concentrations, what a lack does, and how nitrogen moves."""
    concentration = variety.leaf_nitrogen[0][1]
    leaves, stems, roots = variety.residual
    return {
        "NMXLV": _flat(variety.leaf_nitrogen),
        "LSNR": variety.stem_share,
        "LRNR": variety.root_share,
        "NMAXSO": variety.grain_nitrogen,
        "FRNX": variety.optimum,
        "RNFLV": leaves,
        "RNFST": stems,
        "RNFRT": roots,
        "NLUE": variety.starving_light,
        "NSLA": variety.starving_area,
        "NLAI": 1.0,
        "NPART": 1.0,
        "DVSNLT": variety.uptake_until,
        "DVSNT": MOVES_FROM,
        "TCNT": MOVING_DAYS,
        "FNTRT": ROOTS_GIVE,
        "NFRLVI": concentration,
        "NFRSTI": concentration * variety.stem_share,
        "NFRRTI": concentration * variety.root_share,
    }


def soil_parameters(capacity: float) -> dict[str, float]:
    """A soil by the names that PCSE's LINTUL3 has."""
    full = WILTING + capacity
    return {
        "WCAD": AIR_DRY,
        "WCWP": WILTING,
        "WCFC": full,
        "WCWET": full + WET,
        "WCST": full + SATURATED,
        "DRATE": DRAINAGE,
        "RNMIN": MINERALISATION,
    }


def _calendar(variety: Variety, begin: date) -> list[dict[date, Any]]:
    """The one season of a simulation."""
    calendar = {
        "crop_name": variety.name,
        "variety_name": variety.name,
        "crop_start_date": begin,
        "crop_start_type": "sowing" if variety.emergence_sum else "emergence",
        "crop_end_date": begin + timedelta(days=variety.longest_weeks * WEEK - 1),
        "crop_end_type": "earliest",
        "max_duration": 366,
    }
    return [{begin: {"CropCalendar": calendar, "TimedEvents": None, "StateEvents": None}}]


def _make_sky(pcse: ModuleType, begin: date, days: Day, variety: Variety) -> Any:
    """The weather of a season, as PCSE asks for it, with irrigation as rain."""
    light = np.asarray(days.radiation * interpolate(variety.warmth, days.daytime), dtype=np.float64)
    mean, rain, et0 = (
        np.asarray(x, dtype=np.float64) for x in (days.temperature, days.rain, days.et0)
    )

    class Sky(pcse.base.WeatherDataProvider):  # type: ignore[name-defined,misc]
        """Days by date."""

        def __init__(self) -> None:
            super().__init__()
            self.latitude, self.longitude, self.elevation = 50.0, 0.0, 0.0
            self.irrigation: dict[date, float] = {}

        def __call__(self, day: date, member_id: int = 0) -> Any:
            del member_id  # there are no ensembles here
            i = min((day - begin).days, len(mean) - 1)
            water = self._water(i)
            dry_days = next((n for n in range(i + 1) if self._water(i - n) >= WETTING), i) + 1
            crust = dry_days**0.5 - (dry_days - 1) ** 0.5
            return pcse.base.WeatherDataContainer(
                LAT=50.0,
                LON=0.0,
                ELEV=0.0,
                DAY=day,
                IRRAD=float(light[i]) * 1e6,
                TMIN=float(mean[i]),
                TMAX=float(mean[i]),
                TEMP=float(mean[i]),
                VAP=10.0,
                RAIN=water / 10,
                E0=float(et0[i]) * crust / 10,
                ES0=float(et0[i]) * crust / 10,
                ET0=float(et0[i]) / 10,
                WIND=2.0,
            )

        def _water(self, i: int) -> float:
            """Rain and irrigation of a day."""
            return float(rain[i]) + self.irrigation.get(begin + timedelta(days=i), 0.0)

    return Sky()


def _flat(table: Table) -> list[float]:
    return [value for point in table for value in point]


def _at(table: Table, x: Sequence[float]) -> NDArray[np.float64]:
    return np.asarray(np.interp(x, *np.array(table).T), dtype=np.float64)
