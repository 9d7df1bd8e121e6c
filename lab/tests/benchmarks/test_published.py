"""The stored tables: complete, and true to the print."""

from __future__ import annotations

import pytest

from sdmbtl_lab.benchmarks.published import published_benchmarks, published_table

KEYS = [(3, 0.0), (3, 5.0), (3, 30.0), (5, 5.0), (7, 5.0)]
TABLES = [published_table(*key) for key in KEYS]


def test_the_replaced_row_says_so():
    table = published_table(3, 5)
    assert [value.mean for value in table.aggregated.values()] == [0, 0.6079, 0.2183, 0.8721, 1]
    assert all(value.half_width is None for value in table.aggregated.values())
    assert "aggregated row of noise 30" in table.note
    for (dim, _), other in zip(KEYS, TABLES, strict=True):
        if other is not table:
            assert (other.note is None) == (dim != 5)
            assert all(value.half_width is not None for value in other.aggregated.values())


@pytest.mark.parametrize(
    ("key", "means", "half_widths"),
    [
        ((3, 0.0), 29.2938, 0.0145),
        ((3, 5.0), 28.3286, 0.0206),
        ((3, 30.0), 28.4651, 0.0445),
        ((5, 5.0), 42.3067, 0.1193),
        ((7, 5.0), 14.5728, 0.0178),
    ],
)
def test_sums_are_those_of_the_print(key, means, half_widths):
    values = [value for row in published_table(*key).rows for value in row.values.values()]
    assert sum(value.mean for value in values) == pytest.approx(means, abs=1e-6)
    assert sum(value.half_width for value in values) == pytest.approx(half_widths, abs=1e-6)


@pytest.mark.parametrize(
    ("metric", "means", "half_widths"),
    [("final", 12.8989, 2.4695), ("auc", 16.0034, 1.2219)],
)
def test_benchmark_sums_are_those_of_the_print(metric, means, half_widths):
    table = published_benchmarks(metric)
    rows = [*(row.values for row in table.rows), table.aggregated]
    values = [value for row in rows for value in row.values()]
    assert sum(value.mean for value in values) == pytest.approx(means, abs=1e-6)
    assert sum(value.half_width for value in values) == pytest.approx(half_widths, abs=1e-6)
