"""Errors that environments raise, with the context and the line of code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np

from sdmbtl.checks import short_text
from sdmbtl.errors import TrainerError, TrainingError, describe_failure

#: Everything an environment may raise: `sys.exit()` in it is a failure like any other.
ENVIRONMENT_FAILURES = (Exception, SystemExit)


def environment_error(
    context: Mapping[str, float], error: BaseException, env: gymnasium.Env[Any, Any] | None = None
) -> TrainingError:
    """Make an error that names the context and the line of an environment's failure.

    If the error is in the environment's values, the line is that of its `step`.
    """
    code = None if env is None else getattr(type(env.unwrapped).step, "__code__", None)
    line = None if code is None else f"{code.co_filename}:{code.co_firstlineno}"
    what = describe_failure(error, line)
    return TrainingError(f"The environment failed in the context {dict(context)}: {what}")


@contextmanager
def name_context_in_errors(
    context: Mapping[str, float], env: gymnasium.Env[Any, Any] | None = None
) -> Iterator[None]:
    """Turn what an environment raises into an error that names its context."""
    try:
        yield
    except (TrainerError, TrainingError):
        raise
    except ENVIRONMENT_FAILURES as error:
        raise environment_error(context, error, env) from error


def check_step(env: gymnasium.Env[Any, Any], result: tuple[Any, ...]) -> None:
    """Refuse what is not the result of a Gymnasium step, with a `ValueError`."""
    observation, reward, _, _, _ = result
    shape = env.observation_space.shape
    if shape is not None and np.shape(observation) != shape:
        raise ValueError(
            f"An observation must have the shape {shape} of its space. "
            f"Got {np.shape(observation)} instead"
        )
    if np.ndim(reward) != 0 or not np.isfinite(reward):
        raise ValueError(f"The reward must be a finite number. Got {short_text(reward)} instead")
    if shape is not None and not np.isfinite(observation).all():
        raise ValueError(f"Observations must be finite. Got {short_text(observation)} instead")
