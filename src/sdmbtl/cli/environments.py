"""`sdmbtl environments`: what can be run by name."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

from sdmbtl.cli.options import JsonOption
from sdmbtl.cli.output import print_json, say

if TYPE_CHECKING:
    from sdmbtl.environments import EnvironmentFamily


_OTHERS = """\
any of Gymnasium's
  sdmbtl run gym:LunarLander-v3 --space FILE.toml --option enable_wind=true
  [dimensions.NAME] is an argument of the environment, or has the path of an
  attribute: path = "unwrapped.model.opt.gravity[2]"

your own
  sdmbtl run module:function --space FILE.toml"""


def environments(as_json: JsonOption = False) -> None:
    """List the environment families, their features, spaces and trainers."""
    from sdmbtl.environments import family_names, make_family

    found = [_described(make_family(name)) for name in family_names()]
    if as_json:
        print_json(found)
        return
    for family in found:
        _print_family(family)
    say(_OTHERS)


def _described(family: EnvironmentFamily) -> dict[str, Any]:
    from sdmbtl.training.registry import recommended_trainer

    spaces = {name: family.space(name) for name in family.ranges}
    return {
        "name": family.name,
        "features": dict(family.defaults),
        "return_range": family.return_range,
        "trainer": recommended_trainer(),
        "spaces": {
            name: {
                "targets": len(space),
                "dimensions": {
                    n: {"low": d.low, "high": d.high, "levels": len(d.knots), "scale": d.scale}
                    for n, d in space.dimensions.items()
                },
            }
            for name, space in spaces.items()
        },
    }


def _print_family(family: dict[str, Any]) -> None:
    features = ", ".join(f"{name}={value:g}" for name, value in family["features"].items())
    say(f"{family['name']}  (trainer {family['trainer']})")
    say(fill(f"features: {features}", 78, initial_indent="  ", subsequent_indent="    "))
    for name, space in family["spaces"].items():
        say(f"  space {name}: {space['targets']} targets")
        for dimension, d in space["dimensions"].items():
            values = f"{d['levels']} values, {d['low']:g} to {d['high']:g}"
            say(f"    {dimension}: {values}{' (log)' if d['scale'] == 'log' else ''}")
    say()
