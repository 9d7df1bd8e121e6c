"""Options that several commands have: which environments, which contexts, which training."""

from __future__ import annotations

from typing import Annotated

import typer

#: Panels of the help.
CHOICE, TRAINING = "Choice", "Training"

EnvArgument = Annotated[
    str,
    typer.Argument(
        metavar="ENV",
        help="An environment family ('sdmbtl environments' lists them), or module:function.",
    ),
]
SpaceOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|FILE.toml",
        help="The contexts: a space of the family, or a file.",
        rich_help_panel=CHOICE,
    ),
]
LevelsOption = Annotated[
    int | None,
    typer.Option(
        help="Values of each dimension, for a space of the family.",
        min=1,
        rich_help_panel=CHOICE,
    ),
]
FamilyOption = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="An option of the family.", rich_help_panel=CHOICE),
]
PhysicsOption = Annotated[
    str | None,
    typer.Option(help="The same as --option physics=...", rich_help_panel=CHOICE),
]
TrainerOption = Annotated[str, typer.Option(help="auto, ppo or sb3.", rich_help_panel=TRAINING)]
StepsOption = Annotated[
    int | None,
    typer.Option(
        help="Environment steps for each policy; as the trainer recommends if left out.",
        rich_help_panel=TRAINING,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A setting of the trainer, as hyperparameters.gamma=0.98",
        rich_help_panel=TRAINING,
    ),
]
EpisodesOption = Annotated[
    int,
    typer.Option(help="Episodes for each policy on each target.", rich_help_panel=TRAINING),
]
