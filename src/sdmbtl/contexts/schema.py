"""JSON Schema of space files, for editors: completion, and marks under misspelt keys."""

from __future__ import annotations

from typing import Any, get_args

from sdmbtl.contexts.dimension import Scale
from sdmbtl.contexts.toml import _DENSITY, _PLACE, _VALUES
from sdmbtl.contexts.weights import KINDS

_NUMBER = {"type": "number"}
#: Types of the keys of a dimension.
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
    "density": {
        "type": "object",
        "properties": {"kind": {"enum": list(KINDS)}},
        "required": ["kind"],
        "description": "How often values occur; see Weights.",
    },
}
#: Types of the keys of the table of targets.
_TARGETS: dict[str, dict[str, Any]] = {
    "sample": {
        "type": "integer",
        "minimum": 1,
        "description": "Number of targets, evenly in the box.",
    },
    "seed": {"type": "integer", "minimum": 0, "description": "Seed of the sample."},
    "list": {
        "type": "array",
        "items": {"type": "object"},
        "description": "The targets, each with a value for every dimension, and optionally a "
        "weight.",
    },
    "logged": {
        "type": "string",
        "description": "File of logged contexts (.csv or .jsonl), whose frequencies are weights.",
    },
}
_RETURNS: dict[str, dict[str, Any]] = {
    "min": {**_NUMBER, "description": "Lowest return of an episode."},
    "max": {**_NUMBER, "description": "Highest return of an episode."},
}


def space_schema() -> dict[str, Any]:
    """Return the JSON Schema of the TOML files that `load_space` reads.

    >>> sorted(space_schema()["properties"])
    ['dimensions', 'returns', 'run', 'splits', 'targets', 'valid']
    """
    dimension = {
        "type": "object",
        "properties": {key: _TYPES[key] for key in (*_VALUES, *_PLACE, _DENSITY)},
        "additionalProperties": False,
        "anyOf": [{"required": ["values"]}, {"required": ["low", "high"]}],
    }
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
                "properties": _RETURNS,
                "required": ["min", "max"],
                "additionalProperties": False,
            },
            "targets": {
                "type": "object",
                "properties": _TARGETS,
                "additionalProperties": False,
            },
            "valid": {"type": "string", "description": "Expression that valid contexts fulfil."},
            "splits": {
                "type": "object",
                "additionalProperties": {"type": "object"},
                "description": "Contexts of sdmbtl evaluate --split FILE.",
            },
            "run": {"type": "object", "description": "Options of sdmbtl run --config FILE."},
        },
        "additionalProperties": False,
    }
