"""`sdmbtl portfolio`: the trained policies, which to use where, and a copy to take along."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sdmbtl.cli import arguments
from sdmbtl.cli.options import ContextOption, JsonOption, TrustOption
from sdmbtl.cli.output import print_json, print_lines, result_console, warnings_as_notes
from sdmbtl.errors import PortfolioError
from sdmbtl.wording import figure

if TYPE_CHECKING:
    from sdmbtl.portfolio import Choice, Portfolio


def portfolio(
    path: Annotated[Path, typer.Argument(metavar="DIR", help="A study, or an exported portfolio.")],
    context: ContextOption = None,
    smallest: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Keep the fewest policies that lose at most this much coverage.",
            min=0.0,
        ),
    ] = None,
    export: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Write the portfolio to this directory.")
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--figure", metavar="FILE.png", help="Draw which policy serves which context."
        ),
    ] = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show which policy serves what, and export them.

    With --context it says which policy to use there. Policies that were
    trained elsewhere can be chosen too; to act you need their own files.
    """
    with warnings_as_notes():
        found = open_portfolio(path, trust=trust)
    if smallest is not None:
        found = found.smallest(smallest)
    choice = (
        found.choose(arguments.as_shown(arguments.context(context), found.space))
        if context
        else None
    )
    if export is not None:
        found.export(export)
    if picture is not None:
        from sdmbtl.plots import portfolio_figure, save_figure

        save_figure(portfolio_figure(found), picture, reduced=False)
    if as_json:
        print_json(_data(found, choice, export))
        return
    lines = (found.describe() if choice is None else _chosen(found, choice)).splitlines()
    if export is not None:
        lines.append(f"Exported to {export}; in Python: Portfolio.load({str(export)!r})")
    print_lines(result_console(), *lines, hanging=2)


def open_portfolio(path: Path, *, trust: bool) -> Portfolio:
    """The policies of a study, or of an exported portfolio.

    Raises:
        PortfolioError: If the directory has neither.
    """
    from sdmbtl.portfolio import Portfolio
    from sdmbtl.studies import Study
    from sdmbtl.studies.directory import has_database

    if has_database(path):
        return Study.open(path, trust=trust).portfolio()
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
        f"policy {choice.policy}, trained on {portfolio.trained_on(choice.policy)}\n"
        f"expected return {choice.expected_return:.4g} (95 % interval {low:.4g} to {high:.4g}; "
        f"uncertainty {figure(round(choice.uncertainty, 6))}){of_range}\n"
        f"{choice.reason}"
    )


def _data(portfolio: Portfolio, choice: Choice | None, export: Path | None) -> dict[str, Any]:
    return {
        "policies": len(portfolio),
        "targets": len(portfolio.space),
        "expected_return": portfolio.mean_return,
        "coverage": portfolio.share(portfolio.mean_return),
        "return_range": portfolio.return_range,
        "by_policy": portfolio.table(),
        "choice": None if choice is None else asdict(choice),
        "exported": None if export is None else str(export),
    }
