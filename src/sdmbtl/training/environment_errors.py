"""Errors that environments raise, with the context and the line of code."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import sdmbtl
from sdmbtl.checks import short_text
from sdmbtl.errors import TrainerError, TrainingError, failing_line

#: Code in which an error of an environment shows, but not where it is made.
_LIBRARIES = tuple(str(Path(m.__file__ or "").parent) for m in (sdmbtl, gymnasium, np))

#: Everything an environment may raise: `sys.exit()` in it is a failure like any other.
ENVIRONMENT_FAILURES = (Exception, SystemExit)


def environment_error(
    context: Mapping[str, float], error: BaseException, env: object = None
) -> TrainingError:
    """Make an error that names the context and the line of an environment's failure.

    Args:
        context: The context in force.
        error: Error that the environment raised, or that its values led to.
        env: The environment, if there is one.
    """
    what = str(error) if isinstance(error, TrainingError) else f"{type(error).__name__}: {error}"
    line = _line_of(error, env)
    where = "" if line is None else f" ({line})"
    return TrainingError(f"The environment failed in the context {dict(context)}: {what}{where}")


@contextmanager
def name_context_in_errors(context: Mapping[str, float], env: object = None) -> Iterator[None]:
    """Turn what an environment raises into an error that names its context."""
    try:
        yield
    except (TrainerError, TrainingError):
        raise
    except ENVIRONMENT_FAILURES as error:
        raise environment_error(context, error, env) from error


def check_step(env: gymnasium.Env[Any, Any], result: object) -> None:
    """Refuse what is not the result of a Gymnasium step.

    Raises:
        ValueError: If it is not five values, the reward is not a number, or the observation
            has another shape than its space.
    """
    if not isinstance(result, tuple) or len(result) != 5:
        count = f"{len(result)} values" if isinstance(result, tuple) else short_text(result)
        raise ValueError(
            "step() must return (observation, reward, terminated, truncated, info). "
            f"Got {count} instead"
        )
    observation, reward = result[:2]
    if np.ndim(reward) != 0:
        raise ValueError(
            f"The reward must be a number. Got an array of shape {np.shape(reward)} instead"
        )
    shape = env.observation_space.shape
    if shape is not None and np.shape(observation) != shape:
        raise ValueError(
            f"An observation must have the shape {shape} of its space. "
            f"Got {np.shape(observation)} instead"
        )


def _line_of(error: BaseException, env: object) -> str | None:
    """Return "file:line" of the environment's code: where it raised, or where its step begins."""
    raised = failing_line(error)
    if raised is not None:
        return raised
    step = getattr(type(getattr(env, "unwrapped", env)), "step", None)
    try:
        file, (_, line) = inspect.getsourcefile(step), inspect.getsourcelines(step)  # type: ignore[arg-type]
    except (OSError, TypeError):
        return None
    return None if file is None or file.startswith(_LIBRARIES) else f"{file}:{line}"
