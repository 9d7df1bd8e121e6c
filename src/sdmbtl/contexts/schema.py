"""JSON Schema of space files, for editors: completion, and marks under misspelt keys."""

from __future__ import annotations

from typing import Any, get_args

from sdmbtl.contexts.dimension import Scale
from sdmbtl.contexts.toml import _DENSITY, _PLACE, _VALUES

_NUMBER = {"type": "number"}
#: Types of the keys of a dimension; a key that is not listed here may be anything.
_TYPES: dict[str, dict[str, Any]] = {
    "values": {
        "type": "array",
        "minItems": 1,
        "uniqueItems": True,
        "items": {"type": ["number", "boolean", "string"]},
        "description": "Values of the dimension.",
    },
    "low": {**_NUMBER, "description": "Lowest value of a range."},
    "high": {**_NUMBER, "description": "Highest value of a range."},
    "levels": {"type": "integer", "minimum": 1, "description": "Number of values of a range."},
    "scale": {"enum": list(get_args(Scale)), "description": "Distance between values."},
    "discrete": {"type": "boolean", "description": "True if nothing lies between the values."},
    "unit": {"type": "string", "description": "Unit of measurement, such as kg."},
    "path": {"type": "string", "description": "Argument or attribute of a gym: environment."},
    "factor": {"type": "boolean", "description": "True if values multiply the usual value."},
}


def space_schema() -> dict[str, Any]:
    """Return the JSON Schema of the TOML files that `load_space` reads.

    >>> sorted(space_schema()["properties"])
    ['dimensions', 'returns', 'run', 'targets']
    """
    dimension = {
        "type": "object",
        "properties": {key: _TYPES.get(key, {}) for key in (*_VALUES, *_PLACE, _DENSITY)},
        "additionalProperties": False,
        "anyOf": [{"required": ["values"]}, {"required": ["low", "high"]}],
    }
    targets = {
        "sample": {"type": "integer", "minimum": 1},
        "seed": {"type": "integer", "minimum": 0},
    }
    contexts = {"type": "array", "items": {"type": "object"}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Context space of sdmbtl",
        "type": "object",
        "required": ["dimensions"],
        "properties": {
            "dimensions": {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": dimension,
            },
            "returns": {
                "type": "object",
                "properties": {"min": _NUMBER, "max": _NUMBER},
                "required": ["min", "max"],
                "additionalProperties": False,
            },
            "targets": {"type": "object", "properties": {**targets, "list": contexts}},
            "run": {"type": "object"},
        },
    }
