"""The selector of a study, as its trainer allows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sdmbtl.errors import StudyError
from sdmbtl.selectors import GeneralistFirstSelector
from sdmbtl.selectors.make import resolve_auto, split_options

if TYPE_CHECKING:
    from sdmbtl.training import Trainer


def choose_selector(
    name: str, options: Mapping[str, Any] | None, trainer: Trainer | None
) -> dict[str, Any]:
    """Return name and options of the selector of a study.

    "auto" is a generalist and specialists where policies can start from others, and single contexts
    otherwise.

    Args:
        name: Name of the selector, or "auto".
        options: Its settings.
        trainer: The trainer; None if training is the caller's.

    Raises:
        StudyError: If the trainer cannot do what the selector would ask for.
    """
    regions = trainer is not None and trainer.starts_from_parent
    name, own_options = split_options(name)
    chosen, given = resolve_auto(name, regions=regions), {**own_options, **(options or {})}
    if trainer is None or chosen != GeneralistFirstSelector.name:
        return {"name": chosen, "options": given}
    if not regions:
        raise StudyError(
            f"The trainer {trainer.name!r} cannot start from another policy, which the selector "
            f"{chosen!r} needs. Use the trainer 'ppo', or the selector 'predictive'."
        )
    usual = {
        "steps": trainer.settings().get("total_timesteps"),
        "sees_context": "both" if trainer.adds_context else "never",
    }
    # The weights of policies that were trained elsewhere are not here.
    return {"name": chosen, "options": {**usual, **given, "reported_parents": False}}
