"""The lean walker against Gymnasium's own, digit by digit."""

import itertools
import math

import numpy as np
import pytest

from sdmbtl.environments import make_family
from sdmbtl.environments.bipedal_walker import copy_walker_module
from sdmbtl.environments.family import make_variant

FAMILY = make_family("BipedalWalker")
SPACE = FAMILY.space("paper", levels=3)
CONTEXTS = [FAMILY.full_context(SPACE.context(target)) for target in SPACE.targets]
USUAL = FAMILY.full_context({})

#: A kind of actions for each context in turn: standard deviation, steps held, precision.
ACTIONS = [(0.5, 1, np.float32), (1.2, 8, np.float32), (1.2, 8, np.float64), (3.0, 25, np.float32)]


def make_gymnasiums(context, generator=None):
    """Gymnasium's own walker, newly made, which draws from a generator."""
    module = copy_walker_module(context["friction"], context["scale"])
    env = make_variant("BipedalWalker-v3", None, module.BipedalWalker)
    env.unwrapped.world.gravity = (0.0, -context["gravity"])
    if generator is not None:
        env.unwrapped.np_random = generator
    return env


def assert_same(ours, theirs):
    """Results of a step are the same: observation, reward with its type, and ends."""
    np.testing.assert_array_equal(ours[0], theirs[0])
    assert ours[0].dtype == theirs[0].dtype
    assert (ours[1], type(ours[1]), *ours[2:]) == (theirs[1], type(theirs[1]), *theirs[2:])


