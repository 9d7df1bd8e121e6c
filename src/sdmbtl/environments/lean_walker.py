"""Gymnasium's BipedalWalker with less Python around the same physics.

The classes here are not complete: `bipedal_walker.make_walker_class` puts them in front of the
class of a copy of Gymnasium's module, which has the numbers of one context.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray


class SelfContainedWalker(gymnasium.Env[Any, Any]):
    """Gymnasium's walker in a new world at every reset.

    Gymnasium empties its world and uses it again, but some of Box2D's digits depend on what a
    world held before. Here an episode depends on nothing before its reset: `reset(seed=s)` and
    the same actions give what they give in a newly made environment of Gymnasium's. So one
    environment can be used for any number of episodes.

    Attributes:
        module: The copy of Gymnasium's module that the class belongs to.
        built_for: See `EnvironmentFamily`.
    """

    module: ClassVar[ModuleType]
    built_for: ClassVar[str] = "context"
    world: Any
    hull: Any
    terrain: list[Any]
    legs: list[Any]
    joints: list[Any]

    def _destroy(self) -> None:
        """Replace the world; Gymnasium's `reset` calls this to clear it."""
        self.world = self.module.Box2D.b2World(gravity=self.world.gravity)
        # Bodies of the old world are gone, and using one would crash the process.
        self.hull, self.terrain, self.legs, self.joints = None, [], [], []


class LeanWalker(SelfContainedWalker):
    """A walker that is not drawn, in half the time.

    Observations, rewards and ends have the digits of Gymnasium's, for actions of single and double
    precision, beyond -1 and 1 as well. The world and its steps are the same. Left out is what is
    for drawing; the four actions are clipped together, and the lidar asks Box2D about one edge for
    each ray (see `Lidar`).
    """

    lidar: list[Any]
    terrain_x: list[float]
    terrain_y: list[float]
    game_over: bool
    prev_shaping: float | None

    def __init__(self, render_mode: None = None) -> None:
        super().__init__(render_mode)  # type: ignore[call-arg]  # of Gymnasium's walker
        self._lidar = Lidar(self.module)

    def step(
        self, action: NDArray[np.floating[Any]]
    ) -> tuple[NDArray[np.float32], Any, bool, bool, dict[str, Any]]:
        """Turn the joints, let time pass, and look around."""
        constants, torque = self.module, self.module.MOTORS_TORQUE
        speeds = (constants.SPEED_HIP, constants.SPEED_KNEE) * 2
        strengths = np.minimum(np.abs(action), 1)
        for joint, speed, direction, strength in zip(
            self.joints, speeds, np.sign(action).tolist(), strengths.tolist(), strict=True
        ):
            joint.motorSpeed = speed * direction
            joint.maxMotorTorque = torque * strength
        self.world.Step(1.0 / constants.FPS, 6 * 30, 2 * 30)
        position, angle = self.hull.position, self.hull.angle
        observation = self._observe(angle, position)
        shaping = 130 * position.x / constants.SCALE - 5.0 * abs(angle)
        reward: Any = 0.0 if self.prev_shaping is None else shaping - self.prev_shaping
        self.prev_shaping = shaping
        # One after the other in the action's precision, as Gymnasium does.
        for cost in 0.00035 * torque * strengths:
            reward -= cost
        if self.game_over or position.x < 0:
            return observation, -100, True, False, {}
        track = (constants.TERRAIN_LENGTH - constants.TERRAIN_GRASS) * constants.TERRAIN_STEP
        return observation, reward, position.x > track, False, {}

    def _observe(self, angle: float, position: Any) -> NDArray[np.float32]:
        """Return (24,) hull, legs and lidar."""
        constants, frames = self.module, self.module.FPS
        hip, knee = constants.SPEED_HIP, constants.SPEED_KNEE
        velocity = self.hull.linearVelocity
        left_hip, left_knee, right_hip, right_knee = self.joints
        state = [
            angle,
            2.0 * self.hull.angularVelocity / frames,
            0.3 * velocity.x * (constants.VIEWPORT_W / constants.SCALE) / frames,
            0.3 * velocity.y * (constants.VIEWPORT_H / constants.SCALE) / frames,
            left_hip.angle,
            left_hip.speed / hip,
            left_knee.angle + 1.0,
            left_knee.speed / knee,
            1.0 if self.legs[1].ground_contact else 0.0,
            right_hip.angle,
            right_hip.speed / hip,
            right_knee.angle + 1.0,
            right_knee.speed / knee,
            1.0 if self.legs[3].ground_contact else 0.0,
        ]
        fractions, doubtful = self._lidar.scan(position.x, position.y)
        for ray in doubtful:
            fractions[ray] = self._cast(ray, position)
        return np.array(state + fractions, np.float32)

    def _cast(self, ray: int, position: Any) -> float:
        """Let Box2D find what a ray of the lidar meets first."""
        callback = self.lidar[ray]
        callback.fraction = 1.0
        _, _, right, down = self._lidar.rays[ray]
        self.world.RayCast(callback, position, (position.x + right, position.y - down))
        fraction: float = callback.fraction
        return fraction

    def _generate_terrain(self, hardcore: bool) -> None:
        """Make the ground, and show it to the lidar."""
        super()._generate_terrain(hardcore)  # type: ignore[misc]  # of Gymnasium's walker
        self.terrain.reverse()  # from left to right
        points = list(zip(self.terrain_x, self.terrain_y, strict=True))
        self._lidar.set_ground(points, [body.fixtures[0] for body in self.terrain])


