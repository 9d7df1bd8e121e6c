"""`sdmbtl play`: see policies act."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sdmbtl.cli import arguments
from sdmbtl.cli.options import ContextOption, JsonOption, TrustOption
from sdmbtl.cli.output import print_json, say, warnings_as_notes
from sdmbtl.cli.portfolio import open_portfolio
from sdmbtl.wording import counted, shown_context

if TYPE_CHECKING:
    from sdmbtl.plots.animation import Shot
    from sdmbtl.portfolio import Portfolio

#: Pictures a second, where an environment does not say.
USUAL_FPS = 20.0


def play(
    path: Annotated[Path, typer.Argument(metavar="DIR", help="A study, or an exported portfolio.")],
    context: ContextOption = None,
    policy: Annotated[
        list[int] | None,
        typer.Option(
            metavar="NUMBER",
            help="Which policies, side by side. Usually the generalist, if there is one, and the "
            "one that is chosen for the context.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="A .gif or .mp4 file.")
    ] = Path("play.gif"),
    window: Annotated[
        bool, typer.Option("--window", help="In a window instead of a file, one after another.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the episode.", min=0)] = 0,
    every: Annotated[
        int, typer.Option(metavar="STEPS", help="Steps between two pictures.", min=1)
    ] = 2,
    steps: Annotated[int, typer.Option(help="Steps that are shown at most.", min=1)] = 1000,
    speed: Annotated[float, typer.Option(help="How many times as fast as it is.", min=0.01)] = 1.0,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """See policies act in a context: the generalist and the one that is chosen, side by side.

    What --context leaves out is in the middle of the space.
    """
    from sdmbtl.plots.animation import film_episode, show_episode

    with warnings_as_notes():
        found = open_portfolio(path, trust=trust)
    where = found.space.middle()
    if context:
        given = {**where, **arguments.context(context)}
        where = found.space.context(found.space.vector(arguments.as_shown(given, found.space)))
    chosen = policy or _choose(found, where)
    family = found.make_family("--trust.", trust=trust)
    if not as_json:
        say(f"{family.name} with {shown_context(where)}, seed {seed}")
    actors = {n: found.actor(n, where) for n in chosen}
    titles = {n: _title(found, n) for n in chosen}
    if window:
        pictures = 0
        returns = {n: show_episode(family, actor, where, seed) for n, actor in actors.items()}
    else:
        films = {n: film_episode(family, actor, where, seed) for n, actor in actors.items()}
        pictures, returns = _save_films(films, titles, out, speed * _fps(family), every, steps)
    file = None if window else out
    if as_json:
        played = [{"policy": number, "return": total} for number, total in returns.items()]
        about = {"context": where, "seed": seed, "played": played}
        print_json({**about, "file": file and str(file), "pictures": pictures})
        return
    for number, total in returns.items():
        say(f"{titles[number]}: return {total:.4g}")
    if file:
        say(f"{counted(pictures, 'picture')} in {file}")


def _save_films(
    films: Mapping[int, Iterable[Shot]],
    titles: Mapping[int, str],
    out: Path,
    fps: float,
    every: int,
    steps: int,
) -> tuple[int, dict[int, float]]:
    """Write films side by side: the number of pictures, and the return of each policy."""
    from sdmbtl.plots.animation import film_side_by_side, save_animation

    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # pictures need no display, and no remarks
    returns: dict[int, float] = {}
    shown = {
        titles[number]: _select(film, every, steps, number, returns)
        for number, film in films.items()
    }
    return save_animation(film_side_by_side(shown), out, fps / every), returns


def _choose(portfolio: Portfolio, context: dict[str, float]) -> list[int]:
    """The generalist, if there is one, and the policy for a context."""
    from sdmbtl.contexts.regions import is_whole

    whole = [m.id for m in portfolio if m.policy and is_whole(portfolio.space, m.source)]
    return list(dict.fromkeys([*whole[-1:], portfolio.choose(context).policy]))


def _title(portfolio: Portfolio, number: int) -> str:
    return f"policy {number}, trained on {portfolio.trained_on(number)}"


def _select(
    shots: Iterable[Shot], every: int, steps: int, policy: int, returns: dict[int, float]
) -> Iterator[Shot]:
    """Every so many moments and the last; what the episode came to is noted."""
    last = None
    for number, shot in enumerate(islice(shots, steps)):
        returns[policy] = shot.total
        last = shot if number % every else None
        if last is None:
            yield shot
    if last is not None:
        yield last


def _fps(family: Any) -> float:
    env = family.build(dict(family.defaults), None)
    try:
        return float(env.metadata.get("render_fps") or USUAL_FPS)
    finally:
        env.close()
