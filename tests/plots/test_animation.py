"""Policies that are seen to act: real episodes, real files."""

import gymnasium
import numpy as np
import pytest
from PIL import Image

from sdmbtl.environments import make_family
from sdmbtl.errors import FamilyError
from sdmbtl.plots.animation import Shot, film_episode, film_side_by_side, save_animation


class Constant:
    """Always the same action."""

    def __init__(self, action):
        self.action = action

    def act(self, observation):
        observation = np.asarray(observation)
        return np.broadcast_to(self.action, (*observation.shape[:-1], *np.shape(self.action)))


def shots(values, shape=(40, 60, 3)):
    return [Shot(np.full(shape, v, np.uint8), float(v), n) for n, v in enumerate(values)]


def test_an_episode_is_filmed_from_its_reset_to_its_end():
    family = make_family("cartpole")
    filmed = list(film_episode(family, Constant(1), {"length": 0.3}, seed=4))
    env = family.make({"length": 0.3})
    env.reset(seed=4)
    steps, is_over = 0, False
    while not is_over:
        *_, is_over, _, _ = env.step(1)
        steps += 1
    assert [shot.step for shot in filmed] == list(range(steps + 1))
    assert filmed[-1].total == steps
    assert all(shot.picture.shape == (400, 600, 3) for shot in filmed)
    assert (filmed[0].picture != filmed[-1].picture).any()


def test_the_crossing_is_filmed_too():
    pytest.importorskip("libsumo")
    family = pytest.importorskip("sdmbtl_traffic.family").Traffic(horizon=40.0, warm_up=10)
    action = np.array([1.0], np.float32)
    filmed = list(film_episode(family, Constant(action), {"inflow": 600.0}, seed=4))
    assert len(filmed) == 70
    assert filmed[-1].picture.shape == (300, 1000, 3)
    assert (filmed[0].picture != filmed[-1].picture).any()


def test_what_cannot_be_drawn_is_refused():
    class Unseen(gymnasium.Wrapper):
        def render(self):
            return None

    class UnseenCartPole(type(make_family("cartpole"))):
        def build(self, context, render_mode):
            return Unseen(super().build(context, render_mode))

    with pytest.raises(FamilyError, match="must render 'rgb_array'"):
        list(film_episode(UnseenCartPole(), Constant(1), {}, seed=0))


def test_one_that_has_ended_keeps_its_last_picture():
    films = {"short": shots([10, 20]), "long": shots([30, 40, 50])}
    pictures = list(film_side_by_side(films, "CartPole"))
    assert len(pictures) == 3
    assert {picture.shape for picture in pictures} == {(106, 126, 3)}
    assert [int(picture[82, 30, 0]) for picture in pictures] == [10, 20, 20]
    assert [int(picture[82, 100, 0]) for picture in pictures] == [30, 40, 50]
    wide = {"a": shots([1], (40, 600, 3)), "b": shots([2], (40, 600, 3))}
    (picture,) = film_side_by_side(wide, "CartPole")
    assert picture.shape == (2 * 84 + 6 + 22, 600, 3), "wide ones stand below each other"


def test_a_gif_has_the_pictures_and_their_pace(tmp_path):
    pictures = [shot.picture for shot in shots([0, 100, 200])]
    assert save_animation(pictures, tmp_path / "new" / "a.gif", fps=10) == 3
    with pytest.raises(FamilyError, match=r"end with \.gif"):
        save_animation(pictures, tmp_path / "a.png", fps=10)
    with Image.open(tmp_path / "new" / "a.gif") as image:
        assert image.n_frames == 3
        assert image.info["duration"] == 100
        image.seek(2)
        assert image.convert("RGB").getpixel((5, 5)) == (200, 200, 200)
