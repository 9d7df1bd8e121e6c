"""What recorded settings of training would import, call or write to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sdmbtl.environments.registry import code_of_family


def code_of_training(
    environment: Mapping[str, Any] | None, settings: Mapping[str, Any]
) -> list[str]:
    """What making the environments and the trainer would import or call; nothing is imported.

    Args:
        environment: "name" and "options" of the environments, as recorded; None if there are none.
        settings: The settings of the trainer, as recorded.

    Returns:
        Each in words; nothing if all of it is of this package.
    """
    environments = [] if environment is None else code_of_family(environment)
    return [*environments, *_of_settings(settings)]


def _of_settings(settings: Mapping[str, Any]) -> Iterator[str]:
    policy, callbacks = settings.get("policy"), settings.get("callbacks")
    if ":" in str(policy):
        yield f"the policy class {policy!r}"
    for callback in callbacks if isinstance(callbacks, list | tuple) else [callbacks]:
        if callback is not None:
            yield f"the callback {callback!r}"
    if settings.get("tensorboard_log") is not None:
        yield f"the directory {settings['tensorboard_log']!r} for TensorBoard"
