"""Studies on the command line: opened, evaluated and examined."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from sdmbtl.cli.arguments import ArgumentError
from sdmbtl.cli.options import (
    AcceptChangesOption,
    EvalProcessesOption,
    JsonOption,
    StudyArgument,
    TrustOption,
)
from sdmbtl.cli.output import (
    context_cells,
    context_table,
    print_json,
    result_console,
    say,
    warnings_as_notes,
)
from sdmbtl.cli.signals import StopSignals
from sdmbtl.wording import counted, coverage_text, figure

if TYPE_CHECKING:
    from sdmbtl.studies import Study
    from sdmbtl.studies.doctor import Diagnosis

#: Contexts that are listed as the worst ones.
WORST = 5


def opened_with_environment(
    path: Path, *, accept_changes: bool = False, trust: bool = False, wait: float = 30.0
) -> Study:
    """Open a study whose policies are trained here.

    Args:
        path: The directory.
        accept_changes: Whether the code of its environments may have been edited.
        wait: Seconds to wait for another process that writes.
        trust: Whether that code may be imported although the study was not made here.

    Raises:
        ArgumentError: If they are trained elsewhere, so that they are not here.
    """
    from sdmbtl.studies import Study

    study = Study.open(path, accept_changes=accept_changes, trust=trust, wait=wait)
    if study.configuration.family is None:
        place = quote(str(path))
        raise ArgumentError(
            f"The policies of the study in {str(path)!r} are trained elsewhere, so they are not "
            f"here. Use 'sdmbtl ask {place}', 'sdmbtl tell {place}' and 'sdmbtl status {place}'."
        )
    return study


def evaluate(
    path: StudyArgument,
    episodes: Annotated[
        int | None,
        typer.Option(help="Episodes on each context; as in the study if left out.", min=1),
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed gives other episodes.", min=0)] = 0,
    samples: Annotated[
        int | None,
        typer.Option(help="Play on this many contexts between the targets instead.", min=1),
    ] = None,
    missing: Annotated[
        bool,
        typer.Option(
            "--missing",
            help="Evaluate policies again on targets where that failed, and record the returns.",
        ),
    ] = False,
    eval_processes: EvalProcessesOption = None,
    accept_changes: AcceptChangesOption = False,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Play new episodes, each context with the policy chosen for it."""
    study = opened_with_environment(path, accept_changes=accept_changes, trust=trust)
    if missing:
        others = (episodes, samples, seed or None)
        _evaluate_missing(study, others, eval_processes, as_json=as_json)
        return
    contexts = list(study.space) if samples is None else _sampled(study, samples, seed)
    signals = StopSignals()
    with signals.ending_with(lambda: "Interrupted; nothing was changed."), warnings_as_notes():
        returns = study.evaluate(
            contexts,
            episodes=episodes,
            seed=seed,
            eval_processes=eval_processes,
            progress=lambda *_: signals.check(),
        )
    result = {
        "path": str(path),
        "contexts": "targets" if samples is None else "samples",
        "episodes": returns.shape[1],
        "seed": seed,
        **_measured(study, contexts, returns.mean(axis=1)),
    }
    if as_json:
        print_json(result)
    else:
        _print_evaluation(result, list(study.space.names))


def _measured(study: Study, contexts: list[dict[str, float]], means: Any) -> dict[str, Any]:
    """What mean returns on contexts come to; those whose evaluation failed are NaN."""
    import numpy as np

    from sdmbtl.transfer import coverage_of, mean_of

    evaluated = np.flatnonzero(~np.isnan(means))
    failed, means = len(means) - len(evaluated), means[evaluated]
    by_context = [
        {"context": contexts[i], "mean": m} for i, m in zip(evaluated, means.tolist(), strict=True)
    ]
    covered = coverage_of(means, study.selector.rows.returns, study.return_range)
    mean = mean_of(means)
    return {
        "count": len(means),
        "failed": failed,
        "mean": mean,
        "interval": _interval(means, study.return_range),
        "coverage": study.share(mean),
        "covered": None if covered is None else covered.to_dict(),
        "worst": [by_context[i] for i in means.argsort(kind="stable")[:WORST]],
        "by_context": by_context,
    }


