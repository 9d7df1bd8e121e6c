"""Which crop model to build on: torchcrop, PCSE's LINTUL3 or our own, on the same weather.

    python lab/experiments/crop_models.py                    # needs torchcrop and pcse
    python lab/experiments/crop_models.py --only example     # one part; the others stay as they are

Written to results/crop-models.json.

Spring wheat (torchcrop has winter wheat only) in Wageningen, 1997, with 10 + 5 g/m2 of nitrogen:
how grain answers to nitrogen, rain, temperature and radiation; whether the balances of torchcrop
close; how many seasons each simulates in a second of a core; and whether schedules that are better
in one model are better in the other (rank correlation over schedules of maize in Champion). PCSE
has a season of this field as an example, with its own parameters and its own evapotranspiration,
Penman's: it is the row to compare with.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from sdmbtl.environments import make_family
from sdmbtl.files import write_atomically
from sdmbtl.software import versions
from sdmbtl_crops.functional_crop import FunctionalCrop
from sdmbtl_crops.pcse_season import PcseSeason, load_pcse
from sdmbtl_crops.weather import load_weather

RESULT = Path(__file__).parents[2] / "results" / "crop-models.json"
DOSES = {1: 100.0, 5: 50.0}
ANSWERS: dict[str, list[dict[str, float]]] = {
    "nitrogen": [{"nitrogen": n / 15} for n in (0, 5, 15, 30)],
    "rain": [{"rain": f} for f in (0.25, 0.5, 1.0)],
    "temperature": [{"temperature": t} for t in (0.0, 2.5, 5.0)],
    "radiation": [{"radiation": f} for f in (0.5, 0.75, 1.0, 1.25)],
}
BATCH = 1024
SCHEDULES = 40


def main() -> None:
    """Measure all parts, or one of them, and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=PARTS, help="measure this part alone")
    only = parser.parse_args().only
    known = json.loads(RESULT.read_text()) if only else {"grain": {}}
    for name in [only] if only else PARTS:
        place = known["grain"] if name in GRAIN else known
        place[GRAIN.get(name, name)] = PARTS[name]()
        print(name, json.dumps(place[GRAIN.get(name, name)]))
    found = versions(("numpy", "jax", "torch", "torchcrop", "pcse"))
    known["software"] = {**known.get("software", {}), **found}
    write_atomically(RESULT, json.dumps(known, indent=1).encode())


def answers(grow: Any) -> dict[str, list[float]]:
    """Grain in g/m2 for each change."""
    return {name: [round(grow(**c), 1) for c in cases] for name, cases in ANSWERS.items()}


def _functions(family: Any) -> FunctionalCrop:
    twin: FunctionalCrop = family.functional()
    return twin


def _wheat(model: str) -> Any:
    return make_family("Crop", crop="wheat", site="wageningen", years="all", model=model)


def _context(family: Any, rain: float, temperature: float, radiation: float) -> dict[str, float]:
    given = {"rain": rain, "temperature": temperature, "radiation": radiation}
    context: dict[str, float] = family.full_context({**given, "soil": 0.2})
    return context


def _year() -> int:
    return load_weather("wageningen").years.index(1997)


def grow_pcse(
    nitrogen: float = 1.0, rain: float = 1.0, temperature: float = 0.0, radiation: float = 1.0
) -> float:
    """Grain of PCSE's LINTUL3, with the weather and parameters of ours."""
    family = _wheat("pcse")
    env = family.build(_context(family, rain, temperature, radiation), None)
    env.start(_year(), 0.75, 0.0)
    for week in range(26):
        if env.apply(nitrogen * DOSES.get(week, 0.0), 0.0)[1]:
            break
    return float(env._grain)


def grow_own(
    nitrogen: float = 1.0, rain: float = 1.0, temperature: float = 0.0, radiation: float = 1.0
) -> float:
    """Grain of our own functions."""
    family = _wheat("lintul")
    twin, context = family.functional(), _context(family, rain, temperature, radiation)
    parameters = jnp.array(list(context.values()))
    apply = jax.jit(twin.apply)
    state = twin.start(*map(jnp.float32, (_year(), 0.75, 0.0)), parameters)
    for week in range(26):
        dose = jnp.float32(nitrogen * DOSES.get(week, 0.0))
        state, _, ended = apply(state, dose, jnp.float32(0.0), parameters)
        if ended:
            break
    return float(state[4 + 7])


