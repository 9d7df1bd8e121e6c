"""Plug-ins: what other distributions add to the product through entry points.

The groups are `sdmbtl.environments`, `sdmbtl.selectors`, `sdmbtl.trainers`, `sdmbtl.detectors` and
`sdmbtl.commands`. Nothing is imported before it is asked for. A plug-in that cannot be imported is
reported in one line and does not stop the others.
"""

from __future__ import annotations

import warnings
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any


@cache
def installed(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, without importing them.

    Of several with one name the first is taken.
    """
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=f"sdmbtl.{group}"):
        found.setdefault(point.name, point)
    return found


@cache
def load(group: str, name: str) -> Any:
    """Import one plug-in.

    Returns:
        The object that its entry point names, or None if it cannot be imported; a warning of one
        line names the plug-in and its distribution then.
    """
    point = installed(group)[name]
    try:
        return point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - anything may be wrong with it
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        warnings.warn(
            f"The plug-in {name!r} of {_package(point)} cannot be loaded: {reason}", stacklevel=2
        )
        return None


def _package(point: EntryPoint) -> str:
    return "an unknown package" if point.dist is None else repr(point.dist.name)
