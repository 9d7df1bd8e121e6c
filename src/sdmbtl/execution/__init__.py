"""Executors: where training and evaluation are done. This process, others, or a Ray cluster."""

from sdmbtl.execution.base import Executor, TaskFuture
from sdmbtl.execution.process_executor import ProcessExecutor
from sdmbtl.execution.registry import executor_names, make_executor
from sdmbtl.execution.reporting import report
from sdmbtl.execution.serial_executor import SerialExecutor

__all__ = [
    "Executor",
    "ProcessExecutor",
    "SerialExecutor",
    "TaskFuture",
    "executor_names",
    "make_executor",
    "report",
]
