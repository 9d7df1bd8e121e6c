"""The synthetic data, number by number."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from sdmbtl_lab.benchmarks import (
    SyntheticProblem,
    paper_configurations,
    synthetic,
)
from sdmbtl_lab.benchmarks.published import published_table
from sdmbtl_lab.matrices.dataset import min_max
from sdmbtl_lab.matrices.margins import expected_random_curve, oracle_sequence


def explicit(configuration, x, y):
    """The formula of the paper for one pair."""
    f_slope = {3: 4, 5: 2, 7: 2}[configuration.dim]
    g_slope = {3: 3, 5: 2, 7: 2}[configuration.dim]
    left = {
        (3, "l1"): [-3, -3, -3],
        (3, "non-distance"): [1, 1, -3],
        (5, "l1"): [-3] * 5,
        (5, "non-distance 1"): [1, 1, 1, -3, -3],
        (5, "non-distance 2"): [1, 1, 1, 1, -3],
        (7, "l1"): [-3] * 7,
        (7, "non-distance"): [1, 1, 1, 1, 1, -3, -3],
    }[configuration.dim, configuration.h]
    value = 500.0
    value += f_slope * sum(x) if configuration.f == "linear" else 0
    value += g_slope * sum(y) if configuration.g == "linear" else 0
    for d, slope in enumerate(left):
        value -= slope * min(x[d] - y[d], 0) + 3 * max(x[d] - y[d], 0)
    return value


def test_noiseless_values():
    rng = np.random.default_rng(0)
    for configuration in paper_configurations(3):
        matrix = configuration.matrix(0)
        contexts = configuration.space.targets
        for x, y in rng.integers(len(contexts), size=(60, 2)):
            expected = explicit(configuration, contexts[x], contexts[y])
            assert matrix[x, y] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("configuration", [*paper_configurations(5), *paper_configurations(7)])
def test_more_dimensions_without_the_whole_matrix(configuration, monkeypatch):
    contexts = configuration.space.targets
    monkeypatch.setattr(synthetic, "BLOCK", 60 * len(contexts))
    where, block = next(itertools.islice(configuration._noiseless_blocks(), 1, None))
    assert block.shape == (60, len(contexts))
    for x, y in itertools.product([0, 7, 59], [0, 999, len(contexts) - 1]):
        expected = explicit(configuration, contexts[where][x], contexts[y])
        assert block[x, y] == pytest.approx(expected)


def test_noise_is_the_legacy_generators(monkeypatch):
    configuration = paper_configurations(3)[0]
    noisy = replace(configuration, noise=15.0)
    expected = configuration.matrix(7) + 15 * np.random.RandomState(7).standard_normal((512, 512))
    np.testing.assert_allclose(noisy.matrix(7), expected, rtol=0, atol=1e-9)
    monkeypatch.setattr(synthetic, "BLOCK", 3 * 512)  # many small blocks: the same numbers
    np.testing.assert_allclose(noisy.matrix(7), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("dim", "count", "mountains"), [(3, 8, 2), (5, 12, 2), (7, 4, 2)])
def test_configurations_are_the_rows_of_the_paper(dim, count, mountains):
    configurations = paper_configurations(dim)
    assert len(configurations) == count
    assert sum(c.is_mountain for c in configurations) == mountains
    rows = published_table(dim, 5).rows
    assert [c.name for c in configurations] == [row.name for row in rows]
    assert len({c.name for c in configurations}) == count


def test_random_and_oracle_reproduce_the_paper_without_noise():
    """Within 0.001 of the printed table; with noise this takes 100 trials, see results/."""
    for configuration in paper_configurations(3):
        matrix = configuration.matrix(0)
        matrix = min_max(matrix, matrix.min(), matrix.max())
        printed = published_table(3, 0).row(configuration.name)
        random = expected_random_curve(matrix, 50)[-1]
        assert random == pytest.approx(printed.values["random"].mean, abs=0.001)
        oracle = matrix[oracle_sequence(matrix[None], 50)].max(axis=0).mean()
        assert oracle == pytest.approx(printed.values["myopic-oracle"].mean, abs=0.001)


@pytest.mark.slow
def test_labels_of_the_five_dimensional_table():
    """The oracle tells which printed row belongs to which definition."""
    table = published_table(5, 5)
    configuration = SyntheticProblem(5, "constant", "constant", "non-distance 1", noise=5.0)
    matrices = np.stack([configuration.matrix(t) for t in range(5)])
    best = matrices[:, oracle_sequence(matrices, 50)].max(axis=1).mean()
    found = float(min_max(np.array(best), matrices.min(), matrices.max()))
    one, other = (
        table.row(f"5d-f-constant-g-constant-h-{h}").values["myopic-oracle"].mean
        for h in ("non-distance-1", "non-distance-2")
    )
    assert found == pytest.approx(one, abs=1e-4)
    assert abs(one - other) > 0.001
