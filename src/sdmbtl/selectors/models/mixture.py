"""Mixture of models, weighted by how likely they made the rows so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import known_name
from sdmbtl.contexts.weights import weighted_mean
from sdmbtl.errors import ModelError
from sdmbtl.selectors.acquisition import expected_improvement
from sdmbtl.selectors.models.failures import find_failed_runs
from sdmbtl.selectors.models.linear_gap_model import LinearGapModel
from sdmbtl.selectors.models.model import FittedModel, KnownRows, RowModel
from sdmbtl.selectors.models.plateau_model import PlateauModel

#: Improvements are computed for this many pairs of source and target at once: all of them would
#: not fit into the cache of a processor.
BLOCK = 32768
#: A model with a smaller weight is left out of predictions, to save time.
NEGLIGIBLE = 1e-3

#: By name; those of the default selector.
MODELS: dict[str, type[RowModel]] = {model.name: model for model in (PlateauModel, LinearGapModel)}


class Outcome(NamedTuple):
    """Predictions of one row by M models, compared with it.

    Attributes:
        log_likelihoods: (M,) log density of the row, up to a constant.
        shifts: (M,) mean error of the returns, common to the row.
        errors: (M,) variance of the errors around it.
        variances: (M,) the same as the model expected it.
        expected: Mean improvement on the best returns that the mixture expected.
        gain: The realised one.
    """

    log_likelihoods: NDArray[np.float64]
    shifts: NDArray[np.float64]
    errors: NDArray[np.float64]
    variances: NDArray[np.float64]
    expected: float
    gain: float


class ModelMixture:
    """Predicts rows by several models, each weighted by the likelihood of the rows it predicted.

    Args:
        models: The models, each with another name.

    Attributes:
        failed: (k,) which of the policies come from a training run that has probably failed: no
            model learns from them.
        rows: The other rows.
        outcomes: Outcomes of the predictions of these rows, without the first.
    """

    rows: KnownRows

    def __init__(self, models: Sequence[RowModel | str]) -> None:
        for model in models:
            if not isinstance(model, RowModel):
                known_name("model", model, MODELS, error=ModelError)
        self.models = tuple(m if isinstance(m, RowModel) else MODELS[m]() for m in models)
        names = [model.name for model in self.models]
        if not names or len(set(names)) < len(names):
            raise ModelError(f"Models must have different names. Got {names}.")
        self.failed = np.zeros(0, dtype=bool)
        self.outcomes: list[Outcome] = []
        self._fits: tuple[FittedModel, ...] = ()

    def watch(self, rows: KnownRows) -> None:
        """Fit the models to rows, and test them on each by the rows before it.

        Outcomes of rows that are the same as the last time are kept.
        """
        self.failed = find_failed_runs(rows)
        sound = rows.only(~self.failed)
        known = sound.shared(self.rows) if self._fits else 0
        if self._fits and known == len(sound) == len(self.rows):
            return
        if not self._fits or known < len(self.rows):
            known = max(known, 1)
            self.outcomes = self.outcomes[: known - 1]
            self._fit(sound.only(slice(known)))
        for count in range(known, len(sound)):
            self.outcomes.append(self._test(sound.sources[count], sound.returns[count]))
            self._fit(sound.only(slice(count + 1)))

    def _fit(self, rows: KnownRows) -> None:
        self.rows = rows
        self._fits = tuple(FittedModel(model, rows) for model in self.models)

    def _test(self, source: NDArray[np.float64], row: NDArray[np.float64]) -> Outcome:
        """Compare a (N,) row with the expectations of a policy trained on a (D,) source."""
        best, n = self.rows.best, len(row)
        shifts, errors, likelihoods = np.zeros((3, len(self.models)))
        for number, fitted in enumerate(self._fits):
            mean, (common,) = fitted.predict(source[None], slice(None))
            shifts[number] = (row - mean[0]).mean()
            errors[number] = (row - mean[0]).var()
            # Errors are noise on each target, and an amount that is common to the row.
            noise = self._calibrations[number] * fitted.variance
            common += noise / n
            likelihoods[number] = -0.5 * (
                (n - 1) * np.log(noise)
                + n * errors[number] / noise
                + np.log(common)
                + shifts[number] ** 2 / common
            )
        return Outcome(
            likelihoods,
            shifts,
            errors,
            np.array([fitted.variance for fitted in self._fits]),
            float(self.rows.space.mean(self.improvement(source, best))),
            float(self.rows.space.mean(np.maximum(row - best, 0.0))),
        )

    @property
    def weights(self) -> NDArray[np.float64]:
        """(M,) posterior probability of each model; a priori all are equally likely."""
        return self.weights_after(len(self.outcomes))

    def weights_after(self, count: int) -> NDArray[np.float64]:
        """(M,) the same after the first outcomes only."""
        some = (outcome.log_likelihoods for outcome in self.outcomes[:count])
        total = sum(some, np.zeros(len(self.models)))
        weights = np.exp(total - total.max())
        return np.asarray(weights / weights.sum())

    @property
    def leading(self) -> int:
        """Number of the model with the largest weight."""
        return int(self.weights.argmax())

    def explain(self) -> str:
        """Describe what the leading model found, in a few words."""
        return self._fits[self.leading].shape.explain()

    @property
    def realised_share(self) -> float:
        """Share of the expected improvements that was realised so far; 1 before the first."""
        expected = sum(o.expected for o in self.outcomes)
        return sum(o.gain for o in self.outcomes) / expected if expected > 0 else 1.0

    def improvement(
        self, source: NDArray[np.float64], best: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """(N,) expected improvement on the best returns by a policy trained on a (D,) source."""
        return np.asarray(self._improvements(source[None], best, slice(None))[0])

    def gains(
        self,
        sources: NDArray[np.float64],
        best: NDArray[np.float64],
        targets: NDArray[np.intp] | slice = slice(None),
    ) -> NDArray[np.float64]:
        """(m,) expected rise of the mean of (N,) best returns by a policy on each (m, D) source."""
        size, weights = max(1, BLOCK // len(best[targets])), self.rows.space.weights
        if weights is not None:
            weights = weights[targets] / weights[targets].sum()
        blocks = (sources[start : start + size] for start in range(0, len(sources), size))
        return np.concatenate(
            [weighted_mean(self._improvements(block, best, targets), weights) for block in blocks]
        )

    def _improvements(
        self,
        sources: NDArray[np.float64],
        best: NDArray[np.float64],
        targets: NDArray[np.intp] | slice,
    ) -> NDArray[np.float64]:
        """(m, n) expected improvements of (m, D) sources.

        A normal distribution puts gains above the highest return there is, on every target that is
        solved already. So no return is expected to exceed the largest one seen.
        """
        some = best[targets]
        ceiling = np.maximum(some, self.rows.ceiling)
        total = np.zeros((len(sources), len(some)))
        for weight, calibration, fitted in zip(
            self.weights, self._calibrations, self._fits, strict=True
        ):
            if weight > NEGLIGIBLE:
                mean, common = fitted.predict(sources, targets)
                deviation = np.sqrt(common + calibration * fitted.variance)[:, None]
                total += weight * expected_improvement(mean - some, deviation, mean - ceiling)
        return total

    @property
    def _calibrations(self) -> NDArray[np.float64]:
        """(M,) ratio of the variance of the errors so far to the expected one; 1 before any."""
        if not self.outcomes:
            return np.ones(len(self.models))
        errors = np.sum([outcome.errors for outcome in self.outcomes], axis=0)
        variances = np.sum([outcome.variances for outcome in self.outcomes], axis=0)
        return np.asarray(np.maximum(errors, self.rows.least_variance) / variances)
