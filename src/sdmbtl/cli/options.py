# ruff: noqa: RUF009 - `setting` makes a field
"""Options of the commands: each is declared once, here.

Options that belong together are the fields of a dataclass. `with_settings` gives a command one
option for each field; `--config` reads the same options from a file.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_type_hints

import typer

from sdmbtl.callbacks.trackers import TRACKERS
from sdmbtl.checks import did_you_mean, known_name, short_text
from sdmbtl.cli.output import ArgumentError
from sdmbtl.cli.parsing import parse_seconds, parse_settings
from sdmbtl.execution import EXECUTORS

if TYPE_CHECKING:
    from sdmbtl.environments import EnvironmentFamily

# -- options of single commands --------------------------------------------------------------------

StudyArgument = Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the study.")]
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
EvalProcessesOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Processes for evaluation; returns do not depend on it.",
        min=1,
        show_default="all cores",
    ),
]
EnvArgument = Annotated[
    str,
    typer.Argument(
        metavar="ENV",
        help="Family of 'sdmbtl environments', gym:NAME of Gymnasium, or module:function.",
    ),
]

# -- options that belong together ------------------------------------------------------------------


def setting(default: Any, *names: str, **about: Any) -> Any:
    """Declare a field of a dataclass that is an option of commands.

    Args:
        default: Its default.
        *names: Names of the option, if not that of the field.
        **about: As of `typer.Option`.
    """
    return field(default=default, metadata={"names": names, "about": about})


@dataclass(frozen=True)
class EnvironmentSettings:
    """Context space and settings of the environments."""

    panel: ClassVar = "Environments"

    space: str | None = setting(
        None, metavar="NAME|FILE.toml", help="Context space of ENV, or a file."
    )
    levels: int | None = setting(
        None, metavar="N", help="Values per dimension of a space of ENV.", min=1
    )
    option: list[str] | None = setting(None, metavar="KEY=VALUE", help="Setting of ENV.")

    def make_family(self, env: str) -> EnvironmentFamily:
        """Make the environments of ENV."""
        from sdmbtl.environments import make_family

        given, space = parse_settings(self.option, "--option"), self.space
        file = Path(space) if space is not None and Path(space).is_file() else None
        family = make_family(env, space=file or space, **given)
        if self.levels is None:
            return family
        return make_family(env, space=family.space(None if file else space, self.levels), **given)


@dataclass(frozen=True)
class SelectorSettings:
    """Choice of contexts."""

    panel: ClassVar = "Choice of contexts"

    selector: str = setting(
        "auto",
        metavar="NAME",
        help="Selection strategy, or your module:Class; auto depends on the trainer.",
    )
    objective: str = setting(
        "mean",
        metavar="mean|cvar:0.1|worst|share:0.9",
        help="Quantity to raise: mean, worst tenth, worst, or share above 90 %.",
    )
    selector_option: list[str] | None = setting(
        None, metavar="KEY=VALUE", help="Setting of the selector."
    )

    @property
    def keywords(self) -> dict[str, Any]:
        """Keywords of `Study.open`."""
        options = parse_settings(self.selector_option, "--selector-option")
        return {
            "selector": self.selector,
            "selector_options": options,
            "objective": self.objective,
        }


@dataclass(frozen=True)
class TrainingSettings:
    """Training and evaluation of policies."""

    panel: ClassVar = "Training"

    trainer: str = setting("auto", metavar="NAME", help="Trainer: auto, ppo or sb3.")
    steps: int | None = setting(
        None,
        metavar="N",
        help="Steps of an ordinary training run; generalist-first uses half for a policy.",
        show_default="as recommended for ENV",
        min=1,
    )
    set_: list[str] | None = setting(
        None, "--set", metavar="KEY=VALUE", help="Setting of the trainer, such as gamma=0.98."
    )
    episodes: int = setting(
        10,
        metavar="N",
        help="Episodes per policy and target; the maximum with --evaluate chosen.",
        min=1,
    )
    evaluate: str | None = setting(
        None,
        metavar="all|chosen",
        help="Targets to evaluate on: all, or chosen: where episodes may change the best policy.",
        show_default="chosen for generalist-first, otherwise all",
    )

    @property
    def keywords(self) -> dict[str, Any]:
        """Keywords of `Study.open`."""
        options = parse_settings(self.set_, "--set")
        options |= {} if self.steps is None else {"total_timesteps": self.steps}
        return {
            "trainer": self.trainer,
            "trainer_options": options,
            "episodes": self.episodes,
            "evaluate": self.evaluate,
        }


@dataclass(frozen=True)
class StopSettings:
    """Stopping rules of a run."""

    panel: ClassVar = "Stopping"

    budget: int | None = setting(
        None, metavar="N", help="Number of policies, earlier runs included.", min=1
    )
    total_steps: int | None = setting(
        None, metavar="N", help="Environment steps, evaluation and earlier runs included.", min=1
    )
    time: str | None = setting(None, metavar="TIME", help="Time for this run: 90s, 30m, 2h.")
    min_gain: float | None = setting(
        None,
        metavar="SHARE",
        help="Smallest expected gain of three more policies; 0.01 is a point.",
        min=0.0,
        max=1.0,
    )

    def __post_init__(self) -> None:
        if self.min_gain is not None and math.isnan(self.min_gain):
            raise ArgumentError("--min-gain is a share of the range of returns, 0 to 1. Got nan.")
        _ = self.keywords

    @property
    def is_given(self) -> bool:
        """True if there is any rule."""
        return any(getattr(self, rule.name) is not None for rule in fields(self))

    @property
    def keywords(self) -> dict[str, Any]:
        """Keywords of `Study.run`."""
        return {
            "budget": self.budget,
            "total_steps": self.total_steps,
            "time_limit": None if self.time is None else parse_seconds(self.time, "--time"),
            "min_gain": self.min_gain,
        }


@dataclass(frozen=True)
class ExecutionSettings:
    """Processes and machines of a run."""

    panel: ClassVar = "Processes and machines"

    jobs: int = setting(
        1, "--jobs", "-j", metavar="N", help="Policies trained at the same time.", min=1
    )
    executor: str | None = setting(
        None,
        metavar="NAME",
        help="Place of training: serial (this process), processes, ray or submitit (SLURM).",
        show_default="serial for one job",
    )
    executor_option: list[str] | None = setting(
        None,
        metavar="KEY=VALUE",
        help="Setting of the executor, such as time_limit=7200 (seconds per training run), "
        "address=auto (Ray) or partition=gpu (SLURM).",
    )
    join: bool = setting(False, "--join", help="Share the study with other processes that run it.")

    def __post_init__(self) -> None:
        if self.executor is not None:
            known_name("--executor", self.executor, EXECUTORS, error=ArgumentError)
        _ = self.keywords

    @property
    def keywords(self) -> dict[str, Any]:
        """Keywords of `Study.run`."""
        return {
            "jobs": self.jobs,
            "executor": self.executor,
            "executor_options": parse_settings(self.executor_option, "--executor-option"),
            "join": self.join,
        }


@dataclass(frozen=True)
class OutputSettings:
    """Output of a run."""

    panel: ClassVar = None

    quiet: bool = setting(False, "--quiet", "-q", help="Only errors as output.")
    as_json: JsonOption = False
    log: list[str] | None = setting(
        None,
        metavar="NAME",
        help="Tracker of learning curves and coverage: tensorboard (in DIR/tensorboard), wandb or "
        "mlflow; may be repeated.",
    )

    def __post_init__(self) -> None:
        for name in self.log or ():
            known_name("--log", name, TRACKERS, error=ArgumentError)


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each field of the dataclasses among its parameters."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters = []
    for parameter in inspect.signature(command).parameters.values():
        given = parameter.replace(annotation=hints[parameter.name], kind=parameter.KEYWORD_ONLY)
        group = groups.get(parameter.name)
        if group is None:
            parameters.append(given)
            continue
        kinds = get_type_hints(group, include_extras=True)
        for each in fields(group):
            kind = kinds[each.name]
            if "about" in each.metadata:
                about = {"rich_help_panel": group.panel, **each.metadata["about"]}
                kind = Annotated[kind, typer.Option(*each.metadata["names"], **about)]
            option = given.replace(name=each.name, default=each.default, annotation=kind)
            parameters.append(option)

    @wraps(command)
    def with_options(**given: Any) -> None:
        made = {
            name: kind(**{each.name: given.pop(each.name) for each in fields(kind)})
            for name, kind in groups.items()
        }
        command(**made, **given)

    with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return with_options


def _read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Take options that are not given from the table [run] of a file.

    A file that describes a context space as well is the space, if no other is named.

    Raises:
        ArgumentError: If the file is not TOML, or has something that the command does not take.
    """
    if path is None:
        return None
    from sdmbtl.contexts.toml import read_toml

    data = read_toml(path)
    table = data.get("run", {})
    if not isinstance(table, Mapping):
        raise ArgumentError(f"{path}: [run] is a table. Got {short_text(table)} instead.")
    known: dict[str, str] = {}
    for parameter in context.command.params:
        words = [word.lstrip("-") for word in parameter.opts if word.startswith("--")]
        known |= dict.fromkeys(words or [str(parameter.name)], str(parameter.name))
    defaults: dict[str, Any] = {}
    for key, value in table.items():
        name = known.get(key.replace("_", "-"))
        if name is None:
            raise ArgumentError(
                f"{path}: [run] has {key!r}, which 'sdmbtl {context.info_name}' does not take."
                f"{did_you_mean(key, known)}"
            )
        if isinstance(value, Mapping):  # KEY=VALUE for each entry, as on the command line
            value = [f"{k}={v if isinstance(v, str) else json.dumps(v)}" for k, v in value.items()]
        elif not isinstance(value, str | bool):
            value = json.dumps(value)
        defaults[name] = value
    if "dimensions" in data:
        defaults.setdefault("space", str(path))
    space = table.get("space")
    if isinstance(space, str) and space.endswith(".toml"):
        defaults["space"] = str(path.parent / space)
    context.default_map = {**defaults, **(context.default_map or {})}
    return path


ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE.toml",
        help="File with these options in its table [run]; may describe the space too.",
        callback=_read_config,
        is_eager=True,
    ),
]
