"""Finding the right policy in a context that nobody knows, from the returns of episodes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_float, known_name
from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import ContextError, PortfolioError

if TYPE_CHECKING:
    from sdmbtl.portfolio.portfolio import Choice, Portfolio

#: A policy's own variance counts as much as this many episodes on a target.
PRIOR_EPISODES = 2.0
#: Probability of a return that nothing explains.
SURPRISE = 0.01
#: Episodes to come for which finding out is worth while.
HORIZON = 10
#: Contexts, the most probable ones, that stand for all when the next policy is chosen.
HYPOTHESES = 64


class Identification:
    """The probability of each target, given the returns of episodes in an unknown context.

    >>> found = portfolio.identify()  # doctest: +SKIP
    >>> choice = found.ask()  # doctest: +SKIP
    >>> found.tell(choice.policy, play_episode(choice.policy))  # doctest: +SKIP

    Args:
        portfolio: The policies.
        weights: (N,) probabilities of the targets before the first episode.

    Attributes:
        weights: (N,) probabilities of the targets now.
        episodes: (policy, return) of each episode so far.
    """

    def __init__(self, portfolio: Portfolio, weights: NDArray[np.float64]) -> None:
        self.portfolio, self.weights = portfolio, weights
        self.episodes: list[tuple[int, float]] = []
        self._deviations = np.sqrt(_episode_variances(portfolio))  # (k, N)

    def ask(self) -> Choice:
        """Return the policy to play next.

        It has the highest sum of the return that it is expected to have, and of what the best
        choice after it is expected to have in the episodes to come.
        """
        means, weights = self.portfolio.means, self.weights
        likely = np.argsort(-weights, kind="stable")[:HYPOTHESES]
        share = weights[likely] / weights[likely].sum()
        worth = np.empty(len(means))
        for policy, own in enumerate(means):
            # If the context were one of the likely ones, the policy would have its return there.
            posterior = weights * self._likelihoods(policy, own[likely][:, None])  # (H, N)
            posterior /= posterior.sum(axis=1, keepdims=True)
            afterwards = share @ (posterior @ means.T).max(axis=1)
            worth[policy] = weights @ own + HORIZON * afterwards
        # Finding out nothing is worth nothing: rounding must not decide.
        best = int(np.argmax(np.round(worth / (np.ptp(means) or 1.0), 9)))
        return self.portfolio.weighted_choice(weights, best)

    def choose(self) -> Choice:
        """Return the policy with the highest expected return, given the returns so far."""
        return self.portfolio.choose(weights=self.weights)

    def tell(self, policy: int, episode_return: float) -> None:
        """Report the return of an episode.

        Args:
            policy: Id of the policy that played it.
            episode_return: Its return.

        Raises:
            PortfolioError: If there is no such policy, or the return is not a finite number.
        """
        played = check_float("episode_return", episode_return, error=PortfolioError)
        place = self.portfolio.places[self.portfolio[policy].id]
        weights = self.weights * self._likelihoods(place, played)
        self.weights = weights / weights.sum()
        self.episodes.append((policy, played))

    def _likelihoods(
        self, policy: int, returns: float | NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """(..., N) densities of (..., 1) returns of a policy on each target."""
        deviation, means = self._deviations[policy], self.portfolio.means[policy]
        scaled = (returns - means) / deviation
        density = np.exp(-0.5 * scaled**2) / (deviation * math.sqrt(2 * math.pi))
        width = float(np.ptp(self.portfolio.means)) or 1.0
        return np.asarray((1 - SURPRISE) * density + SURPRISE / width)


def nearness(space: ContextSpace, known: Mapping[str, float]) -> NDArray[np.float64]:
    """(N,) weights of the targets by their distance to known features, in grid steps."""
    weights = np.ones(len(space))
    for name, value in known.items():
        known_name("dimension", name, space.names, error=ContextError)
        column, d = space.targets[:, space.names.index(name)], space.dimensions[name]
        away = d.encode(column) - d.encode(np.array(d.read(value)))
        steps = np.abs(away).sum(axis=1) * d.steps
        weights *= np.exp(-2.0 * steps**2) + np.finfo(float).tiny
    return weights


def _episode_variances(portfolio: Portfolio) -> NDArray[np.float64]:
    """(k, N) variance of an episode of each policy on each target, around the expected return."""
    least = (1e-3 * (np.ptp(portfolio.means) or 1.0)) ** 2
    variances = np.empty(portfolio.means.shape)
    for place, member in enumerate(portfolio):
        played = ~np.isnan(member.returns)
        squares = np.where(played, member.returns - portfolio.means[place][:, None], 0.0) ** 2
        usual = squares.sum() / played.sum()
        variances[place] = (squares.sum(axis=1) + PRIOR_EPISODES * usual) / (
            played.sum(axis=1) + PRIOR_EPISODES
        )
    return np.maximum(variances, least)
