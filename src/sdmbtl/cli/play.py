"""`sdmbtl play`: films of policies at work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sdmbtl.cli.options import ContextOption, JsonOption, TrustOption
from sdmbtl.cli.output import (
    ArgumentError,
    check_output,
    print_json,
    say,
    warnings_as_notes,
    write_output,
)
from sdmbtl.cli.parsing import match_shown_target, parse_context
from sdmbtl.cli.portfolio import PortfolioArgument, open_portfolio
from sdmbtl.wording import counted, shown_context

if TYPE_CHECKING:
    from sdmbtl.plots.animation import Shot
    from sdmbtl.portfolio import Portfolio

#: Pictures per second of an environment that does not name its own rate.
DEFAULT_FPS = 20.0


def play(
    path: PortfolioArgument,
    context: ContextOption = None,
    policy: Annotated[
        list[int] | None,
        typer.Option(
            metavar="N",
            help="Number of a policy; several are shown side by side.",
            show_default="the generalist and the chosen policy",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Film: a .gif file.")
    ] = Path("play.gif"),
    window: Annotated[
        bool, typer.Option("--window", help="Window instead of a file, one after another.")
    ] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the episode.", min=0)] = 0,
    every: Annotated[int, typer.Option(metavar="N", help="Steps between pictures.", min=1)] = 2,
    steps: Annotated[int, typer.Option(metavar="N", help="Largest number of steps.", min=1)] = 1000,
    speed: Annotated[float, typer.Option(metavar="X", help="Playback speed.", min=0.01)] = 1.0,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Film policies in a context, the generalist and the chosen one side by side.

    Dimensions that --context leaves out are in the middle of the space.
    """
    from sdmbtl.plots.animation import film_episode, film_side_by_side, save_animation, show_episode

    if not window:
        check_output(out)
    with warnings_as_notes():
        found = open_portfolio(path, trust=trust)
    where = _find_context(found, context)
    chosen = policy or _choose_policies(found, where)
    family = found.make_family("--trust.", trust=trust)
    if not as_json:
        say(f"{family.name} with {shown_context(where)}, seed {seed}")
    actors = {number: found.actor(number, where) for number in chosen}
    titles = {n: f"policy {n}, trained on {found.trained_on(n)}" for n in chosen}
    returns: dict[int, float] = {}
    pictures = 0
    if window:
        returns = {n: show_episode(family, actor, where, seed) for n, actor in actors.items()}
    else:
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # pictures need no display
        films = {
            titles[n]: _thin_out(film_episode(family, actor, where, seed), every, steps, n, returns)
            for n, actor in actors.items()
        }
        fps = speed * _frames_per_second(family) / every
        counts: list[int] = []
        write_output(
            out, lambda file: counts.append(save_animation(film_side_by_side(films), file, fps))
        )
        pictures = counts[0]
    file = None if window else str(out)
    if as_json:
        played = [{"policy": number, "return": total} for number, total in returns.items()]
        about = {"context": where, "seed": seed, "played": played}
        print_json({**about, "file": file, "pictures": pictures})
        return
    for number, total in returns.items():
        say(f"{titles[number]}: return {total:.4g}")
    if file:
        say(f"{counted(pictures, 'picture')} in {file}")


def _find_context(portfolio: Portfolio, given: list[str] | None) -> dict[str, float]:
    """Return the context to play in.

    Raises:
        ArgumentError: If it is outside the space.
    """
    space = portfolio.space
    where = {**space.middle(), **parse_context(given or ())}
    where = space.context(space.vector(match_shown_target(where, space)))
    if where not in space:
        outside = next(
            f"{name}={where[name]:g} ({dimension.low:g} to {dimension.high:g})"
            for name, dimension in space.dimensions.items()
            if not dimension.low <= where[name] <= dimension.high
        )
        raise ArgumentError(f"The context is outside the space: {outside}. Give one inside.")
    return where


def _choose_policies(portfolio: Portfolio, context: dict[str, float]) -> list[int]:
    """Return the generalist, if there is one, and the policy for a context."""
    from sdmbtl.contexts.regions import is_whole

    whole = [m.id for m in portfolio if m.policy and is_whole(portfolio.space, m.source)]
    return list(dict.fromkeys([*whole[-1:], portfolio.choose(context).policy]))


def _thin_out(
    shots: Iterable[Shot], every: int, steps: int, policy: int, returns: dict[int, float]
) -> Iterator[Shot]:
    """Yield every n-th picture and the last one; note the return so far."""
    last = None
    for number, shot in enumerate(islice(shots, steps)):
        returns[policy] = shot.total
        last = shot if number % every else None
        if last is None:
            yield shot
    if last is not None:
        yield last


def _frames_per_second(family: Any) -> float:
    env = family.build(dict(family.defaults), None)
    try:
        return float(env.metadata.get("render_fps") or DEFAULT_FPS)
    finally:
        env.close()
