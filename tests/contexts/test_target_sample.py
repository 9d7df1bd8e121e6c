"""A few targets that stand for very many: equal parts, means without bias, rows in part."""

import numpy as np
import pytest

from sdmbtl.contexts import ContextSpace, Interval, TargetSample

GRID = ContextSpace(a=range(30), b=np.geomspace(1, 100, 20), c=[False, True])
LISTED = ContextSpace.sample(1500, seed=1, **{f"x{d}": Interval(0, 1) for d in range(6)})


@pytest.mark.parametrize("space", [GRID, LISTED], ids=["grid", "listed"])
@pytest.mark.parametrize("size", [1, 7, 64, 100])
class TestParts:
    def test_they_are_equally_large_and_hold_every_target_once(self, space, size):
        sample = TargetSample(space, size, seed=0)
        sizes = [len(sample.members[number]) for number in range(size)]
        assert max(sizes) - min(sizes) <= 2
        members = np.concatenate([sample.members[number] for number in range(size)])
        assert np.array_equal(np.sort(members), np.arange(len(space)))

    def test_each_has_its_drawn_target(self, space, size):
        sample = TargetSample(space, size, seed=3)
        assert len(sample) == len(sample.space) == size
        assert np.array_equal(sample.space.targets, space.targets[sample.indices])
        for number, index in enumerate(sample.indices):
            assert index in sample.members[number]
            assert sample.parts[index] == number
            assert sample.find(int(index)) == number


def test_the_seed_decides_and_nothing_else():
    first, again, other = (TargetSample(GRID, 50, seed).indices for seed in (4, 4, 5))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_means_have_no_bias_and_less_noise_than_those_of_random_targets():
    units = GRID.unit_targets
    values = np.exp(units[:, 0]) * (units[:, 1] > 0.3) + units[:, 2]
    rng = np.random.default_rng(0)
    strata = [values[TargetSample(GRID, 64, seed).indices].mean() for seed in range(100)]
    random = [values[rng.choice(len(values), 64, replace=False)].mean() for _ in range(100)]
    assert np.mean(strata) == pytest.approx(values.mean(), abs=4 * np.std(strata) / 10)
    assert np.std(strata) < 0.5 * np.std(random)


class TestRows:
    sample = TargetSample(GRID, 40, seed=0)

    def test_a_full_row_gives_the_returns_on_the_drawn_targets(self):
        row = np.random.default_rng(0).normal(size=len(GRID))
        assert np.array_equal(self.sample.row(row), row[self.sample.indices])

    def test_where_the_drawn_target_is_missing_its_part_stands_for_it(self):
        row = np.full(len(GRID), np.nan)
        members = self.sample.members[5]
        others = members[members != self.sample.indices[5]][:3]
        row[others] = [1.0, 2.0, 6.0]
        row[self.sample.indices[7]] = 4.0
        drawn = self.sample.row(row)
        assert drawn[5] == 3.0
        assert drawn[7] == 4.0
        assert np.isnan(np.delete(drawn, [5, 7])).all()

    def test_targets_that_were_not_drawn_are_not_found(self):
        missing = np.setdiff1d(np.arange(len(GRID)), self.sample.indices)
        assert self.sample.find(int(missing[0])) is None
        assert self.sample.find(int(missing[-1])) is None
        assert self.sample.find(None) is None
