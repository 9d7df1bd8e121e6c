"""A crossing from above, drawn without a display."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdmbtl_traffic.crossing import ENTRIES, VEHICLE_LENGTH
from sdmbtl_traffic.signal_plan import SignalPlan
from sdmbtl_traffic.simulation import Scene

#: Pixels of a frame, and of a metre.
WIDTH, HEIGHT, SCALE = 1000, 300, 4.0
#: Metres: half of the crossing's width, from the middle of a road to that of a lane, of a lane.
HALF, LANE, LANE_WIDTH = 7.2, 1.6, 3.2
VEHICLE_WIDTH = 2.2

GRASS, ROAD, MARKING = (222, 230, 214), (92, 96, 102), (240, 240, 236)
CONTROLLED, OTHER = (0, 158, 115), (245, 245, 245)
GREEN, AMBER, RED = (0, 170, 90), (240, 180, 0), (213, 60, 40)
#: From the crossing to an entry, in metres to the right and up.
TOWARDS = {"west": (-1, 0), "east": (1, 0), "north": (0, 1), "south": (0, -1)}

Frame = NDArray[np.uint8]


def draw_crossing(scene: Scene, plan: SignalPlan) -> Frame:
    """Draw a (HEIGHT, WIDTH, 3) frame: controlled vehicles are green, others white.

    Args:
        scene: The vehicles.
        plan: The lights of this crossing alone.
    """
    frame = np.full((HEIGHT, WIDTH, 3), GRASS, np.uint8)
    road = LANE_WIDTH
    _fill(frame, (-1e3, -road), (1e3, road), ROAD)
    _fill(frame, (-road, -1e3), (road, 1e3), ROAD)
    _fill(frame, (-1e3, -0.2), (-HALF, 0.2), MARKING)
    _fill(frame, (HALF, -0.2), (1e3, 0.2), MARKING)
    _fill(frame, (-0.2, -1e3), (0.2, -HALF), MARKING)
    _fill(frame, (-0.2, HALF), (0.2, 1e3), MARKING)
    signals = plan.at(scene.time)
    for entry, green, amber in zip(ENTRIES, signals.green, signals.amber, strict=True):
        colour = GREEN if green else AMBER if amber else RED
        _draw_rectangle(frame, entry, HALF, HALF + 1.2, LANE_WIDTH, colour)
    for number, to_light, is_controlled in scene.vehicles:
        front = to_light + HALF
        colour = CONTROLLED if is_controlled else OTHER
        _draw_rectangle(
            frame, ENTRIES[number], front, front + VEHICLE_LENGTH, VEHICLE_WIDTH, colour
        )
    return frame


def _draw_rectangle(
    frame: Frame, entry: str, front: float, back: float, width: float, colour: tuple[int, int, int]
) -> None:
    """Fill a part of the lane from an entry, between two distances to the middle."""
    x, y = TOWARDS[entry]
    # Traffic drives on the right: from the west that is below.
    middle = np.array([-y, x]) * LANE
    along = np.array([[x, y]]) * np.array([[front], [back]])
    corners = np.concatenate([along + middle + s * np.array([-y, x]) * width / 2 for s in (-1, 1)])
    _fill(frame, corners.min(axis=0), corners.max(axis=0), colour)


def _fill(
    frame: Frame,
    low: tuple[float, float] | NDArray[np.float64],
    high: tuple[float, float] | NDArray[np.float64],
    colour: tuple[int, int, int],
) -> None:
    """Fill a rectangle between two points, in metres to the right and up from the middle."""
    columns = np.clip(np.round(WIDTH / 2 + SCALE * np.array([low[0], high[0]])), 0, WIDTH)
    rows = np.clip(np.round(HEIGHT / 2 - SCALE * np.array([high[1], low[1]])), 0, HEIGHT)
    (left, right), (top, bottom) = columns.astype(int), rows.astype(int)
    frame[top:bottom, left:right] = colour
