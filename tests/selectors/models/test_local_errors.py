"""Local corrections: what is added, when, and that noise is left alone."""

import numpy as np

from sdmbtl.contexts import ContextSpace
from sdmbtl.selectors.models import (
    CompletedRows,
    FittedModel,
    RowPrediction,
)
from sdmbtl.selectors.models.cells import target_cells
from sdmbtl.selectors.models.local_errors import (
    ERROR_NOISES,
    LEAST_ROWS,
    PARTS,
    LocallyCorrected,
    correct_locally,
)
from sdmbtl.selectors.models.smooth_effect import SmoothEffect
from sdmbtl.transfer import ObservedRows

GRID = ContextSpace(a=range(12), b=range(11))
N = len(GRID)


class Flat(FittedModel):
    """Expects 1 everywhere."""

    def predict(self, sources, targets):
        n = len(GRID.unit_targets[targets])
        return RowPrediction(np.ones((len(sources), n)), np.full(len(sources), 5.0))

    def explain(self):
        return "flat"


def completed(k, returns_of, seed=0):
    """Rows of some policies; `returns_of` gets (k, 1, D) sources and (N, D) targets."""
    chosen = np.random.default_rng(seed).permutation(N)[:k]
    sources = GRID.unit_targets[chosen]
    returns = np.asarray(returns_of(sources[:, None], GRID.unit_targets))
    return CompletedRows.of(ObservedRows(GRID, GRID.targets[chosen], returns))


def tilted(x, y):
    """Policies of large a are good where b is large, the others where it is small."""
    return 1.0 + (x[..., 0] - 0.5) * (y[..., 1] - 0.5)


def test_errors_are_averaged_over_parts_and_interpolated_between_sources():
    rng = np.random.default_rng(1)
    rows = completed(14, lambda x, y: rng.normal(size=(14, N)))
    fitted = LocallyCorrected(Flat(), rows)
    parts = target_cells(GRID.unit_targets, PARTS)
    means = np.array([[row[parts == p].mean() for p in range(PARTS)] for row in rows.returns])
    means -= means.mean(axis=1, keepdims=True)
    sources = rng.random((5, 2))
    expected = 1.0 + SmoothEffect(rows.sources, means, ERROR_NOISES).predict(sources)[0]
    some = np.array([3, 90, 17])
    prediction = fitted.predict(sources, some)
    np.testing.assert_allclose(prediction.mean, expected[:, parts[some]], rtol=1e-9)
    np.testing.assert_allclose(
        fitted.predict(sources, slice(None)).mean, expected[:, parts], rtol=1e-9
    )
    np.testing.assert_array_equal(prediction.variance, 5.0)
    assert fitted.explain() == "flat"


def test_regular_errors_are_corrected():
    rng = np.random.default_rng(0)
    rows = completed(16, lambda x, y: tilted(x, y) + 0.05 * rng.normal(size=(16, N)))
    wanted = GRID.unit_targets[::7]
    truth = tilted(wanted[:, None], GRID.unit_targets)
    plain, corrected = (
        np.abs(fit.predict(wanted, slice(None)).mean - truth).mean()
        for fit in (Flat(), LocallyCorrected(Flat(), rows))
    )
    assert corrected < 0.3 * plain


def test_no_more_is_expected_than_any_policy_has_reached():
    ceiling = 1.1
    rows = completed(16, lambda x, y: np.minimum(tilted(x, y), ceiling))
    corrected = LocallyCorrected(Flat(), rows).predict(GRID.unit_targets, slice(None)).mean
    assert corrected.max() == ceiling
    above = LocallyCorrected(Flat(), completed(16, lambda x, y: tilted(x, y) - 0.5))
    mean = above.predict(GRID.unit_targets, slice(None)).mean
    assert mean.max() == 1.0, "what the model itself predicts stands"


def test_only_evaluated_targets_say_what_is_wrong():
    rng = np.random.default_rng(0)
    parts = target_cells(GRID.unit_targets, PARTS)
    returns = tilted(GRID.unit_targets[:14, None], GRID.unit_targets)
    returns[rng.random(returns.shape) < 0.3] = np.nan
    returns[:, parts == 5] = np.nan
    rows = CompletedRows.of(ObservedRows(GRID, GRID.targets[:14], returns))
    fitted = LocallyCorrected(Flat(), rows)
    seen = ~np.isnan(returns)
    means = fitted._part_means(rows.returns - 1.0, seen)
    for part_means, errors, known in zip(means, rows.returns - 1.0, seen, strict=True):
        expected = [
            errors[(parts == p) & known].mean() if (known & (parts == p)).any() else np.nan
            for p in range(PARTS)
        ]
        np.testing.assert_allclose(
            part_means, np.nan_to_num(expected - np.nanmean(expected)), atol=1e-12
        )
        assert part_means[5] == 0.0


def test_few_rows_change_nothing():
    rows = completed(LEAST_ROWS - 1, tilted)
    flat = Flat()
    assert correct_locally(flat, rows) is flat
