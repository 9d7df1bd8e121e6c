"""Which member is chosen, and what is said of it."""

import math
import re

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from portfolio_makers import LINE, NAN, SPACE, member, on_line, some_portfolio

from sdmbtl.contexts import ContextSpace, Levels
from sdmbtl.errors import ContextError
from sdmbtl.portfolio import Portfolio
from sdmbtl.portfolio.evaluations import fold_means, selection_bias


def brute_best(portfolio, target):
    """Id and mean of the best member of a target by plain loops; None if nobody was evaluated."""
    best = None
    for each in portfolio:
        known = [r for r in each.returns[target] if not math.isnan(r)]
        if known and (best is None or np.mean(known) > best[1] + 1e-9):
            best = (each.id, np.mean(known))
    return best


class TestOnTargets:
    @settings(max_examples=50, deadline=None)
    @given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3]))
    def test_the_best_mean(self, seed, missing):
        portfolio = some_portfolio(seed, missing=missing)
        for target, context in enumerate(SPACE):
            best = brute_best(portfolio, target)
            choice = portfolio.choose(context)
            assert choice.is_target
            assert choice.inside
            if best is None:
                assert portfolio.best_policies[target] == -1
                assert math.isnan(portfolio.expected_returns[target])
                assert choice.reason.startswith("Best of ")
                continue
            assert choice.policy == portfolio.best_policies[target] == best[0]
            assert choice.ranking[0] == (choice.policy, pytest.approx(best[1]))
            assert choice.expected_return == pytest.approx(portfolio.expected_returns[target])
            assert choice.source == portfolio[choice.policy].source

    def test_ties_go_to_the_lowest_id(self):
        rows = [[1.0, 5.0, 2.0, 0.1]] * 3
        portfolio = Portfolio(
            LINE, [member(n, row) for n, row in zip((7, 2, 5), rows, strict=True)]
        )
        assert portfolio.best_policies.tolist() == [2] * 4
        assert [portfolio.choose(c).policy for c in (*LINE, [0.5])] == [2] * 5
        assert portfolio.choose([0]).ranking == ((2, 1.0), (5, 1.0), (7, 1.0))

    def test_equal_returns_have_exactly_that_mean(self):
        thrice = on_line(np.full((4, 3), 0.1), np.full((4, 6), 0.1))
        assert thrice.expected_returns.tolist() == [0.1] * 4
        assert thrice.best_policies.tolist() == [0] * 4
        assert thrice.choose([1]).interval == (0.1, 0.1)

    def test_standard_error_and_interval_of_students_t(self):
        episodes = np.array([1.0, 2.0, 4.0, 9.0])
        choice = on_line(np.tile(episodes, (4, 1))).choose([2])
        error = episodes.std(ddof=1) / 2
        assert choice.expected_return == episodes.mean()
        assert choice.uncertainty == pytest.approx(error)
        margin = scipy.stats.t.ppf(0.975, 3) * error
        assert choice.interval == (pytest.approx(4 - margin), pytest.approx(4 + margin))
        assert choice.reason == "Best mean return of 1 policy on this target, over 4 episodes."

    def test_the_interval_stays_in_the_return_range(self):
        rows = np.tile([1.0, 2.0, 4.0, 9.0], (4, 1))
        assert on_line(rows, return_range=(0, 7)).choose([2]).interval == (0.0, 7.0)
        # A range that is wrong does not make the interval leave out the expected return.
        assert on_line(rows, return_range=(5, 6)).choose([2]).interval == (4.0, 6.0)
        assert on_line(rows, return_range=(0, 1)).choose([2]).interval == (0.0, 4.0)


