"""The drone as a Gymnasium environment with pictures, drawn with Pillow."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.environments.drone import ARENA, GOAL_WIDTH
from sdmbtl.environments.functional.drone import TIME_STEP, FunctionalDrone
from sdmbtl.environments.functional.gymnasium_view import GymnasiumView

#: Side of a picture in pixels; it is drawn larger and scaled down, for smooth edges.
SIZE, FINER = 360, 3
SKY, GRID, GOAL = (238, 244, 250), (222, 231, 240), (0, 130, 90)
INK, LOAD, FLAME, AIR = (38, 50, 66), (196, 106, 24), (70, 130, 200), (110, 140, 175)

Point = tuple[float, float]


class DroneView(GymnasiumView):
    """Draws the drone to scale: arms, payload, thrust of the motors, the goal and the wind."""

    metadata: dict[str, Any] = {  # noqa: RUF012 (as in Gymnasium)
        "render_modes": ["rgb_array"],
        "render_fps": round(1 / TIME_STEP),
    }

    def __init__(self, context: Mapping[str, float], render_mode: str | None = None) -> None:
        super().__init__(FunctionalDrone(), context, render_mode)
        self._features = dict(context)

    def render(self) -> Any:
        """Return a (360, 360, 3) picture of the arena, or None without a render mode."""
        if self.render_mode is None:
            return None
        return draw_drone(np.asarray(self.state, dtype=np.float64), self._features)


def draw_drone(state: NDArray[np.float64], context: Mapping[str, float]) -> NDArray[np.uint8]:
    """Draw the (8,) state of a `FunctionalDrone` in a full context."""
    from PIL import Image, ImageDraw

    scale = SIZE * FINER / (2 * ARENA)
    image = Image.new("RGB", (SIZE * FINER, SIZE * FINER), SKY)
    pen = ImageDraw.Draw(image)
    x, z, tilt, left, right = (float(state[number]) for number in (0, 1, 2, 6, 7))

    def pixel(point: Point) -> Point:
        return (point[0] + ARENA) * scale, (ARENA - point[1]) * scale

    def on_drone(along: float, up: float) -> Point:
        """Return the pixel of a place in the drone's own frame, in m."""
        cos, sin = math.cos(tilt), math.sin(tilt)
        return pixel((x + along * cos + up * sin, z - along * sin + up * cos))

    def line(points: Sequence[Point], colour: tuple[int, int, int], width: float) -> None:
        pen.line(list(points), colour, max(1, round(width * scale)), joint="curve")

    def disc(centre: Point, radius: float, colour: tuple[int, int, int]) -> None:
        pen.circle(centre, radius * scale, colour)

    for metre in np.arange(-ARENA + 1, ARENA):
        line([pixel((metre, -ARENA)), pixel((metre, ARENA))], GRID, 0.015)
        line([pixel((-ARENA, metre)), pixel((ARENA, metre))], GRID, 0.015)
    for radius, colour in ((GOAL_WIDTH, GOAL), (GOAL_WIDTH - 0.035, SKY), (0.05, GOAL)):
        disc(pixel((0.0, 0.0)), radius, colour)
    length = context["wind"] / 10
    if length:
        tip, head = pixel((-length / 2 + length, ARENA - 0.35)), math.copysign(0.16, length)
        line([pixel((-length / 2, ARENA - 0.35)), tip], AIR, 0.05)
        back = tip[0] - head * scale
        ends = [(tip[0] + head * scale / 2, tip[1])]
        ends += [(back, tip[1] + side * 0.12 * scale) for side in (-1, 1)]
        pen.polygon(ends, AIR)

    arm = context["arm"]
    size = 0.3 * context["payload"] ** (1 / 3)  # a cube: its volume is as its mass
    corners = [(-size / 2, 0.0), (size / 2, 0.0), (size / 2, -size), (-size / 2, -size)]
    pen.polygon([on_drone(along, up - 0.06) for along, up in corners], LOAD)
    for side, power in ((-1, left), (1, right)):
        thrust = power * context["thrust"] / 25
        blast = [(-0.05, 0.0), (0.05, 0.0), (0.0, -thrust)]
        pen.polygon([on_drone(side * arm + along, up) for along, up in blast], FLAME)
    line([on_drone(-arm, 0.0), on_drone(arm, 0.0)], INK, 0.06)
    blade = min(0.3, 0.7 * arm)
    for side in (-1, 1):
        line([on_drone(side * arm, 0.0), on_drone(side * arm, 0.1)], INK, 0.05)
        line([on_drone(side * arm - blade, 0.1), on_drone(side * arm + blade, 0.1)], INK, 0.03)
    disc(on_drone(0.0, 0.0), 0.09, INK)
    smooth = image.resize((SIZE, SIZE), Image.Resampling.LANCZOS)
    return np.asarray(smooth, dtype=np.uint8)
