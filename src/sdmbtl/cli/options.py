"""Options that several commands have; each is declared once, here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sdmbtl.cli.parsing import parse_settings

if TYPE_CHECKING:
    from sdmbtl.environments import EnvironmentFamily

StudyArgument = Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the study.")]
PortfolioArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="Directory of a study or of an exported portfolio.")
]
EnvArgument = Annotated[
    str,
    typer.Argument(
        metavar="ENV",
        help="Family of 'sdmbtl environments', gym:NAME of Gymnasium, or module:function.",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="One JSON document as output, nothing else.")
]
TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust",
        envvar="SDMBTL_TRUST",
        help="Permission to import code named by a study from elsewhere.",
    ),
]
WaitOption = Annotated[
    float,
    typer.Option(
        metavar="SECONDS", help="Seconds to wait for a lock, then exit status 75.", min=0.0
    ),
]
ContextOption = Annotated[
    list[str] | None,
    typer.Option(
        "--context", metavar="JSON|KEY=VALUE", help="Context; may be given once per dimension."
    ),
]
SeedOption = Annotated[int, typer.Option(metavar="N", help="Seed of all random numbers.", min=0)]

# -- environments and training ---------------------------------------------------------------------

_ENVIRONMENTS: dict[str, Any] = {"rich_help_panel": "Environments"}
_TRAINING: dict[str, Any] = {"rich_help_panel": "Training"}

SpaceOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|FILE.toml", help="Context space of ENV, or a file.", **_ENVIRONMENTS
    ),
]
LevelsOption = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Values per dimension of a space of ENV.", min=1, **_ENVIRONMENTS
    ),
]
EnvOption = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="KEY=VALUE", help="Setting of ENV.", **_ENVIRONMENTS),
]
TrainerOption = Annotated[
    str,
    typer.Option(metavar="NAME", help="Trainer: auto, ppo or sb3.", **_TRAINING),
]
StepsOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Steps of an ordinary training run; a study with generalist-first uses half for each "
        "policy.",
        show_default="as recommended for ENV",
        min=1,
        **_TRAINING,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Setting of the trainer, such as gamma=0.98.",
        **_TRAINING,
    ),
]
EpisodesOption = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Episodes per policy and target; in a study that evaluates chosen targets, at most.",
        min=1,
        **_TRAINING,
    ),
]


def make_family(
    env: str, space: str | None, levels: int | None = None, option: list[str] | None = None
) -> EnvironmentFamily:
    """Make the environments of ENV with the values of its options."""
    from sdmbtl import environments

    given = parse_settings(option, "--option")
    file = Path(space) if space is not None and Path(space).is_file() else None
    family = environments.make_family(env, space=file or space, **given)
    if levels is None:
        return family
    smaller = family.space(None if file else space, levels)
    return environments.make_family(env, space=smaller, **given)


# -- a run -----------------------------------------------------------------------------------------

_STOPPING: dict[str, Any] = {"rich_help_panel": "Stopping"}
_PROCESSES: dict[str, Any] = {"rich_help_panel": "Processes and machines"}

BudgetOption = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Number of policies, earlier runs included.", min=1, **_STOPPING
    ),
]
TotalStepsOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Environment steps, evaluation and earlier runs included.",
        min=1,
        **_STOPPING,
    ),
]
TimeOption = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Time for this run: 90s, 30m, 2h.", **_STOPPING),
]
MinGainOption = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Smallest expected gain of three more policies; 0.01 is a point.",
        min=0.0,
        max=1.0,
        **_STOPPING,
    ),
]
JobsOption = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", metavar="N", help="Policies trained at the same time.", min=1, **_PROCESSES
    ),
]
ExecutorOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Place of training: serial (this process), processes, ray or submitit (SLURM).",
        show_default="serial for one job",
        **_PROCESSES,
    ),
]
ExecutorSettingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--executor-option",
        metavar="KEY=VALUE",
        help="Setting of the executor, such as time_limit=7200 (seconds per training run), "
        "address=auto (Ray) or partition=gpu (SLURM).",
        **_PROCESSES,
    ),
]
JoinOption = Annotated[
    bool,
    typer.Option("--join", help="Share the study with other processes that run it.", **_PROCESSES),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Only errors as output.")]
LogOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Tracker of learning curves and coverage: tensorboard (in DIR/tensorboard), wandb or "
        "mlflow; may be repeated.",
    ),
]
