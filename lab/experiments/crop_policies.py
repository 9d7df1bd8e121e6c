"""Trained policies against fixed schedules of nitrogen and water, in years they have not seen.

    python lab/experiments/crop_policies.py [--seeds 5]

A fixed schedule has two doses of nitrogen and one plan of irrigation, the same every year. The best
one is found by a grid over doses and weeks on the years of training; everything is then judged on
the years that are kept for tests, each with the same soils at sowing. Intervals are bootstrapped
over these years. Written to results/crop-policies.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from itertools import combinations, product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from experiment import save_result
from sdmbtl.environments import make_family
from sdmbtl.policies import Policy
from sdmbtl.training import TrainingJob, make_trainer
from sdmbtl_crops.functional_crop import NITROGEN_AT_SOWING, WATER_AT_SOWING, FunctionalCrop
from sdmbtl_crops.weather import years_of
from sdmbtl_lab.benchmarks.metrics import bootstrap_interval

FAMILY = make_family("Crop")
TWIN = FunctionalCrop(**{k: v for k, v in FAMILY.options().items() if k != "model"})
PARAMETERS = jnp.array(list(FAMILY.defaults.values()), dtype=jnp.float32)
#: Soils at sowing for each year: shares of water and mineral nitrogen, evenly over their ranges.
SOILS = [
    (float(water), float(mineral))
    for water in np.linspace(*WATER_AT_SOWING, 6)[1::2]
    for mineral in np.linspace(*NITROGEN_AT_SOWING, 6)[1::2]
]
DOSES = (0.0, 30.0, 60.0, 90.0, 120.0, 150.0, 180.0, 240.0)
WEEKS = (0, 2, 4, 5, 6, 8, 10)
#: Schedules that are played at once.
BATCH = 64


@dataclass(frozen=True)
class Schedule:
    """The same doses every year.

    Attributes:
        doses: Of nitrogen, in kg/ha.
        weeks: In which they are given.
        water: Of irrigation, in mm; 0 for none.
        every: Weeks from one irrigation to the next.
        first: Its first week.
        last: Its last week.
    """

    doses: tuple[float, float]
    weeks: tuple[int, int]
    water: float = 0.0
    every: int = 1
    first: int = 0
    last: int = 0

    def plan(self) -> NDArray[np.float32]:
        """(weeks, 2) nitrogen and water."""
        plan = np.zeros((TWIN.max_steps, 2), dtype=np.float32)
        for dose, week in zip(self.doses, self.weeks, strict=True):
            plan[week, 0] += dose
        if self.water:
            plan[self.first : self.last + 1 : self.every, 1] = self.water
        return plan


#: LINTUL3's example: 10 g/m2 in the second week, 5 g/m2 in the sixth.
USUAL = Schedule((100.0, 50.0), (1, 5))


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    dry = find_best(list(nitrogen_schedules(irrigation=())))
    plans = list(irrigation_plans())
    wet = climb(dry, plans)
    usual_wet = find_best([with_water(USUAL, plan) for plan in plans])
    schedules = {
        "nothing": Schedule((0.0, 0.0), (0, 1)),
        "usual 10 + 5 g/m2": USUAL,
        "usual 10 + 5 g/m2, best fixed irrigation": usual_wet,
        "best two doses": dry,
        "best two doses, best fixed irrigation": wet,
    }
    rows = {name: play_schedules([s], "test")[0] for name, s in schedules.items()}
    policies = {
        "trained, nitrogen only": train(seeds, irrigation=(0.0,)),
        "trained": train(seeds),
    }
    document = {
        "context": dict(FAMILY.defaults),
        "schedules": {name: asdict(schedule) for name, schedule in schedules.items()},
        "profit": {n: summary(r) for n, r in {**rows, **policies}.items()},
        "gain": {
            f"{better} over {worse}": summary(policies[better] - rows[worse])
            for better, worse in [
                ("trained, nitrogen only", "best two doses"),
                ("trained, nitrogen only", "usual 10 + 5 g/m2"),
                ("trained", "best two doses"),
                ("trained", "best two doses, best fixed irrigation"),
                ("trained", "usual 10 + 5 g/m2"),
                ("trained", "usual 10 + 5 g/m2, best fixed irrigation"),
            ]
        },
        "seeds": seeds,
    }
    save_result("crop-policies", document)


# -- schedules ------------------------------------------------------------------------------------


def nitrogen_schedules(irrigation: tuple[Schedule, ...]) -> Iterator[Schedule]:
    """The grid over doses and weeks, with each of some irrigation plans or none."""
    for doses, weeks in product(product(DOSES, DOSES), combinations(WEEKS, 2)):
        schedule = Schedule(doses, weeks)
        yield from [with_water(schedule, plan) for plan in irrigation] or [schedule]


def irrigation_plans() -> Iterator[Schedule]:
    """The grid of irrigation plans, without nitrogen."""
    for water, every, first, last in product(
        (15.0, 30.0, 45.0), (1, 2), (0, 2, 4, 6, 8), (12, 14, 16, 18, 20, 22)
    ):
        yield Schedule((0.0, 0.0), (0, 1), water, every, first, last)


def with_water(schedule: Schedule, plan: Schedule) -> Schedule:
    """The nitrogen of one with the irrigation of the other."""
    return Schedule(schedule.doses, schedule.weeks, plan.water, plan.every, plan.first, plan.last)


def climb(start: Schedule, plans: list[Schedule]) -> Schedule:
    """The best nitrogen for the best irrigation for that nitrogen, until neither changes."""
    best = start
    while True:
        watered = find_best([with_water(best, plan) for plan in plans])
        better = find_best(list(nitrogen_schedules(irrigation=(watered,))))
        if better == best:
            return best
        best = better


def find_best(schedules: list[Schedule]) -> Schedule:
    """The schedule with the largest mean profit in the years of training."""
    profits = play_schedules(schedules, "train").mean(axis=1)
    return schedules[int(profits.argmax())]


def play_schedules(schedules: list[Schedule], years: Any) -> NDArray[np.float64]:
    """(schedules, years) profits, means over the soils."""
    starts = begin(years)
    plans = np.stack([schedule.plan() for schedule in schedules])
    # Filled up to whole batches: one shape, one compilation.
    filled = np.concatenate([plans, np.repeat(plans[-1:], -len(plans) % BATCH, axis=0)])
    blocks = [_play_plans(filled[i : i + BATCH], starts) for i in range(0, len(filled), BATCH)]
    profits = np.concatenate([np.asarray(block) for block in blocks])[: len(plans)]
    return np.asarray(profits.reshape(len(plans), -1, len(SOILS)).mean(axis=2), np.float64)


@cache
def begin(years: Any) -> jax.Array:
    """(years * soils, S) fields that are sown."""
    return jnp.stack(
        [
            TWIN.start(jnp.float32(year), jnp.float32(water), jnp.float32(mineral), PARAMETERS)
            for year in years_of(TWIN.site, years)
            for water, mineral in SOILS
        ]
    )


@jax.jit
def _play_plans(plans: jax.Array, starts: jax.Array) -> jax.Array:
    """(plans, cases) profits."""

    def play(plan: jax.Array, state: jax.Array) -> jax.Array:
        def step(
            carry: tuple[jax.Array, jax.Array], doses: jax.Array
        ) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
            state, done = carry
            # After maturity nobody goes to the field any more.
            doses = jnp.where(done, 0.0, doses)
            state, reward, ended = TWIN.apply(state, doses[0], doses[1], PARAMETERS)
            return (state, done | ended), jnp.where(done, 0.0, reward)

        return jax.lax.scan(step, (state, jnp.bool_(False)), plan)[1].sum()

    return jax.vmap(lambda plan: jax.vmap(lambda s: play(plan, s))(starts))(plans)


# -- policies -------------------------------------------------------------------------------------


def train(seeds: int, **options: Any) -> NDArray[np.float64]:
    """(years,) profits of policies trained in the usual context, means over seeds and soils."""
    family = make_family("Crop", **options)
    trainer = make_trainer("ppo", family, family.space())
    context = [family.defaults[name] for name in trainer.space.names]
    jobs = [TrainingJob(np.array([context]), seed) for seed in range(seeds)]
    trained = trainer.train_chunk(jobs)
    twin: Any = family.functional()
    profits = [play_policy(training.policy, twin) for training in trained]
    return np.asarray(np.mean(profits, axis=0))


def play_policy(policy: Policy, twin: FunctionalCrop) -> NDArray[np.float64]:
    """(years,) profits in the test years, means over the soils."""
    states = begin("test")
    step = jax.jit(jax.vmap(twin.step, (0, 0, None)))
    observe = jax.jit(jax.vmap(twin.observe, (0, None)))
    done, total = np.zeros(len(states), dtype=bool), np.zeros(len(states))
    for _ in range(twin.max_steps):
        actions = policy.act(np.asarray(observe(states, PARAMETERS)))
        states, reward, ended = step(states, jnp.asarray(actions), PARAMETERS)
        total += np.where(done, 0.0, np.asarray(reward))
        done |= np.asarray(ended)
    return np.asarray(total.reshape(-1, len(SOILS)).mean(axis=1))


def summary(profits: NDArray[np.float64]) -> dict[str, float]:
    """The mean over years with its interval, in dollars a hectare."""
    interval = bootstrap_interval(profits)
    return {name: round(value, 1) for name, value in asdict(interval).items()}


if __name__ == "__main__":
    main()
