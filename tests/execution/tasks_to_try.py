"""Tasks for executors: functions at the top of a module, of data."""

import ctypes
import os
import signal
import subprocess
import sys
import time

import numpy as np

from sdmbtl.errors import TrainerError
from sdmbtl.execution import report

PROGRAM = "import time; time.sleep(600)"


def square(number):
    return number * number


def double(data):
    return {"array": 2 * data["array"], "bytes": data["bytes"] * 2}


def describe_process():
    heavy = [name for name in ("ray", "torch", "jax") if name in sys.modules]
    return {
        "pid": os.getpid(),
        "threads": os.environ["OMP_NUM_THREADS"],
        "flags": os.environ["XLA_FLAGS"],
        "heavy": heavy,
    }


def report_twice():
    report({"steps": 1})
    report({"steps": 2})
    time.sleep(0.5)
    return "done"


def fail(kind):
    errors = {"ours": TrainerError, "builtin": KeyError}
    if kind in errors:
        raise errors[kind]("no such thing")
    raise np.linalg.LinAlgError("singular")


def crash():
    ctypes.string_at(0)


def hang():
    time.sleep(600)


def start_and(how):
    """Start a program, as a simulator; then hang, or crash. Its number is reported before."""
    report({"started": subprocess.Popen([sys.executable, "-c", PROGRAM]).pid})
    if how == "crash":
        os.abort()
    time.sleep(600)


def exit_quietly(status):
    os._exit(status)


def end_by_signal(name):
    os.kill(os.getpid(), getattr(signal, name))
    time.sleep(600)


def niceness():
    return os.nice(0)
