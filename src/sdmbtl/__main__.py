"""Entry point of the command line: `sdmbtl`, or `python -m sdmbtl`."""

from __future__ import annotations

import io
import os
import signal
import sys

#: Exit statuses of a program that a signal ended.
STOPPED = (128 + signal.SIGINT, 128 + signal.SIGTERM)


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
    for stream in (sys.stdout, sys.stderr):  # a terminal may not have all characters
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except SystemExit as end:
        if end.code in STOPPED:
            _leave(int(end.code))
        raise


def _leave(status: int) -> None:
    """End at once: JAX, interrupted while it compiles, crashes when Python is cleared away."""
    shared = sys.modules.get("multiprocessing.util")
    if shared is not None:  # Python would remark that semaphores of workers were left
        shared._run_finalizers(0)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
