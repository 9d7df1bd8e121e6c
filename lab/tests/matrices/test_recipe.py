"""Recipes: what belongs to a matrix, kept with it, and distinguished from another's."""

import json

import pytest

from sdmbtl.environments import FactoryFamily, make_family
from sdmbtl.errors import MatrixError
from sdmbtl.training import make_trainer
from sdmbtl_lab.matrices.matrix_factory import MatrixFactory, MatrixRecipe


class TestValues:
    def test_there_and_back(self, recipe):
        data = json.loads(json.dumps(recipe.to_dict()))
        assert MatrixRecipe(**data) == recipe
        trainer = recipe.specification().make_trainer()
        assert trainer.settings() == recipe.training
        assert recipe.space.to_dict() == trainer.space.to_dict() == recipe.targets
        assert trainer.family.settings() == recipe.family

    @pytest.mark.parametrize(
        ("setting", "value", "low"),
        [("episodes", 0, 1), ("seed", -1, 0), ("multi_task", (0,), 1), ("episodes", 1.5, 1)],
    )
    def test_numbers(self, setting, value, low, small_recipe):
        shown = value[0] if isinstance(value, tuple) else value
        with pytest.raises(MatrixError, match=f"{setting!r} must .* >= {low}. Got {shown}"):
            small_recipe(**{setting: value})

    @pytest.mark.parametrize("name", ["auto", "mine"])
    def test_unknown_trainer(self, name, recipe):
        with pytest.raises(MatrixError, match=f"ppo, sb3. Got {name!r} instead"):
            MatrixRecipe(**{**recipe.to_dict(), "trainer": name})

    def test_family_that_only_this_process_knows(self):
        space = make_family("CartPole").space("wide", levels=2)
        family = FactoryFamily(lambda context: None, space)
        trainer = make_trainer("sb3", family, space)
        with pytest.raises(MatrixError, match="cannot be made again in another process"):
            MatrixRecipe.of(trainer)


class TestDirectory:
    def test_begun_with_other_settings(self, tmp_path, small_recipe):
        MatrixFactory(tmp_path, small_recipe())
        with pytest.raises(MatrixError, match=r"training.learning_rate: recorded 0.0003, now 0.01"):
            MatrixFactory(tmp_path, small_recipe({"learning_rate": 0.01}))
        MatrixFactory(tmp_path, small_recipe())

    @pytest.mark.parametrize(
        "text",
        [
            *("", "[]", "{}", "\xff"),
            '{"family": 3, "targets": 3, "trainer": "ppo", "training": {}, "multi_task": []}',
            '{"family": {}, "targets": {}, "trainer": "ppo", "training": {}, "multi_task": 5}',
        ],
    )
    def test_damaged(self, text, tmp_path, recipe):
        path = tmp_path / "recipe.json"
        path.write_bytes(text.encode("latin-1"))
        with pytest.raises(MatrixError, match="recipe.json is damaged .*Put it back from a"):
            MatrixFactory(tmp_path, recipe)
        assert path.read_bytes() == text.encode("latin-1")

    def test_rows_of_an_unknown_recipe(self, tmp_path, recipe):
        (tmp_path / "rows").mkdir()
        with pytest.raises(MatrixError, match="recipe.json is missing, so it is unknown"):
            MatrixFactory(tmp_path, recipe)
        assert not (tmp_path / "recipe.json").exists()


def test_a_recipe_that_names_code_needs_trust(recipe, tmp_path):
    data = recipe.to_dict() | {"family": {"name": "envs_of_others:make", "options": {}}}
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps(data))
    with pytest.raises(MatrixError, match="'envs_of_others:make'.* If you trust it"):
        MatrixRecipe.load(path)
    assert MatrixRecipe.load(path, trust=True).family == data["family"]