def grow_example(
    nitrogen: float = 1.0, rain: float = 1.0, temperature: float = 0.0, radiation: float = 1.0
) -> float:
    """Grain of PCSE's example of LINTUL3, but without its irrigation."""
    load_pcse()
    import pcse.input
    import pcse.util

    folder = Path(pcse.__file__).parent / "tests" / "test_data"
    soil, site, crop = (
        pcse.input.PCSEFileReader(str(folder / f"lintul3_springwheat.{kind}"))
        for kind in ("soil", "site", "crop")
    )
    site["IRRIGF"] = False
    plan = pcse.input.YAMLAgroManagementReader(str(folder / "lintul3_springwheat.agro"))
    (season,) = plan[0].values()
    for event in season["TimedEvents"][0]["events_table"]:
        for dose in event.values():
            dose["amount"] *= nitrogen
    with tempfile.TemporaryDirectory() as copy:  # a cache is written beside the file
        shutil.copy(folder / "NL1.997", copy)
        sky = pcse.input.CABOWeatherDataProvider("NL1", copy, ETmodel="P")
    for (day, _), w in sky.store.items():
        w.RAIN, w.IRRAD = w.RAIN * rain, w.IRRAD * radiation
        w.TMIN, w.TMAX = w.TMIN + temperature, w.TMAX + temperature
        seen = (w.LAT, w.ELEV, w.TMIN, w.TMAX, w.IRRAD, w.VAP, w.WIND, sky.angstA, sky.angstB)
        w.E0, w.ES0, w.ET0 = (mm / 10 for mm in pcse.util.reference_ET(day, *seen, "P"))
    parameters = pcse.base.ParameterProvider(sitedata=site, soildata=soil, cropdata=crop)
    model = pcse.models.LINTUL3(parameters, sky, plan)
    model.run(days=300)
    return max(float(record["WSO"] or 0.0) for record in model.get_output())


def grow_torchcrop(
    batch: int,
    nitrogen: float = 1.0,
    rain: float = 1.0,
    temperature: float = 0.0,
    radiation: float = 1.0,
) -> dict[str, Any]:
    """A season of torchcrop's wheat from the first of January, with all that it records."""
    import torch
    import torchcrop

    days = load_weather("wageningen").days[_year()][:240]
    light, tmin, tmax, water, _ = days.T
    vapour = 0.6108 * np.exp(17.27 * tmin / (tmin + 237.3))
    wind = np.full(len(days), 2.0)
    number = np.arange(1, len(days) + 1.0)
    columns = [
        *(number, (tmin + tmax) / 2 + temperature, tmin + temperature, tmax + temperature),
        *(light * radiation, water * rain, vapour, wind),
    ]
    table = torch.tensor(np.stack(columns, axis=-1), dtype=torch.float64)
    crop = torchcrop.CropParameters(crop_name="wheat")
    crop.iopt = torch.tensor(3.0)
    soil = torchcrop.SoilParameters(
        wcad=torch.tensor(0.1), wcwp=torch.tensor(0.2), wcfc=torch.tensor(0.4),
        wcst=torch.tensor(0.5), wci=torch.tensor(0.35), wci_lower=torch.tensor(0.35),
        nmini=torch.tensor(3.0), rtnmins=torch.tensor(0.01),
    )  # fmt: skip
    site = torchcrop.SiteParameters(latitude=torch.tensor(51.97), idpl=torch.tensor(1.0))
    kinds = {"crop_params": crop, "soil_params": soil, "site_params": site}
    model = torchcrop.Lintul5Model(**{k: v.to(dtype=torch.float64) for k, v in kinds.items()})
    fertilizer = torch.zeros(batch, len(days), 3, dtype=torch.float64)
    for week, dose in DOSES.items():
        fertilizer[:, 90 + 7 * week, 0] = nitrogen * dose / 10
    driver = torchcrop.WeatherDriver(table.expand(batch, -1, -1))
    with torch.no_grad():
        out = model.double()(driver, start_doy=1, fertilizer=fertilizer)
    return {"grain": out.yield_[0], "out": out, "rain": float((water * rain).sum())}


def balances() -> dict[str, float]:
    """What of torchcrop's water and nitrogen is not accounted for, in mm and g/m2."""
    played = grow_torchcrop(1)
    first, last = played["out"].states[0], played["out"].states[-1]

    def change(*names: str) -> float:
        return sum(float(getattr(last, n)[0] - getattr(first, n)[0]) for n in names)

    out = ("tran_cum", "evap_cum", "runoff_cum", "drain_cum")
    water = change("rain_cum", "irrig_cum") - change(*out) - change("wa", "wa_lower")
    organs = ("anlv", "anst", "anrt", "anso", "nlossl", "nlosss", "nlossr")
    nitrogen = change("nuptr_cum", "nfixtr_cum") - change(*organs)
    return {
        "water, mm": round(water, 4),
        "rain, mm": round(played["rain"], 1),
        "nitrogen of the crop, g/m2": round(nitrogen, 4),
        "nitrogen taken up, g/m2": round(change("nuptr_cum"), 2),
        "dry matter, g/m2": round(
            change("gtotal_cum") - change("wlv", "wlvd", "wst", "wstd", "wrt", "wrtd", "wso"),
            4,
        ),
    }


