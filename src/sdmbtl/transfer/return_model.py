"""A Gaussian process of returns over policies and targets: what was not played is predicted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are first used: importing this package stays fast
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace, Source

#: Values that are tried for the settings of the kernel, from the middle ones on: the length scale
#: in unit coordinates, the variance that a policy adds to its parent's, and that of an episode,
#: relative to the variance that all policies share.
_LENGTHS = (0.4, 0.8, 1.6, 3.2, 6.4)
_CHANGES = (0.03, 0.1, 0.3, 1.0, 3.0)
_NOISES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
#: The variance that a policy adds that was trained where its parent was, relative to the others'.
_CONTINUED = (0.03, 0.1, 0.3, 1.0)
#: If the variance of an episode is known, how often the amplitude is found again for it, and the
#: most noise relative to the amplitude.
_ROUNDS, _MOST_NOISE = 4, 10.0
#: Most returns by which these settings are judged, and most returns that are used exactly; of more,
#: this many stand for all.
_JUDGED, _EXACT, _SUBSET = 256, 1536, 512
#: Targets that are predicted at once: blocks keep the kernel small.
_BLOCK = 1024


@dataclass(frozen=True)
class ReturnModel:
    """f(policy, y) = base(y) + the sum of change(y) over the policy and its ancestors.

    `base` and every `change` are Gaussian processes over targets with the same exponential kernel,
    so a policy resembles its parent, and all policies resemble each other. A return is f plus noise
    that falls with the number of episodes. Nothing above the highest, or below the lowest, return
    seen is expected.

    Attributes:
        space: The context space, with N targets.
        parents: (P,) number of the parent of each policy, -1 for none; parents come first.
        returns: (P, N) mean returns, NaN where no episode was played.
        episodes: (P, N) number of episodes behind each.
        episode_variance: Variance of the return of an episode, if it is known.
        sources: (P,) sources of the policies; those that were trained where their parent was
            resemble it more than others do. Empty if unknown.
    """

    space: ContextSpace
    parents: Sequence[int]
    returns: NDArray[np.float64]
    episodes: NDArray[np.float64]
    episode_variance: float | None = None
    sources: Sequence[Source] = ()

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """(P, N) expected returns on the targets."""
        fit, units = self.fit, self.space.unit_targets
        if not fit.is_subset:
            blocks = [self.means_at(units[i : i + _BLOCK]) for i in range(0, len(units), _BLOCK)]
        else:
            places = np.arange(len(units))
            blocks = [self.on_targets(places[i : i + _BLOCK])[0] for i in places[::_BLOCK]]
        return np.concatenate(blocks, axis=1)

    def means_at(self, units: NDArray[np.float64]) -> NDArray[np.float64]:
        """(P, m) expected returns in (m, D) contexts, in unit coordinates."""
        fit = self.fit
        means = fit.center + fit.weights @ _kernel(fit.units, units, fit.length)
        return np.clip(means, np.nanmin(self.returns), np.nanmax(self.returns))

    def variances_at(self, units: NDArray[np.float64]) -> NDArray[np.float64]:
        """(P, m) posterior variances of the expected returns in (m, D) contexts."""
        fit = self.fit
        near = _kernel(fit.units, units, fit.length)
        left = np.empty((len(self.parents), len(units)))
        for policy in range(len(left)):
            across = fit.kinship[policy, fit.policy][:, None] * near
            known = scipy.linalg.solve_triangular(fit.factor, across, lower=True)
            left[policy] = fit.kinship[policy, policy] - (known**2).sum(axis=0)
        return np.asarray(fit.scale**2 * np.maximum(left, 0.0))

    def on_targets(
        self, targets: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(P, m) expected returns on some targets, and their posterior variances."""
        fit, units = self.fit, self.space.unit_targets[targets]
        means, variances = self.means_at(units), self.variances_at(units)
        if fit.is_subset:  # then each return counts at least where it was played
            played = np.where(fit.used[:, targets], 0.0, self.episodes[:, targets])
            weight = variances / (variances + self.noise / np.maximum(played, 1e-12))
            returns = np.where(played > 0, self.returns[:, targets], means)
            means = means + weight * (returns - means)
            means = np.clip(means, np.nanmin(self.returns), np.nanmax(self.returns))
            variances = variances * (1.0 - weight)
        return means, variances

    def covariance(self, policy: int, targets: NDArray[np.intp]) -> NDArray[np.float64]:
        """(m, m) posterior covariance of a policy's expected returns on (m,) targets."""
        fit, units = self.fit, self.space.unit_targets[targets]
        across = fit.kinship[policy, fit.policy][:, None] * _kernel(fit.units, units, fit.length)
        known = scipy.linalg.solve_triangular(fit.factor, across, lower=True)
        prior = fit.kinship[policy, policy] * _kernel(units, units, fit.length)
        return np.asarray(fit.scale**2 * (prior - known.T @ known))

    @property
    def noise(self) -> float:
        """Variance of the return of one episode around the expected one."""
        return self.fit.scale**2 * self.fit.noise

    @cached_property
    def fit(self) -> KernelFit:
        """Find the settings of the kernel that make the observed returns most likely."""
        policy, target = np.nonzero(~np.isnan(self.returns))
        used, is_subset = np.zeros(self.returns.shape, dtype=bool), len(policy) > _EXACT
        if is_subset:
            kept = np.linspace(0, len(policy) - 1, _SUBSET).astype(np.intp)
            policy, target = policy[kept], target[kept]
        used[policy, target] = True
        values, counts = self.returns[policy, target], self.episodes[policy, target]
        center, scale = float(values.mean()), float(values.std()) or 1.0
        values, units = (values - center) / scale, self.space.unit_targets[target]
        noises: tuple[float, ...] = _NOISES
        continued = [
            number
            for number, (parent, source) in enumerate(zip(self.parents, self.sources, strict=False))
            if parent >= 0 and source.where == self.sources[parent].where
        ]
        shared = [shared_changes(self.parents, continued, share) for share in _CONTINUED]
        shares = len(shared) if continued else 1
        judged = np.linspace(0, len(policy) - 1, min(_JUDGED, len(policy))).astype(np.intp)
        away = np.sqrt(squared_distances(units[judged], units[judged]))
        pairs = np.ix_(policy[judged], policy[judged])

        def badness(place: tuple[int, ...]) -> float:
            kinship = 1.0 + _CHANGES[place[1]] * shared[place[3]][pairs]
            kernel = kinship * np.exp(-away / _LENGTHS[place[0]])
            kernel[np.diag_indices_from(kernel)] += noises[place[2]] / counts[judged]
            factor = np.linalg.cholesky(kernel)
            half = scipy.linalg.solve_triangular(factor, values[judged], lower=True)
            amplitude = max(float(half @ half) / len(half), 1e-12)
            return float(np.log(np.diag(factor)).sum() + 0.5 * len(half) * np.log(amplitude))

        amplitude, known, least = 1.0, self.episode_variance, 1e-12
        if known is not None:
            least = max(known / scale**2 / _MOST_NOISE, least)
        for _ in range(1 if known is None else _ROUNDS):
            if known is not None:  # the noise is relative to the amplitude
                noises = (max(known / (scale * amplitude) ** 2, 1e-6),)
            place = _descend(badness, (len(_LENGTHS), len(_CHANGES), len(noises), shares))
            length, noise = _LENGTHS[place[0]], noises[place[2]]
            kinship = 1.0 + _CHANGES[place[1]] * shared[place[3]]
            kernel = kinship[np.ix_(policy, policy)] * _kernel(units, units, length)
            kernel[np.diag_indices_from(kernel)] += noise / counts
            factor = np.asarray(np.linalg.cholesky(kernel), dtype=np.float64)
            weights = scipy.linalg.cho_solve((factor, True), values)
            amplitude = float(np.sqrt(max(values @ weights / len(values), least)))
        scale *= amplitude
        sums = scale * kinship[:, policy] * (weights / amplitude)
        return KernelFit(
            policy, units, used, is_subset, kinship, length, noise, factor, sums, center, scale
        )


