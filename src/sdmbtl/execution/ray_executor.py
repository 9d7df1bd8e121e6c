"""Tasks on a Ray cluster: of this machine, or one that is there."""

from __future__ import annotations

import importlib.util
import math
import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from sdmbtl.checks import check_float
from sdmbtl.errors import ExecutorError, MissingPackageError, WorkerLostError
from sdmbtl.execution.base import Answer, Call, Listener, do_call
from sdmbtl.execution.pool import Worker, WorkerPool, out_of_time
from sdmbtl.machine import single_thread_variables, worker_environment


class RayExecutor(WorkerPool):
    """Each worker is an actor of Ray, which keeps what it imported and compiled.

    Nothing durable is kept in the cluster. Tasks report nothing while they run. Ray never repeats
    a task: whoever submits it does that. Workers end with this process, however it ends.

    Args:
        workers: Number of tasks at once; a cluster that is started here has the CPUs for them. If
            a cluster has room for fewer, those do all tasks.
        time_limit: Seconds that a task may take.
        address: Of a cluster: "host:port", "ray://host:port", or "auto" for the one of this
            machine. Without it, a cluster is started here and ended with the executor.
        num_cpus: CPUs of a worker.
        num_gpus: GPUs of a worker.
        runtime_env: Runtime environment of Ray, such as {"working_dir": "."} or {"pip": [...]}.

    Raises:
        MissingPackageError: If Ray is not installed.
        ExecutorError: If there is no cluster at the address.
    """

    name: ClassVar[str] = "ray"
    starts_ahead: ClassVar[bool] = True

    def __init__(
        self,
        workers: int,
        *,
        time_limit: float | None = None,
        address: str | None = None,
        num_cpus: float = 1.0,
        num_gpus: float = 0.0,
        runtime_env: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(workers, time_limit=time_limit)
        if importlib.util.find_spec("ray") is None:
            raise MissingPackageError.of("The executor 'ray'", "ray", "ray")
        self.num_cpus = check_float("num_cpus", num_cpus, low=0.0, error=ExecutorError)
        self.num_gpus = check_float("num_gpus", num_gpus, low=0.0, error=ExecutorError)
        if not isinstance(runtime_env, Mapping | None):
            raise ExecutorError(
                f'\'runtime_env\' must be a table, such as {{"working_dir": "."}}. Got '
                f"{runtime_env!r} instead."
            )
        self.address = address
        self._connect(dict(runtime_env or {}))
        # Workers start and import while the caller makes the first task.
        self._start_keepers()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks; end the cluster if it is ours."""
        import ray

        super().shutdown(wait, cancel_futures=cancel_futures)
        if self._is_ours:
            ray.shutdown()

    def _connect(self, runtime_env: dict[str, Any]) -> None:
        import ray

        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            jax = {name: value for name, value in os.environ.items() if name.startswith("JAX_")}
            variables = {**jax, **single_thread_variables()}
            where: dict[str, Any] = {"address": self.address}
            if self.address is None:
                # Modules of the user are on this machine: the workers find them as this process.
                variables["PYTHONPATH"] = worker_environment()["PYTHONPATH"]
                # Without an address Ray would look for a cluster that happens to be here.
                cpus = math.ceil(self.workers * self.num_cpus)
                where = {"address": "local", "num_cpus": cpus, "include_dashboard": False}
                # Ray runs workers at niceness 15: next to any other program they hardly advance.
                where["_system_config"] = {"worker_niceness": 0}
            runtime_env["env_vars"] = {**variables, **runtime_env.get("env_vars", {})}
            try:
                with warnings.catch_warnings():
                    # JAX warns of forks; what Ray forks becomes another program at once.
                    warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
                    ray.init(
                        **where,
                        runtime_env=runtime_env,
                        configure_logging=False,
                        log_to_driver=False,
                        namespace="sdmbtl",
                    )
            except Exception as error:  # noqa: BLE001 (Ray raises it when a node does not start)
                raise ExecutorError(
                    f"There is no Ray cluster to use at {self.address or 'this machine'!r}: "
                    f"{error}. Start one (ray start --head), or leave the address out."
                ) from None
        self._actor = ray.remote(
            num_cpus=self.num_cpus, num_gpus=self.num_gpus, max_restarts=0, max_task_retries=0
        )(_Actor)

    def _make_worker(self) -> Worker:
        return _RayWorker(self._actor.remote(), self.time_limit)


class _Actor:
    """The process of a worker."""

    def start(self) -> None:
        """Answer, as a sign that the actor runs."""

    def do(self, call: Call) -> Answer:
        """Do a task."""
        return do_call(call)


class _RayWorker(Worker):
    """An actor in the cluster."""

    #: Seconds between two questions whether the worker is still wanted.
    look_every = 0.5

    def __init__(self, actor: Any, time_limit: float | None) -> None:
        self._actor, self._time_limit = actor, time_limit

    def start(self, is_wanted: Callable[[], bool]) -> None:
        """Wait until the cluster has room, and the process runs."""
        import ray

        reference = self._actor.start.remote()
        while not ray.wait([reference], timeout=self.look_every)[0]:
            if not is_wanted():
                raise WorkerLostError("The worker is not needed any more.")
        self._get(reference, None)

    def do(self, call: Call, on_report: Listener | None) -> Answer:
        """Run a task; see `Worker.do`. Nothing is reported."""
        del on_report
        answer: Answer = self._get(self._actor.do.remote(call), self._time_limit)
        return answer

    def kill(self) -> None:
        """End the process."""
        import ray

        ray.kill(self._actor)

    def _get(self, reference: Any, time_limit: float | None) -> Any:
        import ray

        try:
            return ray.get(reference, timeout=time_limit)
        except Exception as error:  # noqa: BLE001 (all errors of Ray)
            raise explain(error, time_limit) from None


def explain(error: Exception, time_limit: float | None = None) -> Exception:
    """Turn an error of Ray into one of ours."""
    from ray import exceptions

    text = " ".join(str(error).split())[:300]
    if isinstance(error, exceptions.GetTimeoutError):
        return out_of_time(time_limit or 0.0)
    if isinstance(error, exceptions.LocalRayletDiedError):
        # No task can be given out any more: that is not a fault of those that were.
        return ExecutorError(
            f"The Ray node that this process is connected to was lost: {text} What is recorded "
            "is kept. When the cluster is back, do the same again."
        )
    if isinstance(error, exceptions.RuntimeEnvSetupError):
        return ExecutorError(f"Ray could not set up 'runtime_env': {text}")
    return WorkerLostError(f"The worker was lost ({type(error).__name__}): {text}")
