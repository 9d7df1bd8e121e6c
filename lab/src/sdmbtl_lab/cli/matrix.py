"""`sdmbtl matrix`: make a transfer matrix by real training."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sdmbtl.cli.options import (
    EnvArgument,
    EpisodesOption,
    FamilyOption,
    JsonOption,
    LevelsOption,
    SeedOption,
    SetOption,
    SpaceOption,
    StepsOption,
    TrainerOption,
)
from sdmbtl.cli.output import note, note_console, print_json, result_console
from sdmbtl.cli.parsing import directory_name, make_family_from, trainer_settings
from sdmbtl.cli.signals import StopSignals
from sdmbtl.wording import counted
from sdmbtl_lab.cli.bar import WorkBar
from sdmbtl_lab.cli.parsing import parse_whole_numbers

if TYPE_CHECKING:
    from sdmbtl_lab.matrices import TransferDataset
    from sdmbtl_lab.matrices.matrix_factory import MatrixFactory


def matrix(
    env: EnvArgument,
    seeds: Annotated[int, typer.Option(help="Training runs of every source.", min=1)] = 3,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Directory of the matrix.", show_default="matrices/env"),
    ] = None,
    seed: SeedOption = 0,
    jobs: Annotated[
        int | None, typer.Option(help="Processes.", min=1, show_default="all cores")
    ] = None,
    as_json: JsonOption = False,
    space: SpaceOption = None,
    levels: LevelsOption = None,
    option: FamilyOption = None,
    trainer: TrainerOption = "auto",
    steps: StepsOption = None,
    set_: SetOption = None,
    episodes: EpisodesOption = 10,
    multi_task: Annotated[
        str,
        typer.Option(
            metavar="K,K,...",
            help="Train multi-task policies too, with the steps of K policies; '' for none.",
        ),
    ] = "6,12,50",
) -> None:
    """Train a policy on every context and evaluate it on every other.

    The result is DIR/matrix.npz with the returns of each seed, and
    DIR/matrix.json, which says how they were made. The same settings give
    the same bytes of returns. Interrupted at any moment, it continues
    where it was when the same command is given again; with more --seeds, it
    adds to what is there. With fewer, the matrix has only these, and the rows
    of the others are kept.
    """
    signals = StopSignals()
    path = out or Path("matrices") / directory_name(env)
    with signals.ending_with(lambda: _interrupted(path)):
        family = make_family_from(env, space, levels, option)
        factory = _factory(
            path,
            family,
            trainer,
            trainer_settings(set_, steps),
            episodes=episodes,
            seed=seed,
            multi_task=parse_whole_numbers(multi_task, "--multi-task"),
        )
        signals.check()
        dataset = _made(factory, seeds, jobs, signals)
    if as_json:
        print_json(_summary(dataset) | {"path": str(factory.path)})
    else:
        _print(dataset, factory.path)


def _interrupted(path: Path) -> str:
    """What is kept when a signal ends the work, and how to continue."""
    if not (path / "recipe.json").exists():
        return "Interrupted before the matrix was begun."
    return (
        f"Interrupted; everything finished is kept in {quote(str(path))}. "
        "Give the same command again to continue."
    )


def _factory(
    path: Path,
    family: Any,
    trainer: str,
    trainer_options: dict[str, Any],
    **settings: Any,
) -> MatrixFactory:
    from sdmbtl.training import make_trainer
    from sdmbtl_lab.matrices.matrix_factory import MatrixFactory
    from sdmbtl_lab.matrices.matrix_recipe import MatrixRecipe

    made = make_trainer(trainer, family, family.space(), **trainer_options)
    made.check_environment()
    return MatrixFactory(path, MatrixRecipe.of(made, **settings))


def _made(
    factory: MatrixFactory, seeds: int, jobs: int | None, signals: StopSignals
) -> TransferDataset:
    from sdmbtl.parallel import available_cores

    recipe = factory.recipe
    n = len(recipe.space)
    note(
        f"{recipe.family['name']}: {counted(n, 'context')} ({', '.join(recipe.space.names)}), "
        f"{counted(seeds, 'seed')}, trainer {recipe.trainer} with "
        f"{recipe.training['total_timesteps']:,} steps, "
        f"{counted(recipe.episodes, 'episode')} for each pair, in {factory.out}"
    )
    for damaged in factory.damaged(seeds):
        note(f"{damaged} is damaged and made again.")
    with WorkBar(note_console(), factory.name, unit="policies") as bar:

        def show(done: int, total: int, label: str) -> None:
            signals.check()
            if done and not label:
                note(f"Continuing after {done} of {counted(total, 'policy', 'policies')}.")
            bar(done, total, label)

        dataset = factory.make(
            seeds, jobs=jobs or available_cores(), progress=show, heartbeat=signals.check
        )
    if factory.begun_seeds > seeds:
        note(
            f"{factory.out} has rows of more seeds than --seeds {seeds}. They are kept; "
            f"--seeds {factory.begun_seeds} has them in the matrix."
        )
    return dataset


def _summary(dataset: TransferDataset) -> dict[str, Any]:
    returns = dataset.returns
    diagonal = returns.diagonal(axis1=1, axis2=2)
    return {
        **dataset.card,
        "contexts": len(dataset.space),
        "mean_return": float(returns.mean()),
        "mean_return_at_source": float(diagonal.mean()),
        "mean_best_return": float(returns.max(axis=1).mean()),
        "multi_task": {k: float(v.mean()) for k, v in dataset.multi_task.items()},
    }


def _print(dataset: TransferDataset, path: Path) -> None:
    summary = _summary(dataset)
    console = result_console()
    console.print(f"Mean return of a policy on all targets  {summary['mean_return']:.4g}")
    console.print(f"on the context it was trained on        {summary['mean_return_at_source']:.4g}")
    console.print(f"of the best policy for each target      {summary['mean_best_return']:.4g}")
    for k, mean in summary["multi_task"].items():
        console.print(f"of multi-task, steps of {k:>3} policies    {mean:.4g}")
    console.print(f"Written to {path}", soft_wrap=True, markup=False)
    where = quote(str(path.parent))
    note(f"Look at it:          sdmbtl describe {where}")
    note(f"Try selectors on it: sdmbtl bench real --data {where}")
