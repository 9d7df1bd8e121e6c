"""Cores and threads of this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

#: Variables that keep linear algebra to one thread: the processes are the parallelism.
SINGLE_THREADED = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def environment_variables(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables, which children inherit, and restore them afterwards."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def single_thread_variables() -> dict[str, str]:
    """Return variables that keep a process, and JAX in it, to one thread."""
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    return {**SINGLE_THREADED, "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()}


def worker_environment() -> dict[str, str]:
    """Return variables of a worker: one thread, and modules from where this process finds them."""
    path = os.pathsep.join(dict.fromkeys([p or str(Path.cwd()) for p in sys.path]))
    return {**os.environ, **single_thread_variables(), "PYTHONPATH": path}
