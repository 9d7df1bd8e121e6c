"""Options that several commands have: each is declared once, here."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

#: An option in a panel of the help.
choice_option = partial(typer.Option, rich_help_panel="Choice")
training_option = partial(typer.Option, rich_help_panel="Training")
stop_option = partial(typer.Option, rich_help_panel="When to stop")

StudyArgument = Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the study.")]
SeedOption = Annotated[int, typer.Option(help="Seed of all random numbers.", min=0)]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else.")
]
ContextOption = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        metavar="JSON|KEY=VALUE",
        help="The context, in one text or one option a value.",
    ),
]
AttributeOption = Annotated[
    list[str] | None,
    typer.Option("--attribute", metavar="KEY=VALUE", help="Attach a note to it, such as job=4711."),
]

EnvArgument = Annotated[
    str,
    typer.Argument(
        metavar="ENV", help="A family that 'sdmbtl environments' lists, or module:function."
    ),
]
SpaceOption = Annotated[
    str | None,
    choice_option(metavar="NAME|FILE.toml", help="The context space: one that ENV has, or a file."),
]
LevelsOption = Annotated[
    int | None,
    choice_option(help="Number of values of each dimension, for a space that ENV has.", min=1),
]
FamilyOption = Annotated[
    list[str] | None, choice_option(metavar="KEY=VALUE", help="An option of ENV.")
]
PhysicsOption = Annotated[str | None, choice_option(help="The same as --option physics=...")]

TrainerOption = Annotated[str, training_option(help="auto, ppo or sb3.")]
StepsOption = Annotated[
    int | None,
    training_option(
        help="Environment steps for each policy: total_timesteps.", show_default="as ENV needs"
    ),
]
SetOption = Annotated[
    list[str] | None,
    training_option(
        "--set", metavar="KEY=VALUE", help="A setting of the trainer, such as gamma=0.98."
    ),
]
EpisodesOption = Annotated[int, training_option(help="Episodes for each policy on each target.")]

BudgetOption = Annotated[
    int | None, stop_option(help="Stop at this number of policies, counting those of earlier runs.")
]
TimeOption = Annotated[
    str | None, stop_option(metavar="TIME", help="Stop when this time is used: 90s, 30m, 2h.")
]
MinGainOption = Annotated[
    float | None,
    stop_option(
        help="Stop when the next policies are expected to add less than this share of the range "
        "of returns (0.01 is a point of coverage); with a selector that makes no forecasts, when "
        "the last ones added less."
    ),
]
PatienceOption = Annotated[
    int, stop_option(help="Number of policies that --min-gain looks at together.")
]
