"""`sdmbtl lab describe`: the structure of transfer matrices in numbers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from sdmbtl.cli.options import JsonOption
from sdmbtl.cli.output import note, plain_table, print_json, say
from sdmbtl.console import PlainConsole
from sdmbtl.wording import counted, figure, whole_percent

if TYPE_CHECKING:
    from sdmbtl_lab.matrices import TransferDataset
    from sdmbtl_lab.matrices.anatomy import Anatomy, DimensionSize

#: Numbers of policies for which performance is printed.
_SHOWN_ROUNDS = (1, 3, 6, 12)


def describe(
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DATA",
            help="Names of shipped data sets, or paths of others; all shipped ones if left out.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
    figures: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Directory for a figure matrix-NAME.png per data set."),
    ] = None,
) -> None:
    """Describe transfer matrices: origin of the variance, structure, margins.

    Returns are scaled: 0 is the lowest and 1 the highest of the data set.
    """
    from sdmbtl_lab.matrices import load_matrix, matrix_names
    from sdmbtl_lab.matrices.anatomy import anatomy

    if figures is not None:
        import sdmbtl.plots  # noqa: F401 - to fail before the work, not after it
    described = []
    for number, name in enumerate(data or matrix_names()):
        dataset = load_matrix(name)
        found = anatomy(dataset)
        described.append(found.to_dict())
        if not as_json:
            if number:
                say()
            _print(found)
        if figures is not None:
            _draw(dataset, found, figures)
    if as_json:
        print_json(described)


def _draw(dataset: TransferDataset, found: Anatomy, directory: Path) -> None:
    from sdmbtl_lab.figures import matrix_figure
    from sdmbtl_lab.figures.panels import save_matrix_figure

    directory.mkdir(parents=True, exist_ok=True)
    # The name comes from the card of the data set, which may be somebody else's.
    name = re.sub(r"[^\w.-]", "-", found.name)
    path = directory / f"matrix-{name}.png"
    save_matrix_figure(matrix_figure(dataset, found), path)
    note(f"Drawn: {path}")


def _print(found: Anatomy) -> None:
    size = found.size
    parts = [counted(size.contexts, "context"), counted(size.seeds, "seed")]
    if size.episodes is not None:
        parts.append(f"{counted(size.episodes, 'episode')} per pair")
    say(f"{found.name}: {', '.join(parts)}", bold=True)
    width = max(len(d.name) for d in size.dimensions)
    for dimension in size.dimensions:
        say(f"  {dimension.name:<{width}}  {_range(dimension)}")
    say(f"Returns from {size.lowest:.4g} (shown as 0) to {size.highest:.4g} (shown as 1).")
    say(f"Structure detected in all rows: {found.detection.structure}.")
    _print_variance(found)
    _print_dimensions(found)
    _print_few_policies(found)


def _range(dimension: DimensionSize) -> str:
    values = "" if dimension.levels is None else f"{counted(dimension.levels, 'value')}, "
    scale = " (log)" if dimension.scale == "log" else ""
    return f"{values}{dimension.low:.4g} to {dimension.high:.4g}{scale}"


def _print_variance(found: Anatomy) -> None:
    say("\nOrigin of the variance of returns")
    shares, variance = found.shares, found.run_variance
    table = plain_table()
    table.show_header = False
    table.add_column()
    table.add_column(justify="right")
    table.add_row("  f  policy quality", whole_percent(shares.quality))
    table.add_row("  g  task difficulty", whole_percent(shares.difficulty))
    table.add_row("  h  dissimilarity", whole_percent(shares.dissimilarity))
    PlainConsole().print(table)
    if variance.row is not None and variance.common is not None and variance.rest is not None:
        common, row, rest = map(whole_percent, (variance.common, variance.row, variance.rest))
        say(f"Seeds: {common} common to all, {row} noise between training runs, {rest} other.")


def _print_dimensions(found: Anatomy) -> None:
    say("\nBy dimension: shape of f and g, and change of the return across the whole")
    say("range for sources below and above their target")
    table = plain_table()
    table.add_column("  dimension")
    for header in ("f", "g", "below", "above"):
        table.add_column(header, justify="right")
    gap = found.gap
    effects = zip(found.quality.main_effects, found.difficulty.main_effects, strict=True)
    for d, (quality, difficulty) in enumerate(effects):
        table.add_row(
            Text(f"  {quality.name}"),
            *(f"{effect.shape} {effect.swing:.3f}" for effect in (quality, difficulty)),
            *(f"{side[d]:+.3f}" for side in (gap.left, gap.right)),
        )
    linear = (found.quality.linear_r2, found.difficulty.linear_r2)
    table.add_row("  R² if linear", *(figure(r2, ".2f") for r2 in linear))
    PlainConsole().print(table)
    say(f"R² of a weighted distance for h: {figure(gap.mountain_r2, '.2f')}")


def _print_few_policies(found: Anatomy) -> None:
    few = found.few_policies
    rounds = [k for k in _SHOWN_ROUNDS if k <= len(few.oracle)]
    say("\nMean over the targets of the best return, by number of policies")
    table = plain_table()
    table.add_column("  policies")
    for header in (*map(str, rounds), f"all {found.size.contexts}"):
        table.add_column(header, justify="right")
    for name, curve in (("  oracle", few.oracle), ("  random", few.random)):
        values = [*(curve[k - 1] for k in rounds), few.everything]
        table.add_row(name, *(f"{value:.3f}" for value in values))
    PlainConsole().print(table)
    say(f"The own policy of a context reaches {few.own:.3f} there.")
