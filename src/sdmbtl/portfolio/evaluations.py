"""Predictions from the members' episodes, for any context.

The largest of several noisy means overstates its member: the noise helps to choose it (the
winner's curse). The estimate is therefore corrected by *cross-fitting*: the episodes are split into
folds, and in each fold the member that the OTHER folds would choose is compared with the one that
all of them chose. The mean difference is the bias of the choice.
With equally good members the corrected value is unbiased. Otherwise it is the value of a choice
made without one fold, which is a little worse than the real one: it errs on the side of caution.
With one episode for each target there is nothing to split and no correction. If all folds choose
the same member, its mean stays as it was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from sdmbtl.contexts import ContextSpace

#: Folds at most. Two choose with few episodes and are too cautious; with many, the choices differ
#: by the very episode that was left out, and the correction becomes noisy.
MOST_FOLDS = 5

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """What is expected in a context of the member chosen there.

    Attributes:
        positions: (c,) the members in question, best first.
        predicted: (c,) their mean returns, as measured or interpolated.
        selection_bias: By how much the first of these is too high, since it is the largest.
        uncertainty: Standard deviation of the first, corrected mean; NaN if nothing is known.
        degrees: Degrees of freedom of the uncertainty.
        interpolation_error: How far off targets nearby are if predicted in the same way, from
            others: 0 at an evaluated target, NaN if there are no others.
        n_targets: Number of targets the prediction rests on; 1 at an evaluated target.
        n_episodes: Number of the chosen member's episodes there.
    """

    positions: NDArray[np.intp]
    predicted: Array
    selection_bias: float
    uncertainty: float
    degrees: int
    interpolation_error: float
    n_targets: int
    n_episodes: int

    @property
    def expected(self) -> float:
        """The corrected mean return of the member chosen."""
        return float(self.predicted[0] - self.selection_bias)


class _Prediction(NamedTuple):
    """One member's return in a context, from its episodes on targets nearby.

    Attributes:
        position: Of the member.
        targets: (n,) the nearest targets that it was evaluated on, and
        weights: (n,) how much each counts, sum 1.
    """

    position: int
    targets: NDArray[np.intp]
    weights: Array


class Evaluations:
    """The episodes of k members on N targets, and what follows from them.

    Args:
        space: The context space.
        returns: For each member its (N, E) returns, NaN where not evaluated.
        width: Highest minus lowest possible return; if left out, as far as means differ.
    """

    def __init__(
        self, space: ContextSpace, returns: Sequence[Array], width: float | None = None
    ) -> None:
        self.space = space
        longest = max(given.shape[1] for given in returns)
        #: (k, N, E) episodes, the known ones first, NaN behind them.
        self.episodes = np.full((len(returns), len(space), longest), np.nan)
        for episodes, given in zip(self.episodes, returns, strict=True):
            order = np.argsort(np.isnan(given), axis=1, kind="stable")
            episodes[:, : given.shape[1]] = np.take_along_axis(given, order, axis=1)
        known = ~np.isnan(self.episodes)
        #: (k, N) number of episodes, (k, N) their mean, (k, N) squared deviations from it.
        self.counts = known.sum(axis=2)
        # Taken from the first episode on, the mean of equal returns is exactly that return.
        first = self.episodes[:, :, 0]
        gains = np.where(known, self.episodes - first[:, :, None], 0.0)
        self.means = first + gains.sum(axis=2) / np.maximum(self.counts, 1)
        deviations = np.where(known, self.episodes - self.means[:, :, None], 0.0)
        self.squares = (deviations**2).sum(axis=2)
        self._left_out: dict[int, Array] = {}
        self.width = (
            float(np.nanmax(self.means) - np.nanmin(self.means)) if width is None else width
        )

    @cached_property
    def best(self) -> NDArray[np.intp]:
        """(N,) position of the member with the best mean, the first of equals; -1 if none."""
        filled = np.where(np.isnan(self.means), -np.inf, self.means)
        return np.where(self.counts.any(axis=0), filled.argmax(axis=0), -1)

    @cached_property
    def best_means(self) -> Array:
        """(N,) best mean on each target, as measured; NaN where nothing was evaluated."""
        return np.asarray(np.fmax.reduce(self.means, axis=0))

    @cached_property
    def expected_returns(self) -> Array:
        """(N,) corrected mean of the member chosen on each target; NaN where not evaluated."""
        expected = self.best_means.copy()
        counts = np.where(self.counts == 0, MOST_FOLDS, self.counts)
        folds = np.where(self.best < 0, 1, counts.min(axis=0, initial=MOST_FOLDS))
        for number in np.unique(folds[folds > 1]):
            targets = np.flatnonzero(folds == number)
            held, others = fold_means(self.episodes[:, targets], int(number))
            expected[targets] -= selection_bias(held, others, self.best[targets])
        return expected

    def estimate(self, unit: Array, jump: float = 0.0) -> Estimate:
        """Choose for a context and estimate the return.

        A member's return is the mean of its returns on the nearest targets, weighted with the
        inverse distance (L1, in grid steps): the measured mean on an evaluated target, linear
        interpolation in one dimension. Beyond the box it is the one at the edge. Only members
        that were evaluated on the nearest target take part: others may have met easy ones only.

        Args:
            unit: (D,) the context in unit coordinates.
            jump: Distance beyond the box that unit coordinates do not show.
        """
        away = np.abs(self.space.unit_targets - np.clip(unit, 0.0, 1.0))
        distance = np.round(away @ self.space.steps, 9)
        evaluated = self.counts > 0
        nearest = distance == distance[evaluated.any(axis=0)].min()
        rivals = np.flatnonzero(evaluated[:, nearest].any(axis=1)).tolist()
        predictions = [self._predict(position, distance) for position in rivals]
        predicted = np.array([p.weights @ self.means[p.position, p.targets] for p in predictions])
        order = np.argsort(-predicted, kind="stable")
        winner = predictions[order[0]]
        position, targets, weights = winner
        flattery = self._selection_bias(predictions, int(order[0]))
        interpolation = self._interpolation_error(winner, distance)
        noise, degrees = self._noise(winner)
        of_mean = noise * (weights**2 / self.counts[position, targets]).sum()
        disagreement = weights @ (self.means[position, targets] - predicted[order[0]]) ** 2
        known = self.space.unit_targets[evaluated[position]]
        beyond = np.abs(unit - np.clip(unit, known.min(axis=0), known.max(axis=0))).sum()
        far = self.width * (beyond + jump)
        # A correction is about as uncertain as it is large.
        variance = of_mean + np.fmax(disagreement, interpolation**2) + flattery**2 + far**2
        used = targets[weights > 0]
        return Estimate(
            positions=np.array([predictions[i].position for i in order]),
            predicted=predicted[order],
            selection_bias=flattery,
            uncertainty=float(np.sqrt(variance)),
            degrees=degrees,
            interpolation_error=interpolation,
            n_targets=len(used),
            n_episodes=int(self.counts[position, used].sum()),
        )

    def _predict(self, position: int, distance: Array) -> _Prediction:
        """Predict a member's return in a context with these (N,) distances to each target."""
        targets = np.flatnonzero(self.counts[position])
        away = distance[targets]
        # As many as a cell of the grid has corners, and those equally far.
        number = min(2**self.space.n_dimensions, len(away))
        near = away <= np.partition(away, number - 1)[number - 1]
        targets, away = targets[near], away[near]
        weights = 1.0 / away if away.all() else (away == 0).astype(np.float64)
        return _Prediction(position, targets, weights / weights.sum())

    def _interpolation_error(self, prediction: _Prediction, distance: Array) -> float:
        """Estimate the error of a prediction; 0 at an evaluated target, NaN without others.

        Neighbours that agree prove nothing: a return may drop between them. So each evaluated
        target is predicted as if the member had not been evaluated on it. The nearer to the
        context, the more its error counts.
        """
        position = prediction.position
        if not distance[prediction.targets].all():
            return 0.0
        known = np.flatnonzero(self.counts[position])
        if len(known) < 2:
            return np.nan
        if position not in self._left_out:
            self._left_out[position] = self._left_out_errors(position, known)
        nearness = np.exp(distance[known].min() - distance[known])
        return float(np.sqrt(nearness @ self._left_out[position] ** 2 / nearness.sum()))

    def _left_out_errors(self, position: int, known: NDArray[np.intp]) -> Array:
        """(n,) mean on each evaluated target minus the prediction from the others."""
        dimensions, means = self.space.n_dimensions, self.means[position, known]
        places = self.space.unit_targets[known] * self.space.steps
        # On a grid many are equally far: those at one and at two steps are enough for a cell.
        number = min(len(known), 1 + 2**dimensions + 2 * dimensions * (1 + dimensions))
        distance, others = KDTree(places).query(places, number, p=1)
        distance = np.round(distance, 9)
        distance[others == np.arange(len(known))[:, None]] = np.inf
        corner = min(2**dimensions, len(known) - 1)
        limit = np.partition(distance, corner - 1, axis=1)[:, corner - 1]
        weights = np.where(distance <= limit[:, None], 1.0 / distance, 0.0)
        predicted = (weights * means[others]).sum(axis=1) / weights.sum(axis=1)
        errors = means - predicted
        return np.where(np.abs(errors) > 1e-12 * np.abs(means), errors, 0.0)

    def _noise(self, prediction: _Prediction) -> tuple[float, int]:
        """Variance of an episode, and its degrees of freedom.

        Episodes that do not differ, or a single one, do not show how much they could: then all
        targets nearby are asked, for the spread of their episodes or, if there is one each, for
        the spread between them (which holds real differences too: rather too large).
        """
        position, targets = prediction.position, prediction.targets
        squares, more = self.squares[position, targets], self.counts[position, targets] - 1
        used = prediction.weights > 0
        if squares[used].any():
            total, degrees = squares[used].sum(), more[used].sum()
        elif more.any():
            total, degrees = squares.sum(), more.sum()
        else:
            means = self.means[position, targets]
            total, degrees = ((means - means.mean()) ** 2).sum(), len(means) - 1
        return (float(total / degrees) if degrees else np.nan), int(degrees)

    def _selection_bias(self, predictions: Sequence[_Prediction], winner: int) -> float:
        used = [
            (p.position, p.targets[p.weights > 0], p.weights[p.weights > 0]) for p in predictions
        ]
        folds = min(MOST_FOLDS, *(self.counts[m, targets].min() for m, targets, _ in used))
        if folds < 2:
            return 0.0
        parts = [fold_means(self.episodes[m, targets], int(folds)) for m, targets, _ in used]
        weights = [w for _, _, w in used]
        held = np.stack([w @ part[0] for w, part in zip(weights, parts, strict=True)])
        others = np.stack([w @ part[1] for w, part in zip(weights, parts, strict=True)])
        return float(selection_bias(held, others, np.array(winner)))


