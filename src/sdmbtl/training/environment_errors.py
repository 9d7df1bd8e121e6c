"""Errors that environments raise, with the context in which they did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sdmbtl.errors import TrainerError, TrainingError


def environment_error(context: Mapping[str, float], error: Exception) -> TrainingError:
    """What an environment raised, as an error that names its context."""
    what = str(error) if isinstance(error, TrainingError) else f"{type(error).__name__}: {error}"
    return TrainingError(f"The environment failed in the context {dict(context)}: {what}")


@contextmanager
def name_context_in_errors(context: Mapping[str, float]) -> Iterator[None]:
    """Turn what an environment raises into an error that names its context."""
    try:
        yield
    except (TrainerError, TrainingError):
        raise
    except Exception as error:
        raise environment_error(context, error) from error
