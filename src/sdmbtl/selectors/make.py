"""Selectors by name: the built-in ones, and plug-ins of other distributions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from sdmbtl.by_name import import_by_name
from sdmbtl.checks import known_name, known_options, short_text
from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import SelectorError
from sdmbtl.foreign import parse_json
from sdmbtl.plugins import installed, load
from sdmbtl.selectors.base import Selector
from sdmbtl.selectors.generalist_first_selector import GeneralistFirstSelector
from sdmbtl.selectors.gp_selector import GPSelector
from sdmbtl.selectors.mountain_selector import MountainSelector
from sdmbtl.selectors.predictive_selector import PredictiveSelector
from sdmbtl.selectors.random_selector import IndependentTraining, RandomSelector
from sdmbtl.selectors.structure_detection_selector import (
    MGPSelector,
    gp_or_random,
    mountain_or_random,
)

SelectorFactory = Callable[..., Selector]

#: The name that stands for the recommended selector.
AUTO = "auto"

_FACTORIES: dict[str, SelectorFactory] = {
    PredictiveSelector.name: PredictiveSelector,
    "random": RandomSelector,
    "m-mbtl": MountainSelector,
    "gp-mbtl": GPSelector,
    "gp-mbtl-original": GPSelector.original,
    "m/gp-mbtl": MGPSelector,
    "m/gp-mbtl-unbiased": MGPSelector.unbiased,
    "m+random": mountain_or_random,
    "gp+random": gp_or_random,
    "independent": IndependentTraining,
    GeneralistFirstSelector.name: GeneralistFirstSelector,
}


def resolve_auto(name: str, *, regions: bool = False) -> str:
    """Return the name of the selector that is used; any name but "auto" is its own.

    Args:
        name: Name of a selector, or "auto".
        regions: True if policies can be trained on regions and start from other policies.
    """
    if name != AUTO:
        return name
    return GeneralistFirstSelector.name if regions else PredictiveSelector.name


def selector_names() -> tuple[str, ...]:
    """Return every name that `make_selector` knows, installed plug-ins included."""
    return tuple(dict.fromkeys([AUTO, *_FACTORIES, *installed("selectors")]))


def split_options(name: str) -> tuple[str, dict[str, Any]]:
    """Split a name that carries options, "name?key=value&key=value"; values are JSON or texts.

    >>> split_options("random?sources=box")
    ('random', {'sources': 'box'})
    """
    name, _, query = str(name).partition("?")
    options = {}
    for part in filter(None, query.split("&")):
        key, equals, value = part.partition("=")
        if not equals:
            raise SelectorError(f"Options of a selector are KEY=VALUE. Got {part!r} instead.")
        try:
            options[key] = parse_json(value, "A value")
        except ValueError:
            options[key] = value
    return name, options


def make_selector(name: str, space: ContextSpace, *, seed: int = 0, **options: Any) -> Selector:
    """Make a selector by name.

    Args:
        name: One of `selector_names()`; "auto" is the recommended one; or "module:Class", a
            selector class. Options may follow: "name?key=value&key=value".
        space: The context space.
        seed: Root of every random choice; the same seed and tells give the same asks.
        **options: Settings of that selector.

    Raises:
        SelectorError: If the name or an option is unknown, or a plug-in cannot be loaded.

    Example:
        >>> space = ContextSpace(length=[0.5, 1.0, 1.5], mass=[1.0, 2.0, 3.0])
        >>> selector = make_selector("auto", space, seed=0)
        >>> trial = selector.ask()
        >>> trial.context
        {'length': 1.0, 'mass': 2.0}
        >>> finished = selector.tell(trial, [0.1, 0.3, 0.2, 0.5, 0.9, 0.6, 0.2, 0.4, 0.1])
        >>> round(selector.performance, 3)
        0.367
    """
    name, own_options = split_options(name)
    options = {**own_options, **options}
    names = selector_names()
    factory: SelectorFactory | None
    if ":" in name:
        factory = import_by_name(
            name, "selector", example="my_code:MySelector", error=SelectorError
        )
    else:
        known_name("selector", name, (*names, "module:Class"), error=SelectorError)
        name = resolve_auto(name)
        factory = _FACTORIES.get(name) or load("selectors", name)
    if factory is None:
        raise SelectorError(f"The plug-in of the selector {name!r} cannot be loaded. Repair it.")
    known = [p for p in inspect.signature(factory).parameters if p not in ("space", "seed")]
    known_options(name, options, known, error=SelectorError)
    selector = factory(space, seed=seed, **options)
    if not isinstance(selector, Selector):
        raise SelectorError(
            f"{name!r} must make a Selector. Got {short_text(selector)} instead. Subclass "
            "sdmbtl.selectors.Selector."
        )
    return selector
