"""What making recorded environments would import or call, besides this package and Gymnasium."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium

from sdmbtl.checks import short_text
from sdmbtl.environments.gymnasium_family import PREFIX
from sdmbtl.environments.registered import is_registered_everywhere, with_version
from sdmbtl.environments.registry import is_of_this_package, is_registered

#: Options of a family that are data of this package, whatever the environment.
_OWN_OPTIONS = ("dimensions", "space", "return_range")


def code_of_family(family: Mapping[str, Any]) -> list[str]:
    """What `make_family(name, **options)` would import or call, in words; nothing is imported.

    Families of this package and environments of Gymnasium with numbers as arguments name nothing.

    Args:
        family: "name" and "options", as recorded.
    """
    name, options = family["name"], family["options"]
    if name.startswith(PREFIX):
        return [*_of_registered(name, options)]
    if ":" in name:
        return [f"the function {name!r}"]
    if is_registered(name) and not is_of_this_package(name):
        return [f"the family {name!r}, which this process registered"]
    return []


def _of_registered(name: str, options: Mapping[str, Any]) -> Iterator[str]:
    module, _, environment = name.removeprefix(PREFIX).rpartition(":")
    spec = gymnasium.registry.get(with_version(environment))
    if module:
        yield f"the module {module!r}"
    elif spec is not None and not is_registered_everywhere(spec):
        yield f"the environment {name!r}, made by {spec.entry_point}"
    for argument, value in options.items():
        # A text may be the name of a file, or of something that the environment imports.
        if argument not in _OWN_OPTIONS and not isinstance(value, int | float | None):
            yield f"the argument {argument}={short_text(value)} of {name!r}"
    places = options.get("dimensions")
    for place in places.values() if isinstance(places, Mapping) else ():
        path = place.get("path") if isinstance(place, Mapping) else place
        if isinstance(path, str) and not path.isidentifier():
            yield f"the attribute {path!r} of {name!r}"
