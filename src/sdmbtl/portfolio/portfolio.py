"""The trained policies as one object."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from sdmbtl.checks import check_return_range, short_text
from sdmbtl.contexts import ContextLike, ContextSpace, Source
from sdmbtl.contexts.targets import SAME_CONTEXT
from sdmbtl.errors import PortfolioError
from sdmbtl.policies import Policy
from sdmbtl.portfolio import hub, storage
from sdmbtl.portfolio.identification import Identification, nearness
from sdmbtl.portfolio.member import Actor, ContextPolicy, Member, checked_member
from sdmbtl.selectors.acquisition import tie_margin
from sdmbtl.transfer import ReturnModel, mean_of, mean_over_episodes, share_of_range
from sdmbtl.trust import refuse_untrusted
from sdmbtl.wording import counted, coverage_text

if TYPE_CHECKING:
    from sdmbtl.environments import ContextualEnv, EnvironmentFamily
    from sdmbtl.policies.distilled import DistilledPolicy
    from sdmbtl.portfolio.network import Knowledge
    from sdmbtl.training import Progress

#: Share of the returns to be expected that an interval holds.
CONFIDENCE = 0.95
#: Differences between episodes on the same target that show their variance.
FEWEST_DEGREES = 16


@dataclass(frozen=True)
class Choice:
    """The member that acts in a context, and its expected return.

    Attributes:
        policy: Its id.
        source: Its training contexts.
        expected_return: Mean return to be expected.
        uncertainty: One standard deviation of the expected return.
        interval: Lowest and highest mean return to be reckoned with, at 95 %.
        is_target: True if the context is a target.
        inside: True if the context lies in the box around the targets.
        reason: Why, in words.
        ranking: Id and expected return of each member, best first.
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
        return_range: tuple[float, float] | None = None,
    ) -> None:
        self.space = space
        self.family = None if family is None else dict(family)
        self.return_range: tuple[float, float] | None = None
        if return_range is not None:
            self.return_range = check_return_range(return_range, error=PortfolioError)
        checked = sorted((checked_member(m, space) for m in members), key=lambda m: m.id)
        if not checked:
            raise PortfolioError("A portfolio needs at least one policy. Got none.")
        self.members = tuple(checked)
        #: Place of each member in `members`, by its id.
        self.places = {member.id: place for place, member in enumerate(checked)}
        if len(self.places) < len(checked):
            ids = [member.id for member in checked]
            raise PortfolioError(f"Policies need different ids. Got {ids}. Number them again.")
        parents = [
            -1 if (p := m.source.parent) is None else self.places.get(p, -1) for m in checked
        ]
        self.model = ReturnModel(
            space,
            parents,
            np.array([mean_over_episodes(m.returns) for m in checked]),
            np.array([np.isfinite(m.returns).sum(axis=1) for m in checked], dtype=np.float64),
            _episode_variance([m.returns for m in checked]),
            [m.source for m in checked],
        )
        #: The latest context that a policy was chosen for, and the policy.
        self._latest: tuple[bytes, Actor] | None = None

    # -- members -------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[Member]:
        return iter(self.members)

    def __getitem__(self, member: int) -> Member:
        if member not in self.places:
            raise PortfolioError(
                f"There is no policy {member!r}; there are {', '.join(map(str, self.places))}."
            )
        return self.members[self.places[member]]

    # -- choosing ------------------------------------------------------------------------

    def choose(
        self, context: ContextLike | None = None, *, weights: ArrayLike | None = None
    ) -> Choice:
        """Choose the member with the highest expected return, of equals the one with the lowest id.

        A Gaussian process expects it from the episodes of all members on all targets (see
        `sdmbtl.transfer.ReturnModel`), so the best of several noisy means is not taken at its word.
        The uncertainty is its standard deviation, and the distance beyond the targets: one length
        of the box may change the return by its whole range.

        Args:
            context: The context.
            weights: (N,) probabilities of the targets instead, if it is not known. The uncertainty
                is then that of the context.

        Raises:
            ContextError: If this is not a context of the space.
            PortfolioError: If these are not weights.
        """
        if (context is None) == (weights is None):
            raise PortfolioError("Choose by a context, or by the weights of the targets.")
        if context is None:
            shares = self._checked_weights(weights)
            return self.weighted_choice(shares, int(self._rounded(self.means @ shares).argmax()))
        vector = self.space.vector(context)
        target = self.space.find(vector)
        inside = vector in self.space
        unit = self.space.to_unit(vector) if target is None else self.space.unit_targets[target]
        within = np.clip(unit, 0.0, 1.0)
        if target is None:
            means, variances = (
                self.model.means_at(within[None]),
                self.model.variances_at(within[None]),
            )
        else:
            means, variances = self.model.on_targets(np.array([target]))
        best = int(self._rounded(means[:, 0]).argmax())
        # A dimension of one value has no length: any other value counts as one box length.
        jumps = not inside and bool(np.all(np.abs(unit - 0.5) <= 0.5 + SAME_CONTEXT))
        width = float(np.ptp(self.model.means)) if self._width is None else self._width
        beyond = width * (np.abs(unit - within).sum() + jumps)
        return self._choice(
            best,
            means[:, 0],
            float(np.sqrt(variances[best, 0] + beyond**2)),
            self._reason(self.members[best], target, None if inside else vector),
            is_target=target is not None,
            inside=inside,
        )

    def weighted_choice(self, weights: NDArray[np.float64], place: int) -> Choice:
        """Return the choice of the member at a place, for (N,) probabilities of the targets."""
        means = self.means @ weights
        spread = float(np.sqrt(weights @ (self.means[place] - means[place]) ** 2))
        likely = int(np.count_nonzero(weights > 1 / len(weights)))
        reason = (
            f"By the probabilities of {counted(len(weights), 'task')}, of which {likely} "
            "are more probable than usual."
        )
        return self._choice(place, means, spread, reason, is_target=False, inside=True)

    def _choice(
        self,
        place: int,
        means: NDArray[np.float64],
        uncertainty: float,
        reason: str,
        *,
        is_target: bool,
        inside: bool,
    ) -> Choice:
        """Make the choice of the member at a place, with the (k,) expected returns of all."""
        member, expected = self.members[place], float(means[place])
        low, high = self.return_range or (-math.inf, math.inf)
        margin = float(scipy.special.ndtri((1 + CONFIDENCE) / 2)) * uncertainty
        interval = max(expected - margin, low), min(expected + margin, high)
        return Choice(
            policy=member.id,
            source=member.source,
            expected_return=expected,
            uncertainty=uncertainty,
            interval=(min(interval[0], expected), max(interval[1], expected)),
            is_target=is_target,
            inside=inside,
            reason=reason,
            ranking=tuple(
                (self.members[i].id, float(means[i]))
                for i in np.argsort(-self._rounded(means), kind="stable")
            ),
        )

    def identify(
        self, known: Mapping[str, float] | None = None, *, weights: ArrayLike | None = None
    ) -> Identification:
        """Find the right policy in a context that is not known, by the returns of episodes.

        Policies that see the context are left out: without it they cannot act.

        Args:
            known: Features of the context that are known, by name.
            weights: (N,) probabilities of the targets before the first episode; in proportion to
                the space's weights if left out.

        Raises:
            ContextError: If the space has no such dimension.
            PortfolioError: If these are not weights, or every policy sees the context.
        """
        blind = [m for m in self.members if m.policy is None or not m.policy.sees_context]
        if not blind:
            raise PortfolioError(
                "Every policy sees the context, so none can act where it is not known. Train a "
                "study with the selector option sees_context=never, or distil a network with "
                "context='hidden'."
            )
        if weights is None:
            weights = self.space.weights
        shares = self._checked_weights(np.ones(len(self.space)) if weights is None else weights)
        if known:
            shares = shares * nearness(self.space, known)
        usable = self
        if len(blind) < len(self):
            usable = Portfolio(self.space, blind, **self._settings)
        return Identification(usable, self._checked_weights(shares))

    def _checked_weights(self, weights: ArrayLike | None) -> NDArray[np.float64]:
        """(N,) probabilities in proportion to weights."""
        array = np.asarray(weights, dtype=np.float64)
        if (
            array.shape != (len(self.space),)
            or not np.isfinite(array).all()
            or (array < 0).any()
            or not array.any()
        ):
            raise PortfolioError(
                f"Weights are {len(self.space)} numbers, one for each target, none of them "
                f"negative, and some above 0. Got {short_text(weights)} instead."
            )
        return np.asarray(array / array.sum())

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
        """Return the policy that acts in a context, on plain observations of its environment.

        It is the one of `choose`, whose uncertainty is left out. The latest one is remembered: this
        may be called at every step.
        """
        vector = self.space.vector(context)
        if self._latest is None or self._latest[0] != vector.tobytes():
            target = self.space.find(vector)
            if target is not None:
                member = int(self.best_policies[target])
            else:
                within = np.clip(self.space.to_unit(vector), 0.0, 1.0)
                best = int(self._rounded(self.model.means_at(within[None])[:, 0]).argmax())
                member = self.members[best].id
            self._latest = vector.tobytes(), self.actor(member, vector)
        return self._latest[1]

    def actor(self, member: int, context: ContextLike) -> Actor:
        """Return a member in a context, on the plain observations of its environment.

        Raises:
            PortfolioError: If it was trained elsewhere, so that it is not here.
        """
        policy = self.policy(member)
        if not policy.sees_context and not policy.remembers:
            return policy
        return ContextPolicy(policy, self.space.to_unit(self.space.vector(context)))

    def make_env(
        self, context: ContextLike, *, trust: bool = False, **options: Any
    ) -> ContextualEnv:
        """Make the environment of a context, for `policy_for(context)` to act in.

        Args:
            context: The context.
            trust: Import and call a function that the portfolio names as the maker of its
                environments. Do so only if you know its author.
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

    def distill(
        self,
        context: Knowledge = "told",
        *,
        steps: int = 100_000,
        seed: int = 0,
        trust: bool = False,
        progress: Progress | None = None,
    ) -> DistilledPolicy:
        """Make one network that does what the policies do; see `sdmbtl.portfolio.distillation`.

        Args:
            context: "told": the network sees the context. "hidden": it sees observations and its
                own last actions only, and finds out with a memory.
            steps: Environment steps that it plays to learn.
            seed: Root of every random number.
            trust: See `make_env`.
            progress: Called now and then.

        Raises:
            PortfolioError: If policies or environments are not here.
            MissingPackageError: If JAX is not installed.
        """
        family = self.make_family("distill(trust=True).", trust=trust)
        from sdmbtl.portfolio.distillation import Distiller

        return Distiller(self, family, context, seed=seed).run(steps, progress).policy

    # -- coverage ------------------------------------------------------------------------

    @property
    def means(self) -> NDArray[np.float64]:
        """(k, N) expected return of each policy on each target."""
        return self.model.means

    @property
    def expected_returns(self) -> NDArray[np.float64]:
        """(N,) expected return of the member chosen on each target."""
        return np.asarray(self.means.max(axis=0))

    @cached_property
    def best_policies(self) -> NDArray[np.intp]:
        """(N,) id of the member chosen on each target."""
        best = self._rounded(self.means).argmax(axis=0)
        return np.asarray(np.array(list(self.places))[best], dtype=np.intp)

    @property
    def mean_return(self) -> float:
        """Mean of `expected_returns` over the targets."""
        return float(self.space.mean(self.expected_returns))

    def share(self, value: float) -> float | None:
        """Return a return as a share of the return range; None if the range is not known."""
        return share_of_range(value, self.return_range)

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
            serves = "serves no task: others are better everywhere"
            if row["targets"]:
                mean = f"{row['mean_return']:.4g}"
                serves = f"{counted(row['targets'], 'task')}, mean return {mean}"
            lines.append(f"policy {row['id']}, trained on {row['trained_on']}: {serves}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Portfolio({self._summary()})"

    # -- files ---------------------------------------------------------------------------

    def export(self, directory: str | Path) -> None:
        """Write the portfolio to a directory, completely or not at all.

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

    def to_onnx(self) -> bytes:
        """Return the choice and all policies as one ONNX file; see `make_portfolio_onnx`."""
        from sdmbtl.portfolio.onnx_router import make_portfolio_onnx

        return make_portfolio_onnx(self)

    def push_to_hub(self, repo_id: str, *, private: bool = False, api: Any = None) -> str:
        """Upload the portfolio and a model card to the Hugging Face Hub, and return the address.

        Args:
            repo_id: "user/name" of the repository, which is made if it does not exist.
            private: If a new repository is private.
            api: A `huggingface_hub.HfApi`, if not the usual one.

        Raises:
            MissingPackageError: If huggingface_hub is not installed.
        """
        return hub.push(self, repo_id, private=private, api=api)

    @classmethod
    def load_from_hub(cls, repo_id: str, *, revision: str | None = None, api: Any = None) -> Self:
        """Download a portfolio from the Hugging Face Hub; nothing from its files is executed.

        Args:
            repo_id: "user/name" of the repository.
            revision: Branch, tag or commit; the newest if left out.
            api: A `huggingface_hub.HfApi`, if not the usual one.

        Raises:
            MissingPackageError: If huggingface_hub is not installed.
            PortfolioError: If something is damaged.
        """
        api = hub.hub_api() if api is None else api
        with TemporaryDirectory() as folder:
            # To a new folder: the cache has links, which a portfolio must not have.
            return cls.load(api.snapshot_download(repo_id, revision=revision, local_dir=folder))

    # -- helpers -------------------------------------------------------------------------

    def _rounded(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Means that differ by rounding only become the same, so that ties go to the lowest id."""
        return np.asarray(np.round(means / self.tie_margin))

    @cached_property
    def tie_margin(self) -> float:
        """Differences of expected returns below this are rounding."""
        returns = self.model.returns
        return tie_margin(returns[~np.isnan(returns)]) or 1.0

    @property
    def _width(self) -> float | None:
        return None if self.return_range is None else self.return_range[1] - self.return_range[0]

    @property
    def _settings(self) -> dict[str, Any]:
        """Return everything but space and members that a portfolio is made with."""
        return {"family": self.family, "return_range": self.return_range}

    def _reason(
        self, member: Member, target: int | None, outside: NDArray[np.float64] | None
    ) -> str:
        policies = counted(len(self), "policy", "policies")
        played = ~np.isnan(member.returns)
        words = f"Highest expected return of {policies}"
        if target is not None and played[target].any():
            words += f", with {counted(int(played[target].sum()), 'episode')} on this task."
        else:
            words += f", predicted from {counted(int(played.sum()), 'episode')} on other tasks."
        if outside is not None:
            beyond = ", ".join(
                f"{name}={value:g} is not in [{low:g}, {high:g}]"
                for (name, (low, high)), value in zip(
                    self.space.bounds.items(), outside, strict=True
                )
                if not low <= value <= high
            )
            words += f" Outside of the space, so less certain: {beyond or 'not valid'}."
        return words

    def _summary(self) -> str:
        share = self.share(self.mean_return)
        level = f"mean return {self.mean_return:.4g}"
        if share is not None:
            level = f"coverage {coverage_text(share)} in new episodes"
        policies = counted(len(self), "policy", "policies")
        return f"{policies}, {counted(len(self.space), 'task')}: expected {level}"


def _episode_variance(returns: Sequence[NDArray[np.float64]]) -> float | None:
    """Variance of an episode's return on a target, over all (N, E) returns; None if too few."""
    squares, degrees = 0.0, 0
    for played in returns:
        counts = (~np.isnan(played)).sum(axis=1)
        several = played[counts > 1]
        squares += float(np.nansum((several - np.nanmean(several, axis=1, keepdims=True)) ** 2))
        degrees += int((counts[counts > 1] - 1).sum())
    return squares / degrees if degrees >= FEWEST_DEGREES else None