class KernelFit(NamedTuple):
    """A Gaussian process given n returns of P policies, in units of `scale`.

    Expected returns are center + weights @ exp(-distance / length), within the range of returns.

    Attributes:
        policy: (n,) numbers of the policies.
        units: (n, D) contexts from which distances are measured, in unit coordinates.
        used: (P, N) returns that are used.
        is_subset: True if there are others, which `ReturnModel.on_targets` knows too.
        kinship: (P, P) prior covariance of the policies.
        length: Length scale of the kernel.
        noise: Variance of an episode.
        factor: (n, n) Cholesky factor of the covariance.
        weights: (P, n) weights of each policy.
        center: Constant mean.
        scale: Standard deviation that all policies share.
    """

    policy: NDArray[np.intp]
    units: NDArray[np.float64]
    used: NDArray[np.bool_]
    is_subset: bool
    kinship: NDArray[np.float64]
    length: float
    noise: float
    factor: NDArray[np.floating]
    weights: NDArray[np.float64]
    center: float
    scale: float


def shared_changes(
    parents: Sequence[int], continued: Sequence[int] = (), share: float = 1.0
) -> NDArray[np.float64]:
    """(P, P) variance that two policies have in common, from all that they both descend from.

    Each policy adds 1, or the `share` if it continues its parent.
    """
    lines = np.zeros((len(parents), len(parents)))
    for number, parent in enumerate(parents):
        if parent >= 0:
            lines[number] = lines[parent]
        lines[number, number] = np.sqrt(share) if number in continued else 1.0
    return np.asarray(lines @ lines.T)


