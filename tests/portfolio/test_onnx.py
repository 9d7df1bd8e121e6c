"""A portfolio, and a network distilled from one, as ONNX files: onnxruntime agrees with NumPy."""

import numpy as np
import pytest
from distillation_makers import ACTIONS, SPACE, two_teachers
from portfolio_makers import linear_policy

from sdmbtl.contexts import ContextSpace, Interval, Levels
from sdmbtl.environments.flattening import FlatObservations
from sdmbtl.errors import PolicyError
from sdmbtl.policies import MlpPolicy
from sdmbtl.policies.action_code import ActionCode
from sdmbtl.portfolio import Member, Portfolio
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


def assert_same_actions(portfolio, contexts, observations):
    content = portfolio.to_onnx()
    made = run(content, context=contexts, observation=observations)["action"]
    pairs = zip(contexts, observations, strict=True)
    np.testing.assert_allclose(made, [portfolio.policy_for(c).act(o) for c, o in pairs], rtol=1e-5)


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_a_portfolio_chooses_and_acts_as_in_numpy(missing):
    rng = np.random.default_rng(0)
    members = []
    for number in range(4):  # each is good around its own target
        away = np.abs(MIXED.unit_targets - MIXED.unit_targets[7 * number]).sum(axis=1)
        returns = rng.normal(100 - 80 * away[:, None], 3.0, size=(30, 2))
        returns[rng.random(30) < missing] = np.nan
        policy = linear_policy(*rng.normal(size=2))
        members.append(Member(number, MIXED.target(7 * number), policy, returns))
    portfolio = Portfolio(MIXED, members)
    between = MIXED.from_unit(rng.uniform(-0.2, 1.2, size=(40, 3)))
    contexts = np.vstack([MIXED.targets, between])
    chosen = {portfolio.choose(context).policy for context in contexts}
    assert chosen == {0, 1, 2, 3}
    observations = rng.normal(size=(len(contexts), 2)).astype(np.float32)
    assert_same_actions(portfolio, contexts, observations)


def test_a_portfolio_with_more_returns_than_its_model_uses():
    """On targets the choice rests on their own episodes, which the formula does not hold."""
    space = ContextSpace(a=np.linspace(0, 1, 30), b=np.linspace(0, 1, 30))
    rng = np.random.default_rng(1)
    members = [
        Member(number, space.target(0), linear_policy(*rng.normal(size=2)), returns)
        for number, returns in enumerate(rng.normal(size=(2, 900, 3)))
    ]
    portfolio = Portfolio(space, members)
    assert portfolio.model.fit.is_subset
    contexts = space.targets[::7]
    observations = rng.normal(size=(len(contexts), 2)).astype(np.float32)
    assert_same_actions(portfolio, contexts, observations)


def test_a_policy_that_sees_the_context_is_given_it():
    see = MlpPolicy(
        [np.array([[0.0], [0.0], [1.0]])], [[0.0]], np.zeros(3), np.ones(3), (-2.0, 2.0),
        sees_context=True,
    )  # fmt: skip
    blind = MlpPolicy([np.zeros((2, 1))], [[-1.0]], np.zeros(2), np.ones(2), (-2.0, 2.0))
    space = ContextSpace(a=[0.0, 1.0, 2.0])
    rows = np.array([[0.0, 5.0, 5.0], [5.0, 0.0, 0.0]])[:, :, None]
    members = [Member(n, space.target(0), p, rows[n]) for n, p in enumerate((see, blind))]
    portfolio = Portfolio(space, members)
    assert portfolio.choose(space.target(2)).policy == 0
    assert_same_actions(portfolio, space.targets, np.zeros((3, 2), np.float32))


@pytest.mark.parametrize("kind", ACTIONS)
def test_portfolios_of_all_actions(kind):
    portfolio = two_teachers(kind)
    assert_same_actions(portfolio, SPACE.targets, np.zeros((2, 2), np.float32))


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("kind", ACTIONS)
def test_a_network_carries_its_state(kind, told):
    from gymnasium import spaces

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


def test_other_kinds_of_policies_are_refused():
    numbers, dimensions = ACTIONS["numbers"], ContextSpace(a=[0.0, 1.0]).dimensions
    form = StudentForm(FlatObservations(numbers), ActionCode(numbers), dimensions)
    size = form.n_inputs
    scaling = Scaling(np.zeros(size, np.float32), np.ones(size, np.float32))
    policy = form.make_policy(Student(form.begin(np.random.default_rng(0)), scaling))
    portfolio = Portfolio(SPACE, [Member(0, SPACE.target(0), policy, np.ones((2, 1)))])
    with pytest.raises(PolicyError, match="'distilled'"):
        portfolio.to_onnx()
