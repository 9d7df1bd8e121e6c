"""The crossing as environments: contexts, two views, pictures."""

import gymnasium
import numpy as np
import pytest

from sdmbtl.environments import check_contextual_env, make_family
from sdmbtl.errors import ContextError, FamilyError
from sdmbtl_traffic.family import Traffic

pytest.importorskip("libsumo")


@pytest.fixture
def family():
    return Traffic(horizon=90.0, warm_up=10, max_vehicles=12)


@pytest.mark.slow
def test_it_is_what_selection_needs():
    report = check_contextual_env(Traffic(horizon=150.0))
    assert set(report.first_difference) == {"inflow", "penetration", "green"}


def test_spaces_are_the_papers_and_one_that_flows():
    paper, flowing = (make_family("traffic").space(name) for name in ("paper", "flowing"))
    assert len(paper) == 216
    assert paper.bounds == {"inflow": (50, 300), "penetration": (0.1, 0.6), "green": (4, 24)}
    assert flowing.bounds == {**paper.bounds, "green": (12, 24)}
    assert make_family("traffic").space() == flowing


def test_the_same_seed_is_the_same_episode_in_both_views(family):
    context = family.full_context({"inflow": 500.0})
    env = family.make(context)
    env.reset(seed=3)
    expected, is_over = 0.0, False
    while not is_over:
        _, reward, _, is_over, _ = env.step(np.ones(12, np.float32))
        expected += reward
    vector_env = family.make_vector_env()
    now, total, is_over = vector_env.reset([context], [3]), 0.0, False
    while not is_over:
        step = vector_env.step(np.ones((len(now.slots), 1), np.float32))
        total, now, is_over = total + float(step.reward.sum()), step.now, step.is_over
    for made in (env, vector_env):
        made.close()
    assert total == pytest.approx(expected)


def test_gymnasium_makes_it_and_draws_it():
    env = gymnasium.make(
        "sdmbtl/Traffic-v0", context={"inflow": 600.0}, horizon=90.0, render_mode="rgb_array"
    )
    env.reset(seed=0)
    for _ in range(100):
        env.step(np.full(env.action_space.shape, 1.0, np.float32))
    frame = env.render()
    assert frame.shape == (300, 1000, 3)
    assert frame.dtype == np.uint8
    colours = {tuple(pixel) for pixel in frame.reshape(-1, 3)}
    assert {(0, 158, 115), (245, 245, 245)} <= colours, "vehicles of both kinds"
    assert (213, 60, 40) in colours, "a red light"
    env.close()


@pytest.mark.slow
def test_a_model_of_emissions_changes_rewards_and_nothing_else():
    def none(speed, acceleration):
        assert speed.shape == acceleration.shape
        return np.zeros_like(speed)

    worlds = [Traffic(horizon=60.0, emissions=model).make_vector_env() for model in (None, none)]
    context = Traffic().full_context({"inflow": 600.0})
    seen, saved = [world.reset([context], [1]) for world in worlds], 0.0
    for _ in range(60):
        steps = [
            world.step(np.ones((len(now.slots), 1), np.float32))
            for world, now in zip(worlds, seen, strict=True)
        ]
        seen = [step.now for step in steps]
        np.testing.assert_array_equal(seen[0].obs, seen[1].obs)
        assert (steps[1].reward >= steps[0].reward).all()
        saved += float((steps[1].reward - steps[0].reward).sum())
    assert saved > 1.0
    for world in worlds:
        world.close()
    with pytest.raises(FamilyError, match="cannot be made by name"):
        Traffic(emissions=none).settings()


@pytest.mark.parametrize(
    ("context", "word"),
    [
        ({"penetration": 1.5}, "penetration"),
        ({"penetration": 0.0}, "penetration"),
        ({"lane_length": 500.0}, "lane_length"),
        ({"green": 0.0}, "green"),
        ({"gren": 10.0}, "mean 'green'"),
    ],
)
def test_bad_contexts_are_refused(family, context, word):
    with pytest.raises(ContextError, match=word):
        family.full_context(context)


def test_bad_options_are_refused():
    with pytest.raises(FamilyError, match="'horizon' of Traffic must be longer than its warm-up"):
        Traffic(horizon=20.0)
    with pytest.raises(FamilyError, match="max_vehicles"):
        Traffic(max_vehicles=0)
    assert Traffic(horizon=200.0).settings() == {
        "name": "Traffic",
        "options": {"horizon": 200.0},
    }