class TestSpreadOfEpisodes:
    @pytest.mark.parametrize(
        ("rows", "uncertainty", "degrees"),
        [
            # Its own episodes first.
            ([[0.0, 100.0], [1.0, 3.0], [0.0, 100.0], [0.0, 0.0]], 1.0, 1),
            # Without spread those nearby: variances 2, 0, 8; the fourth target is too far.
            ([[1.0, 3.0], [5.0, 5.0], [0.0, 4.0], [0.0, 900.0]], math.sqrt(10 / 3 / 2), 3),
            # One episode each: the targets nearby.
            ([1.0, 2.0, 6.0, 900.0], np.std([1, 2, 6], ddof=1), 2),
        ],
    )
    def test_where_it_is_known_from(self, rows, uncertainty, degrees):
        choice = on_line(rows).choose([1])
        assert choice.uncertainty == pytest.approx(uncertainty)
        margin = scipy.stats.t.ppf(0.975, degrees) * uncertainty
        assert choice.interval[1] == pytest.approx(choice.expected_return + margin)

    @pytest.mark.parametrize(
        ("return_range", "interval"), [(None, (-math.inf, math.inf)), ((0, 9), (0.0, 9.0))]
    )
    def test_one_episode_alone_says_nothing(self, return_range, interval):
        space = ContextSpace(a=[3.0])
        portfolio = Portfolio(space, [member(0, [7.0], space=space)], return_range=return_range)
        choice = portfolio.choose([3])
        assert math.isnan(choice.uncertainty)
        assert choice.interval == interval
        assert choice.reason.endswith("One episode alone does not tell how certain that is.")


class TestWinnersCurse:
    def test_folds_by_hand(self):
        held, others = fold_means(np.array([1.0, 2.0, 3.0, 4.0, 8.0, NAN]), 2)
        np.testing.assert_allclose(held, [4.0, 3.0])
        np.testing.assert_allclose(others, [3.0, 4.0])

    def test_the_correction_by_hand(self):
        # The first is best of all; without fold 0 the second would be chosen, which has -1 there.
        held = np.array([[9.0, 1.0], [-1.0, 5.0]])
        assert selection_bias(held, held[:, ::-1], np.array(0)) == ((9 - -1) + (1 - 1)) / 2
        choice = on_line(np.tile(held[0], (4, 1)), np.tile(held[1], (4, 1))).choose([0])
        assert choice.policy == 0
        assert choice.expected_return == 0.0
        assert choice.uncertainty == pytest.approx(math.hypot(4.0, 5.0))
        assert choice.reason == (
            "Best mean return of 2 policies on this target, over 2 episodes. "
            "Corrected by -5 for choosing the best of several."
        )

    def test_an_undisputed_choice_keeps_its_mean(self):
        better = np.tile(np.arange(10.0, 17.0), (4, 1))  # 7 episodes in folds of unequal size
        portfolio = on_line(better, better - 20)
        assert portfolio.expected_returns.tolist() == [13.0] * 4
        assert portfolio.choose([1]).expected_return == 13.0
        assert "Corrected" not in portfolio.choose([1]).reason

    @pytest.mark.parametrize("episodes", [2, 7, 20])
    def test_unbiased_among_equally_good_members(self, episodes):
        """Every choice is worth 0; the largest mean says more, the corrected one does not."""
        n = 4000
        space = ContextSpace(a=range(n))
        rng = np.random.default_rng(episodes)
        rows = rng.normal(size=(5, n, episodes))
        portfolio = Portfolio(space, [member(i, row, space=space) for i, row in enumerate(rows)])
        flattered = scipy.stats.norm.expect(lambda x: 5 * x * scipy.stats.norm.cdf(x) ** 4)
        assert portfolio.means.max(axis=0).mean() == pytest.approx(
            flattered / episodes**0.5, rel=0.05
        )
        error = portfolio.expected_returns.std() / n**0.5
        assert abs(portfolio.mean_return) < 3 * error < 0.05

    def test_intervals_hold_what_they_say(self):
        n = 400
        space = ContextSpace(a=range(n))
        rng = np.random.default_rng(2)
        truth = rng.normal(scale=0.5, size=(4, n))
        rows = truth[..., None] + rng.normal(size=(4, n, 6))
        portfolio = Portfolio(space, [member(i, row, space=space) for i, row in enumerate(rows)])
        choices = [portfolio.choose(context) for context in space]
        real = truth[[c.policy for c in choices], np.arange(n)]
        held = [c.interval[0] <= r <= c.interval[1] for c, r in zip(choices, real, strict=True)]
        assert 0.91 < np.mean(held) < 0.985


