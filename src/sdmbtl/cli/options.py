"""Options that several commands have: each is declared once, here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

#: Panels of the help.
CHOICE, TRAINING, STOP = "Choice", "Training", "When to stop"

StudyArgument = Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the study.")]
SeedOption = Annotated[int, typer.Option(help="Root of every random number.", min=0)]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
ContextOption = Annotated[
    list[str] | None,
    typer.Option("--context", metavar="JSON|KEY=VALUE", help="The context; may be repeated."),
]
AttributeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--attribute", metavar="KEY=VALUE", help="Note this with it, as job=4711; may be repeated."
    ),
]

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
BudgetOption = Annotated[
    int | None,
    typer.Option(
        "--budget",
        help="Stop after so many policies, earlier runs included.",
        rich_help_panel=STOP,
    ),
]
TimeOption = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="TIME",
        help="Stop when this time is used: 90s, 30m, 2h.",
        rich_help_panel=STOP,
    ),
]
MinGainOption = Annotated[
    float | None,
    typer.Option(
        "--min-gain",
        help="Stop when the next policies are expected to add less than this share of the range "
        "of returns; if the selector cannot tell, when the last ones added less.",
        rich_help_panel=STOP,
    ),
]
PatienceOption = Annotated[
    int,
    typer.Option(
        "--patience",
        help="How many policies, together, must reach --min-gain.",
        rich_help_panel=STOP,
    ),
]
