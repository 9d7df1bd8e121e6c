"""`sdmbtl play`: films of policies at work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sdmbtl.cli.options import ContextOption, JsonOption, PortfolioArgument, TrustOption
from sdmbtl.cli.output import ArgumentError, print_json, say, warnings_as_notes
from sdmbtl.cli.parsing import complete_context
from sdmbtl.cli.portfolio import open_portfolio
from sdmbtl.wording import counted, shown_context

if TYPE_CHECKING:
    from sdmbtl.plots.animation import Shot

#: Pictures per second of an environment that does not name its own rate.
DEFAULT_FPS = 20.0
#: Steps between pictures.
EVERY = 2


def play(
    path: PortfolioArgument,
    context: ContextOption = None,
    policy: list[int] | None = typer.Option(
        None,
        metavar="N",
        help="Number of a policy; may be repeated, for several side by side.",
        show_default="the generalist and the chosen policy",
    ),
    out: Path = typer.Option(
        Path("play.gif"), "--out", "-o", metavar="FILE", help="Film: a .gif file."
    ),
    seed: int = typer.Option(0, metavar="N", help="Seed of the episode.", min=0),
    steps: int = typer.Option(1000, metavar="N", help="Largest number of steps.", min=1),
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Film policies in a context, the generalist and the chosen one side by side.

    Dimensions that --context leaves out have their usual values.
    """
    from sdmbtl.contexts.regions import is_whole
    from sdmbtl.plots.animation import film_episode, film_side_by_side, save_animation

    with warnings_as_notes():
        found, trust = open_portfolio(path, trust=trust)
    given = complete_context(context or (), found, trust=trust)
    where = found.space.context(found.space.vector(given))
    if where not in found.space:
        shown = shown_context(where)
        raise ArgumentError(f"The context {shown} is outside the space. Give one inside.")
    if policy is None:
        whole = [m.id for m in found if m.policy and is_whole(found.space, m.source)]
        policy = list(dict.fromkeys([*whole[-1:], found.choose(where).policy]))
    family = found.make_family("--trust.", trust=trust)
    titles = {n: f"policy {n}, trained on {found.trained_on(n)}" for n in policy}
    returns: dict[int, float] = {}
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # pictures need no display
    films = {
        titles[n]: _thin_out(
            film_episode(family, found.actor(n, where), where, seed), steps, n, returns
        )
        for n in policy
    }
    with closing(family.build(dict(family.defaults), None)) as env:
        fps = float(env.metadata.get("render_fps") or DEFAULT_FPS) / EVERY
    caption = f"{family.name} with {shown_context(where)}, seed {seed}"
    pictures = save_animation(film_side_by_side(films, caption), out, fps)
    if as_json:
        played = [{"policy": number, "return": total} for number, total in returns.items()]
        about = {"context": where, "seed": seed, "played": played}
        print_json({**about, "file": str(out), "pictures": pictures})
        return
    say(caption)
    for number, total in returns.items():
        say(f"{titles[number]}: return {total:.4g}")
    say(f"{counted(pictures, 'picture')} in {out}")


def _thin_out(
    shots: Iterable[Shot], steps: int, policy: int, returns: dict[int, float]
) -> Iterator[Shot]:
    """Yield every second picture and the last one; note the return so far."""
    last = None
    for number, shot in enumerate(islice(shots, steps)):
        returns[policy] = shot.total
        last = shot if number % EVERY else None
        if last is None:
            yield shot
    if last is not None:
        yield last
