"""Choosing where the context is not known: by probabilities, and by the returns of episodes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from portfolio_makers import LINE, SPACE, linear_policy, member, some_portfolio

from sdmbtl.errors import ContextError, PortfolioError
from sdmbtl.portfolio import Portfolio

#: Policy 0 is good at one end, policy 1 at the other, policy 2 tells all targets apart.
ROWS = ([100, 80, 10, 0], [0, 10, 80, 100], [10, 20, 30, 40])


@pytest.fixture(scope="module")
def ends():
    rng = np.random.default_rng(0)
    members = [
        member(number, np.add.outer(row, rng.normal(0, 0.5, size=6)))
        for number, row in enumerate(ROWS)
    ]
    return Portfolio(LINE, members, return_range=(0, 100))


@given(weights=st.lists(st.floats(0.0, 1.0), min_size=12, max_size=12).filter(any))
def test_a_distribution_has_the_policy_with_the_highest_mean(weights):
    portfolio = some_portfolio()
    choice = portfolio.choose(weights=weights)
    shares = np.array(weights) / np.sum(weights)
    means = portfolio.means @ shares
    assert choice.expected_return == pytest.approx(means.max())
    assert choice.expected_return == pytest.approx(dict(choice.ranking)[choice.policy])
    assert choice.interval[0] <= choice.expected_return <= choice.interval[1]


@pytest.mark.parametrize(
    "arguments",
    [
        *({"weights": given} for given in ([1, 1, 1], [1, 1, 1, -1], [0] * 4, [1, 1, 1, np.nan])),
        *({}, {"context": LINE.target(0), "weights": [1, 0, 0, 0]}),
    ],
)
def test_weights_are_checked(ends, arguments):
    with pytest.raises(PortfolioError, match="weights|Weights"):
        ends.choose(**arguments)


def test_returns_move_the_probabilities_by_bayes(ends):
    found = ends.identify()
    np.testing.assert_allclose(found.weights, 0.25)
    found.tell(2, 30.0)
    assert found.weights.argmax() == 2
    assert found.weights[2] > 0.9
    assert found.choose().policy == 1
    assert found.episodes == [(2, 30.0)]


@pytest.mark.parametrize("target", range(4))
def test_two_episodes_find_the_right_policy(ends, target):
    found = ends.identify()
    for _ in range(2):
        choice = found.ask()
        found.tell(choice.policy, ROWS[choice.policy][target])
    assert ROWS[found.choose().policy][target] == max(row[target] for row in ROWS)


def test_policies_that_see_the_context_are_left_out():
    seeing = linear_policy(1.0, 2.0, sees_context=True)
    rows = ([100, 80, 10, 0], [100, 100, 100, 100], [0, 10, 80, 100])
    members = [member(i, row, policy=seeing if i == 1 else None) for i, row in enumerate(rows)]
    found = Portfolio(LINE, members).identify()
    for _ in range(3):
        choice = found.ask()
        assert choice.policy in (0, 2)
        found.tell(choice.policy, rows[choice.policy][3])
    assert found.choose().policy == 2
    assert {policy for policy, _ in found.choose().ranking} == {0, 2}
    with pytest.raises(PortfolioError, match="sees_context=never"):
        Portfolio(LINE, members[1:2]).identify()


def test_a_surprise_does_not_break_it(ends):
    """No target explains the return, so that all stay possible."""
    found = ends.identify()
    found.tell(0, 1e6)
    np.testing.assert_allclose(found.weights, 0.25)


def test_known_features_narrow_it_down():
    portfolio = some_portfolio()
    found = portfolio.identify({"a": 4})
    on_it = SPACE.targets[:, 0] == 4
    assert found.weights[on_it].sum() > 0.8
    twice = portfolio.identify({"a": 4, "b": 20.0})
    assert twice.weights.argmax() == SPACE.find({"a": 4, "b": 20.0})
    weights = np.where(on_it, 0.0, 1.0)
    assert not portfolio.identify({"a": 4}, weights=weights).weights[on_it].any()


def test_what_is_told_is_checked(ends):
    with pytest.raises(ContextError, match="dimension"):
        ends.identify({"c": 1})
    found = ends.identify()
    with pytest.raises(PortfolioError, match="no policy 7"):
        found.tell(7, 1.0)
    with pytest.raises(PortfolioError, match="episode_return"):
        found.tell(0, float("nan"))
    np.testing.assert_allclose(found.weights, 0.25)
