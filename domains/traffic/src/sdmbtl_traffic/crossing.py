"""The crossing: constants, and the features that differ between contexts."""

from __future__ import annotations

from dataclasses import dataclass

#: Seconds of a step.
STEP = 0.5
#: Metres from the border of the network to the stop line, on each road.
LONGEST_LANE = 392.8
#: Metres behind the crossing after which a vehicle has arrived.
EXIT = 250.0
#: Metres from bumper to bumper.
VEHICLE_LENGTH = 5.0
#: Where vehicles enter: the main entry first. North and south have the other green.
ENTRIES = ("west", "east", "north", "south")
MAIN_ROAD = ("west", "east")
#: Share of the inflow that comes from the west.
MAIN_SHARE = 0.9
#: Crossings in the network file, at most.
CROSSINGS = 16
#: Largest acceleration that a policy can ask for, in m/s²; SUMO brakes harder where it must.
MOST_ACCELERATION = 2.6


@dataclass(frozen=True)
class Crossing:
    """One crossing for one episode.

    Attributes:
        inflow: Vehicles an hour, from all entries together.
        penetration: Probability with which a vehicle is controlled.
        green: Seconds of green on the main road.
        red: Seconds of red there.
        speed_limit: In m/s.
        lane_length: Metres from where vehicles enter to the stop line.
    """

    inflow: float = 250.0
    penetration: float = 0.5
    green: float = 20.0
    red: float = 35.0
    speed_limit: float = 14.0
    lane_length: float = 250.0
