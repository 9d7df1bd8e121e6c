"""Small portfolios for the tests."""

import numpy as np

from sdmbtl.contexts import ContextSpace, Source
from sdmbtl.policies import MlpPolicy
from sdmbtl.portfolio import Member, Portfolio

NAN = float("nan")
SPACE = ContextSpace(a=[0, 1, 2, 4], b=[10.0, 20.0, 30.0])
LINE = ContextSpace(a=[0.0, 1.0, 2.0, 3.0])


def linear_policy(*weights, sees_context=False):
    """Action 1 if the weighted sum of the observation is positive, otherwise 0."""
    column = np.array(weights, dtype=np.float32)
    size = len(column)
    return MlpPolicy(
        [np.column_stack([-column, column])],
        [np.zeros(2)],
        np.zeros(size),
        np.ones(size),
        sees_context=sees_context,
    )


def member(number, returns, context=None, space=LINE, policy=None):
    policy = linear_policy(1.0, number) if policy is None else policy
    returns = np.asarray(returns, dtype=float)
    if returns.ndim == 1:
        returns = returns[:, None]
    return Member(number, space.target(0) if context is None else context, policy, returns)


def on_line(*rows, **settings):
    """Members 0, 1, ... with these returns on the four targets of LINE."""
    return Portfolio(LINE, [member(i, row) for i, row in enumerate(rows)], **settings)


def with_regions(**settings):
    """A generalist, a specialist on a region and one on a point, over SPACE."""
    sources = [
        SPACE.whole(steps=600),
        Source.at([1.0, 20.0], width=0.5, parent=0, steps=200),
        Source.at([4.0, 30.0], parent=1),
    ]
    members = []
    for number, source in enumerate(sources):
        returns = np.full((len(SPACE), 2), 5.0)
        returns[SPACE.targets_in(source)] += number
        context = SPACE.context(source.vector)
        members.append(Member(number, context, linear_policy(1.0, number), returns, source))
    return Portfolio(SPACE, members, **settings)


def some_portfolio(seed=0, k=4, episodes=(5, 3, 1, 8), space=SPACE, missing=0.0, **settings):
    """Random returns, members with different numbers of episodes, some not evaluated."""
    rng = np.random.default_rng(seed)
    members = []
    for number, count in zip(range(k), episodes, strict=True):
        returns = rng.normal(100, 10, size=(len(space), count))
        returns[rng.random(len(space)) < missing] = NAN
        returns[0, 0] = 100.0
        members.append(
            member(
                3 * number, returns, space.target(number), space, linear_policy(*rng.normal(size=2))
            )
        )
    return Portfolio(space, members, **settings)
