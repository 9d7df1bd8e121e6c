"""How a study is made once more: the command, and the file with its context space."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from shlex import quote
from typing import Any

from sdmbtl.studies.configuration import Configuration
from sdmbtl.studies.selection import AUTO, REGIONS

#: Name of the file with the context space.
SPACE_FILE = "space.toml"
#: Options of the selector that are options of the command, or follow from the trainer.
_OWN_OPTIONS = ("width", "init", "specialist_steps")
_DERIVED = ("steps", "reported_parents")


@dataclass(frozen=True)
class Reproduction:
    """What makes the same study again.

    Attributes:
        command: The command line; None if only Python can do it.
        space_file: Content of the TOML file that the command reads; None without a command.
        why_not: Why there is no command, in words; None if there is one.
        configuration: The whole configuration as JSON, which says everything in any case.
    """

    command: str | None
    space_file: str | None
    why_not: str | None
    configuration: str


def reproduction(configuration: Configuration, rules: Mapping[str, Any], path: str) -> Reproduction:
    """How to make a study again.

    Args:
        configuration: Its configuration.
        rules: When it was asked to stop, as keywords of `Study.run`.
        path: Its directory.
    """
    recorded = json.dumps(asdict(configuration), indent=1)
    why_not = _obstacle(configuration)
    if why_not is not None:
        return Reproduction(None, None, why_not, recorded)
    words = list(_words(configuration, rules, path))
    return Reproduction(" ".join(words), _space_file(configuration), None, recorded)


def _obstacle(configuration: Configuration) -> str | None:
    if "targets" in configuration.space:
        return "The targets are a list, which only Study.open in Python takes."
    if not (configuration.family or {}).get("importable", True):
        return "The environments are made by a function that only Python knows."
    usual = {field.name: field.default for field in fields(Configuration)}
    changed = ["region_contexts"]
    if configuration.family is None:
        changed += ["episodes", "batch", "retries"]
    for name in changed:
        if getattr(configuration, name) != usual[name]:
            return f"Its {name}={getattr(configuration, name)!r} is set in Python."
    return None


def _words(configuration: Configuration, rules: Mapping[str, Any], path: str) -> Iterator[str]:
    family, trainer = configuration.family, configuration.trainer
    if family is None or trainer is None:
        yield from ("sdmbtl", "ask", quote(path))
    else:
        yield from ("sdmbtl", "run", quote(family["name"]))
    yield from ("--space", SPACE_FILE)
    yield from _selector_words(configuration.selector, trains=trainer is not None)
    yield from ("--seed", str(configuration.seed))
    if family is None or trainer is None:
        return
    yield from _settings("--option", family["options"])
    yield from ("--trainer", quote(trainer["name"]))
    yield from _settings("--set", trainer["settings"])
    for name in ("episodes", "batch", "retries"):
        yield from (f"--{name}", str(getattr(configuration, name)))
    for name, value in rules.items():
        if value is not None:
            yield from (f"--{name.replace('_', '-')}", f"{value}")
    yield from ("--out", quote(path))


def _selector_words(selector: Mapping[str, Any], *, trains: bool) -> Iterator[str]:
    yield from ("--selector", quote(selector["name"]))
    options = dict(selector["options"])
    if selector["name"] == REGIONS:
        for name in _OWN_OPTIONS:
            if options.pop(name, None) is not None:
                value = selector["options"][name]
                yield from (f"--{name.replace('_', '-')}", f"{value}")
        if trains:
            options = {name: value for name, value in options.items() if name not in _DERIVED}
    elif selector["name"] == AUTO:
        # Without these it would be the selector of regions, where policies can start from others.
        yield from ("--width", "0", "--init", "scratch")
    yield from _settings("--selector-option", options)


def _settings(option: str, given: Mapping[str, Any]) -> Iterator[str]:
    for name, value in given.items():
        yield from (option, quote(f"{name}={json.dumps(value)}"))


def _space_file(configuration: Configuration) -> str:
    lines = []
    for dimension in configuration.space["dimensions"]:
        lines.append(f"[dimensions.{json.dumps(dimension['name'])}]")
        lines += [f"{key} = {json.dumps(v)}" for key, v in dimension.items() if key != "name"]
        lines.append("")
    # Environments know theirs, or have it as an option of their own.
    if configuration.family is None and configuration.return_range is not None:
        low, high = map(json.dumps, configuration.return_range)
        lines += ["[returns]", f"min = {low}", f"max = {high}", ""]
    return "\n".join(lines)
