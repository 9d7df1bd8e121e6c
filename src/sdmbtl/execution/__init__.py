"""Executors: training and evaluation in this process, in others, on Ray or SLURM."""

from sdmbtl.execution.base import Executor, SerialExecutor, make_executor, report
from sdmbtl.execution.process_executor import ProcessExecutor

__all__ = [
    "Executor",
    "ProcessExecutor",
    "SerialExecutor",
    "make_executor",
    "report",
]
