"""How well do models predict the rows of policies that were not trained yet?

A whole run of a selector says little about a model: one good training run outweighs a better
prediction. So some rows of a real matrix are drawn at random, each model is fitted to them, and
its predictions of other rows are compared with the truth: their squared errors, relative to saying
that every policy gets what policies get on average, and the correlation of the gains it expects
of contexts with those that would come. This is how a change of a model is looked at first.

python lab/experiments/predicted_rows.py           # a minute; writes results/predicted-rows.json
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bounds import save_result, shipped_returns
from sdmbtl.contexts import ContextSpace
from sdmbtl.seeds import derived_seed
from sdmbtl.selectors.acquisition import expected_improvement
from sdmbtl.selectors.models import (
    AdditiveModel,
    AdditiveQualityModel,
    CompletedRows,
    FittedModel,
    MountainModel,
    PlateauModel,
)
from sdmbtl.selectors.models.calibrated_model import least_variance
from sdmbtl.transfer import ObservedRows

#: How many rows are known.
KNOWN = (4, 8, 12)
#: How many other rows are predicted.
PREDICTED = 60
#: With less than this between Random and the oracle (of the range, K = 6) there is nothing to gain.
LEAST_MARGIN = 0.03


FITS: dict[str, Callable[[CompletedRows], FittedModel]] = {
    "plateau": PlateauModel().fit,
    "plateau, dimensions only": PlateauModel(combine_up_to=0).fit,
    "additive-quality": AdditiveQualityModel().fit,
    "additive": AdditiveModel().fit,
    "mountain": MountainModel().fit,
}


def compare(
    fitted: FittedModel,
    rows: CompletedRows,
    sources: NDArray[np.intp],
    truth: NDArray[np.float64],
) -> tuple[float, float]:
    """Squared error relative to the mean of the known rows, and correlation of the gains.

    Args:
        fitted: A model, fitted to the known rows.
        rows: The known rows.
        sources: (m,) targets that other policies were trained on.
        truth: (m, N) their returns.
    """
    prediction = fitted.predict(rows.space.unit_targets[sources], slice(None))
    error = ((truth - prediction.mean) ** 2).mean() / (
        (truth - rows.returns.mean(axis=0)) ** 2
    ).mean()
    deviation = np.sqrt(np.maximum(prediction.variance, least_variance(rows)))[:, None]
    mean = prediction.mean
    gain = expected_improvement(mean - rows.best, deviation, mean - rows.ceiling)
    expected = gain.mean(axis=1)
    gains = np.maximum(truth - rows.best, 0.0).mean(axis=1)
    differ = expected.std() > 0 and gains.std() > 0
    return float(error), float(np.corrcoef(expected, gains)[0, 1]) if differ else 0.0


def compare_models(
    space: ContextSpace, matrices: NDArray[np.float64], known: int, seed: int
) -> dict[str, tuple[float, float]]:
    """The comparison of each model on one draw from (S, N, N) matrices."""
    rng = np.random.default_rng(seed)
    matrix = matrices[rng.integers(len(matrices))]
    order = rng.permutation(len(space))
    first, others = order[:known], order[known : known + PREDICTED]
    rows = CompletedRows.of(ObservedRows(space, space.targets[first], matrix[first]))
    return {name: compare(fit(rows), rows, others, matrix[others]) for name, fit in FITS.items()}


def main() -> None:
    """Measure every shipped data set where the choice matters."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=40, help="draws for each number of rows")
    parser.add_argument("--out", type=Path, default=Path("results/predicted-rows.json"))
    options = parser.parse_args()
    data: list[dict[str, Any]] = []
    for name, space, matrices in shipped_returns(LEAST_MARGIN):
        draw = partial(compare_models, space, matrices)
        found = [
            # The key is part of the recorded numbers.
            draw(known, derived_seed(0, "foretold rows", known, number))
            for known in KNOWN
            for number in range(options.draws)
        ]
        means = {who: np.mean([f[who] for f in found], axis=0) for who in FITS}
        scores = {
            who: {"error": float(error), "correlation": float(correlation)}
            for who, (error, correlation) in means.items()
        }
        data.append({"name": name, "models": scores})
        for who, (error, correlation) in means.items():
            print(
                f"{name:16} {who:25} error {error:5.3f}  correlation {correlation:5.2f}", flush=True
            )
    result = {"benchmark": "predicted-rows", "draws": options.draws, "known": KNOWN}
    save_result({**result, "data": data}, options.out)


if __name__ == "__main__":
    main()