def count_same_episodes(context, seed, steps):
    """Play both walkers side by side for a number of steps and count the episodes that end."""
    spread, held, precision = ACTIONS[seed % len(ACTIONS)]
    actions = np.random.default_rng(seed).normal(0, spread, (steps // held + 1, 4))
    ours, theirs = FAMILY.build(context, None), make_gymnasiums(context)
    np.testing.assert_array_equal(ours.reset(seed=seed)[0], theirs.reset(seed=seed)[0])
    ended = 0
    for step in range(steps):
        action = actions[step // held].astype(precision)
        result = ours.step(action)
        assert_same(result, theirs.step(action))
        if result[2] or result[3]:
            ended += 1
            theirs = make_gymnasiums(context, theirs.unwrapped.np_random)
            np.testing.assert_array_equal(ours.reset()[0], theirs.reset()[0])
    return ended


def test_every_digit_is_gymnasiums():
    some = list(enumerate(CONTEXTS))[::4]
    assert sum(count_same_episodes(c, i, steps=250) for i, c in some) > len(some)


@pytest.mark.parametrize(("seed", "arrives"), [(6, True), (0, False)])
def test_a_walk_to_the_end_is_gymnasiums(seed, arrives):
    gait = copy_walker_module(USUAL["friction"], USUAL["scale"]).BipedalWalkerHeuristics()
    ours, theirs = FAMILY.build(USUAL, None), make_gymnasiums(USUAL)
    observation, _ = ours.reset(seed=seed)
    np.testing.assert_array_equal(observation, theirs.reset(seed=seed)[0])
    total, terminated, truncated = 0.0, False, False
    while not (terminated or truncated):
        action = gait.step_heuristic(observation)
        result = ours.step(action)
        assert_same(result, theirs.step(action))
        observation, reward, terminated, truncated, _ = result
        total += reward
    assert total > 300
    assert (terminated, truncated) == (arrives, not arrives)


@pytest.mark.parametrize("action", [[0, 1, -1, 2], [0.5, -0.5, 2.0, 0.0], np.full(4, np.inf)])
def test_other_actions_are_gymnasiums(action):
    ours, theirs = FAMILY.build(USUAL, None), make_gymnasiums(USUAL)
    ours.reset(seed=0), theirs.reset(seed=0)
    for _ in range(30):
        result, expected = ours.step(action), theirs.step(action)
        np.testing.assert_array_equal(result[0], expected[0])
        assert result[1] == expected[1]


@pytest.mark.parametrize("steps", [-1.0, 0.5, 100.0, 189.8, 189.95, 198.5, 250.0])
@pytest.mark.parametrize("scale", [6.0, 48.0])
def test_the_ends_of_the_track_are_gymnasiums(scale, steps):
    context = FAMILY.full_context({"scale": scale})
    ours, theirs = FAMILY.build(context, None), make_gymnasiums(context)
    results = []
    for env in (ours, theirs):
        env.reset(seed=1)
        inner = env.unwrapped
        for body in (inner.hull, *inner.legs):
            body.position = (body.position.x + (steps - 10) * 14 / scale, body.position.y)
            body.linearVelocity = (300 / scale, 0.0)
        results.append([env.step(np.ones(4, np.float32)) for _ in range(20)])
    for result, expected in zip(*results, strict=True):
        assert_same(result, expected)
    assert any(result[2] for result in results[0]) == (steps not in (0.5, 100.0))


def test_an_episode_depends_on_nothing_before_its_reset():
    def play(env, seed):
        observation, _ = env.reset(seed=seed)
        actions = np.random.default_rng(seed).normal(0, 1.5, (25, 4)).astype(np.float32)
        return np.array([observation, *(env.step(a)[0] for a in actions.repeat(8, axis=0))])

    for mode in (None, "rgb_array"):
        used = FAMILY.make({"friction": 1.0}, render_mode=mode)
        for seed in range(3):
            expected = play(FAMILY.make({"friction": 1.0}), seed)
            np.testing.assert_array_equal(play(used, seed), expected)


def test_a_drawn_walker_has_the_same_numbers():
    lean, drawn = FAMILY.make(), FAMILY.make(render_mode="rgb_array")
    np.testing.assert_array_equal(lean.reset(seed=5)[0], drawn.reset(seed=5)[0])
    for action in np.random.default_rng(5).normal(size=(10, 4)).astype(np.float32).repeat(4, 0):
        assert_same(lean.step(action), drawn.step(action))
    frame = drawn.render()
    assert frame.shape == (400, 600, 3)
    assert len(np.unique(frame.reshape(-1, 3), axis=0)) > 5
    drawn.close()


# -- the lidar ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def walker():
    env = FAMILY.build(USUAL, None).unwrapped
    env.reset(seed=2)
    return env


def fractions_and_doubtful(walker, x, y):
    """What the lidar says from a point, what Box2D says, and the rays left to Box2D."""
    position = walker.module.Box2D.b2Vec2(x, y)
    found, doubtful = walker._lidar.scan(position.x, position.y)
    expected = [walker._cast(ray, position) for ray in range(10)]
    sure = [ray for ray in range(10) if ray not in doubtful]
    return [found[i] for i in sure], [expected[i] for i in sure], doubtful


def test_the_lidar_sees_what_box2d_sees(walker):
    points = np.array([walker.terrain[i].fixtures[0].shape.vertices[0] for i in range(199)])
    xs, ys = points.T
    rng = np.random.default_rng(0)
    left, seen = 0, set()
    for x, height in zip(rng.uniform(0, 92, 1000), rng.exponential(1.0, 1000), strict=True):
        found, expected, doubtful = fractions_and_doubtful(walker, x, np.interp(x, xs, ys) + height)
        assert found == expected
        left += len(doubtful)
        seen.update(np.round(found, 1))
    assert left < 0.05 * 1000 * 10
    assert len(seen) == 11, "rays must meet the ground at all distances, and miss it"


def test_rays_at_points_of_the_ground_are_left_to_box2d(walker):
    left = 0
    for edge, distance, ray in itertools.product(range(5, 150, 7), range(1, 12), range(10)):
        x, y = walker.terrain[edge].fixtures[0].shape.vertices[0]
        # Back along the ray, so that it leads to the point.
        x -= 0.3 * distance * math.sin(0.15 * ray)
        y += 0.3 * distance * math.cos(0.15 * ray)
        found, expected, doubtful = fractions_and_doubtful(walker, x, y)
        assert found == expected
        left += ray in doubtful
    assert left > 1000


def test_a_lidar_that_is_not_above_the_ground_knows_nothing(walker):
    for x, y in [(10.0, 0.0), (-1.0, 5.0), (1000.0, 5.0), (10.0, np.nan), (np.nan, 5.0)]:
        assert walker._lidar.scan(x, y)[1] == list(range(10))
