"""Recipe of a matrix: environments, training, evaluation, seeds."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from sdmbtl.checks import MAX_COUNT, check_int
from sdmbtl.contexts import ContextSpace
from sdmbtl.environments.registry import can_be_made_anywhere, code_of_family
from sdmbtl.errors import MatrixError
from sdmbtl.files import write_atomically
from sdmbtl.foreign import read_json
from sdmbtl.json_data import differences
from sdmbtl.training import Trainer, TrainerSpec, trainer_names
from sdmbtl.training.registry import AUTO
from sdmbtl.trust import refuse_untrusted

_PUT_BACK = (
    "Put it back from a copy (a matrix.json has it as 'recipe'), or choose another directory."
)


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the numbers of a matrix; how many seeds of it are made does not.

    Attributes:
        family: `EnvironmentFamily.settings()`.
        targets: `ContextSpace.to_dict()`.
        trainer: Name of the trainer.
        training: `Trainer.settings()`.
        episodes: Episodes for each policy on each target.
        seed: Root of every random number.
    """

    family: dict[str, Any]
    targets: dict[str, Any]
    trainer: str
    training: dict[str, Any]
    episodes: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        if self.trainer not in trainer_names() or self.trainer == AUTO:
            raise MatrixError(
                f"A matrix is made with one of the trainers of this package, so that other "
                f"processes can make it: {', '.join(t for t in trainer_names() if t != AUTO)}. "
                f"Got {self.trainer!r} instead."
            )
        episodes = check_int("episodes", self.episodes, low=1, high=MAX_COUNT, error=MatrixError)
        seed = check_int("seed", self.seed, low=0, error=MatrixError)
        self.put(episodes=episodes, seed=seed)

    def put(self, **checked: Any) -> None:
        """Set attributes to what they are after the checks; for the initialisation only."""
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, trainer: Trainer, **settings: Any) -> Self:
        """The recipe for a trainer, its family and its space."""
        if not can_be_made_anywhere(trainer.family):
            raise MatrixError(
                f"The environments of {trainer.family.name!r} cannot be made again in another "
                "process, so their matrix could not be resumed. Use a family of this package, or "
                "'module:function'."
            )
        return cls(
            family=trainer.family.settings(),
            targets=trainer.space.to_dict(),
            trainer=trainer.name,
            training=trainer.settings(),
            **settings,
        )

    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON data."""
        return json.loads(json.dumps(asdict(self)))  # type: ignore[no-any-return]

    @cached_property
    def space(self) -> ContextSpace:
        """The contexts: sources and targets."""
        return ContextSpace.from_dict(self.targets)

    def specification(self, **changes: Any) -> TrainerSpec:
        """Return the training specification, with some settings changed."""
        options = {name: v for name, v in self.family["options"].items() if name != "space"}
        environment = {"name": self.family["name"], "options": options}
        return TrainerSpec(environment, self.targets, self.trainer, {**self.training, **changes})

    @classmethod
    def load(cls, path: Path, *, trust: bool = False) -> Self:
        """Read a recipe from a file."""
        try:
            recipe = cls(**read_json(path))
            len(recipe.space)  # raises if this is not a space
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise MatrixError(f"{path} is damaged ({error}). {_PUT_BACK}") from None
        if not trust:
            refuse_untrusted(
                f"The recipe {str(path)!r}",
                code_of_family(recipe.family),
                f"{cls.__name__}.load(path, trust=True); or name the environment yourself, as "
                "sdmbtl lab matrix does.",
                error=MatrixError,
            )
        return recipe


def keep_recipe(path: Path, recipe: Recipe) -> None:
    """Write the recipe of a directory, or check that it is the one of before."""
    wanted = recipe.to_dict()
    if not path.exists():
        if (path.parent / "rows").exists():
            raise MatrixError(
                f"{str(path.parent)!r} has rows of a matrix, but {path.name} is missing, so "
                f"it is unknown how they were made. {_PUT_BACK}"
            )
        write_atomically(path, (json.dumps(wanted, indent=1) + "\n").encode())
        return
    changed = differences(recipe.load(path, trust=True).to_dict(), wanted)  # only compared
    if changed:
        raise MatrixError(
            f"The matrix in {str(path.parent)!r} was begun with other settings:\n"
            + "\n".join(f"  {line}" for line in changed)
            + "\nGive the same settings, or another directory."
        )
