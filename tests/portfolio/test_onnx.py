"""A distilled network as an ONNX file: onnxruntime agrees with NumPy."""

import numpy as np
import pytest
from distillation_makers import ACTIONS
from gymnasium import spaces

from sdmbtl.contexts import ContextSpace, Interval, Levels
from sdmbtl.environments.flattening import FlatObservations
from sdmbtl.policies.action_code import ActionCode
from sdmbtl.portfolio.distillation.network import Scaling, Student, StudentForm

onnxruntime = pytest.importorskip("onnxruntime")

MIXED = ContextSpace.sample(
    30, seed=1, a=Interval(0.1, 10.0, "log"), b=Interval(-2.0, 3.0), c=Levels([1.0, 2.0, 5.0])
)


def run(content, **inputs):
    """Return the outputs of an ONNX file by name."""
    session = onnxruntime.InferenceSession(content)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("kind", ACTIONS)
def test_a_network_carries_its_state(kind, told):
    observed = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    actions, dimensions = ActionCode(ACTIONS[kind]), MIXED.dimensions if told else None
    form = StudentForm(FlatObservations(observed), actions, dimensions)
    rng = np.random.default_rng(3)
    weights = form.begin(rng)
    scaling = Scaling(*rng.uniform(0.5, 1.0, size=(2, form.n_inputs)).astype(np.float32))
    policy = form.make_policy(Student(weights, scaling))
    content = policy.to_onnx()
    start = policy.start(MIXED.target(3)) if told else policy.start()
    state = kept = np.tile(start, (5, 1))
    for _ in range(4):
        observations = rng.normal(size=(5, 2)).astype(np.float32)
        action, state = policy.act(observations, state)
        made = run(content, observation=observations, state=kept)
        kept = made["next_state"]
        np.testing.assert_allclose(made["action"], action, rtol=1e-4)
        np.testing.assert_allclose(kept, state, atol=1e-5)
    assert told == np.array_equal(kept, np.tile(start, (5, 1)))
