"""Exports that die at every step, each in a child of this process; run by the tests.

python killed_exports.py DIRECTORY makes DIRECTORY/1/mine, DIRECTORY/2/mine, ... with a portfolio
each, kills the process that replaces it at that step, and prints how the children ended.
"""

import os
import shutil
import sys
from pathlib import Path

from portfolio_makers import some_portfolio

from sdmbtl.portfolio import storage


def die_at(step):
    """Have this process die, without any cleaning up, at the step-th of these calls."""
    left = [step]

    def counted(original):
        def call(*args, **kwargs):
            left[0] -= 1
            if left[0] == 0:
                os._exit(9)
            return original(*args, **kwargs)

        return call

    storage.save_arrays = counted(storage.save_arrays)
    storage.sync_directory = counted(storage.sync_directory)
    Path.rename = counted(Path.rename)
    shutil.rmtree = counted(shutil.rmtree)


def ended(directory, step):
    """How a child ended that replaces a portfolio and dies at that step."""
    some_portfolio(0).export(directory)
    child = os.fork()
    if child == 0:
        die_at(step)
        some_portfolio(1).export(directory)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    parent = Path(sys.argv[1])
    codes = []
    while 0 not in codes:
        step = len(codes) + 1
        codes.append(ended(parent / str(step) / "mine", step))
    print(*codes)
