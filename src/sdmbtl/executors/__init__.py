"""Executors: where training and evaluation are done. This process, others, or a Ray cluster."""

from sdmbtl.executors.base import Executor, TaskFuture
from sdmbtl.executors.process_executor import ProcessExecutor
from sdmbtl.executors.registry import executor_names, make_executor
from sdmbtl.executors.reporting import report
from sdmbtl.executors.serial_executor import SerialExecutor

__all__ = [
    "Executor",
    "ProcessExecutor",
    "SerialExecutor",
    "TaskFuture",
    "executor_names",
    "make_executor",
    "report",
]
