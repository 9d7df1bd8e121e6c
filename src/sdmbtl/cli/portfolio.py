"""`sdmbtl portfolio`: the trained policies, the policy for a context, and export."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sdmbtl.cli.options import ContextOption, JsonOption, PortfolioArgument, TrustOption
from sdmbtl.cli.output import print_json, print_lines, warnings_as_notes
from sdmbtl.cli.parsing import complete_context
from sdmbtl.errors import PortfolioError

if TYPE_CHECKING:
    from sdmbtl.portfolio import Portfolio


def portfolio(
    path: PortfolioArgument,
    context: ContextOption = None,
    export: Path | None = typer.Option(
        None, metavar="OUT", help="Directory for a copy of the policies."
    ),
    picture: Path | None = typer.Option(
        None, "--figure", metavar="FILE", help="Map of the policies: .png, .svg or .pdf."
    ),
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show which policy serves which contexts, and export the policies.

    With --context, the policy for that context; dimensions that it leaves out
    have their usual values. Policies that were trained elsewhere can be chosen
    too, but their files are not here.
    """
    with warnings_as_notes():
        found, trust = open_portfolio(path, trust=trust)
    choice = None
    if context:
        choice = found.choose(complete_context(context, found, trust=trust))
    if export is not None:
        found.export(export)
    if picture is not None:
        from sdmbtl.plots import portfolio_figure, save_axes

        save_axes(portfolio_figure(found).axes[0], picture)
    if as_json:
        print_json(
            {
                "policies": len(found),
                "targets": len(found.space),
                "expected_return": found.mean_return,
                "expected_coverage": found.share(found.mean_return),
                "return_range": found.return_range,
                "by_policy": found.table(),
                "choice": None if choice is None else asdict(choice),
                "exported": None if export is None else str(export),
            }
        )
        return
    lines = found.describe().splitlines()
    if choice is not None:
        interval = ""
        if found.return_range is not None:  # without one it has no bounds, and means little
            low, high = choice.interval
            interval = f" (95 % interval {low:.4g} to {high:.4g})"
        lines = [
            f"policy {choice.policy}, trained on {found.trained_on(choice.policy)}",
            f"expected return {choice.expected_return:.4g}{interval}",
            choice.reason,
        ]
    if picture is not None:
        lines.append(f"Wrote {picture}.")
    if export is not None:
        lines.append(f"Exported to {export}; in Python: Portfolio.load({str(export)!r})")
    print_lines(*lines, hanging=2)


def open_portfolio(path: Path, *, trust: bool) -> tuple[Portfolio, bool]:
    """Return the policies of a study or of an exported portfolio, and if their code is trusted."""
    from sdmbtl.portfolio import Portfolio
    from sdmbtl.studies import Study
    from sdmbtl.studies.store import has_database

    if has_database(path):
        study = Study.open(path, trust=trust)
        return study.portfolio(), study.trust.holds
    try:
        return Portfolio.load(path), trust
    except FileNotFoundError:
        raise PortfolioError(
            f"There is neither a study nor an exported portfolio in {str(path)!r}. Make a study: "
            f"sdmbtl run CartPole --out {path}"
        ) from None
