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
...         Member(0, {"length": 0.5}, policy, np.array([[500.0] * 2, [300.0] * 2, [100.0] * 2])),
...         Member(1, {"length": 2.0}, policy, np.array([[200.0] * 2, [400.0] * 2, [450.0] * 2])),
...     ],
...     return_range=(0, 500),
... )
>>> len(portfolio), portfolio.best_policies.tolist()
(2, [0, 1, 1])
>>> choice = portfolio.choose({"length": 1.5})
>>> choice.policy, 300 < choice.expected_return < 450, choice.is_target
(1, True, False)
>>> portfolio.policy_for({"length": 1.5}).act([0.1, 0.0, 0.0, 0.0])
0
"""

from sdmbtl.portfolio.identification import Identification
from sdmbtl.portfolio.member import Actor, ContextPolicy, Member
from sdmbtl.portfolio.portfolio import Choice, Portfolio

__all__ = ["Actor", "Choice", "ContextPolicy", "Identification", "Member", "Portfolio"]
