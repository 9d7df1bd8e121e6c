"""Entry point of the command line: `sdmbtl`, or `python -m sdmbtl`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say how to install it."""
    try:
        from sdmbtl.cli import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(
            f"The command line needs {error.name!r}, which is not installed. "
            "Install it with: pip install 'sdmbtl[cli]'"
        )
    app()


if __name__ == "__main__":
    main()
