"""The machine and the software around: cores, threads, versions, notebooks."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

#: Packages that choices depend on, and further ones that training depends on.
CORE = ("sdmbtl", "numpy", "scipy")
TRAINING = (
    *("gymnasium", "jax", "jaxlib", "optax", "stable-baselines3", "torch"),
    *("box2d", "mujoco", "libsumo"),
)
#: Reading a version takes longer than a record of a study.
_version = cache(version)
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


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")  # a kernel has imported it
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def versions(packages: Iterable[str] = CORE, *, python: bool = True) -> dict[str, str]:
    """Return the versions of those packages that are installed, and of Python."""
    found = {"python": platform.python_version()} if python else {}
    for name in packages:
        with suppress(PackageNotFoundError):
            found[name] = _version(name)
    return found