def speeds() -> dict[str, float]:
    """Seasons that each simulates in a second of one core."""
    import torch

    torch.set_num_threads(1)
    family = make_family("Crop")
    twin = _functions(family)
    parameters = jnp.array(list(family.defaults.values()))
    plans = jnp.zeros((BATCH, 26, 2))
    keys = jax.random.split(jax.random.PRNGKey(0), BATCH)
    starts = jax.vmap(twin.reset, (0, None))(keys, parameters)
    play = _player(twin, parameters)
    play(plans, starts).block_until_ready()
    own = _cpu_seconds(lambda: [play(plans, starts).block_until_ready() for _ in range(50)]) / 50
    pcse = _cpu_seconds(lambda: [grow_pcse() for _ in range(5)]) / 5
    torch_seconds = _cpu_seconds(lambda: grow_torchcrop(BATCH))
    result = {
        "sdmbtl": BATCH / own,
        "torchcrop": BATCH / torch_seconds,
        "PCSE LINTUL3": 1 / pcse,
        "sdmbtl by PCSE": BATCH / own * pcse,
    }
    return {name: round(value, 1) for name, value in result.items()}


def _cpu_seconds(work: Any) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def _player(twin: FunctionalCrop, parameters: jax.Array) -> Any:
    """A function of (n, weeks, 2) plans and (n, S) fields: (n,) profits."""

    def play(plan: jax.Array, state: jax.Array) -> jax.Array:
        def step(carry: Any, doses: jax.Array) -> tuple[Any, jax.Array]:
            state, done = carry
            doses = jnp.where(done, 0.0, doses)
            state, reward, ended = twin.apply(state, doses[0], doses[1], parameters)
            return (state, done | ended), jnp.where(done, 0.0, reward)

        return jax.lax.scan(step, (state, jnp.bool_(False)), plan)[1].sum()

    return jax.jit(jax.vmap(play))


def rank_correlation() -> dict[str, Any]:
    """Spearman's, over random schedules: the mean profit of six years in either model."""
    rng = np.random.default_rng(0)
    plans = np.zeros((SCHEDULES, 26, 2), dtype=np.float32)
    for plan in plans:
        for week in rng.choice(10, size=rng.integers(0, 4), replace=False):
            plan[week, 0] = rng.choice([30.0, 60.0, 120.0])
        first, last = sorted(rng.choice(20, size=2, replace=False))
        plan[first : last : rng.integers(1, 4), 1] = rng.choice([0.0, 15.0, 30.0, 45.0])
    family = make_family("Crop", years="all")
    years = list(range(0, 36, 6))
    parameters = jnp.array(list(family.defaults.values()))
    twin = _functions(family)
    water, mineral = jnp.float32(0.6), jnp.float32(4.0)
    starts = [twin.start(jnp.float32(year), water, mineral, parameters) for year in years]
    play = _player(twin, parameters)
    own = np.array(
        [np.asarray(play(jnp.asarray(plans), jnp.stack([s] * SCHEDULES))) for s in starts]
    )
    slow = make_family("Crop", years="all", model="pcse")
    env: Any = slow.build(dict(slow.defaults), None)
    theirs = np.array([[_profit(env, year, plan) for plan in plans] for year in years])
    return {
        "schedules": SCHEDULES,
        "years": len(years),
        "of mean profits": round(float(spearmanr(own.mean(0), theirs.mean(0)).statistic), 3),
        "within each year": [
            round(float(spearmanr(a, b).statistic), 3) for a, b in zip(own, theirs, strict=True)
        ],
    }


def _profit(env: PcseSeason, year: int, plan: NDArray[np.float32]) -> float:
    env.start(year, 0.6, 4.0)
    total = 0.0
    for nitrogen, irrigation in plan:
        reward, ended = env.apply(float(nitrogen), float(irrigation))
        total += reward
        if ended:
            break
    return total


#: Parts that are rows of the table of grain, and their names there.
GRAIN = {
    "example": "PCSE LINTUL3, its own example",
    "pcse": "PCSE LINTUL3",
    "own": "sdmbtl",
    "torchcrop": "torchcrop, winter wheat",
}
PARTS: dict[str, Callable[[], Any]] = {
    "example": lambda: answers(grow_example),
    "pcse": lambda: answers(grow_pcse),
    "own": lambda: answers(grow_own),
    "torchcrop": lambda: answers(lambda **c: float(grow_torchcrop(1, **c)["grain"])),
    "torchcrop balances": balances,
    "seasons for a CPU-second": speeds,
    "rank correlation": rank_correlation,
}


if __name__ == "__main__":
    main()
