"""Extend a study and die without warning before the given number of writes.

`killed_extension.py PATH NUMBER`
"""

import os
import signal
import sys

from sdmbtl.environments import make_family
from sdmbtl.studies import Study
from sdmbtl.studies.store import StudyStore


def main(path, number):
    study, write = Study.open(path), StudyStore._write
    left = number

    def counted(self, statement, *values):
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        write(self, statement, *values)

    StudyStore._write = counted
    study.extend(make_family("CartPole").space("wide", levels=3), objective="worst")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
