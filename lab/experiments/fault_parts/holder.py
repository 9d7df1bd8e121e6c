"""A process that holds a lock until it is killed: `python -m fault_parts.holder PATH WHICH`."""

from __future__ import annotations

import sqlite3
import sys
import time
from pathlib import Path

from sdmbtl.studies import Study


def main() -> None:
    """Hold one of the locks, say so, and wait for the end."""
    path, which = Path(sys.argv[1]), sys.argv[2]
    study = Study.open(path, trust=True)
    with study.database.running() if which == "run.lock" else study.database.locked():
        if which == "transaction":
            database = sqlite3.connect(path / "study.db")
            database.execute("PRAGMA cache_size = 1")  # so that pages are written before the end
            database.execute("BEGIN IMMEDIATE")
            database.execute("UPDATE records SET text = text || hex(randomblob(20000))")
        print("held", flush=True)
        time.sleep(3600)


if __name__ == "__main__":
    main()
