"""Tables of the reference pages, read from the code."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sdmbtl.contexts.schema import space_schema
from sdmbtl.docstrings import read_arguments
from sdmbtl.environments import EnvironmentFamily, family_names, make_family
from sdmbtl.selectors import make, selector_names
from sdmbtl.studies.snapshot import Level, PolicySnapshot, StudySnapshot
from sdmbtl.training.registry import list_settings
from sdmbtl.transfer import Coverage
from sdmbtl.transfer.gaps import Gaps

#: The family with which the form of `ppo` for JAX environments is listed.
COMPILED = "CartPole"
#: Columns of a table of settings.
SETTING = ("setting", "default", "meaning")


# -- settings ------------------------------------------------------------------------------


def trainer_settings() -> str:
    """Return a section for `ppo`, with both of its forms in one table, and one for `sb3`."""
    python, compiled = (
        {setting.name: setting for setting in list_settings("ppo", family)}
        for family in (None, make_family(COMPILED))
    )
    rows = [
        (
            f"`{name}`",
            *(_value(form[name].default) if name in form else "–" for form in (python, compiled)),
            (python.get(name) or compiled[name]).meaning,
        )
        for name in dict.fromkeys([*python, *compiled])
    ]
    ppo = _table(("setting", "stepped by Python", "compiled by JAX", "meaning"), rows)
    sb3 = [
        # Its own texts refer to sections of its documentation.
        (f"`{s.name}`", _value(s.default), re.sub(r"See :ref:`\w+`", "", s.meaning))
        for s in list_settings("sb3")
    ]
    return f"### `ppo`\n\n{ppo}\n\n### `sb3`\n\n{_table(SETTING, sb3)}"


def selector_settings() -> str:
    """Return a section for each selector with settings, and the names of the others."""
    parts, plain = [], []
    shared = {"space", "seed"}
    for name in selector_names():
        factory = make._FACTORIES.get(name)
        if factory is None:
            continue
        meanings = _meanings(factory)
        rows = [
            (f"`{own}`", _value(parameter.default), meanings.get(own, ""))
            for own, parameter in inspect.signature(factory).parameters.items()
            if own not in shared
        ]
        if rows:
            parts.append(f"### `{name}`\n\n{_table(SETTING, rows)}")
        else:
            plain.append(f"`{name}`")
    return "\n\n".join([*parts, f"No settings: {', '.join(plain)}."])


def _meanings(factory: Any) -> dict[str, str]:
    """Return the meanings of the arguments of a selector, those of its bases included."""
    found: dict[str, str] = {}
    for described in reversed(inspect.getmro(factory) if inspect.isclass(factory) else (factory,)):
        found |= read_arguments(described)
    return found


# -- space files ---------------------------------------------------------------------------


def space_file() -> str:
    """Return a table of keys for each table of a space file, from its JSON Schema."""
    properties = space_schema()["properties"]
    dimension = properties["dimensions"]["additionalProperties"]
    parts = [
        "### `[dimensions.NAME]`",
        _keys(dimension["properties"]),
        "Give `values`, or `low` and `high`.",
        "### `[targets]`",
        _keys(properties["targets"]["properties"]),
        "### `[returns]`",
        _keys(properties["returns"]["properties"]),
    ]
    return "\n\n".join(parts)


def _keys(properties: Mapping[str, Mapping[str, Any]]) -> str:
    rows = [
        (f"`{name}`", _type(schema), schema["description"]) for name, schema in properties.items()
    ]
    return _table(("key", "type", "meaning"), rows)


def _type(schema: Mapping[str, Any]) -> str:
    """Return the type of a key in words."""
    if "enum" in schema:
        return ", ".join(f'`"{value}"`' for value in schema["enum"])
    found = schema["type"]
    if found == "object":
        return "table"
    if found == "array":
        inner = schema["items"].get("type", "any")
        return f"list of {' or '.join([inner] if isinstance(inner, str) else inner)}"
    least = schema.get("minimum")
    return str(found) if least is None else f"{found}, at least {least}"


# -- environments --------------------------------------------------------------------------


def families() -> str:
    """Return a section for each environment family: features with usual values, and spaces."""
    return "\n\n".join(_family(make_family(name)) for name in family_names())


def _family(family: EnvironmentFamily) -> str:
    columns = [(name, family.space(name)) for name in family.ranges]
    rows = []
    for feature, usual in family.defaults.items():
        cells = []
        for _, space in columns:
            found = space.dimensions.get(feature)
            cells.append(
                "–"
                if found is None
                else f"{found.low:g} to {found.high:g}, {len(found.knots)} values"
                + (" (log)" if found.scale == "log" else "")
            )
        rows.append((f"`{feature}`", f"{usual:g}", *cells))
    heads = ["feature", "usual"]
    heads += [f"`{name}`: {len(space)} targets" for name, space in columns]
    known = family.return_range
    returns = "unknown" if known is None else f"{known[0]:g} to {known[1]:g}"
    return f"### {family.name}\n\nRange of returns: {returns}.\n\n{_table(heads, rows)}"


# -- JSON ----------------------------------------------------------------------------------


def status_json() -> str:
    """Return the keys of `sdmbtl status --json`, with their meanings."""
    parts = []
    for title, described in (
        ("", StudySnapshot),
        ("Each entry of `rounds`", PolicySnapshot),
        ("`best_single` and `random_actions`", Level),
        ("`covered`", Coverage),
        ("`gaps`", Gaps),
    ):
        rows = [(f"`{name}`", text) for name, text in read_arguments(described).items()]
        parts += [f"### {title}"] if title else []
        parts.append(_table(("key", "meaning"), rows))
    return "\n\n".join(parts)


# -- Markdown ------------------------------------------------------------------------------


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = tuple(heads)
    lines = [heads, ("---",) * len(heads), *rows]
    return "\n".join(f"| {' | '.join(_cells(line))} |" for line in lines)


def _cells(texts: Iterable[str]) -> Iterator[str]:
    return (" ".join(text.split()).replace("|", "\\|") for text in texts)


def _value(default: Any) -> str:
    """Return a default as it is written on the command line."""
    if default in (None, inspect.Parameter.empty):
        return "–"
    try:
        return f"`{json.dumps(default)}`"
    except TypeError:  # a dataclass
        return f"`{json.dumps(vars(default))}`"