class TestBetweenTargets:
    def test_linear_in_one_dimension(self):
        portfolio = on_line([1.0, 5.0, 2.0, 0.0], [3.0, 4.0, 2.0, 1.0])
        choice = portfolio.choose([0.25])
        assert not choice.is_target
        assert choice.inside
        assert choice.ranking == ((1, pytest.approx(3.25)), (0, pytest.approx(2.0)))
        assert portfolio.choose([0.75]).ranking[0] == (0, pytest.approx(4.0))
        assert choice.reason == (
            "Best of 2 policies, interpolated from the 2 nearest targets, over 2 episodes. "
            "Typical error of interpolation nearby: 0.959."
        )

    def test_distance_is_in_grid_steps(self):
        """Half a step of a and half a step of b weigh the same, whatever their lengths."""
        space = ContextSpace(a=range(11), b=range(3))
        returns = space.targets[:, 0] * 100 + space.targets[:, 1]
        portfolio = Portfolio(space, [member(0, returns, space=space)])
        assert portfolio.choose([4.5, 0.5]).expected_return == pytest.approx(450.5)
        # Nearer to one corner of the cell: distances 0.6, 0.8, 1.2 and 1.4 steps.
        weights = 1 / np.array([0.6, 0.8, 1.2, 1.4])
        corners = np.array([400.0, 500.0, 401.0, 501.0])
        expected = portfolio.choose([4.4, 0.2]).expected_return
        assert expected == pytest.approx(weights @ corners / weights.sum())

    @settings(max_examples=50, deadline=None)
    @given(st.integers(0, 10**6), st.floats(0, 4), st.floats(10, 30), st.sampled_from([0.0, 0.3]))
    def test_within_the_returns_of_the_neighbours(self, seed, a, b, missing):
        portfolio = some_portfolio(seed, missing=missing)
        choice = portfolio.choose([a, b])
        assert choice.inside
        for number, predicted in choice.ranking:
            returns = portfolio[number].returns
            known = ~np.isnan(returns).all(axis=1)
            unit = SPACE.to_unit([a, b])
            distance = np.abs(SPACE.unit_targets - unit) @ [3, 2]
            limit = np.sort(distance[known])[:4].max() + 1e-6
            near = np.nanmean(returns[known & (distance <= limit)], axis=1)
            assert near.min() - 1e-9 <= predicted <= near.max() + 1e-9

    @settings(max_examples=50, deadline=None)
    @given(st.integers(0, 10**6), st.permutations(range(4)), st.floats(-1, 5), st.floats(5, 35))
    def test_the_order_of_members_does_not_matter(self, seed, order, a, b):
        portfolio = some_portfolio(seed)
        members = list(portfolio)
        shuffled = Portfolio(SPACE, [members[i] for i in order])
        assert shuffled.choose([a, b]) == portfolio.choose([a, b])

    def test_standard_errors_and_the_error_of_interpolation_add_up(self):
        rows = np.array([[1.0, 3.0], [5.0, 9.0], [0.0, 0.0], [0.0, 0.0]])
        choice = on_line(rows).choose([0.25])
        weights = np.array([0.75, 0.25])
        means = np.array([2.0, 7.0])
        noise = (2 + 8) / 2
        # Left out, each is predicted from the two next to it: (7 + 0 / 2) / 1.5 for the first.
        left_out = np.array([2 - 7 / 1.5, 7 - 1, 0 - 3.5, 0 - 3.5 / 1.5])
        nearness = np.exp(-np.array([0.25, 0.75, 1.75, 2.75]))
        interpolated = nearness @ left_out**2 / nearness.sum()
        assert interpolated > weights @ (means - weights @ means) ** 2
        variance = noise * (weights**2 / 2).sum() + interpolated
        assert choice.expected_return == pytest.approx(3.25)
        assert choice.uncertainty == pytest.approx(math.sqrt(variance))
        margin = scipy.stats.t.ppf(0.975, 2) * choice.uncertainty
        assert choice.interval[0] == pytest.approx(3.25 - margin)
        assert "2 nearest targets, over 4 episodes" in choice.reason

    def test_neighbours_that_agree_are_no_proof(self):
        """Predicted from its neighbours, the fourth target is 60 off: so may others be."""
        returns, space = [200.0, 200.0, 200.0, 200.0, 80.0], ContextSpace(a=range(5))
        portfolio = Portfolio(space, [member(0, returns, space=space)], return_range=(0, 500))
        assert portfolio.choose([0]).uncertainty == 0.0  # measured
        choice = portfolio.choose([0.5])
        # Left out, each is the mean of its neighbours; the ends, of the two next to them.
        left_out = np.array([0.0, 0.0, 0.0, 60.0, 120.0])
        nearness = np.exp(-np.array([0.5, 0.5, 1.5, 2.5, 3.5]))
        error = math.sqrt(nearness @ left_out**2 / nearness.sum())
        assert choice.expected_return == 200.0
        assert choice.uncertainty == pytest.approx(error)
        assert choice.interval[0] < 200.0 < choice.interval[1]
        assert choice.reason.endswith(f"nearby: {error:.3g}.")
        assert portfolio.choose([2.5]).uncertainty > choice.uncertainty

    def test_neighbours_that_disagree_count_if_that_is_more(self):
        space = ContextSpace(a=range(20))
        rows = np.repeat(30.0 * np.arange(20)[:, None], 2, axis=1)
        choice = Portfolio(space, [member(0, rows, space=space)]).choose([9.5])
        assert choice.uncertainty == 15.0
        assert float(re.search(r"nearby: ([\d.]+)\.$", choice.reason)[1]) < 1.0

    def test_only_members_evaluated_nearby_take_part(self):
        """A member that met an easy target far away says nothing about this one."""
        portfolio = on_line([1.0, 1.0, 1.0, 50.0], [NAN, NAN, NAN, 99.0])
        assert [n for n, _ in portfolio.choose([0.4]).ranking] == [0]
        assert [n for n, _ in portfolio.choose([2.6]).ranking] == [1, 0]
        reason = "Best of 2 policies, interpolated from the 1 nearest target, over 1 episode."
        assert portfolio.choose([2.6]).reason.startswith(reason)

    def test_a_target_without_evaluation_is_interpolated(self):
        portfolio = on_line([1.0, NAN, 3.0, 0.0], [0.0, NAN, 1.0, 2.0])
        choice = portfolio.choose([1])
        assert (choice.policy, choice.expected_return, choice.is_target) == (0, 2.0, True)
        assert choice.reason.endswith("nearby: 2.06.")
        assert portfolio.best_policies.tolist() == [0, -1, 0, 1]
        assert portfolio.mean_return == pytest.approx((1 + 3 + 2) / 3)

    def test_beyond_what_a_member_was_evaluated_on(self):
        """Inside the box, but past the targets that were evaluated, little is known."""
        portfolio = on_line([5.0, 5.0, NAN, NAN], return_range=(0, 10))
        choice = portfolio.choose([2])
        assert choice.inside
        assert choice.uncertainty == pytest.approx(10 / 3)