def fold_means(episodes: Array, folds: int) -> tuple[Array, Array]:
    """Means of each fold of the episodes, and of all the others.

    Args:
        episodes: (..., E) returns, NaN behind the known ones.
        folds: Number of folds, F >= 2; the e-th episode is in fold e mod F.

    Returns:
        Two (..., F) arrays; NaN where nothing was evaluated.
    """
    known = ~np.isnan(episodes)
    filled = np.where(known, episodes, 0.0)
    sums = np.stack([filled[..., f::folds].sum(axis=-1) for f in range(folds)], axis=-1)
    counts = np.stack([known[..., f::folds].sum(axis=-1) for f in range(folds)], axis=-1)
    with np.errstate(invalid="ignore"):
        others = sums.sum(axis=-1, keepdims=True) - sums
        return sums / counts, others / (counts.sum(axis=-1, keepdims=True) - counts)


def selection_bias(held: Array, others: Array, best: NDArray[np.intp]) -> Array:
    """How much the largest of several means overstates its member, by cross-fitting.

    Args:
        held: (k, ..., F) mean of each member in each fold, and
        others: (k, ..., F) in all other folds; NaN where not evaluated.
        best: (...) the member that all folds together choose.

    Returns:
        (...) what the choices lose, on the average, in the folds that had no part in them.
    """
    elsewhere = np.where(np.isnan(others), -np.inf, others).argmax(axis=0)
    chosen = np.take_along_axis(held, best[None, ..., None], axis=0)[0]
    return np.asarray((chosen - np.take_along_axis(held, elsewhere[None], axis=0)[0]).mean(axis=-1))
