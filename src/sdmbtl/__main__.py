"""Entry point of the command line: `sdmbtl`, or `python -m sdmbtl`."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time

#: Exit statuses of a program that a signal ended.
STOPPED = (128 + signal.SIGINT, 128 + signal.SIGTERM)

#: Seconds that threads of environments have to end once the command is done.
THREAD_SECONDS = 5.0


def main() -> None:
    """Run the command line, or explain how to install it."""
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
        if end.code in STOPPED or _threads_are_left():
            _leave(int(end.code or 0))
        raise


def _threads_are_left() -> bool:
    """Tell whether threads of an environment are at work, for whose end Python would wait."""
    until = time.monotonic() + THREAD_SECONDS
    others = [t for t in threading.enumerate() if t is not threading.main_thread() and not t.daemon]
    for thread in others:
        thread.join(max(until - time.monotonic(), 0.0))
    return any(thread.is_alive() for thread in others)


def _leave(status: int) -> None:
    """End at once, without Python's own clearing away.

    It would wait for threads, and JAX, interrupted while it compiles, crashes in it.
    """
    shared = sys.modules.get("multiprocessing.util")
    if shared is not None:  # Python would remark that semaphores of workers were left
        shared._run_finalizers(0)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