class Lidar:
    """Ten rays from the hull, from straight down to almost ahead, and what they meet.

    Gymnasium lets Box2D look for everything that a ray meets, with a callback for each. But the
    ground is a line over x, so each ray meets it further to the right than the one before: one
    pass over its points finds for all rays the edge they meet, and Box2D is asked for the
    fraction at that edge alone. Rays that pass a point so closely that rounding decides which
    edge they meet, and all rays from anywhere but above the ground, are left to the caller.

    Attributes:
        rays: Sine and cosine of the angle of each, and its reach to the right and down.
    """

    def __init__(self, module: ModuleType) -> None:
        reach, self._spacing = module.LIDAR_RANGE, module.TERRAIN_STEP
        angles = [1.5 * i / 10.0 for i in range(10)]
        self.rays = [
            (math.sin(a), math.cos(a), math.sin(a) * reach, math.cos(a) * reach) for a in angles
        ]
        self._points_in_reach = math.ceil(reach / self._spacing) + 1
        # Positions of single precision differ by a hundredth of this at the end of the track.
        self._tolerance = 0.001 * self._spacing
        self._ray, self._hit = module.Box2D.b2RayCastInput(), module.Box2D.b2RayCastOutput()
        self._ray.maxFraction = 1.0
        # Not copies: setting their coordinates moves the ends of the ray.
        self._start, self._end = self._ray.p1, self._ray.p2

    def set_ground(self, points: list[tuple[float, float]], edges: list[Any]) -> None:
        """Take the points of the ground from left to right, and the fixtures between them."""
        self._xs, self._ys = [x for x, _ in points], [y for _, y in points]
        self._edges = edges

    def scan(self, x: float, y: float) -> tuple[list[float], list[int]]:
        """Look from a point.

        Returns:
            For each ray the fraction of its length at which it meets the ground, 1 if it does
            not; and the rays that are left to the caller.
        """
        xs, ys, tolerance = self._xs, self._ys, self._tolerance
        point = int(x / self._spacing) + 1 if 0.0 <= x < xs[-1] else 0
        if not (
            xs[point - 1] + tolerance < x < xs[point] - tolerance
            and y > max(ys[point - 1], ys[point]) + tolerance
        ):
            return [1.0] * len(self.rays), list(range(len(self.rays)))
        self._start.x, self._start.y = x, y
        last = min(point + self._points_in_reach, len(xs) - 1)
        ahead, above = xs[point] - x, ys[point] - y
        fractions: list[float] = []
        doubtful: list[int] = []
        for sine, cosine, right, down in self.rays:
            # How far the ray passes below the point.
            while (below := sine * above + cosine * ahead) < -tolerance and point < last:
                point += 1
                ahead, above = xs[point] - x, ys[point] - y
            fraction = 1.0
            if below > tolerance:
                self._end.x, self._end.y = x + right, y - down
                if self._edges[point - 1].RayCast(self._hit, self._ray, 0):
                    fraction = self._hit.fraction
            elif below >= -tolerance:
                doubtful.append(len(fractions))
            fractions.append(fraction)
        return fractions, doubtful
