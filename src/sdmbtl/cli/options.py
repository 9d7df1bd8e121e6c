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
AcceptChangesOption = Annotated[
    bool,
    typer.Option(
        "--accept-changes", help="Continue although the code of the environments was edited."
    ),
]
TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust",
        envvar="SDMBTL_TRUST",
        help="Import the code that the study names although it was not made here.",
    ),
]
SeedOption = Annotated[int, typer.Option(help="Seed of all random numbers.", min=0)]
SeedsOption = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER",
        help="Make so many studies, OUT/seed-0 and so on, to compare with others.",
        min=1,
    ),
]
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
WaitOption = Annotated[
    float,
    typer.Option(
        metavar="SECONDS",
        help="Wait so long for another process that writes to the study; then exit status 75.",
        min=0.0,
    ),
]
AttributeOption = Annotated[
    list[str] | None,
    typer.Option("--attribute", metavar="KEY=VALUE", help="Attach a note to it, such as job=4711."),
]
ReasonOption = Annotated[
    str | None, typer.Option(help="Why; it is kept with the row that is replaced or taken back.")
]
LogEveryOption = Annotated[
    str,
    typer.Option(metavar="TIME", help="Without a terminal, say so often how far training is."),
]
TensorBoardOption = Annotated[
    Path | None,
    typer.Option(
        "--tensorboard", metavar="DIR", help="Write learning curves and coverage for TensorBoard."
    ),
]

EnvArgument = Annotated[
    str,
    typer.Argument(
        metavar="ENV",
        help="A family that 'sdmbtl environments' lists, gym:NAME of Gymnasium, or "
        "module:function.",
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

OutOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Directory of the study.", show_default="runs/env"),
]
SelectorOption = Annotated[
    str,
    choice_option(
        help="What chooses what is trained on. auto: generalist-first with the trainer ppo, single "
        "contexts otherwise."
    ),
]
SelectorSettingOption = Annotated[
    list[str] | None, choice_option(metavar="KEY=VALUE", help="A setting of the selector.")
]
WidthOption = Annotated[
    str,
    choice_option(
        metavar="auto|0..1",
        help="Width of the specialists' regions, as a share of each dimension's range; 0 for "
        "single contexts, with --init scratch without a generalist.",
    ),
]
InitOption = Annotated[
    str,
    choice_option(
        metavar="auto|scratch|parent",
        help="Whether a policy starts from scratch or from one that was trained before.",
    ),
]
BatchOption = Annotated[int, choice_option(help="Policies chosen and trained at once.", min=1)]

TrainerOption = Annotated[str, training_option(help="auto, ppo or sb3.")]
StepsOption = Annotated[
    int | None,
    training_option(
        help="Environment steps of the policy for the whole space, which takes them in two "
        "halves, and of each point: total_timesteps.",
        show_default="as ENV needs",
        min=1,
    ),
]
SpecialistStepsOption = Annotated[
    int | None,
    training_option(
        help="Environment steps for each specialist.",
        show_default="chosen, mostly half of --steps",
        min=1,
    ),
]
ObserveContextOption = Annotated[
    bool, training_option("--observe-context", help="Let policies see their context.")
]
RetriesOption = Annotated[
    int, training_option(help="Further attempts if a training run fails.", min=0)
]
SetOption = Annotated[
    list[str] | None,
    training_option(
        "--set", metavar="KEY=VALUE", help="A setting of the trainer, such as gamma=0.98."
    ),
]
EvalProcessesOption = Annotated[
    int | None,
    typer.Option(
        "--eval-processes",
        help="Processes that play a policy on the targets, where that takes long; the returns do "
        "not depend on it.",
        min=1,
        show_default="all cores",
    ),
]
RetryFailedOption = Annotated[
    bool,
    typer.Option("--retry-failed", help="Let contexts whose training failed be chosen again."),
]
RetrainMissingOption = Annotated[
    bool,
    typer.Option(
        "--retrain-missing",
        help="First train policies again whose file is missing or damaged.",
    ),
]
AdoptPendingOption = Annotated[
    bool,
    typer.Option(
        "--adopt-pending",
        help="Train here what 'sdmbtl ask' gave out and nobody has reported.",
    ),
]
LeaseOption = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="After this time, 2h for example, it is given to whoever asks next with --lease, "
        "unless it is reported, or held with 'sdmbtl renew', until then.",
    ),
]
JobsOption = Annotated[
    int,
    typer.Option(
        "--jobs",
        "-j",
        help="Policies that are trained at once, each in a process of its own. The next context is "
        "chosen as soon as one is done.",
        min=1,
    ),
]
ExecutorOption = Annotated[
    str | None,
    typer.Option(
        help="Where they are trained: 'serial' (this process), 'processes', or 'ray'.",
        show_default="serial for one job",
    ),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        help="Of a Ray cluster, 'auto' for the one of this machine; without it, one is started."
    ),
]
RunLimitOption = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="After this time a training run is taken to hang: 2h, 30m."),
]
MemoryLimitOption = Annotated[
    float | None,
    typer.Option(help="GiB of memory that a process may use before it is ended.", min=0.0),
]
JoinOption = Annotated[
    bool,
    typer.Option("--join", help="Work beside others that run the same study, also elsewhere."),
]
EpisodesOption = Annotated[
    int, training_option(help="Episodes for each policy on each target.", min=1)
]

BudgetOption = Annotated[
    int | None,
    stop_option(help="Stop at this number of policies, counting those of earlier runs.", min=1),
]
TotalStepsOption = Annotated[
    int | None,
    stop_option(help="Stop after so many environment steps in all, earlier runs included.", min=1),
]
TimeOption = Annotated[
    str | None, stop_option(metavar="TIME", help="Stop when this time is used: 90s, 30m, 2h.")
]
MinGainOption = Annotated[
    float | None,
    stop_option(
        help="Stop when the next policies are expected to add less than this share of the range "
        "of returns (0.01 is a point of coverage); with a selector that makes no forecasts, when "
        "the last ones added less.",
        min=0.0,
        max=1.0,
    ),
]
PatienceOption = Annotated[
    int, stop_option(help="Number of policies that --min-gain looks at together.", min=1)
]