def _evaluate_missing(
    study: Study, others: tuple[int | None, ...], eval_processes: int | None, *, as_json: bool
) -> None:
    """Fill in returns that are missing, and say how many; other options do not go with it."""
    if any(given is not None for given in others):
        raise ArgumentError(
            "--missing plays the episodes that the study would have played, on its targets. "
            "Leave --episodes, --samples and --seed out."
        )
    signals = StopSignals()
    with signals.ending_with(lambda: "Interrupted; what was filled in is kept."):
        counts = study.evaluate_missing([lambda _: signals.check()], eval_processes=eval_processes)
    if as_json:
        print_json({"path": str(study.path), **counts})
        return
    if not counts["missing"]:
        say("Nothing is missing: every policy that is here was evaluated on all targets.")
        return
    filled = counts["missing"] - counts["left"]
    say(
        f"{counted(counts['missing'], 'return was', 'returns were')} missing of recorded policies: "
        f"{filled} filled in, {counts['left']} left."
    )
    for entry in study.status()["rounds"]:
        if entry["failed_targets"]:
            failed = counted(entry["failed_targets"], "target")
            say(f"policy {entry['id']}, {failed}: {entry['first_target_error']}")


def _sampled(study: Study, count: int, seed: int) -> list[dict[str, float]]:
    """Contexts that fill the box evenly, on the scale of each dimension."""
    from sdmbtl.contexts import ContextSpace, Interval

    box = dict.fromkeys(study.space.names, Interval(0.0, 1.0))
    units = ContextSpace.sample(count, seed=seed, **box).targets
    return [study.space.context(vector) for vector in study.space.from_unit(units)]


def _interval(means: Any, possible: tuple[float, float] | None) -> list[float] | None:
    """95 % interval of the mean over the contexts, by Student's t, within what is possible."""
    import numpy as np
    import scipy

    from sdmbtl.transfer import mean_of, scale_of

    if len(means) < 2:
        return None
    scale, mean = scale_of(means), mean_of(means)
    error = (means / scale).std(ddof=1) / np.sqrt(len(means))
    margin = float(scipy.special.stdtrit(len(means) - 1, 0.975) * error) * scale
    low, high = possible or (-np.inf, np.inf)
    return [max(mean - margin, low), min(mean + margin, high)]


def _print_evaluation(result: Mapping[str, Any], names: list[str]) -> None:
    from sdmbtl.studies.describe import covered_text

    console = result_console()
    of = "targets" if result["contexts"] == "targets" else "contexts between the targets"
    interval = ""
    if result["interval"] is not None:
        low, high = result["interval"]
        interval = f", 95 % interval {low:.4g} to {high:.4g}"
    lines = [
        f"{counted(result['episodes'], 'new episode')} on each of {result['count']} {of}",
        f"Mean return {result['mean']:.4g}{interval} over contexts",
    ]
    if result["failed"]:
        lines.append(f"It failed on {result['failed']} more, which are not counted")
    if result["coverage"] is not None:
        lines.append(f"Coverage {coverage_text(result['coverage'])}")
    if result["covered"] is not None:
        noun = "tasks" if result["contexts"] == "targets" else "contexts"
        covered = result["covered"]
        lines.append(covered_text(covered["worst_tenth"], covered["within_5_percent"], noun))
    for line in lines:
        console.print(Text(line), soft_wrap=True)
    console.print("\nWorst contexts:")
    table = context_table((), names, ["mean return"])
    for entry in result["worst"]:
        table.add_row(*context_cells(entry["context"]), figure(entry["mean"]))
    console.print(table)


def doctor(
    path: StudyArgument,
    repair: Annotated[bool, typer.Option("--repair", help="Repair what can be repaired.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Look for damage in a study; exit status 1 if problems remain."""
    from sdmbtl.studies import doctor as clinic

    diagnosis = clinic.repair(path) if repair else clinic.examine(path)
    if as_json:
        print_json(diagnosis.to_dict())
    else:
        _print_diagnosis(path, diagnosis, repair=repair)
    if not diagnosis.healthy:
        raise typer.Exit(1)


def _print_diagnosis(path: Path, diagnosis: Diagnosis, *, repair: bool) -> None:
    for done in diagnosis.repaired:
        say(f"repaired  {done}")
    for finding in diagnosis.findings:
        say(f"{finding.level:<8}  {finding.text}")
        if finding.remedy:
            say(f"{'':<8}  -> {finding.remedy}")
    if diagnosis.healthy:
        say("The study is healthy.")
    elif not repair and any("--repair" in (f.remedy or "") for f in diagnosis.findings):
        say(f"Repair what can be repaired with: sdmbtl doctor {quote(str(path))} --repair")
    elif repair and not diagnosis.repaired:
        say("--repair can do nothing about this.")
