"""Which member is chosen, and what is expected of it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from portfolio_makers import LINE, NAN, SPACE, member, on_line, some_portfolio

from sdmbtl.contexts import ContextSpace, Levels, Source
from sdmbtl.errors import ContextError
from sdmbtl.portfolio import Member, Portfolio
from sdmbtl.transfer import mean_over_episodes


class TestOnTargets:
    @given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3]))
    def test_the_highest_expected_return(self, seed, missing):
        portfolio = some_portfolio(seed, missing=missing)
        for target, context in enumerate(SPACE):
            choice = portfolio.choose(context)
            assert choice.is_target
            assert choice.inside
            assert choice.policy == portfolio.best_policies[target]
            assert choice.expected_return == pytest.approx(portfolio.expected_returns[target])
            assert choice.source == portfolio[choice.policy].source
            means = dict(zip([m.id for m in portfolio], portfolio.means[:, target], strict=True))
            assert dict(choice.ranking) == pytest.approx(means)
            assert choice.ranking[0] == (choice.policy, choice.expected_return)
            ordered = [value for _, value in choice.ranking]
            assert ordered == pytest.approx(sorted(means.values(), reverse=True))

    def test_many_episodes_are_taken_at_their_mean(self):
        rng = np.random.default_rng(0)
        means = np.array([[10.0, 50.0, 20.0, 40.0], [30.0, 40.0, 25.0, 10.0]])
        portfolio = on_line(*(means[..., None] + rng.normal(size=(2, 4, 200))))
        np.testing.assert_allclose(portfolio.means, means, atol=0.3)
        choice = portfolio.choose([2])
        assert choice.policy == 1
        assert choice.uncertainty == pytest.approx(1 / math.sqrt(200), rel=0.2)
        assert choice.reason.endswith("with 200 episodes on this task.")

    def test_ties_go_to_the_lowest_id(self):
        rows = [[1.0, 5.0, 2.0, 0.1]] * 3
        portfolio = Portfolio(
            LINE, [member(n, row) for n, row in zip((7, 2, 5), rows, strict=True)]
        )
        assert portfolio.best_policies.tolist() == [2] * 4
        assert [portfolio.choose(c).policy for c in (*LINE, [0.5])] == [2] * 5
        assert [number for number, _ in portfolio.choose([0]).ranking] == [2, 5, 7]

    def test_the_interval_stays_in_the_return_range(self):
        rows = np.tile([1.0, 2.0, 4.0, 9.0] * 2, (4, 1))
        expected = on_line(rows).choose([2]).expected_return
        low, high = on_line(rows).choose([2]).interval
        assert low < 3.9 < expected < 4.1 < high
        assert on_line(rows, return_range=(3.9, 4.1)).choose([2]).interval == (3.9, 4.1)
        # A range that is wrong does not make the interval leave out the expected return.
        assert on_line(rows, return_range=(6, 7)).choose([2]).interval == (expected, high)
        assert on_line(rows, return_range=(0, 1)).choose([2]).interval == (low, expected)

    def test_a_target_on_which_nobody_was_evaluated_is_predicted(self):
        portfolio = on_line([1.0, NAN, 3.0, 0.0], [0.0, NAN, 1.0, 2.0])
        choice = portfolio.choose([1])
        assert (choice.policy, choice.is_target) == (0, True)
        assert 1.0 < choice.expected_return < 3.0
        assert choice.uncertainty > portfolio.choose([0]).uncertainty
        assert choice.reason.endswith("predicted from 3 episodes on other tasks.")


def drawn_from_the_model(seed, length, change, noise, episodes, played):
    """True mean returns of four policies, and a portfolio of some episodes of each."""
    rng = np.random.default_rng(seed)
    space = ContextSpace(a=np.linspace(0, 1, 7), b=np.linspace(0, 1, 7))
    units = space.unit_targets
    kernel = np.exp(-np.linalg.norm(units[:, None] - units, axis=2) / length)
    factor = np.linalg.cholesky(kernel + 1e-9 * np.eye(len(space)))
    truth, members = [factor @ rng.normal(size=len(space))], []
    for number in range(4):
        parent = int(rng.integers(number)) if number else None
        start = truth[0 if parent is None else parent + 1]
        truth.append(start + math.sqrt(change) * factor @ rng.normal(size=len(space)))
        returns = truth[-1][:, None] + rng.normal(0, noise, size=(len(space), episodes))
        returns[rng.random(len(space)) > played] = NAN
        source = Source.at(space.targets[number], width=0.3, parent=parent)
        members.append(
            Member(number, space.context(source.vector), None, 100 + 10 * returns, source)
        )
    return 100 + 10 * np.array(truth[1:]), Portfolio(space, members)


@pytest.mark.parametrize(
    "drawn",
    [
        {"length": 0.8, "change": 0.3, "noise": 0.3, "episodes": 5, "played": 1.0},
        {"length": 0.4, "change": 0.1, "noise": 1.0, "episodes": 3, "played": 0.5},
        {"length": 0.8, "change": 0.3, "noise": 0.3, "episodes": 1, "played": 1.0},
    ],
)
def test_intervals_hold_what_they_say(drawn):
    held, errors = [], []
    for seed in range(10):
        truth, portfolio = drawn_from_the_model(seed, **drawn)
        choices = [portfolio.choose(context) for context in portfolio.space]
        real = truth[[c.policy for c in choices], np.arange(len(choices))]
        held += [c.interval[0] <= r <= c.interval[1] for c, r in zip(choices, real, strict=True)]
        errors += [c.expected_return - r for c, r in zip(choices, real, strict=True)]
    assert 0.90 <= np.mean(held) <= 0.99
    # The best of several is chosen, and still no more is expected of it than it is worth.
    assert np.mean(errors) < 0.1 * np.std(errors)


class TestBetweenTargets:
    def test_between_the_returns_next_to_it(self):
        rows = np.array([[0.0, 10.0, 20.0, 30.0], [30.0, 20.0, 10.0, 0.0]])
        portfolio = on_line(*np.repeat(rows[..., None], 5, axis=2))
        choice = portfolio.choose([2.5])
        assert (choice.policy, choice.is_target, choice.inside) == (0, False, True)
        assert 20.0 < choice.expected_return < 30.0
        assert choice.uncertainty > portfolio.choose([2]).uncertainty

    @given(st.integers(0, 10**6), st.floats(0, 4), st.floats(10, 30), st.sampled_from([0.0, 0.3]))
    def test_within_the_returns_seen(self, seed, a, b, missing):
        portfolio = some_portfolio(seed, missing=missing, return_range=(0, 200))
        choice = portfolio.choose([a, b])
        means = np.concatenate([mean_over_episodes(m.returns) for m in portfolio])
        assert choice.inside
        assert all(np.nanmin(means) <= value <= np.nanmax(means) for _, value in choice.ranking)
        low, high = choice.interval
        assert 0 <= low <= choice.expected_return <= high <= 200

    @given(st.integers(0, 10**6), st.permutations(range(4)), st.floats(-1, 5), st.floats(5, 35))
    def test_the_order_of_members_does_not_matter(self, seed, order, a, b):
        portfolio = some_portfolio(seed)
        members = list(portfolio)
        shuffled = Portfolio(SPACE, [members[i] for i in order])
        assert shuffled.choose([a, b]) == portfolio.choose([a, b])


class TestOutside:
    def test_it_says_so_and_grows_less_certain(self):
        portfolio = on_line([1.0, 5.0, 2.0, 4.0], [3.0, 4.0, 2.0, 1.0], return_range=(0, 100))
        edge = portfolio.choose([3])
        choices = [portfolio.choose([a]) for a in (3.3, 6.0, 60.0)]
        for choice, beyond in zip(choices, (0.1, 1.0, 19.0), strict=True):
            assert not choice.inside
            assert not choice.is_target
            assert choice.policy == edge.policy == 0
            assert choice.expected_return == pytest.approx(edge.expected_return)
            assert choice.uncertainty == pytest.approx(math.hypot(edge.uncertainty, 100 * beyond))
        assert choices[1].reason.endswith("less certain: a=6 is not in [0, 3].")
        unknown = on_line([1.0, 5.0, 2.0, 4.0], np.tile([2.5, 3.5], (4, 1)))
        spread = math.hypot(unknown.choose([3]).uncertainty, np.ptp(unknown.means) * 0.5)
        assert unknown.choose([4.5]).uncertainty == pytest.approx(spread), "without a range"

    def test_another_value_of_a_constant_dimension(self):
        space = ContextSpace(a=[1.0, 2.0, 3.0], b=[5.0])
        portfolio = Portfolio(
            space, [member(0, [1.0, 2.0, 3.0], space=space)], return_range=(0, 10)
        )
        choice, known = portfolio.choose([2.0, 6.0]), portfolio.choose([2.0, 5.0])
        assert (choice.inside, choice.is_target) == (False, False)
        assert choice.expected_return == pytest.approx(known.expected_return)
        assert choice.uncertainty == pytest.approx(math.hypot(known.uncertainty, 10.0))
        assert choice.reason.endswith("b=6 is not in [5, 5].")

    def test_no_context_at_all(self):
        space = ContextSpace(mass=Levels([0.1, 1.0, 10.0], scale="log"))
        portfolio = Portfolio(space, [member(0, [1.0, 2.0, 3.0], space=space)])
        for context in ([-1.0], {"mas": 1.0}):
            with pytest.raises(ContextError):
                portfolio.choose(context)
