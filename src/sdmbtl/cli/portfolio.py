"""`sdmbtl portfolio`: the trained policies, which to use where, and a copy to take along."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sdmbtl.cli import arguments
from sdmbtl.cli.output import JsonOption, figure, print_json, shown, warnings_as_notes
from sdmbtl.cli.study import opened_with_environment
from sdmbtl.errors import PortfolioError

if TYPE_CHECKING:
    from sdmbtl.portfolio import Choice, Portfolio


def portfolio(
    path: Annotated[Path, typer.Argument(metavar="DIR", help="A study, or an exported portfolio.")],
    context: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JSON|KEY=VALUE", help="Which policy for this context; may be repeated."
        ),
    ] = None,
    smallest: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Leave out what adds nothing; coverage may fall by this share of the range.",
            min=0.0,
        ),
    ] = None,
    export: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Write the portfolio to this directory.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show which policy covers what, which one to use in a context, or export them."""
    with warnings_as_notes():
        found = _opened(path)
    if smallest is not None:
        found = found.smallest(smallest)
    choice = found.choose(arguments.context(context)) if context else None
    if export is not None:
        found.export(export)
    if as_json:
        print_json(_data(found, choice, export))
        return
    typer.echo(found.describe() if choice is None else _chosen(found, choice))
    if export is not None:
        typer.echo(f"Exported to {export}; in Python: Portfolio.load({str(export)!r})")


def _opened(path: Path) -> Portfolio:
    from sdmbtl.portfolio import Portfolio

    if (path / "study.db").exists() or (path / "study.backup.db").exists():
        return opened_with_environment(path).portfolio()
    try:
        return Portfolio.load(path)
    except FileNotFoundError:
        raise PortfolioError(
            f"There is neither a study nor an exported portfolio in {str(path)!r}. Make a study: "
            f"sdmbtl run CartPole --out {path}"
        ) from None


def _chosen(portfolio: Portfolio, choice: Choice) -> str:
    low, high = choice.interval
    share = portfolio.share(choice.expected_return)
    of_range = "" if share is None else f", {share:.3f} of the range of returns"
    return (
        f"policy {choice.member}, trained on {shown(choice.source)}\n"
        f"expected return {choice.expected_return:.4g} (95 % interval {low:.4g} to {high:.4g}; "
        f"uncertainty {figure(round(choice.uncertainty, 6))}){of_range}\n"
        f"{choice.reason}"
    )


def _data(portfolio: Portfolio, choice: Choice | None, export: Path | None) -> dict[str, Any]:
    return {
        "policies": len(portfolio),
        "targets": len(portfolio.space),
        "expected_return": portfolio.coverage,
        "coverage": portfolio.share(portfolio.coverage),
        "return_range": portfolio.return_range,
        "members": portfolio.table(),
        "choice": None if choice is None else asdict(choice),
        "exported": None if export is None else str(export),
    }
