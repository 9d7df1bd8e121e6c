"""Executors: training and evaluation in this process, in others, on Ray or SLURM."""

from sdmbtl.execution.base import EXECUTORS, Executor, SerialExecutor, make_executor, report
from sdmbtl.execution.process_executor import ProcessExecutor

__all__ = [
    "EXECUTORS",
    "Executor",
    "ProcessExecutor",
    "SerialExecutor",
    "make_executor",
    "report",
]
