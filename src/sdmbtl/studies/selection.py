"""Which selector a study has: points, or a generalist and specialists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from sdmbtl.checks import known_name
from sdmbtl.errors import StudyError
from sdmbtl.selectors import GeneralistFirstSelector
from sdmbtl.selectors.make import AUTO, resolve_auto

if TYPE_CHECKING:
    from sdmbtl.training import Trainer

Width = float | Literal["auto"]
Init = Literal["auto", "scratch", "parent"]

REGIONS: Final = GeneralistFirstSelector.name


@dataclass(frozen=True)
class Selection:
    """What chooses the sources, as a user describes it.

    Attributes:
        name: Name of the selector.
        options: Its settings.
        width: Width of the regions, 0 for points; "auto" for what the selector finds best.
        init: Whether policies start from "scratch", from a "parent", or what is best: "auto".
        specialist_steps: Environment steps of a policy after the first; as many as the trainer is
            set to if left out.
    """

    name: str = AUTO
    options: Mapping[str, Any] | None = None
    width: Width = "auto"
    init: Init = "auto"
    specialist_steps: int | None = None

    def resolved(self, trainer: Trainer | None) -> dict[str, Any]:
        """Name and options of the selector for a trainer; None if training is the caller's.

        "auto" is a generalist and specialists where policies can start from others, or where
        regions or parents are asked for, and points otherwise.

        Raises:
            StudyError: If what is asked for does not go together.
        """
        known_name("init", self.init, ("auto", "scratch", "parent"), error=StudyError)
        options = dict(self.options or {})
        name = resolve_auto(self.name, regions=self._has_regions(trainer))
        if name != REGIONS:
            self._refuse_regions()
            return {"name": name, "options": options}
        given: dict[str, Any] = {
            "width": self.width,
            "init": self.init,
            "specialist_steps": self.specialist_steps,
            **options,
        }
        if trainer is not None:
            given = {"steps": trainer.settings().get("total_timesteps"), **given}
            given["init"] = _possible_init(given["init"], trainer)
            # The weights of policies that were trained elsewhere are not here.
            given["reported_parents"] = False
        return {"name": REGIONS, "options": given}

    def _has_regions(self, trainer: Trainer | None) -> bool:
        if self.options or (self.width == 0 and self.init == "scratch"):
            return False  # options of "auto" are those of the selector of points
        asked_for = self.width not in ("auto", 0) or self.init == "parent"
        return asked_for or (trainer is not None and trainer.starts_from_parent)

    def _refuse_regions(self) -> None:
        asked_for = {
            "width": (self.width, self.width not in ("auto", 0)),
            "init": (self.init, self.init == "parent"),
            "specialist_steps": (self.specialist_steps, self.specialist_steps is not None),
        }
        for name, (value, given) in asked_for.items():
            if given:
                raise StudyError(
                    f"The selector {self.name!r} chooses points that are trained from scratch, so "
                    f"there is no {name}={value!r}. Leave it out, or use the selector "
                    f"{REGIONS!r}, without options of another one."
                )


def _possible_init(init: Init, trainer: Trainer) -> Init:
    """How policies start with this trainer."""
    if trainer.starts_from_parent:
        return init
    if init == "parent":
        raise StudyError(
            f"The trainer {trainer.name!r} cannot start from another policy. Give "
            "init='scratch', or the trainer 'ppo'."
        )
    return "scratch"