def worth_playing(
    model: ReturnModel, policy: int, targets: NDArray[np.intp], count: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Choose targets on which one more episode of a policy is worth most.

    An episode is worth the rise of the mean return of the choice "the policy with the highest
    expected return on each target" that is expected of knowing its return (the knowledge gradient,
    in closed form). Without another policy to choose, it is worth the variance that it removes.

    Args:
        model: The model of all returns so far.
        policy: The policy to play.
        targets: (m,) targets to choose from, which stand for all of them.
        count: Number of targets to choose.

    Returns:
        (count,) the targets, and the worth of an episode on each.
    """
    covariance, noise = model.covariance(policy, targets), model.noise
    others = np.delete(np.arange(len(model.parents)), policy)
    lead = np.zeros(len(targets))
    weights = model.space.weights
    if weights is not None:
        weights = weights[targets] / weights[targets].sum()
    if len(others):
        means = model.means_at(model.space.unit_targets[targets])
        lead = np.abs(means[policy] - means[others].max(axis=0))
    chosen: list[int] = []
    worths: list[float] = []
    while len(chosen) < min(count, len(targets)):
        spread = np.sqrt(np.maximum(np.diag(covariance), 0.0) + noise)
        change = np.abs(covariance) / spread  # (m, m): on y, by an episode on x
        if len(others):
            ratio = lead[:, None] / np.maximum(change, 1e-300)
            density = np.exp(-0.5 * np.minimum(ratio, 30.0) ** 2) / np.sqrt(2 * np.pi)
            rise = change * (density - ratio * scipy.special.ndtr(-ratio))
        else:
            rise = change**2
        worth = rise.mean(axis=0) if weights is None else weights @ rise
        worth[chosen] = -np.inf
        best = int(np.argmax(worth))
        chosen.append(best)
        worths.append(float(worth[best]))
        column = covariance[:, best] / spread[best]
        covariance = covariance - np.outer(column, column)
    return targets[chosen], np.array(worths)


def _descend(badness: Callable[[tuple[int, ...]], float], sizes: Sequence[int]) -> tuple[int, ...]:
    """Find a place on a grid from which no neighbour is better, from the middle on."""
    place = tuple(size // 2 for size in sizes)
    seen = {place: badness(place)}
    while True:
        near = [place] + [
            (*place[:axis], place[axis] + step, *place[axis + 1 :])
            for axis, size in enumerate(sizes)
            for step in (-1, 1)
            if 0 <= place[axis] + step < size
        ]
        for one in near:
            if one not in seen:
                seen[one] = badness(one)
        best = min(near, key=seen.__getitem__)
        if best == place:
            return place
        place = best


def squared_distances(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """(len(one), len(other)) squared Euclidean distances."""
    squares = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1) - 2.0 * one @ other.T
    return np.asarray(np.maximum(squares, 0.0))


def _kernel(
    one: NDArray[np.float64], other: NDArray[np.float64], length: float
) -> NDArray[np.float64]:
    """(n, m) exponential kernel between points in unit coordinates."""
    return np.asarray(np.exp(-np.sqrt(squared_distances(one, other)) / length))
