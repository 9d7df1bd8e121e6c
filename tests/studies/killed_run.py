"""Run the small study and die without warning at a stage.

`killed_run.py PATH STAGE NUMBER [regions]`
"""

import os
import signal
import sys
from pathlib import Path

from small_study import POINTS, REGIONS, open_small


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def main(path, stage, number, kind=POINTS):
    left = number

    def watch(event):
        nonlocal left
        left -= event.stage == stage
        if left == 0:
            die()

    study = open_small(path, **kind)
    if stage == "saving":  # the policy file is written under its temporary name only
        rename = Path.replace
        Path.replace = lambda file, to: die() if to.parent.name == "policies" else rename(file, to)
    study.run(budget=4, callbacks=[watch])


if __name__ == "__main__":
    kind = REGIONS if sys.argv[4:] == ["regions"] else POINTS
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), kind)
