"""Portfolios: trained policies as one object that acts in every context.

>>> import numpy as np
>>> from sdmbtl import ContextSpace
>>> from sdmbtl.policies import MlpPolicy
>>> from sdmbtl.portfolio import Member, Portfolio
>>> space = ContextSpace(length=[0.5, 1.0, 2.0])
>>> policy = MlpPolicy([np.eye(4, 2)], [np.zeros(2)], np.zeros(4), np.ones(4))
>>> portfolio = Portfolio(
...     space,
...     [
...         Member(0, {"length": 0.5}, policy, np.array([[500.0], [300.0], [100.0]])),
...         Member(1, {"length": 2.0}, policy, np.array([[200.0], [400.0], [450.0]])),
...     ],
...     return_range=(0, 500),
... )
>>> portfolio
Portfolio(2 policies, 3 targets: coverage 90.0 %, expected mean return 450)
>>> choice = portfolio.choose({"length": 1.5})
>>> choice.policy, choice.expected_return, choice.is_target
(1, 425.0, False)
>>> portfolio.act({"length": 1.5}, [0.1, 0.0, 0.0, 0.0])
0
"""

from sdmbtl.portfolio.member import Actor, ContextPolicy, Member
from sdmbtl.portfolio.portfolio import Choice, Portfolio

__all__ = ["Actor", "Choice", "ContextPolicy", "Member", "Portfolio"]
