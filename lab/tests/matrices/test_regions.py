"""Matrices whose sources are regions: what is trained, made in any order, kept and read back."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from sdmbtl.contexts import Source
from sdmbtl.errors import MatrixError
from sdmbtl.seeds import derived_seed
from sdmbtl.training import TrainingJob
from sdmbtl_lab.matrices import load_regions, region_names
from sdmbtl_lab.matrices.region_dataset import ancestors
from sdmbtl_lab.matrices.region_factory import RegionFactory, RegionRecipe

#: Trained longest, with far fewer policies than the others.
WALKER = "regions-bipedal-walker"


@pytest.fixture
def begun(tmp_path, regions):
    """A directory with a finished seed, to be changed."""
    return shutil.copytree(regions.path, tmp_path / "few")


class TestRecipe:
    def test_generalists_are_continued(self, region_recipe):
        recipe = region_recipe(runs=2, lengths=(1, 2, 4), parent_lengths=(1, 4))
        generalists = [s for s in recipe.sources if recipe.space.is_whole(s)]
        assert [s.parent for s in generalists] == [None, 0, 1, None, 3, 4]
        assert [s.steps for s in generalists] == [512, 512, 1024] * 2

    def test_specialists_have_every_form_around_every_center(self, region_recipe):
        recipe = region_recipe(runs=2, centers=3)
        specialists = recipe.sources[4:]
        assert [s.width for s in specialists] == [0.0] * 3 + [0.5] * 6
        assert [s.steps for s in specialists] == [512] * 6 + [256] * 3
        assert all(s.parent is None for s in specialists[:6])
        assert {s.parent for s in specialists[6:]} == {1, 3}  # those of two units
        centers = {s.center for s in specialists}
        assert len(centers) == 3
        assert centers <= {tuple(target) for target in recipe.space.targets.tolist()}

    def test_there_and_back(self, region_recipe):
        recipe = region_recipe()
        data = json.loads(json.dumps(recipe.to_dict()))
        assert RegionRecipe(**data) == recipe
        assert RegionRecipe(**data).sources == recipe.sources

    @pytest.mark.parametrize("parents", [(3,), ()])
    def test_parents_are_some_of_the_generalists(self, parents, region_recipe):
        with pytest.raises(MatrixError, match=r"some of the 'lengths' of generalists, \[1, 2\]"):
            region_recipe(parent_lengths=parents)

    def test_units_have_one_shape_and_parents_come_first(self, region_recipe, tmp_path):
        recipe = region_recipe(runs=2, centers=5)
        units = RegionFactory(tmp_path, recipe).units(5)
        assert sorted(n for u in units for n in u.sources) == list(range(len(recipe.sources)))
        for unit in units:
            sources = [recipe.sources[n] for n in unit.sources]
            assert len({(s.width, s.steps, s.parent is None) for s in sources}) == 1
            assert {len(ancestors(recipe.sources, n)) for n in unit.sources} == {unit.stage}
        assert [u.parents for u in units if u.parents] == [(0, 2), (1, 3)]


class TestMaking:
    def test_numbers_are_those_of_the_trainer(self, region_recipe, regions):
        recipe, dataset = region_recipe(), regions.dataset
        trainer = recipe.specification().make_trainer()

        def train(numbers, parents):
            jobs = [
                TrainingJob(
                    recipe.contexts(number, 0),
                    derived_seed(3, "training", 0, number, 0),
                    parent=parent,
                    steps=recipe.sources[number].steps,
                )
                for number, parent in zip(numbers, parents, strict=True)
            ]
            return trainer.train(jobs)

        roots, longer, last = range(0, 8, 2), range(1, 8, 2), range(16, 20)
        first = train(roots, [None] * 4)
        second = train(longer, [run.policy for run in first])
        policies = {n: run.policy for n, run in zip(longer, second, strict=True)}
        specialists = train(last, [policies[recipe.sources[n].parent] for n in last])
        for number, run in ((0, first[0]), (3, second[1]), (19, specialists[3])):
            played = trainer.evaluate(
                run.policy,
                recipe.space.targets,
                episodes=2,
                seed=derived_seed(3, "evaluation", 0, number),
            ).complete()
            assert np.array_equal(dataset.returns[0, number], played.mean(axis=1))
            assert dataset.source_returns[0, number] == run.source_return
            assert dataset.curve(0, number) == tuple(run.curve)

    def test_interrupted_and_continued(self, tmp_path, region_recipe, regions):
        def interrupt(done, total, label):
            if done >= 12:
                raise KeyboardInterrupt

        path = tmp_path / "few"
        with pytest.raises(KeyboardInterrupt):
            RegionFactory(path, region_recipe()).make(1, progress=interrupt)
        labels = []
        RegionFactory(path, region_recipe()).make(1, progress=lambda *step: labels.append(step))
        assert labels[0] == (12, 20, "")
        assert [label for *_, label in labels[1:]] == [
            "seed 0, 4 sources from 1",
            "seed 0, 4 sources from 16",
        ]
        assert (path / "matrix.npz").read_bytes() == regions.bytes

    def test_a_policy_that_is_missing_is_made_again(self, begun, region_recipe, regions):
        policy = begun / "policies/seed-0/00001.safetensors"
        before = policy.read_bytes()
        policy.unlink()
        (begun / "rows/seed-0/00016.npz").unlink()
        RegionFactory(begun, region_recipe()).make(1)
        assert policy.read_bytes() == before
        assert (begun / "matrix.npz").read_bytes() == regions.bytes


class TestDataset:
    def test_there_and_back(self, regions):
        loaded, made = load_regions(regions.path), regions.dataset
        assert loaded.sources == made.sources
        assert np.array_equal(loaded.returns, made.returns)  # whole rewards
        assert loaded.source_returns == pytest.approx(made.source_returns)
        assert np.array_equal(loaded.curve_steps, made.curve_steps, equal_nan=True)
        assert loaded.curve(0, 16) == made.curve(0, 16)
        assert loaded.card == made.card
        assert (loaded.name, loaded.seeds, loaded.unit) == ("few", 1, 512)

    def test_steps_with_those_of_parents(self, regions):
        dataset = regions.dataset
        assert dataset.steps.tolist() == [512] * 16 + [256] * 4
        assert dataset.total_steps.tolist() == [512, 1024] * 4 + [512] * 8 + [1280] * 4
        assert dataset.is_generalist.tolist() == [True] * 8 + [False] * 12
        parent = dataset.sources[16].parent
        assert ancestors(dataset.sources, 16) == [parent, parent - 1]

    def test_parents_must_be_earlier(self, regions):
        made = regions.dataset
        first = Source.at(made.sources[0].center, parent=3, steps=1)
        with pytest.raises(MatrixError, match="as 'parent' the number of an earlier one"):
            replace(made, sources=(first, *made.sources[1:]))
        with pytest.raises(MatrixError, match="'curves' of 1 seeds and 20 sources"):
            replace(made, curves=made.curves[:, 1:])


class TestShipped:
    @pytest.mark.parametrize("name", [n for n in region_names() if n != WALKER])
    def test_those_of_the_package_have_what_they_promise(self, name):
        dataset = load_regions(name)
        specialists = [s for s in dataset.sources if not dataset.space.is_whole(s)]
        for from_scratch in (True, False):
            kind = {(s.center, s.width) for s in specialists if (s.parent is None) == from_scratch}
            assert len({center for center, _ in kind}) >= 96
            assert len(kind) >= 4 * 96
        assert dataset.is_generalist.sum() >= 16
        assert not np.isnan(dataset.curves[:, ~np.isnan(dataset.curve_steps)]).any()
