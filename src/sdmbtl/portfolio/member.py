"""One policy of a portfolio and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import check_int, short_text
from sdmbtl.contexts import ContextSpace, Source
from sdmbtl.errors import PortfolioError
from sdmbtl.policies import Policy
from sdmbtl.wording import shown_context

#: Of a member that was made from its context alone; its portfolio puts the point there.
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

    def to_onnx(self) -> bytes:
        """The policy as an ONNX file, for programs that know nothing of this package.

        Raises:
            PortfolioError: If it was trained elsewhere, so that it is not here.
            PolicyError: If this kind of policy cannot be one.
            MissingPackageError: If onnx is not installed.
        """
        return self._here().to_onnx()

    def to_stable_baselines3(self, path: str | Path) -> list[Path]:
        """Write the policy as a model of Stable-Baselines3, which its own `load` reads.

        Args:
            path: The file of the model, a .zip.

        Returns:
            The files that were written: the model, and the statistics of observations if they
            were normalised, for `VecNormalize.load`.

        Raises:
            PortfolioError: If it was trained elsewhere, so that it is not here.
            PolicyError: If it is not a policy of Stable-Baselines3.
        """
        return self._here().to_stable_baselines3(path)

    def _here(self) -> Policy:
        if self.policy is None:
            raise PortfolioError(f"Policy {self.id} was trained elsewhere, and is not here.")
        return self.policy


def checked_member(member: Member, space: ContextSpace) -> Member:
    """A member with checked values and returns of its own that never change.

    Raises:
        PortfolioError: If a value is not usable; the message names the member.
        ContextError: If its context does not belong to the space.
    """
    number = check_int("id", member.id, low=0, error=PortfolioError)
    if member.policy is not None and not isinstance(member.policy, Policy):
        raise PortfolioError(
            f"Policy {number} must be a sdmbtl.policies.Policy, or None if it was trained "
            f"elsewhere. Got {short_text(member.policy)} instead."
        )
    returns = _checked_returns(number, member.returns, space)
    source = _checked_source(number, member, space)
    return Member(number, space.context(source.vector), member.policy, returns, source)


def _checked_source(number: int, member: Member, space: ContextSpace) -> Source:
    """What a member was trained on, in the space's order of dimensions."""
    vector = space.vector(member.context)
    if member.source == CONTEXT_ALONE:
        return Source.at(vector)
    if not np.array_equal(vector, space.vector(member.source.vector)):
        raise PortfolioError(
            f"The context of policy {number} must be the centre of its source, "
            f"{list(member.source.center)}. Got {shown_context(space.context(vector))} instead."
        )
    return member.source


def _checked_returns(number: int, given: Any, space: ContextSpace) -> NDArray[np.float64]:
    try:
        returns = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise PortfolioError(
            f"The returns of policy {number} must be numbers. Got {short_text(given)} instead."
        ) from None
    if returns.ndim != 2 or len(returns) != len(space):
        hint = " One return for each target is returns[:, None]." if returns.ndim == 1 else ""
        raise PortfolioError(
            f"The returns of policy {number} must have shape ({len(space)}, episodes), NaN where "
            f"not evaluated. Got shape {returns.shape} instead.{hint}"
        )
    if np.isinf(returns).any():
        raise PortfolioError(
            f"The returns of policy {number} must be finite, or NaN for not evaluated. Got an "
            f"infinite one on target {int(np.argwhere(np.isinf(returns))[0, 0])}. "
            "Leave the policy out if its training diverged."
        )
    if np.isnan(returns).all():
        raise PortfolioError(
            f"Policy {number} was evaluated on no target, so nothing is known of it. "
            "Evaluate it, or leave it out."
        )
    returns.setflags(write=False)
    return returns
