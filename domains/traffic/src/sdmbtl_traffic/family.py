"""Eco-driving at a signalised crossing, simulated by SUMO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sdmbtl.checks import check_float, check_int
from sdmbtl.contexts import Range, SpaceLike
from sdmbtl.environments.contextual import SEEDS
from sdmbtl.environments.family import BuiltFor, EnvironmentFamily
from sdmbtl.errors import FamilyError
from sdmbtl_traffic.crossing import (
    CROSSINGS,
    LONGEST_LANE,
    MOST_ACCELERATION,
    STEP,
    Crossing,
)
from sdmbtl_traffic.drawing import draw_crossing
from sdmbtl_traffic.observation import SIZE, EmissionModel, reward
from sdmbtl_traffic.signal_plan import SignalPlan
from sdmbtl_traffic.simulation import Driver, Rules
from sdmbtl_traffic.simulation_client import SimulationClient
from sdmbtl_traffic.vector_env import AgentsNow, AgentsStep, MultiAgentVectorEnv


class Traffic(EnvironmentFamily):
    """Vehicles that approach a traffic light, some of which a policy drives.

    A four-way crossing with one lane each way, whose vehicles all drive straight on; nine out of
    ten come from the west. Every vehicle is controlled with the probability `penetration`, the
    others are driven by SUMO's IDM. All are of the same type. A policy chooses the acceleration of
    each controlled vehicle twice a second; SUMO keeps it from collisions and from running a red
    light, and nobody is faster than the limit. For a step a vehicle gets

        (v - 35 max(0, 1 - v) - 3 e) / 15

    with its speed v in m/s and its CO2 e in grams a step, by SUMO's model. The speeds of a trip
    add up to its length, whatever they are: what can be gained is less CO2 and less standing. The
    return of an episode is the mean over its controlled vehicles of their sums of rewards.

    `inflow` is in vehicles an hour, `green` and `red` are seconds of the main road's light,
    rounded to steps of half a second, `speed_limit` is in m/s, `lane_length` are the metres from
    where vehicles enter to the stop line.

    Spaces: "paper" has 0.2 to 1.2 times the usual inflow, penetration and green. With a green of
    8 s or less the queue grows without end at the usual inflow, and its returns would swamp every
    mean: the default space, "flowing", has 0.6 to 1.2 times the usual green.

    The trainer "ppo" has one policy for all vehicles, and plays up to 16 episodes in one
    simulation. `build` gives the view of Gymnasium, in which one policy acts for all vehicles of a
    crossing together.

    There is no range of returns: a trip without a stop is worth about 40, but a queue can cost
    hundreds.

    Args:
        space: See `EnvironmentFamily`, as for
        return_range: too.
        horizon: Seconds of an episode.
        warm_up: Steps at its beginning in which SUMO drives everybody.
        max_vehicles: Vehicles of a crossing that are controlled at once; SUMO drives any further
            ones until there is a place.
        emission_class: One of SUMO's, for all vehicles.
        emissions: Another model of CO2 for the reward; SUMO's if left out. A family with one cannot
            be made by name, so it is used in one process.
        patience: Seconds after which a simulation that does not answer is ended.
    """

    name = "Traffic"
    defaults: Mapping[str, float] = asdict(Crossing())
    ranges: Mapping[str, Mapping[str, Range]] = {
        "flowing": {
            "inflow": Range(50.0, 300.0, 6),
            "penetration": Range(0.1, 0.6, 6),
            "green": Range(12.0, 24.0, 4),
        },
        "paper": {
            "inflow": Range(50.0, 300.0, 6),
            "penetration": Range(0.1, 0.6, 6),
            "green": Range(4.0, 24.0, 6),
        },
    }
    positive = frozenset({"inflow", "penetration", "green", "red", "speed_limit", "lane_length"})
    highest: ClassVar[Mapping[str, float]] = {"penetration": 1.0, "lane_length": LONGEST_LANE}
    training: Mapping[str, Mapping[str, Any]] = {
        "ppo": {
            "total_timesteps": 120_000,
            "num_envs": 8,
            "num_steps": 256,
            "minibatch_size": 256,
            "learning_rate": 5e-4,
            "anneal_lr": True,
        },
        # One policy for all places of a crossing: an observation of 560 numbers.
        "sb3": {
            "total_timesteps": 120_000,
            "num_envs": 2,
            "norm_obs": True,
            "norm_reward": True,
            "num_steps": 512,
            "minibatch_size": 128,
        },
    }

    def __init__(
        self,
        *,
        space: SpaceLike | None = None,
        return_range: tuple[float, float] | None = None,
        horizon: float = 1000.0,
        warm_up: int = 50,
        max_vehicles: int = 40,
        emission_class: str = "HBEFA3/PC_G_EU4",
        emissions: EmissionModel | None = None,
        patience: float = 60.0,
    ) -> None:
        super().__init__(space=space, return_range=return_range)
        self.horizon = check_float("horizon", horizon, error=FamilyError)
        self.warm_up = check_int("warm_up", warm_up, low=0, error=FamilyError)
        if self.horizon < (self.warm_up + 2) * STEP:
            raise FamilyError(
                f"The 'horizon' of {self.name} must be longer than its warm-up, "
                f"{self.warm_up * STEP:g} s. Got {horizon!r} instead."
            )
        self.max_vehicles = check_int("max_vehicles", max_vehicles, low=1, error=FamilyError)
        self.emission_class = str(emission_class)
        self.emissions = emissions
        self.patience = check_float("patience", patience, error=FamilyError)

    def options(self) -> dict[str, Any]:
        """Return the settings that differ from the usual ones.

        Raises:
            FamilyError: If it has a model of emissions, which is no data.
        """
        if self.emissions is not None:
            raise FamilyError(
                f"A {self.name} with a model of emissions of its own cannot be made by name. Make "
                "it with a function: 'module:function'."
            )
        usual = {
            "horizon": 1000.0,
            "warm_up": 50,
            "max_vehicles": 40,
            "emission_class": "HBEFA3/PC_G_EU4",
            "patience": 60.0,
        }
        return {name: getattr(self, name) for name in usual if getattr(self, name) != usual[name]}

    def build(self, context: dict[str, float], render_mode: str | None) -> gymnasium.Env[Any, Any]:
        """The crossing as a Gymnasium environment: one policy acts for all its vehicles."""
        return TrafficEnv(self.make_vector_env(), context, render_mode)

    def make_vector_env(self) -> TrafficVectorEnv:
        """Make up to 16 crossings in one simulation."""
        rules = Rules(self.horizon, self.warm_up, self.max_vehicles, self.emission_class)
        return TrafficVectorEnv(SimulationClient(rules, patience=self.patience), self.emissions)


class TrafficVectorEnv(MultiAgentVectorEnv):
    """Crossings in one simulation.

    Args:
        client: The simulation.
        emissions: Grams of CO2 a second, for rewards; SUMO's if left out.
        driver: Who drives the controlled vehicles. If it is not the policy, actions do nothing,
            and rewards are what the driver would have got.
    """

    observation_space = spaces.Box(-np.inf, np.inf, (SIZE,), np.float32)
    action_space = spaces.Box(-MOST_ACCELERATION, MOST_ACCELERATION, (1,), np.float32)
    most_episodes = CROSSINGS

    def __init__(
        self,
        client: SimulationClient,
        emissions: EmissionModel | None = None,
        driver: Driver = "policy",
    ) -> None:
        self.max_agents = client.rules.max_vehicles
        self.driver = driver
        self._client, self._emissions = client, emissions
        self._crossings: list[Crossing] = []

    def reset(self, contexts: Sequence[Mapping[str, float]], seeds: Sequence[int]) -> AgentsNow:
        """Begin an episode on a crossing for each context; missing features are the usual ones."""
        agents, _ = self._client.reset(contexts, seeds, self.driver)
        self._crossings = [Crossing(**context) for context in contexts]
        return AgentsNow(*agents)

    def step(self, actions: NDArray[np.float32]) -> AgentsStep:
        """Half a second."""
        asked = np.clip(actions, -MOST_ACCELERATION, MOST_ACCELERATION)
        moved, agents, is_over = self._client.step(asked)
        grams = moved.co2 * np.float32(STEP / 1000.0)
        if self._emissions is not None:
            grams = self._emissions(moved.speed, moved.acceleration) * STEP
        gained = reward(moved.speed, grams, ~moved.gone)
        return AgentsStep(gained, moved.gone, AgentsNow(*agents), is_over)

    def measures(self) -> dict[str, NDArray[np.float64]]:
        """CO2, speed, throughput and standing of each episode; see `Simulation.measures`."""
        return self._client.measures()

    def render(self, episode: int) -> NDArray[np.uint8]:
        """(H, W, 3) a crossing from above, without a display."""
        plan = SignalPlan([self._crossings[episode]])
        return draw_crossing(self._client.scene(episode), plan)

    def close(self) -> None:
        """End the simulation."""
        self._client.close()


class TrafficEnv(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """One crossing as a Gymnasium environment: one policy acts for all vehicles together.

    An observation has for each place 1 and what its vehicle sees, or zeros if there is none; an
    action has the actions of all places one after another. The reward is the sum over the
    vehicles.

    Args:
        world: Steps the episode.
        context: The full context; `reset(options={"context": ...})` changes it.
        render_mode: As in Gymnasium.
    """

    built_for: BuiltFor = "space"
    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012

    def __init__(
        self, world: TrafficVectorEnv, context: Mapping[str, float], render_mode: str | None
    ) -> None:
        self.world, self.context, self.render_mode = world, dict(context), render_mode
        seen, acted, places = world.observation_space, world.action_space, world.max_agents
        low = np.tile(np.concatenate([[0.0], np.minimum(seen.low, 0.0)]), places)
        high = np.tile(np.concatenate([[1.0], np.maximum(seen.high, 0.0)]), places)
        self.observation_space = spaces.Box(low.astype(np.float32), high.astype(np.float32))
        self.action_space = spaces.Box(np.tile(acted.low, places), np.tile(acted.high, places))
        self._now: AgentsNow | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed)
        self.context.update((options or {}).get("context", {}))
        own = seed if seed is not None else int(self.np_random.integers(SEEDS))
        self._now = self.world.reset([self.context], [own])
        return self._join(self._now), {}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Take the actions of all places; those of empty ones do nothing."""
        if self._now is None:
            raise gymnasium.error.ResetNeeded("Call reset before step.")
        own = np.asarray(action, np.float32).reshape(self.world.max_agents, -1)
        step = self.world.step(own[self._now.slots])
        self._now = step.now
        return self._join(step.now), float(step.reward.sum()), False, step.is_over, {}

    def render(self) -> NDArray[np.uint8] | None:
        """Draw the crossing from above: an (H, W, 3) picture, without a display."""
        return None if self.render_mode is None else self.world.render(0)

    def close(self) -> None:
        """End the simulation."""
        self.world.close()

    def _join(self, now: AgentsNow) -> NDArray[np.float32]:
        joined = np.zeros((self.world.max_agents, 1 + now.obs.shape[1]), np.float32)
        joined[now.slots, 0] = 1.0
        joined[now.slots, 1:] = now.obs
        return joined.ravel()
