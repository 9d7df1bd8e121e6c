"""Run the rough walk and die without warning while another process evaluates.

`killed_evaluation.py PATH TROUBLES` prints the number of that process. There is no `if __name__`:
whoever ran this script again in that process would begin another study.
"""

import multiprocessing
import os
import signal
import sys

from rough_walk import MANY_SLOPES, TROUBLES, open_rough

from sdmbtl.parallel import Workers


def watch(event):
    helpers = multiprocessing.active_children()
    if event.stage == "evaluating" and helpers:
        print(*[child.pid for child in helpers], flush=True)
        os.kill(os.getpid(), signal.SIGKILL)


os.environ[TROUBLES] = sys.argv[2]
Workers.start_seconds = 0.0
open_rough(sys.argv[1], MANY_SLOPES, episodes=10).run(budget=1, callbacks=[watch])
