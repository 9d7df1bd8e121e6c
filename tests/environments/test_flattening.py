"""Flat observations and actions against Gymnasium's own functions."""

import json

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array

from sdmbtl.environments.flattening import FlatObservations, with_categories
from sdmbtl.errors import PolicyError
from sdmbtl.policies import MlpPolicy, policy_bytes, policy_from_bytes
from sdmbtl.policies.action_code import ActionCode
from sdmbtl.policies.mlp import ReturnStatistics
from sdmbtl.policies.spaces import space_from_json, space_to_json

NESTED = spaces.Dict(
    {
        "image": spaces.Box(-1.0, 1.0, (2, 3), np.float32),
        "door": spaces.Discrete(4, start=2),
        "rest": spaces.Tuple(
            [spaces.MultiBinary([2, 2]), spaces.MultiDiscrete([2, 3], start=[1, 5])]
        ),
    }
)
OBSERVED = [
    spaces.Box(-np.inf, np.inf, (3,), np.float64),
    spaces.Discrete(3, start=-1),
    spaces.MultiBinary(4),
    spaces.MultiDiscrete([[2, 3], [4, 2]]),
    NESTED,
]


@pytest.mark.parametrize("space", OBSERVED, ids=str)
def test_observations_are_flattened_as_gymnasium_does(space):
    space.seed(0)
    seen = [space.sample() for _ in range(5)]
    flat = FlatObservations(space)
    expected = np.array([_flatten_from_start(space, each) for each in seen])
    assert flat.size == expected.shape[1]
    for each, vector in zip(seen, expected, strict=True):
        np.testing.assert_array_equal(flat(each), np.float32(vector))
    batch = concatenate(space, seen, create_empty_array(space, 5))
    np.testing.assert_array_equal(flat(batch), np.float32(expected))


def _flatten_from_start(space, value):
    """Gymnasium's flatten does not know the start of a MultiDiscrete."""
    match space:
        case spaces.MultiDiscrete():
            return spaces.flatten(spaces.MultiDiscrete(space.nvec), value - space.start)
        case spaces.Dict():
            parts = [_flatten_from_start(s, value[k]) for k, s in space.spaces.items()]
            return np.concatenate(parts)
        case spaces.Tuple():
            pairs = zip(space.spaces, value, strict=True)
            return np.concatenate([_flatten_from_start(s, v) for s, v in pairs])
    return spaces.flatten(space, value)


def test_images_are_scaled_by_their_bounds():
    flat = FlatObservations(spaces.Box(0, 255, (2, 2, 1), np.uint8))
    np.testing.assert_allclose(flat(np.array([0, 51, 102, 255], np.uint8)), [0, 0.2, 0.4, 1])
    assert flat.is_within(0.5, 1.0)
    assert not flat.is_plain


def test_images_of_small_integers_are_categories():
    image = spaces.Box(0, 255, (2, 2, 1), np.uint8)
    small, large = np.array([[[0], [1]], [[8], [2]]], np.uint8), np.full((2, 2, 1), 99, np.uint8)
    for seen in ([small, large], [np.zeros_like(small)], [np.minimum(small, 1)]):
        assert with_categories(image, seen) == image, "brightness"
    nested = spaces.Dict({"view": image, "rest": spaces.Tuple([spaces.Discrete(2), image])})
    found = with_categories(nested, [{"view": small, "rest": (1, large)}])
    assert found["view"] == spaces.MultiDiscrete(np.full((2, 2, 1), 16))
    assert found["rest"] == nested["rest"]
    flat = FlatObservations(found["view"])
    assert np.flatnonzero(flat(small)).tolist() == [0, 17, 40, 50]
    assert flat(np.stack([small, small])).shape == (2, 64)
    assert flat.is_within(0.5, 10.0), "one-hot vectors need no normalisation"
    with pytest.raises(PolicyError, match="Observations are of the space"):
        flat(large)


def test_what_needs_no_normalisation_and_what_is_plain():
    assert FlatObservations(spaces.Box(-2.0, 2.0, (3,))).is_within(0.5, 2.0)
    assert not FlatObservations(spaces.Box(-2.0, 2.5, (3,))).is_within(0.5, 2.0)
    assert not FlatObservations(spaces.Box(-0.07, 0.07, (3,))).is_within(0.5, 2.0)
    assert not FlatObservations(spaces.Box(-np.inf, np.inf, (3,))).is_within(0.5, 10.0)
    assert FlatObservations(NESTED).is_within(0.5, 1.0)
    assert FlatObservations(OBSERVED[0]).is_plain
    assert not FlatObservations(spaces.Box(-1.0, 1.0, (3, 1))).is_plain


