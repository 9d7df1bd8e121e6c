"""Policies in ONNX's own runtime do what they do here."""

from itertools import pairwise

import numpy as np
import onnxruntime
import pytest
from gymnasium import spaces

from sdmbtl.errors import MissingPackageError, PolicyError
from sdmbtl.policies import MlpPolicy

RNG = np.random.default_rng(0)


def make(outputs, *, bounds=None, limit=None, action_space=None, inputs=5):
    sizes = (inputs, 16, 8, outputs)
    weights = [RNG.normal(size=pair).astype(np.float32) for pair in pairwise(sizes)]
    biases = [RNG.normal(size=b).astype(np.float32) for b in sizes[1:]]
    shift, scale = RNG.normal(size=inputs), RNG.uniform(0.5, 2.0, inputs)
    return MlpPolicy(weights, biases, shift, scale, bounds, limit, action_space=action_space)


POLICIES = {
    "discrete": make(4),
    "cut off": make(4, limit=0.5),
    "bounded": make(3, bounds=(-2.0, 1.5)),
    "discrete from 3": make(4, action_space=spaces.Discrete(4, start=3)),
    "several choices": make(
        9, action_space=spaces.MultiDiscrete([2, 4, 3], start=np.array([0, 5, -1]))
    ),
    "a box": make(
        4,
        action_space=spaces.Box(
            np.array([[-1, -2], [-3, 0]], np.float32), np.array([[1, 0.1], [0.2, 9]], np.float32)
        ),
    ),
}


@pytest.mark.parametrize("name", POLICIES)
def test_it_acts_as_the_policy(name):
    policy = POLICIES[name]
    session = onnxruntime.InferenceSession(policy.to_onnx())
    seen = (3 * RNG.normal(size=(50, 5))).astype(np.float32)
    (acted,) = session.run(["action"], {"observation": seen})
    expected = np.asarray(policy.act(seen))
    assert acted.shape == expected.shape
    np.testing.assert_allclose(acted, expected, rtol=1e-5, atol=1e-5)


def test_what_cannot_be_written_is_refused(monkeypatch):
    with pytest.raises(PolicyError, match="This policy has MultiBinary"):
        make(6, action_space=spaces.MultiBinary(3)).to_onnx()
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(MissingPackageError, match=r"sdmbtl\[onnx\]"):
        POLICIES["discrete"].to_onnx()
