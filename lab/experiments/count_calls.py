"""Count the functions and files of the product that one small run calls.

`python lab/experiments/count_calls.py [--list]` trains one policy for CartPole in a temporary
directory and prints the distinct functions, files and SQLite connections, of all threads.
"""

import argparse
import inspect
import json
import sqlite3
import sys
import tempfile
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import sdmbtl
from sdmbtl.cli import app

HOUSE = str(Path(sdmbtl.__file__).parent)
#: Expressions with a code object of their own that nobody would call a function.
EXPRESSIONS = {"<lambda>", "<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>", "<module>"}


def main() -> None:
    """Run the command and count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="Print every function.")
    listed = parser.parse_args().list
    called: set[CodeType] = set()
    connections = []

    def trace(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            called.add(frame.f_code)
        elif event == "c_call" and argument is sqlite3.connect:
            connections.append(frame.f_code)

    with tempfile.TemporaryDirectory() as folder:
        threading.setprofile(trace)
        sys.setprofile(trace)
        try:
            app(["run", "CartPole", "--budget", "1", "--out", f"{folder}/study"])
        except SystemExit as end:
            if end.code:
                raise
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    ours = [c for c in called if c.co_filename.startswith(HOUSE) and c.co_name not in EXPRESSIONS]
    ours = [c for c in ours if c.co_flags & inspect.CO_NEWLOCALS]  # without bodies of classes
    places = sorted(
        (c.co_filename[len(HOUSE) + 1 :], c.co_firstlineno, c.co_qualname) for c in ours
    )
    if listed:
        for file, line, name in places:
            print(f"{file}:{line} {name}")
    files = {file for file, _, _ in places}
    counts = {"functions": len(places), "files": len(files), "connections": len(connections)}
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
