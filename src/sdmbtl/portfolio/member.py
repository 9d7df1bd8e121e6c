"""Members of a portfolio, and how they act."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.checks import check_int
from sdmbtl.contexts import ContextSpace, Source
from sdmbtl.contexts.observation import append_context
from sdmbtl.errors import PortfolioError
from sdmbtl.policies import Policy
from sdmbtl.wording import shown_context

#: Source of a member that is made from its context alone; its portfolio puts the point there.
CONTEXT_ALONE = Source(())


@dataclass(frozen=True, eq=False)
class Member:
    """A trained policy and its returns.

    Attributes:
        id: Number of the policy, >= 0.
        context: The context it was trained on; of a region its centre.
        policy: The policy; None if it was trained elsewhere and can only be chosen here.
        returns: (N, E) return of each episode on each target, NaN = not evaluated. The number
            of episodes may differ between members, and between targets by leaving NaN.
        source: What it was trained on, with the context as its centre; the context alone, from
            scratch, if left out.
    """

    id: int
    context: Mapping[str, float]
    policy: Policy | None
    returns: NDArray[np.float64]
    source: Source = CONTEXT_ALONE


class Actor(Protocol):
    """Anything that acts: a `Policy`, or a policy in one context."""

    def act(self, observation: ArrayLike) -> Any:
        """Return the action for one observation, or for a batch of them."""


class ContextPolicy:
    """A policy in one context, on plain observations.

    Args:
        policy: Sees the context's unit coordinates after an observation, or remembers, or both.
        units: (D,) the coordinates.
    """

    def __init__(self, policy: Policy, units: NDArray[np.float64]) -> None:
        self.policy = policy
        self.units = units
        self._state: Any = None

    def reset(self) -> None:
        """Forget the episode before: call it at the beginning of each one, if it remembers."""
        self._state = None

    def act(self, observation: ArrayLike) -> Any:
        """Return the action for a plain observation, or the actions for a batch of them."""
        seen = self.observed(observation)
        if not self.policy.remembers:
            return self.policy.act(seen)
        action, self._state = self.policy.act(seen, self._state)  # type: ignore[call-arg]
        return action

    def observed(self, observation: ArrayLike) -> Any:
        """Return what the policy sees: the (O + D,) numbers, or (n, O + D) of a batch."""
        if not self.policy.sees_context:
            return observation
        seen: NDArray[Any] = append_context(self.policy.flatten(observation), self.units)
        return seen


def checked_member(member: Member, space: ContextSpace) -> Member:
    """Return a member with checked values, and a copy of the returns."""
    number = check_int("id", member.id, low=0, error=PortfolioError)
    vector, source = space.vector(member.context), member.source
    if source == CONTEXT_ALONE:
        source = Source.at(vector)
    elif not np.array_equal(vector, space.vector(source.vector)):
        raise PortfolioError(
            f"The context of policy {number} must be the centre of its source, "
            f"{list(source.center)}. Got {shown_context(space.context(vector))} instead."
        )
    returns = np.array(member.returns, dtype=np.float64)
    if returns.ndim != 2 or len(returns) != len(space):
        raise PortfolioError(
            f"The returns of policy {number} must have shape ({len(space)}, episodes), NaN where "
            f"not evaluated. Got shape {returns.shape} instead. One return for each target is "
            "returns[:, None]."
        )
    if np.isinf(returns).any() or np.isnan(returns).all():
        raise PortfolioError(
            f"The returns of policy {number} must be finite, NaN where not evaluated, and known "
            "for at least one target. Leave the policy out if its training diverged."
        )
    returns.setflags(write=False)
    return Member(number, space.context(source.vector), member.policy, returns, source)
