"""The perceptron of NumPy against plain loops."""

import math
from itertools import pairwise

import numpy as np
import pytest

from sdmbtl.errors import PolicyError
from sdmbtl.policies import MlpPolicy


def random_policy(sizes, seed=0, **arguments):
    rng = np.random.default_rng(seed)
    return MlpPolicy(
        [rng.normal(size=pair).astype(np.float32) for pair in pairwise(sizes)],
        [rng.normal(size=n).astype(np.float32) for n in sizes[1:]],
        rng.normal(size=sizes[0]).astype(np.float32),
        rng.uniform(0.5, 2.0, sizes[0]).astype(np.float32),
        **arguments,
    )


def outputs(policy, observation):
    """The last layer's outputs, one number at a time."""
    x = [
        (float(o) - float(shift)) * float(scale)
        for o, shift, scale in zip(observation, policy.shift, policy.scale, strict=True)
    ]
    if policy.limit is not None:
        x = [min(max(value, -policy.limit), policy.limit) for value in x]
    for number, (weight, bias) in enumerate(zip(policy.weights, policy.biases, strict=True)):
        sums = [
            float(bias[j]) + sum(x[i] * float(weight[i, j]) for i in range(len(x)))
            for j in range(len(bias))
        ]
        last = number == len(policy.weights) - 1
        x = sums if last else [math.tanh(value) for value in sums]
    return x


@pytest.mark.parametrize("limit", [None, 0.7])
def test_discrete_actions_are_the_largest_outputs(limit):
    policy = random_policy([3, 5, 4, 3], limit=limit)
    observations = np.random.default_rng(1).normal(size=(40, 3)) * 3
    expected = [int(np.argmax(outputs(policy, o))) for o in observations]
    assert len(set(expected)) > 1
    assert policy.act(observations).tolist() == expected
    single = policy.act(observations[0])
    assert single == expected[0]
    assert type(single) is int


def test_continuous_actions_are_the_outputs_within_bounds():
    policy = random_policy([2, 6, 2], bounds=(-0.5, 1.0))
    observations = np.random.default_rng(2).normal(size=(40, 2))
    expected = np.array([outputs(policy, o) for o in observations])
    assert (expected < -0.5).any()
    assert (expected > 1.0).any()
    actions = policy.act(observations)
    np.testing.assert_allclose(actions, np.clip(expected, -0.5, 1.0), rtol=1e-4, atol=1e-5)
    assert policy.act(observations[0]).shape == (2,)


@pytest.mark.parametrize("shape", [(2,), (5, 4), (1, 1, 3), ()])
def test_other_shapes_are_refused(shape):
    with pytest.raises(PolicyError, match="observations of 3 numbers, one or a batch"):
        random_policy([3, 4, 2]).act(np.zeros(shape))
