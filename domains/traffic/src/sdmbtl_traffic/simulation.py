"""Episodes of traffic in SUMO: the only module that calls its library."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from sdmbtl_traffic.crossing import (
    ENTRIES,
    EXIT,
    LONGEST_LANE,
    STEP,
    Crossing,
)
from sdmbtl_traffic.demand import Demand, draw_demand
from sdmbtl_traffic.observation import Traffic, observe
from sdmbtl_traffic.signal_plan import SignalPlan

NETWORK = Path(__file__).parent / "network" / "crossings.net.xml.gz"
VEHICLES = Path(__file__).parent / "network" / "vehicles.rou.xml"
OPTIONS = (
    *("--net-file", str(NETWORK), "--route-files", str(VEHICLES), "--step-length", str(STEP)),
    *("--no-step-log", "true", "--no-warnings", "true", "--xml-validation", "never"),
    # No vehicle is removed because it waits for long.
    *("--time-to-teleport", "-1", "--max-depart-delay", "-1"),
)
#: States of a light's links (north, east, south, west) in the phases of a `SignalPlan`.
PHASES = ("rGrG", "ryry", "GrGr", "yryr")
OPPOSITE = {"west": "east", "east": "west", "north": "south", "south": "north"}

#: The driver of the controlled vehicles: a policy, SUMO's IDM as all others, or SUMO's IDM with its
#: green-light advisory.
Driver = Literal["policy", "idm", "advisory"]
DRIVERS: tuple[Driver, ...] = get_args(Driver)


@dataclass(frozen=True)
class Rules:
    """Settings that all episodes of a simulation share.

    Attributes:
        horizon: Seconds of an episode.
        warm_up: Steps of it in which SUMO drives everybody.
        max_vehicles: Vehicles of a crossing that are controlled at once; further ones are driven
            by SUMO until there is a place.
        emission_class: One of SUMO's, for all vehicles.
    """

    horizon: float
    warm_up: int
    max_vehicles: int
    emission_class: str


class Agents(NamedTuple):
    """The controlled vehicles that are there now.

    Attributes:
        slots: (k,) number of its crossing times `max_vehicles`, plus its place.
        obs: (k, SIZE) observations.
    """

    slots: NDArray[np.int32]
    obs: NDArray[np.float32]


class Moved(NamedTuple):
    """The controlled vehicles of before a step, after it.

    Attributes:
        gone: (k,) true for those that have left.
        speed: (k,) in m/s, 0 for those that have left.
        acceleration: (k,) in m/s².
        co2: (k,) in mg/s, by SUMO's model.
    """

    gone: NDArray[np.bool_]
    speed: NDArray[np.float32]
    acceleration: NDArray[np.float32]
    co2: NDArray[np.float32]


class Scene(NamedTuple):
    """A moment on one crossing.

    Attributes:
        time: Seconds since the beginning.
        vehicles: Entry, metres to the light and whether it is controlled, of each.
    """

    time: float
    vehicles: list[tuple[int, float, bool]]


class Simulation:
    """Crossings in one simulation, each with an episode.

    Only one of these can be in a process.

    Args:
        rules: Settings that all episodes share.
    """

    def __init__(self, rules: Rules) -> None:
        import libsumo

        self._sumo: Any = libsumo
        self._vehicle: Any = libsumo.vehicle
        self.rules = rules
        self._is_started = False

    def reset(
        self, crossings: Sequence[Crossing], seeds: Sequence[int], driver: Driver = "policy"
    ) -> Agents:
        """Begin an episode on each of some crossings.

        Args:
            crossings: At most as many as the network has.
            seeds: One for each.
            driver: The driver of the controlled vehicles.
        """
        if self._is_started:
            self._sumo.load(OPTIONS)
        else:
            self._sumo.start(["sumo", *OPTIONS])
        self._is_started = True
        self._driver, self._time, self._steps = driver, 0.0, 0
        self._crossings = list(crossings)
        self._plan = SignalPlan(crossings)
        self._limits = np.repeat([crossing.speed_limit for crossing in crossings], len(ENTRIES))
        self._lengths = np.repeat([c.lane_length for c in crossings], len(ENTRIES))
        for kind in ("car", "advised"):
            self._sumo.vehicletype.setEmissionClass(kind, self.rules.emission_class)
        for number in range(len(crossings)):
            self._prepare(number)
        warm_up = self.rules.warm_up * STEP
        pairs = zip(crossings, seeds, strict=True)
        self._add_vehicles([draw_demand(c, s, self.rules.horizon, warm_up) for c, s in pairs])
        for _ in range(self.rules.warm_up):
            self._advance()
        self._take_control()
        return self._look()

    def step(self, actions: NDArray[np.float32]) -> tuple[Moved, Agents]:
        """Advance half a second, with (k,) accelerations of the controlled vehicles."""
        before = self._agents
        if self._driver == "policy":
            self._command(actions)
        last_speed = self._speed[self._positions_of_agents()]
        self._advance()
        moved = self._follow(before, last_speed)
        self._take_control()
        return moved, self._look()

    @property
    def is_over(self) -> bool:
        """True when the time is up."""
        return self._time >= self.rules.horizon - STEP / 2

    def measures(self) -> dict[str, NDArray[np.float64]]:
        """Return measures of each episode so far, over all its vehicles.

        Returns:
            "co2": grams for a vehicle that has arrived, "speed": mean speed in m/s of these,
            "arrived": their number, "standing": seconds for which one of them stood,
            "co2 of controlled": grams for one of those that a policy drives.
        """
        done = self._has_arrived
        arrived = self._sum(done, done)
        many = np.maximum(arrived, 1)
        seconds = self._sum(self._seconds, done)
        controlled = done & self._is_controlled
        return {
            "co2": self._sum(self._co2, done) / many,
            "speed": self._sum(self._metres, done) / np.maximum(seconds, STEP),
            "arrived": arrived,
            "standing": self._sum(self._standing, done) / many,
            "co2 of controlled": self._sum(self._co2, controlled)
            / np.maximum(self._sum(controlled, controlled), 1),
        }

    def scene(self, number: int) -> Scene:
        """Return the vehicles on a crossing now."""
        own = np.flatnonzero(self._queue // len(ENTRIES) == number)
        entries = (self._queue[own] % len(ENTRIES)).tolist()
        controlled = self._is_controlled[self._active[own]].tolist()
        places = self._to_light[own].tolist()
        return Scene(self._time, list(zip(entries, places, controlled, strict=True)))

    # -- the beginning ------------------------------------------------------------------------

    def _prepare(self, number: int) -> None:
        """Set the light and the speed limit of a crossing, and its routes."""
        light = self._sumo.trafficlight
        phases = [
            light.Phase(seconds, state)
            for seconds, state in zip(self._plan.durations[number], PHASES, strict=True)
        ]
        light.setProgramLogic(str(number), light.Logic("plan", 0, 0, phases))
        limit = self._crossings[number].speed_limit
        for entry in ENTRIES:
            road, there = f"{number}{entry}_in", f"{number}{OPPOSITE[entry]}_out"
            self._sumo.route.add(f"{number}{entry}", [road, there])
            for edge in (road, there):
                self._sumo.edge.setMaxSpeed(edge, limit)
        for link in range(len(ENTRIES)):
            self._sumo.lane.setMaxSpeed(f":{number}_{link}_0", limit)

    def _add_vehicles(self, demands: Sequence[Demand]) -> None:
        """Announce all vehicles; a vehicle's number is its name."""
        sizes = [len(demand.time) for demand in demands]
        total, self._episode_of = sum(sizes), np.repeat(np.arange(len(demands)), sizes)
        self._is_controlled = np.concatenate([demand.controlled for demand in demands])
        entries = np.concatenate([demand.entry for demand in demands])
        self._queue_of = self._episode_of * len(ENTRIES) + entries
        times = np.concatenate([demand.time for demand in demands])
        advised = self._is_controlled & (self._driver == "advisory")
        for number in range(total):
            crossing = self._crossings[self._episode_of[number]]
            self._vehicle.add(
                str(number),
                f"{self._episode_of[number]}{ENTRIES[entries[number]]}",
                "advised" if advised[number] else "car",
                depart=f"{times[number]:.2f}",
                departPos=f"{LONGEST_LANE - crossing.lane_length:.2f}",
                departSpeed="max",
                arrivalPos=str(EXIT),
            )
        self._queues: list[list[int]] = [[] for _ in range(len(demands) * len(ENTRIES))]
        self._slot = np.full(total, -1, np.int32)
        self._free = [list(range(self.rules.max_vehicles)) for _ in demands]
        self._waiting: list[int] = []
        self._agents = np.zeros(0, np.int64)
        self._has_arrived = np.zeros(total, np.bool_)
        zeros = (np.zeros(total) for _ in range(4))
        self._co2, self._metres, self._seconds, self._standing = zeros
        self._list_active()
        self._read()
        self._count([])

    # -- a step -------------------------------------------------------------------------------

    def _command(self, actions: NDArray[np.float32]) -> None:
        """Let SUMO drive at the speed that an acceleration leads to, where that is safe."""
        at = self._positions_of_agents()
        limit = self._limits[self._queue[at]]
        speeds = np.clip(self._speed[at] + actions * STEP, 0.0, limit).tolist()
        for name, speed in zip(self._names_of_agents, speeds, strict=True):
            self._vehicle.setSpeed(name, speed)

    def _advance(self) -> None:
        """Let SUMO take one step, and read its result."""
        self._sumo.simulationStep()
        self._time += STEP
        departed = [int(name) for name in self._sumo.simulation.getDepartedIDList()]
        arrived = [int(name) for name in self._sumo.simulation.getArrivedIDList()]
        for number in departed:
            self._queues[self._queue_of[number]].append(number)
            if self._is_controlled[number]:
                self._waiting.append(number)
        for number in arrived:
            self._remove(number)
        if departed or arrived:
            self._list_active()
        self._read()
        self._count(departed)

    def _remove(self, number: int) -> None:
        self._queues[self._queue_of[number]].remove(number)
        self._has_arrived[number] = True
        if self._slot[number] >= 0:
            place = int(self._slot[number]) % self.rules.max_vehicles
            heapq.heappush(self._free[self._episode_of[number]], place)
        elif number in self._waiting:
            self._waiting.remove(number)

    def _list_active(self) -> None:
        """List all vehicles, one queue after another."""
        self._active = np.array([n for queue in self._queues for n in queue], np.int64)
        self._names = [str(number) for number in self._active]
        self._queue = self._queue_of[self._active]
        self._start = self._lengths[self._queue]
        self._position = np.full(len(self._slot), -1, np.int64)
        self._position[self._active] = np.arange(len(self._active))

    def _read(self) -> None:
        """Read the speed and emissions of all vehicles."""
        speed, co2, names = self._vehicle.getSpeed, self._vehicle.getCO2Emission, self._names
        self._speed = np.array([speed(name) for name in names], np.float64)
        self._milligrams = np.array([co2(name) for name in names], np.float64)

    def _count(self, entered: Sequence[int]) -> None:
        """Add the step to the sums of all vehicles but those that have just entered."""
        active = self._active
        # SUMO moves a vehicle by its new speed, and none in the step in which it enters.
        self._metres[active] += self._speed * STEP
        self._metres[entered] = 0.0
        self._to_light = self._start - self._metres[active]
        self._co2[active] += self._milligrams * (STEP / 1000.0)
        self._seconds[active] += STEP
        self._standing[active] += np.where(self._speed < 0.1, STEP, 0.0)

    def _follow(self, before: NDArray[np.int64], last_speed: NDArray[np.float64]) -> Moved:
        """Return the state of vehicles that were there before the step."""
        position = self._position[before]
        gone = self._has_arrived[before]
        there = np.flatnonzero(~gone)
        speed, change, co2 = (np.zeros(len(before), np.float32) for _ in range(3))
        speed[there] = self._speed[position[there]]
        change[there] = (speed[there] - last_speed[there]) / STEP
        co2[there] = self._milligrams[position[there]]
        return Moved(gone, speed, change, co2)

    def _take_control(self) -> None:
        """Give places to vehicles that wait for one, first come, first served."""
        still = []
        for number in self._waiting:
            episode = self._episode_of[number]
            if self._free[episode]:
                place = heapq.heappop(self._free[episode])
                self._slot[number] = episode * self.rules.max_vehicles + place
            else:
                still.append(number)
        self._waiting = still
        slots = self._slot[self._active]
        self._agents = self._active[slots >= 0]
        # By slot, so that the order does not depend on positions.
        self._agents = self._agents[np.argsort(self._slot[self._agents], kind="stable")]
        self._names_of_agents = [str(number) for number in self._agents]

    def _positions_of_agents(self) -> NDArray[np.int64]:
        return self._position[self._agents]

    def _look(self) -> Agents:
        traffic = Traffic(self._speed, self._to_light, self._queue)
        signals = self._plan.at(self._time)
        obs = observe(traffic, self._positions_of_agents(), self._limits, signals)
        return Agents(self._slot[self._agents], obs)

    def _sum(self, values: NDArray[Any], where: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the (E,) sums over some vehicles of each episode."""
        found = np.bincount(self._episode_of[where], values[where], len(self._crossings))
        return found.astype(np.float64)
