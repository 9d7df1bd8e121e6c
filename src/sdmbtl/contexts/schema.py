"""JSON Schema of space files, for editors: completion, and marks under misspelt keys."""

from __future__ import annotations

from typing import Any, get_args

from sdmbtl.contexts.dimension import Scale
from sdmbtl.contexts.weights import KINDS


def _key(kind: str, description: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "description": description, **more}


#: Keys of a dimension.
_DIMENSION: dict[str, dict[str, Any]] = {
    "values": _key(
        "array",
        "Values of the dimension.",
        minItems=1,
        uniqueItems=True,
        items={"type": ["number", "boolean", "string"]},
    ),
    "low": _key("number", "Lowest value of a range."),
    "high": _key("number", "Highest value of a range."),
    "levels": _key("integer", "Number of values of a range.", minimum=1),
    "scale": {"enum": list(get_args(Scale)), "description": "Distance between values."},
    "discrete": _key("boolean", "True if nothing lies between the values."),
    "unit": _key("string", "Unit of measurement, such as kg."),
    "path": _key("string", "Argument or attribute of a gym: environment."),
    "factor": _key("boolean", "True if values multiply the usual value."),
    "density": _key(
        "object",
        "How often values occur; see Weights.",
        properties={"kind": {"enum": list(KINDS)}},
        required=["kind"],
    ),
}
_TARGETS: dict[str, dict[str, Any]] = {
    "sample": _key("integer", "Number of targets, evenly in the box.", minimum=1),
    "seed": _key("integer", "Seed of the sample.", minimum=0),
    "list": _key(
        "array",
        "The targets, each with a value for every dimension, and optionally a weight.",
        items={"type": "object"},
    ),
    "logged": _key(
        "string", "File of logged contexts (.csv or .jsonl), whose frequencies are weights."
    ),
}
_RETURNS: dict[str, dict[str, Any]] = {
    "min": _key("number", "Lowest return of an episode."),
    "max": _key("number", "Highest return of an episode."),
}


def space_schema() -> dict[str, Any]:
    """Return the JSON Schema of the TOML files that `load_space` reads.

    >>> sorted(space_schema()["properties"])
    ['dimensions', 'returns', 'splits', 'targets', 'valid']
    """
    dimension = {
        "type": "object",
        "properties": _DIMENSION,
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
            "valid": _key("string", "Expression that valid contexts fulfil."),
            "splits": _key(
                "object",
                "Contexts of sdmbtl evaluate --split FILE.",
                additionalProperties={"type": "object"},
            ),
        },
        "additionalProperties": False,
    }
