"""Errors of this package: each is an `SdmbtlError` and the matching builtin error."""

import traceback
from pathlib import Path
from typing import Self

from sdmbtl.wording import printable

_HERE = str(Path(__file__).parent)


#: Characters of a message of somebody's code that are kept: it may hold an array, or a file.
MOST_TEXT = 2_000


class SdmbtlError(Exception):
    """Base of every error this package raises on purpose."""

    def __str__(self) -> str:
        """The message; what files of somebody else put into it cannot steer a terminal."""
        return printable(super().__str__(), keep="\n")


class MissingPackageError(SdmbtlError, ModuleNotFoundError):
    """Something needs a package that is optional and not installed."""

    @classmethod
    def of(cls, owner: str, package: str, extra: str) -> Self:
        """Make the error of something that needs a package, which an extra of ours installs."""
        remedy = f"Install it with: pip install 'sdmbtl[{extra}]'"
        return cls(f"{owner} needs {package}, which is not installed. {remedy}", name=package)


class LimitError(SdmbtlError, MemoryError):
    """A file is too large to be read."""


class ContextError(SdmbtlError, ValueError):
    """A context, a dimension or a target list is not usable."""


class RowError(SdmbtlError, ValueError):
    """A row of returns does not fit its targets."""


class MatrixError(SdmbtlError, ValueError):
    """A transfer matrix, or a file that should hold one, is not usable."""


class StructureError(SdmbtlError, ValueError):
    """A structure cannot be detected in this way, or from so few rows."""


class ModelError(SdmbtlError, ValueError):
    """A model of rows was configured or used in a way it does not support."""


class SelectorError(SdmbtlError, ValueError):
    """A selector was configured or called in a way it does not support."""


class UnknownTrialError(SelectorError, LookupError):
    """`tell` was given a trial that this selector never proposed."""


class DuplicateTellError(SelectorError):
    """`tell` was called a second time for the same trial."""


class ExhaustedError(SelectorError, RuntimeError):
    """`ask` was called when every possible context had been proposed."""


class StateError(SdmbtlError, ValueError):
    """A saved state does not belong to this selector."""


class BenchmarkError(SdmbtlError, ValueError):
    """A benchmark was asked for something it cannot run or resume."""


class FamilyError(SdmbtlError, ValueError):
    """An environment family is unknown or used wrongly."""


class PolicyError(SdmbtlError, ValueError):
    """A policy, or a file that should hold one, is not usable."""


class TrainerError(SdmbtlError, ValueError):
    """A trainer was configured or called in a way it does not support."""


class TrainingError(SdmbtlError, RuntimeError):
    """A training run failed; another seed or context may succeed."""


class SimulationError(SdmbtlError, RuntimeError):
    """A simulator in another process crashed, does not answer, or refused its input."""


class PortfolioError(SdmbtlError, ValueError):
    """A portfolio, or a directory that should hold one, is not usable."""


class FigureError(SdmbtlError, ValueError):
    """A figure cannot be drawn, or not be written in this way."""


class StudyError(SdmbtlError, RuntimeError):
    """A study cannot be opened or continued; what it has recorded is kept."""


class BusyError(StudyError):
    """Another process is at work in a study; the same call succeeds when that has ended."""


class LostLeaseError(StudyError):
    """A result came too late: its trial was given to another worker."""


class ConfigurationError(StudyError, ValueError):
    """A study was opened with another configuration than it was made with."""


class DamagedStudyError(StudyError):
    """The files of a study are damaged."""


class ExecutorError(SdmbtlError, ValueError):
    """An executor is unknown, or was configured in a way it does not support."""


class WorkerLostError(SdmbtlError, RuntimeError):
    """A worker died or hung while it worked on a task."""


def failing_line(error: BaseException) -> str | None:
    """Return "file:line" of the innermost code outside of installed packages that raised."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if "site-packages" not in frame.filename and not frame.filename.startswith((_HERE, "<")):
            return f"{frame.filename}:{frame.lineno}"
    return None


def error_text(error: BaseException) -> str:
    """Return type and message of an error of somebody's code; long messages are cut."""
    try:
        message = str(error)
    except Exception as second:  # noqa: BLE001 - anything may be wrong with code of others
        message = f"(no message: {type(second).__name__})"
    if len(message) > MOST_TEXT:
        message = f"{message[: MOST_TEXT // 2]} ... {message[-MOST_TEXT // 2 :]}"
    return f"{type(error).__name__}: {message}"


def describe_failure(error: BaseException, line: str | None = None) -> str:
    """Describe an error of somebody's code: its type, its message, and the line that raised it."""
    line = failing_line(error) or line
    return error_text(error) + ("" if line is None else f" ({line})")