class TestOutside:
    def test_it_says_so_and_grows_less_certain(self):
        portfolio = on_line([1.0, 5.0, 2.0, 4.0], [3.0, 4.0, 2.0, 1.0], return_range=(0, 100))
        edge = portfolio.choose([3])
        choices = [portfolio.choose([a]) for a in (3.3, 6.0, 60.0)]
        for choice, beyond in zip(choices, (0.1, 1.0, 19.0), strict=True):
            assert not choice.inside
            assert not choice.is_target
            assert (choice.policy, choice.expected_return) == (0, edge.expected_return)
            assert choice.uncertainty == pytest.approx(math.hypot(edge.uncertainty, 100 * beyond))
        assert choices[1].reason.endswith(
            "Outside of the box, so less certain: a=6 is not in [0, 3]."
        )

    def test_without_a_range_as_far_as_means_differ(self):
        portfolio = on_line([1.0, 5.0, 2.0, 4.0], np.tile([2.5, 3.5], (4, 1)))
        known = portfolio.choose([3]).uncertainty
        assert portfolio.choose([4.5]).uncertainty == pytest.approx(math.hypot(known, 4 * 0.5))

    def test_another_value_of_a_constant_dimension(self):
        space = ContextSpace(a=[1.0, 2.0, 3.0], b=[5.0])
        portfolio = Portfolio(
            space, [member(0, [1.0, 2.0, 3.0], space=space)], return_range=(0, 10)
        )
        choice = portfolio.choose([2.0, 6.0])
        assert (choice.inside, choice.is_target, choice.expected_return) == (False, False, 2.0)
        known = portfolio.choose([2.0, 5.0]).uncertainty
        assert choice.uncertainty == pytest.approx(math.hypot(known, 10.0))
        assert choice.reason.endswith("b=6 is not in [5, 5].")

    def test_no_context_at_all(self):
        space = ContextSpace(mass=Levels([0.1, 1.0, 10.0], scale="log"))
        portfolio = Portfolio(space, [member(0, [1.0, 2.0, 3.0], space=space)])
        with pytest.raises(ContextError, match="takes values above 0"):
            portfolio.choose([-1.0])
        with pytest.raises(ContextError, match="Unknown dimension 'mas'"):
            portfolio.choose({"mas": 1.0})
