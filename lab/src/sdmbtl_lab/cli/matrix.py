"""`sdmbtl lab matrix`: make a transfer matrix by real training."""

from __future__ import annotations

import re
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sdmbtl.cli import options
from sdmbtl.cli.output import note, print_json, say
from sdmbtl.cli.parsing import parse_settings
from sdmbtl.cli.signals import StopSignals
from sdmbtl.console import PlainConsole
from sdmbtl.wording import counted
from sdmbtl_lab.cli.progress import WorkBar, parse_whole_numbers

if TYPE_CHECKING:
    from sdmbtl_lab.matrices import TransferDataset
    from sdmbtl_lab.matrices.matrix_factory import MatrixFactory


def matrix(
    env: options.EnvArgument,
    *,
    seeds: Annotated[int, typer.Option(metavar="N", help="Training runs per source.", min=1)] = 3,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Directory of the matrix.", show_default="matrices/env"),
    ] = None,
    seed: options.SeedOption = 0,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", metavar="N", help="Processes.", min=1, show_default="all cores"
        ),
    ] = None,
    as_json: options.JsonOption = False,
    multi_task: Annotated[
        str,
        typer.Option(
            metavar="K,K,...",
            help="Multi-task policies with the steps of K policies; '' for none.",
        ),
    ] = "6,12,50",
    space: options.SpaceOption = None,
    levels: options.LevelsOption = None,
    option: options.EnvOption = None,
    trainer: options.TrainerOption = "auto",
    steps: options.StepsOption = None,
    set_: options.SetOption = None,
    episodes: options.EpisodesOption = 10,
) -> None:
    """Train a policy on every context and evaluate it on every other.

    Writes DIR/matrix.npz with the returns of each seed, and its provenance to
    DIR/matrix.json. An interrupted run continues when the same command is
    given again. More --seeds add to the matrix; with fewer, the rows of the
    others are kept.
    """
    from sdmbtl.training import make_trainer
    from sdmbtl_lab.matrices.matrix_factory import MatrixFactory, MatrixRecipe

    signals = StopSignals()
    path = out or Path("matrices") / re.sub(r"[:/]", "-", env.lower())
    kept = f"Interrupted; finished work is kept in {quote(str(path))}. The same command continues."
    with signals.ending_with(kept):
        family = options.make_family(env, space, levels, option)
        settings = parse_settings(set_, "--set")
        settings |= {} if steps is None else {"total_timesteps": steps}
        made = make_trainer(trainer, family, family.space(), **settings)
        made.check_environment()
        recipe = MatrixRecipe.of(
            made,
            episodes=episodes,
            seed=seed,
            multi_task=parse_whole_numbers(multi_task, "--multi-task"),
        )
        factory = MatrixFactory(path, recipe)
        signals.check()
        dataset = _make(factory, seeds, jobs, signals)
    if as_json:
        print_json(_summary(dataset) | {"path": str(factory.path)})
    else:
        _print(dataset, factory.path)


def _make(
    factory: MatrixFactory, seeds: int, jobs: int | None, signals: StopSignals
) -> TransferDataset:
    from sdmbtl.machine import available_cores

    recipe = factory.recipe
    n = len(recipe.space)
    note(
        f"{recipe.family['name']}: {counted(n, 'context')} ({', '.join(recipe.space.names)}), "
        f"{counted(seeds, 'seed')}, trainer {recipe.trainer} with "
        f"{recipe.training['total_timesteps']:,} steps, "
        f"{counted(recipe.episodes, 'episode')} per pair, in {factory.out}"
    )
    with WorkBar(PlainConsole(stderr=True), factory.name) as bar:

        def show(done: int, total: int, label: str) -> None:
            signals.check()
            if done and not label:
                note(f"Continuing after {done} of {counted(total, 'policy', 'policies')}.")
            bar(done, total, label)

        return factory.make(
            seeds, jobs=jobs or available_cores(), progress=show, heartbeat=signals.check
        )


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
    say(f"Mean return of a policy on all targets  {summary['mean_return']:.4g}")
    say(f"on the context it was trained on        {summary['mean_return_at_source']:.4g}")
    say(f"of the best policy for each target      {summary['mean_best_return']:.4g}")
    for k, mean in summary["multi_task"].items():
        say(f"of multi-task, steps of {k:>3} policies    {mean:.4g}")
    say(f"Written to {path}")
    where = quote(str(path.parent))
    note(f"Describe it:         sdmbtl lab describe {where}")
    note(f"Compare selectors:   sdmbtl lab bench real --data {where}")
