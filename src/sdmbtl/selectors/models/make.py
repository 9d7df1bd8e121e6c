"""Models by name, and as JSON data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sdmbtl.checks import short_text
from sdmbtl.errors import ModelError
from sdmbtl.json_data import made_from_json
from sdmbtl.selectors.models.linear_gap_model import (
    AdditiveModel,
    AdditiveQualityModel,
    MountainModel,
)
from sdmbtl.selectors.models.model import RowModel
from sdmbtl.selectors.models.plateau_model import PlateauModel
from sdmbtl.selectors.models.unstructured_model import UnstructuredModel

#: What is accepted as a model: the model, its name, or its name and settings as JSON data.
ModelLike = RowModel | str | Mapping[str, Any]

#: By name; those of the default selector, the preferred one first.
_MODELS: dict[str, type[RowModel]] = {
    model.name: model
    for model in (
        PlateauModel,
        AdditiveQualityModel,
        AdditiveModel,
        MountainModel,
        UnstructuredModel,
    )
}


def default_models() -> tuple[RowModel, ...]:
    """The models that the default selector keeps side by side, the preferred one first."""
    return tuple(model() for model in _MODELS.values())


def make_models(given: Sequence[ModelLike]) -> tuple[RowModel, ...]:
    """Make models from a list of models, names, or names with settings.

    Raises:
        ModelError: If it is not a list, or if a name or a setting is unknown.

    Example:
        >>> make_models(["plateau", {"name": "additive", "ridge": 1e-4}])[1]
        AdditiveModel(ridge=0.0001, presume_fall=True)
    """
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise ModelError(
            "'models' must be a list of models, or of their names and settings such as "
            f'["plateau", {{"name": "additive"}}]. Got {short_text(given)} instead.'
        )
    return tuple(
        one if isinstance(one, RowModel) else made_from_json("model", one, _MODELS, ModelError)
        for one in given
    )
