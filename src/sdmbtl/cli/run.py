"""`sdmbtl run` and `sdmbtl resume`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING
from warnings import catch_warnings

import typer

from sdmbtl.cli import options
from sdmbtl.cli.output import ArgumentError, note, print_json, prints_as_notes, warnings_as_notes
from sdmbtl.cli.parsing import directory_name
from sdmbtl.cli.signals import StopSignals
from sdmbtl.cli.status import DEFAULT_BUDGET, print_result
from sdmbtl.wording import counted

if TYPE_CHECKING:
    from sdmbtl.studies import Study


@options.with_settings
def run(
    env: options.EnvArgument,
    *,
    out: Path | None = typer.Option(
        None, metavar="DIR", help="Directory of the study.", show_default="runs/ENV"
    ),
    start: Path | None = typer.Option(
        None,
        "--from",
        metavar="FILE",
        help="First policy, already trained: a policy file, or for sb3 an archive (.zip).",
    ),
    seed: options.SeedOption = 0,
    config: options.ConfigOption = None,  # noqa: ARG001 - it has set the defaults of the others
    output: options.OutputSettings,
    stop: options.StopSettings,
    environment: options.EnvironmentSettings,
    selector: options.SelectorSettings,
    training: options.TrainingSettings,
    execution: options.ExecutionSettings,
) -> None:
    """Train policies on chosen contexts and evaluate them.

    Without a stopping rule, 12 policies are trained. The same command, or
    'sdmbtl resume DIR', continues an interrupted run. '--selector NAME' with
    a selector of the paper, such as m/gp-mbtl, trains on single contexts.
    """
    keywords = {**selector.keywords, **training.keywords}
    path = out or Path("runs") / directory_name(env)
    with _stoppable(path) as signals:
        from sdmbtl.studies import Study

        with prints_as_notes():  # an environment is made, and tried
            is_new = not path.exists()
            study = Study.open(path, environment.make_family(env), seed=seed, **keywords)
            if start is not None:
                _start_from(study, start, is_new=is_new)
        is_file = environment.space is not None and Path(environment.space).exists()
        space = "" if environment.space is None or is_file else f" {environment.space}"
        _run(study, stop, output, execution, signals, space=space)


def _start_from(study: Study, start: Path, *, is_new: bool) -> None:
    """Start a study from a policy; if it is refused, a directory made for it is deleted."""
    place = study.path.absolute()
    try:
        study.start_from(start)
    except BaseException:
        if is_new and not study.trials:
            study.close()
            shutil.rmtree(place)
        raise


@options.with_settings
def resume(
    path: options.StudyArgument,
    *,
    retry_failed: bool = typer.Option(
        False, "--retry-failed", help="Another attempt at contexts that failed."
    ),
    trust: options.TrustOption = False,
    wait: options.WaitOption = 30.0,
    output: options.OutputSettings,
    stop: options.StopSettings,
    execution: options.ExecutionSettings,
) -> None:
    """Continue a study with its recorded settings.

    Without a stopping rule, the rule of the earlier run applies, except for
    its time. Contexts handed out by 'sdmbtl ask' stay with whoever asked.
    """
    with _stoppable(path) as signals:
        from sdmbtl.studies import Study

        study = Study.open(path, trust=trust, wait=wait)
        with prints_as_notes():
            _ = study.training  # refuses code that is not trusted before anything is changed
        if not stop.is_given and not study.stop_rules:
            raise ArgumentError(
                f"The study in {str(path)!r} has no budget on record. Give a stopping rule: "
                "--budget, --total-steps, --time or --min-gain."
            )
        if retry_failed:
            count = study.retry_failed()
            note(f"{counted(count, 'context')} whose training failed may be chosen again.")
        _run(study, stop, output, execution, signals)


@contextmanager
def _stoppable(path: Path) -> Iterator[StopSignals]:
    """End a run at a signal, with the command that continues."""
    place = path.absolute()  # an environment may change the working directory

    def message() -> str:
        if not (place / "study.db").exists():
            return "Interrupted before the study was made."
        again = f"sdmbtl resume {quote(str(path))}"
        return (
            f"Interrupted; everything so far is kept. Continue with the same command, or: {again}"
        )

    signals = StopSignals()
    with signals.ending_with(message):
        yield signals


def _run(
    study: Study,
    stop: options.StopSettings,
    output: options.OutputSettings,
    execution: options.ExecutionSettings,
    signals: StopSignals,
    *,
    space: str = "",
) -> None:
    if not stop.is_given:
        stop = replace(stop, budget=DEFAULT_BUDGET)
        if study.stop_rules:
            earlier = study.stop_rules
            stop = replace(stop, **{"budget": None, **earlier})
            if not output.quiet:
                rules = ", ".join(f"{name} {value}" for name, value in earlier.items())
                note(f"Using the earlier stopping rule: {rules}")
    with (
        catch_warnings(action="ignore") if output.quiet else warnings_as_notes(),
        prints_as_notes(),
    ):
        _ = study.training  # fails if its environments cannot be made here
    signals.check()
    if not output.quiet:
        made = study.configuration
        family, trainer = (
            (part or {"name": "none"})["name"] for part in (made.family, made.trainer)
        )
        tasks = counted(len(study.space), "task")
        note(f"sdmbtl · {family}{space} · {tasks} · {trainer} · {study.path}")
        if study.trials:
            finished = counted(study.n_finished, "finished policy", "finished policies")
            note(f"Continuing after {finished}.")
        with warnings_as_notes(), prints_as_notes():
            study.warn_of_environment()
    with prints_as_notes():
        reason = study.run(
            **stop.keywords,
            **execution.keywords,
            callbacks=[lambda _: signals.check()],
            progress=not output.quiet,
            log=output.log or (),
        )
    if output.as_json:
        print_json({**study.status(), "stopped": reason})
    elif not output.quiet:
        print_result(study.snapshot(), reason)
