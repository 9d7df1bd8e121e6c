"""Tasks on a Ray cluster: of this machine, or one that is there."""

from __future__ import annotations

import importlib.util
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ClassVar

from sdmbtl.checks import check_float
from sdmbtl.errors import ExecutorError, MissingPackageError, WorkerLostError
from sdmbtl.execution.base import Executor, Listener, do_call, name_of, rebuild_error
from sdmbtl.execution.machine import single_thread_variables, worker_environment
from sdmbtl.wording import duration


class RayExecutor(Executor):
    """Each task is a task of Ray, which is never retried by Ray: whoever submits it does that.

    Nothing durable is kept in the cluster. Tasks report nothing while they run.

    Args:
        workers: Number of tasks at once; a cluster that is started here has this many CPUs.
        time_limit: Seconds that a task may take, from when it was submitted to Ray.
        address: Of a cluster: "host:port", "ray://host:port", or "auto" for the one of this
            machine. Without it, a cluster is started here and ended with the executor.
        cpus: CPUs that a task takes.
        gpus: GPUs that a task takes.

    Raises:
        MissingPackageError: If Ray is not installed.
        ExecutorError: If there is no cluster at the address.
    """

    name: ClassVar[str] = "ray"

    def __init__(
        self,
        workers: int,
        *,
        time_limit: float | None = None,
        address: str | None = None,
        cpus: float = 1.0,
        gpus: float = 0.0,
    ) -> None:
        super().__init__(workers, time_limit=time_limit)
        if importlib.util.find_spec("ray") is None:
            raise MissingPackageError(
                "The executor 'ray' needs Ray, which is not installed. Install it with: "
                "pip install 'sdmbtl[ray]'",
                name="ray",
            )
        self.cpus = check_float("cpus", cpus, low=0.0, error=ExecutorError)
        self.gpus = check_float("gpus", gpus, low=0.0, error=ExecutorError)
        self.address = address
        self._is_shut_down = False
        self._running: dict[Any, Future[Any]] = {}
        self._lock = threading.Lock()
        self._connect()

    def submit(  # type: ignore[override]
        self, function: Callable[..., Any], /, *args: Any, on_report: Listener | None = None
    ) -> Future[Any]:
        """Have a task done in the cluster; nothing is reported."""
        del on_report
        if self._is_shut_down:
            raise RuntimeError("This executor was shut down: it takes no more tasks.")
        future: Future[Any] = Future()
        call = (name_of(function), args)
        future.set_running_or_notify_cancel()  # Ray has it: it cannot be taken back
        reference = self._remote.remote(call)
        with self._lock:
            self._running[reference] = future
        threading.Thread(target=self._await, args=(reference, future), daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks; end the cluster if it is ours."""
        import ray

        self._is_shut_down = True
        with self._lock:
            running = dict(self._running)
        for reference, future in running.items():
            if wait and not cancel_futures:
                future.exception()
            else:
                ray.cancel(reference, force=True)
        if self._is_ours:
            ray.shutdown()

    def _connect(self) -> None:
        import ray

        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            variables = single_thread_variables()
            where: dict[str, Any] = {"address": self.address}
            if self.address is None:
                # Modules of the user are on this machine: the workers find them as this process.
                variables["PYTHONPATH"] = worker_environment()["PYTHONPATH"]
                # Without an address Ray would look for a cluster that happens to be here.
                own = {"num_cpus": self.workers, "include_dashboard": False}
                where = {"address": "local", **own}
            try:
                with warnings.catch_warnings():
                    # JAX warns of forks; what Ray forks becomes another program at once.
                    warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
                    ray.init(
                        **where,
                        runtime_env={"env_vars": variables},
                        configure_logging=False,
                        log_to_driver=False,
                        namespace="sdmbtl",
                    )
            except Exception as error:  # noqa: BLE001 (Ray raises it when a node does not start)
                raise ExecutorError(
                    f"There is no Ray cluster to use at {self.address or 'this machine'!r}: "
                    f"{error}. Start one (ray start --head), or leave the address out."
                ) from None
        self._remote = ray.remote(
            num_cpus=self.cpus, num_gpus=self.gpus, max_retries=0, max_calls=0
        )(do_call)

    def _await(self, reference: Any, future: Future[Any]) -> None:
        """Wait for a task; its future gets the result, or what became of its worker."""
        import ray

        try:
            kind, content = ray.get(reference, timeout=self.time_limit)
        except BaseException as error:  # noqa: BLE001 (the future has it)
            lost = self._explain(error, reference)
            future.set_exception(lost)
        else:
            if kind == "error":
                future.set_exception(rebuild_error(content))
            else:
                future.set_result(content)
        with self._lock:
            del self._running[reference]

    def _explain(self, error: BaseException, reference: Any) -> BaseException:
        """Turn an error of Ray into one of ours."""
        import ray
        from ray import exceptions

        text = " ".join(str(error).split())[:300]
        if isinstance(error, exceptions.GetTimeoutError):
            ray.cancel(reference, force=True)
            limit = duration(self.time_limit or 0.0)
            return WorkerLostError(
                f"The run did not end within {limit} and was stopped: it hangs, or needs a higher "
                "limit (run_limit, --executor-option time_limit=SECONDS).",
                "time",
            )
        if isinstance(error, exceptions.OutOfMemoryError):
            return WorkerLostError(f"Ray killed the worker for lack of memory: {text}", "memory")
        if isinstance(error, exceptions.LocalRayletDiedError):
            # No task can be given out any more: that is not a fault of those that were.
            return ExecutorError(
                f"The Ray node that this process is connected to was lost: {text} What is recorded "
                "is kept. When the cluster is back, do the same again."
            )
        if isinstance(error, exceptions.NodeDiedError):
            return WorkerLostError(f"The node of the worker was lost: {text}", "node")
        return WorkerLostError(f"The worker died ({type(error).__name__}): {text}", "crashed")
