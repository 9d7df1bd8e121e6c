"""The portfolio as an object: members, coverage, fewer members, acting."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from portfolio_makers import (
    LINE,
    NAN,
    SPACE,
    linear_policy,
    member,
    on_line,
    some_portfolio,
    with_regions,
)

from sdmbtl.environments import make_family
from sdmbtl.errors import PortfolioError
from sdmbtl.portfolio import ContextPolicy, Member, Portfolio

CARTPOLE = make_family("cartpole")


class TestMembers:
    def test_by_id_and_in_order(self):
        members = [member(number, [1.0] * 4) for number in (7, 2, 11)]
        portfolio = Portfolio(LINE, members)
        assert len(portfolio) == 3
        assert [m.id for m in portfolio] == [2, 7, 11]
        assert portfolio[7].policy is members[0].policy
        assert portfolio[np.int64(7)] is portfolio[7]
        with pytest.raises(PortfolioError, match="There is no policy 3; there are 2, 7, 11."):
            portfolio[3]

    def test_returns_are_copied_and_never_change(self):
        returns = np.ones((4, 2))
        portfolio = on_line(returns)
        returns[:] = 9
        assert portfolio[0].returns.max() == 1
        with pytest.raises(ValueError, match="read-only"):
            portfolio[0].returns[0, 0] = 2

    @pytest.mark.parametrize(
        ("returns", "message"),
        [
            (np.ones(4), r"shape \(4, episodes\), .* Got shape \(4,\) .* returns\[:, None\]"),
            (np.ones((5, 2)), r"Got shape \(5, 2\) instead"),
            ([[1.0], [1.0], [math.inf], [1.0]], "policy 3 must be finite"),
            (np.full((4, 2), NAN), "at least one target"),
        ],
    )
    def test_returns_that_are_none(self, returns, message):
        with pytest.raises(PortfolioError, match=message):
            Portfolio(LINE, [Member(3, {"a": 0.0}, linear_policy(1.0), returns)])

    @pytest.mark.parametrize(
        ("members", "message"),
        [
            ([], "at least one policy"),
            ([member(0, [1.0] * 4)] * 2, r"different ids. Got \[0, 0\]"),
            ([member(-1, [1.0] * 4, policy=linear_policy(1.0))], "'id' must be a whole number"),
            ([Member(3, {"a": 1.0}, None, np.ones((4, 1)), LINE.whole())], "must be the centre"),
        ],
    )
    def test_members_that_are_none(self, members, message):
        with pytest.raises(PortfolioError, match=message):
            Portfolio(LINE, members)


class TestCoverage:
    def test_in_words(self):
        rows = [[1.0, 5.0, 1.0, 4.0], [3.0, 1.0, 2.0, 1.0], [0.0, 0.0, 0.0, 0.0]]
        portfolio = on_line(
            *(np.repeat([row], 500, axis=0).T for row in rows), return_range=(-2, 8)
        )
        summary = "3 policies, 4 tasks: expected coverage 55.0 % in new episodes"
        assert repr(portfolio) == f"Portfolio({summary})"
        assert portfolio.describe().splitlines() == [
            summary,
            "policy 0, trained on a=0: 2 tasks, mean return 4.5",
            "policy 1, trained on a=0: 2 tasks, mean return 2.5",
            "policy 2, trained on a=0: serves no task: others are better everywhere",
        ]
        assert portfolio.table()[:2] == [
            {"id": number, "targets": 2, "mean_return": pytest.approx(mean, abs=1e-3)}
            | {"context": {"a": 0.0}, "trained_on": "a=0", "region": {"a": (0.0, 0.0)}}
            for number, mean in [(0, 4.5), (1, 2.5)]
        ]
        assert math.isnan(portfolio.table()[2]["mean_return"])
        assert portfolio.mean_return == portfolio.expected_returns.mean()

    def test_regions_in_words(self):
        portfolio = with_regions()
        assert [line.split(":")[0] for line in portfolio.describe().splitlines()[1:]] == [
            "policy 0, trained on the whole space",
            "policy 1, trained on a 0.25-1.75, b 15-25",
            "policy 2, trained on a=4 b=30",
        ]
        assert portfolio.table()[1]["region"] == {
            "a": pytest.approx((0.25, 1.75)),
            "b": pytest.approx((15.0, 25.0)),
        }


class TestActing:
    def test_the_chosen_policy(self):
        left, right = linear_policy(-1.0), linear_policy(1.0)
        portfolio = Portfolio(
            LINE,
            [
                member(0, [9.0, 8.0, 1.0, 1.0], policy=left),
                member(1, [1.0, 1.0, 8.0, 9.0], policy=right),
            ],
        )
        assert portfolio.policy_for([0]) is left
        assert portfolio.policy_for({"a": 2.9}) is right
        assert portfolio.policy_for([0]).act([2.0]) == 0
        assert portfolio.policy_for([3]).act([[2.0], [-2.0]]).tolist() == [1, 0]

    def test_the_latest_choice_is_remembered(self):
        seeing = linear_policy(1.0, 2.0, sees_context=True)
        portfolio = Portfolio(LINE, [member(0, [1.0] * 4, policy=seeing)])
        actor = portfolio.policy_for([1.5])
        assert portfolio.policy_for({"a": 1.5}) is actor
        assert portfolio.policy_for([1.6]) is not actor

    @given(st.integers(0, 10**6), st.floats(-1, 5), st.floats(5, 35))
    def test_the_policy_is_the_choice(self, seed, a, b):
        portfolio = some_portfolio(seed, missing=0.2)
        for context in ([a, b], SPACE.target(seed % len(SPACE))):
            choice = portfolio.choose(context)
            assert portfolio.policy_for(context) is portfolio.policy(choice.policy)

    def test_a_policy_that_sees_the_context(self):
        # Action 1 if the observation plus the first coordinate less the second is positive.
        policy = linear_policy(1.0, 1.0, -1.0, sees_context=True)
        blind = linear_policy(1.0)
        members = [
            member(0, np.ones(12), space=SPACE, policy=policy),
            member(1, np.zeros(12), space=SPACE, policy=blind),
        ]
        portfolio = Portfolio(SPACE, members)
        assert portfolio.actor(1, {"a": 4, "b": 20}) is blind
        actor = portfolio.policy_for({"a": 4, "b": 20})
        assert isinstance(actor, ContextPolicy)
        assert [actor.act([x]) for x in (-0.6, -0.4)] == [0, 1]
        assert actor.act([[-0.6], [-0.4], [3.0]]).tolist() == [0, 1, 1]

    def test_the_same_as_the_environment_shows_it(self):
        """The wrapper appends what the environment would append."""
        space = CARTPOLE.space()
        context = {"length": 0.123, "masscart": 4.0, "masspole": 0.7}
        rng = np.random.default_rng(0)
        policy = linear_policy(*rng.normal(size=7), sees_context=True)
        portfolio = Portfolio(
            space,
            [member(0, np.ones(len(space)), space=space, policy=policy)],
            family=CARTPOLE.settings(),
        )
        plain, watched = portfolio.make_env(context), CARTPOLE.make(context, observe_context=space)
        actor = portfolio.policy_for(context)
        for seed in range(20):
            bare, shown = plain.reset(seed=seed)[0], watched.reset(seed=seed)[0]
            assert actor.act(bare) == policy.act(shown)
        assert portfolio.make_env(context, render_mode="rgb_array").render_mode == "rgb_array"

    def test_unknown_environments(self):
        with pytest.raises(PortfolioError, match="does not know how its environments are made"):
            some_portfolio().make_env([1, 10])

    def test_code_that_a_file_names_is_not_run(self, tmp_path, monkeypatch):
        (tmp_path / "foreign.py").write_text("raise SystemExit('I was imported')")
        monkeypatch.chdir(tmp_path)
        portfolio = some_portfolio(family={"name": "foreign:make", "options": {}})
        with pytest.raises(PortfolioError, match="the function 'foreign:make'"):
            portfolio.make_env([1, 10])
