"""The trained policies as one object."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from sdmbtl.checks import check_float, check_return_range, short_text
from sdmbtl.contexts import ContextLike, ContextSpace, Source
from sdmbtl.contexts.targets import SAME_CONTEXT
from sdmbtl.errors import PortfolioError
from sdmbtl.markup import html_lines, html_table
from sdmbtl.policies import Policy
from sdmbtl.portfolio import storage
from sdmbtl.portfolio.covering import smallest_cover
from sdmbtl.portfolio.evaluations import Estimate, Evaluations
from sdmbtl.portfolio.member import Actor, ContextPolicy, Member, checked_member
from sdmbtl.transfer import mean_of, share_of_range
from sdmbtl.trust import refuse_untrusted
from sdmbtl.wording import counted, coverage_text, figure

if TYPE_CHECKING:
    from sdmbtl.environments import ContextualEnv, EnvironmentFamily

#: Share of the returns to be expected that an interval holds.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Choice:
    """The member that acts in a context, and its expected return.

    Attributes:
        policy: Its id.
        source: What it was trained on.
        expected_return: Mean return to be expected, corrected for choosing the best of several.
        uncertainty: One standard deviation of the expected return; NaN if nothing is known of it.
        interval: Lowest and highest mean return to be reckoned with, at 95 %.
        is_target: Whether the context is a target.
        inside: Whether the context lies in the box around the targets.
        reason: Why, in words.
        ranking: For each member in question its id and its mean return, as measured or
            interpolated, without correction; best first.
    """

    policy: int
    source: Source
    expected_return: float
    uncertainty: float
    interval: tuple[float, float]
    is_target: bool
    inside: bool
    reason: str
    ranking: tuple[tuple[int, float], ...]


class Portfolio:
    """Policies that together cover every context of a space, zero-shot.

    Args:
        space: The context space.
        members: The trained policies, with different ids; kept in the order of their ids.
        family: The environments, as `EnvironmentFamily.settings()` gives them.
        observe_context: Whether the policies take observations that end with the context's unit
            coordinates in the space.
        return_range: Lowest and highest return of an episode, for shares and intervals.

    Raises:
        PortfolioError: If an argument is not usable; the message names it.
        ContextError: If a member's context does not belong to the space.
    """

    def __init__(
        self,
        space: ContextSpace,
        members: Sequence[Member],
        *,
        family: Mapping[str, Any] | None = None,
        observe_context: bool = False,
        return_range: tuple[float, float] | None = None,
    ) -> None:
        self.space = space
        self.family = None if family is None else dict(family)
        if self.family is not None and set(self.family) != {"name", "options"}:
            raise PortfolioError(
                "The family of a portfolio has 'name' and 'options', as family.settings() gives "
                f"it. Got {short_text(family)} instead."
            )
        self.observe_context = bool(observe_context)
        self.return_range: tuple[float, float] | None = None
        if return_range is not None:
            self.return_range = check_return_range(return_range, error=PortfolioError)
        checked = sorted((checked_member(m, space) for m in members), key=lambda m: m.id)
        if not checked:
            raise PortfolioError("A portfolio needs at least one policy. Got none.")
        self._by_id = {member.id: member for member in checked}
        if len(self._by_id) < len(checked):
            ids = [member.id for member in checked]
            raise PortfolioError(f"Policies need different ids. Got {ids}. Number them again.")
        self.members: tuple[Member, ...] = tuple(checked)
        self._evaluations = Evaluations(space, [m.returns for m in checked], self._width)

    # -- members -------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[Member]:
        return iter(self.members)

    def __getitem__(self, member: int) -> Member:
        if member not in self._by_id:
            raise PortfolioError(
                f"There is no policy {member!r}; there are {', '.join(map(str, self._by_id))}."
            )
        return self._by_id[member]

    # -- choosing ------------------------------------------------------------------------

    def choose(self, context: ContextLike) -> Choice:
        """Choose the member that acts in a context.

        On a target it is the one with the best mean over its episodes, in any other context the
        one with the best mean interpolated from the nearest targets; of equals the one with the
        lowest id. Its expected return is corrected for choosing the best of several (see
        `sdmbtl.portfolio.evaluations`).

        The uncertainty is made of the standard error over the episodes, the correction, the error
        of interpolation, and the distance beyond the targets: one length of the box may change
        the return by its whole range.

        Raises:
            ContextError: If this is not a context of the space.
        """
        vector = self.space.vector(context)
        target = self.space.find(vector)
        inside = vector in self.space
        unit = self.space.to_unit(vector) if target is None else self.space.unit_targets[target]
        # A dimension of one value has no length: any other value counts as one box length.
        jumps = not inside and bool(np.all(np.abs(unit - 0.5) <= 0.5 + SAME_CONTEXT))
        estimate = self._evaluations.estimate(unit, jump=float(jumps))
        member = self.members[estimate.positions[0]]
        ids = [self.members[position].id for position in estimate.positions]
        return Choice(
            policy=member.id,
            source=member.source,
            expected_return=estimate.expected,
            uncertainty=estimate.uncertainty,
            interval=self._interval(estimate),
            is_target=target is not None,
            inside=inside,
            reason=self._reason(estimate, target, None if inside else vector),
            ranking=tuple(zip(ids, estimate.predicted.tolist(), strict=True)),
        )

    def policy(self, member: int) -> Policy:
        """Return the policy of a member.

        Raises:
            PortfolioError: If it was trained elsewhere, so that it is not here.
        """
        policy = self[member].policy
        if policy is None:
            raise PortfolioError(
                f"Policy {member}, trained on {self.trained_on(member)}, was trained "
                "elsewhere, and this portfolio has no file of it. Load it where it was trained."
            )
        return policy

    def policy_for(self, context: ContextLike) -> Actor:
        """Return the policy that acts in a context, on the plain observations of its environment.

        Raises:
            PortfolioError: If the policies were trained elsewhere, so that they are not here.
        """
        return self.actor(self.choose(context).policy, context)

    def actor(self, member: int, context: ContextLike) -> Actor:
        """Return a member in a context, on the plain observations of its environment.

        Raises:
            PortfolioError: If it was trained elsewhere, so that it is not here.
        """
        policy = self.policy(member)
        if not self.observe_context:
            return policy
        return ContextPolicy(policy, self.space.to_unit(self.space.vector(context)))

    def act(self, context: ContextLike, observation: ArrayLike) -> Any:
        """Return the action in a context for one observation, or a batch of them.

        It chooses every time; for an episode, ask `policy_for` once.
        """
        return self.policy_for(context).act(observation)

    def make_env(
        self, context: ContextLike, *, trust: bool = False, **options: Any
    ) -> ContextualEnv:
        """Make the environment of a context, for `policy_for(context)` to act in.

        Args:
            context: The context.
            trust: Whether to import and call a function that the portfolio names as the maker of
                its environments: be sure where the portfolio comes from.
            **options: As for `EnvironmentFamily.make`, for example render_mode="human".

        Raises:
            PortfolioError: If the portfolio does not know its environments, or names code for
                them and is not trusted.
        """
        family = self.make_family("make_env(context, trust=True).", trust=trust)
        return family.make(self.space.context(self.space.vector(context)), **options)

    def make_family(self, way_out: str, *, trust: bool = False) -> EnvironmentFamily:
        """Make the environments that the policies were trained in; as `make_env`.

        Args:
            way_out: How to trust the portfolio, for the message.
            trust: See `make_env`.
        """
        if self.family is None:
            raise PortfolioError(
                "This portfolio does not know how its environments are made: they were trained "
                "elsewhere, or by a function that cannot be imported by name. Make the "
                "environment yourself; policy_for(context) acts in it."
            )
        from sdmbtl.environments import make_family
        from sdmbtl.environments.registry import code_of_family

        if not trust:
            named = code_of_family(self.family)
            refuse_untrusted("This portfolio", named, way_out, error=PortfolioError)
        return make_family(self.family["name"], **self.family["options"])

    # -- coverage ------------------------------------------------------------------------

    @property
    def means(self) -> NDArray[np.float64]:
        """(k, N) mean return of each policy on each target, NaN where not evaluated."""
        return np.asarray(self._evaluations.means)

    @property
    def expected_returns(self) -> NDArray[np.float64]:
        """(N,) what `choose` expects on each target; NaN where no policy was evaluated."""
        return self._evaluations.expected_returns

    @cached_property
    def best_policies(self) -> NDArray[np.intp]:
        """(N,) id of the member chosen on each target; -1 where no policy was evaluated."""
        ids = np.array([*self._by_id, -1], dtype=np.intp)
        return ids[self._evaluations.best]

    @property
    def mean_return(self) -> float:
        """Mean of `expected_returns` over the targets that a policy was evaluated on."""
        return mean_of(self.expected_returns)

    def share(self, value: float) -> float | None:
        """Return a return as a share of the return range; None if the range is not known."""
        return share_of_range(value, self.return_range)

    def smallest(self, tolerance: float = 0.0) -> Portfolio:
        """Return a portfolio without the members that add nothing, or hardly anything.

        Args:
            tolerance: How much the mean best return may fall, as a share of the return range.

        Raises:
            PortfolioError: If a tolerance is given and the return range is not known.
        """
        tolerance = check_float("tolerance", tolerance, low=0.0, error=PortfolioError)
        if tolerance and self._width is None:
            raise PortfolioError(
                f"A tolerance of {tolerance:g} is a share of the return range, which is not known. "
                "Make the portfolio with return_range=(lowest, highest), or use tolerance=0."
            )
        allowed = tolerance * (self._width or 0.0)
        kept = smallest_cover(self._evaluations.means, allowed)
        return Portfolio(self.space, [self.members[p] for p in kept], **self._settings)

    # -- in words ------------------------------------------------------------------------

    def trained_on(self, member: int) -> str:
        """Return the context or the region that a member was trained on, in words."""
        words = self.space.describe(self[member].source.where)
        return f"the {words}" if self.space.is_whole(self[member].source) else words

    def table(self) -> list[dict[str, Any]]:
        """Return for each member its id, source, number of targets, and mean return there."""
        rows = []
        for member in self:
            covered = self.expected_returns[self.best_policies == member.id]
            rows.append(
                {
                    "id": member.id,
                    "context": dict(member.context),
                    "trained_on": self.trained_on(member.id),
                    "region": self.space.region(member.source),
                    "targets": len(covered),
                    "mean_return": mean_of(covered),
                }
            )
        return rows

    def describe(self) -> str:
        """Describe the members, a line for each."""
        lines = [self._summary()]
        for row in self.table():
            serves = "serves no target: others are better everywhere"
            if row["targets"]:
                mean = f"{row['mean_return']:.4g}"
                serves = f"{counted(row['targets'], 'target')}, mean return {mean}"
            lines.append(f"policy {row['id']}, trained on {row['trained_on']}: {serves}")
        missing = int(np.count_nonzero(self.best_policies < 0))
        if missing:
            lines.append(f"{counted(missing, 'target')} not evaluated")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Portfolio({self._summary()})"

    def _repr_html_(self) -> str:
        headers = ("policy", "trained on", "targets", "mean return there")
        rows = [
            (row["id"], row["trained_on"], row["targets"], figure(row["mean_return"]))
            for row in self.table()
        ]
        return html_lines(self._summary()) + html_table(headers, rows)

    # -- files ---------------------------------------------------------------------------

    def export(self, directory: str | Path) -> None:
        """Write the portfolio to a directory of its own, completely or not at all.

        An older portfolio there is replaced once the new one is on disk.

        Raises:
            PortfolioError: If the directory holds anything else.
        """
        storage.write(Path(directory), self.space, self.members, self._settings)

    @classmethod
    def load(cls, directory: str | Path) -> Self:
        """Read a portfolio back; nothing from its files is executed.

        Args:
            directory: The directory that it was exported to, or a copy of it.

        Raises:
            PortfolioError: If something is damaged, or was written by another release.
            FileNotFoundError: If there is no portfolio.
        """
        space, members, settings = storage.read(Path(directory))
        return cls(space, members, **settings)

    # -- helpers -------------------------------------------------------------------------

    @property
    def _width(self) -> float | None:
        return None if self.return_range is None else self.return_range[1] - self.return_range[0]

    @property
    def _settings(self) -> dict[str, Any]:
        """What a portfolio is made with besides the space and the members."""
        return {
            "family": self.family,
            "observe_context": self.observe_context,
            "return_range": self.return_range,
        }

    def _interval(self, estimate: Estimate) -> tuple[float, float]:
        """The expected return and what it may be besides, within the return range."""
        expected, margin = estimate.expected, math.inf
        if not math.isnan(estimate.uncertainty):
            # Student's t: few episodes do not show their own spread well.
            quantile = scipy.special.stdtrit(estimate.degrees, (1 + CONFIDENCE) / 2)
            margin = float(quantile) * estimate.uncertainty
        low, high = self.return_range or (-math.inf, math.inf)
        return (
            min(max(expected - margin, low), expected),
            max(min(expected + margin, high), expected),
        )

    def _reason(
        self, estimate: Estimate, target: int | None, outside: NDArray[np.float64] | None
    ) -> str:
        rivals = counted(len(estimate.positions), "policy", "policies")
        episodes = counted(estimate.n_episodes, "episode")
        if target is not None and self.best_policies[target] >= 0:
            words = f"Best mean return of {rivals} on this target, over {episodes}."
        else:
            nearest = counted(estimate.n_targets, "nearest target")
            words = f"Best of {rivals}, interpolated from the {nearest}, over {episodes}."
            if math.isfinite(estimate.interpolation_error):
                error = f"{estimate.interpolation_error:.3g}"
                words += f" Typical error of interpolation nearby: {error}."
        if estimate.selection_bias:
            bias = f"{-estimate.selection_bias:+.3g}"
            words += f" Corrected by {bias} for choosing the best of several."
        if math.isnan(estimate.uncertainty):
            words += " One episode alone does not tell how certain that is."
        if outside is not None:
            beyond = ", ".join(
                f"{name}={value:g} is not in [{low:g}, {high:g}]"
                for (name, (low, high)), value in zip(
                    self.space.bounds.items(), outside, strict=True
                )
                if not low <= value <= high
            )
            words += f" Outside of the box, so less certain: {beyond}."
        return words

    def _summary(self) -> str:
        share = self.share(self.mean_return)
        coverage = "" if share is None else f"coverage {coverage_text(share)}, "
        policies = counted(len(self), "policy", "policies")
        targets = counted(len(self.space), "target")
        return f"{policies}, {targets}: {coverage}expected mean return {self.mean_return:.4g}"