@pytest.mark.parametrize("space", [spaces.Text(3), spaces.Dict({"a": spaces.Text(3)})])
def test_what_cannot_be_flattened(space):
    with pytest.raises(PolicyError, match="Observations can be flattened if they are Box.*Text"):
        FlatObservations(space)


ACTED = [
    spaces.Discrete(3, start=5),
    spaces.MultiDiscrete([[2, 3], [4, 2]]),
    spaces.MultiDiscrete([2, 3], start=[1, 5]),
    spaces.MultiBinary(3),
    spaces.Box(np.array([-1.0, 0.0]), np.array([1.0, np.inf]), dtype=np.float64),
]


@pytest.mark.parametrize("space", ACTED, ids=str)
def test_actions_are_in_their_space(space):
    actions = ActionCode(space)
    rng = np.random.default_rng(0)
    outputs = rng.normal(scale=3, size=(200, actions.size)).astype(np.float32)
    found = actions.best(outputs)
    assert all(each in space for each in found)
    assert actions.best(outputs[0]) in space
    if not isinstance(space, spaces.Box):
        assert len({str(each) for each in found}) > 2


def test_the_best_of_each_choice():
    actions = ActionCode(spaces.MultiDiscrete([2, 3], start=[1, 5]))
    assert actions.best(np.array([0.0, 1.0, 5.0, 9.0, 2.0])).tolist() == [2, 6]


def test_an_entry_with_one_possible_value_has_a_code():
    code = ActionCode(spaces.Box(np.float32([-1.0, 3.0]), np.float32([2.0, 3.0])))
    assert np.isfinite(code(np.float32([0.5, 3.0]))).all()
    assert code.decode(np.float32([[0.0, 9.0]])).tolist() == [[0.5, 3.0]]


def test_actions_that_cannot_be_learned():
    for space in (spaces.Dict({}), spaces.Box(0, 9, (2,), np.int64)):
        with pytest.raises(PolicyError, match="Actions can be learned if they are a Box of floats"):
            ActionCode(space)


UNUSUAL = [
    spaces.Box(np.array([-1.0, -np.inf]), np.array([np.inf, 2.5]), dtype=np.float64),
    spaces.Box(np.float32([-0.1, -3.4e38]), np.float32([0.1, 3.4e38])),
    spaces.Box(np.array([[0, 1], [2, 3]]), np.array([[9, 9], [9, 8]]), dtype=np.int64),
    spaces.Discrete(5, start=-2),
    spaces.MultiBinary([2, 3]),
]


@pytest.mark.parametrize("space", [*OBSERVED, *ACTED, *UNUSUAL], ids=str)
def test_spaces_as_json(space):
    text = json.dumps(space_to_json(space), allow_nan=False)
    again = space_from_json(json.loads(text))
    assert again == space
    assert again.dtype == space.dtype
    assert FlatObservations(again).size == FlatObservations(space).size


def test_spaces_that_cannot_be_kept():
    with pytest.raises(PolicyError, match="Box, Discrete, MultiDiscrete or MultiBinary.*Text"):
        space_to_json(spaces.Text(3))
    with pytest.raises(PolicyError, match="entries"):
        space_from_json({"type": "Box", "shape": [10**6, 10**6], "dtype": "float32"})


def test_a_policy_acts_on_the_spaces_in_its_file():
    rng = np.random.default_rng(0)
    size, space = FlatObservations(NESTED).size, spaces.MultiDiscrete([2, 3], start=[1, 5])
    policy = MlpPolicy(
        [rng.normal(size=(size, 5))],
        [np.zeros(5)],
        np.zeros(size),
        np.ones(size),
        return_statistics=ReturnStatistics(-3.0, 2.0, 7.0),
        observation_space=NESTED,
        action_space=space,
    )
    again = policy_from_bytes(policy_bytes(policy))
    assert again.return_statistics == ReturnStatistics(-3.0, 2.0, 7.0)
    assert policy.acting().return_statistics is None
    NESTED.seed(1)
    seen = [NESTED.sample() for _ in range(20)]
    batch = concatenate(NESTED, seen, create_empty_array(NESTED, 20))
    for other in (again, policy.acting()):
        for each in seen:
            assert other.act(each).tolist() == policy.act(each).tolist()
        assert other.act(batch).tolist() == [policy.act(each).tolist() for each in seen]
    for wrong in (seen[0]["image"], {**seen[0], "door": 9}, {"door": 2}):
        with pytest.raises(PolicyError, match="Observations are of the space Dict.*Got "):
            policy.act(wrong)
