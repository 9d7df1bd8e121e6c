"""How JAX is started for small networks."""

from __future__ import annotations

import jax

from sdmbtl.execution.machine import environment_variables


def start_backend() -> None:
    """Start JAX as small networks need it; without effect if it has been started before."""
    # Computations in the background outlive a Ctrl-C, and crash at the exit.
    jax.config.update("jax_cpu_enable_async_dispatch", False)  # type: ignore[no-untyped-call]
    # XLA's number of threads: a second one only costs time here.
    with environment_variables({"NPROC": "1"}):
        jax.devices()
