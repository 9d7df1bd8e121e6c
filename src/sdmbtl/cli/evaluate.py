"""`sdmbtl evaluate` and `sdmbtl doctor`: new episodes, and damage of a study."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sdmbtl.cli.options import (
    AcceptChangesOption,
    EvalProcessesOption,
    JsonOption,
    StudyArgument,
    TrustOption,
)
from sdmbtl.cli.output import (
    ArgumentError,
    context_cells,
    context_table,
    print_json,
    print_lines,
    result_console,
    say,
    warnings_as_notes,
)
from sdmbtl.cli.signals import StopSignals
from sdmbtl.wording import counted, coverage_text, figure

if TYPE_CHECKING:
    from sdmbtl.studies import Study

#: Contexts that are listed as the worst ones.
WORST = 5


def evaluate(
    path: StudyArgument,
    episodes: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Episodes on each context.", min=1, show_default="as in the study"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the episodes.", min=0)] = 0,
    samples: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Number of contexts between the targets, instead of these.", min=1
        ),
    ] = None,
    missing: Annotated[
        bool,
        typer.Option("--missing", help="Evaluations that failed, repeated and recorded."),
    ] = False,
    eval_processes: EvalProcessesOption = None,
    accept_changes: AcceptChangesOption = False,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Play new episodes, in each context with the policy chosen for it."""
    from sdmbtl.studies import Study

    study = Study.open(path, accept_changes=accept_changes, trust=trust)
    _ = study.training  # refuses a study without environments, or with changed ones
    if missing:
        if episodes is not None or samples is not None or seed:
            raise ArgumentError(
                "--missing plays the recorded episodes on the targets. Leave --episodes, "
                "--samples and --seed out."
            )
        _evaluate_missing(study, eval_processes, as_json=as_json)
        return
    contexts = list(study.space) if samples is None else _sample_contexts(study, samples, seed)
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
        **_summarise(study, contexts, returns.mean(axis=1)),
    }
    if as_json:
        print_json(result)
    else:
        _print_evaluation(result, list(study.space.names))


def _evaluate_missing(study: Study, eval_processes: int | None, *, as_json: bool) -> None:
    """Fill in missing returns and print their number."""
    signals = StopSignals()
    with signals.ending_with(lambda: "Interrupted; returns filled in so far are kept."):
        counts = study.evaluate_missing([lambda _: signals.check()], eval_processes=eval_processes)
    if as_json:
        print_json({"path": str(study.path), **counts})
        return
    if not counts["missing"]:
        say("Nothing is missing: every policy was evaluated on all targets.")
        return
    filled = counts["missing"] - counts["left"]
    say(
        f"{counted(counts['missing'], 'return was', 'returns were')} missing: {filled} filled in, "
        f"{counts['left']} left."
    )
    for entry in study.status()["rounds"]:
        if entry["failed_targets"]:
            failed = counted(entry["failed_targets"], "target")
            say(f"policy {entry['id']}, {failed}: {entry['first_target_error']}")


def _sample_contexts(study: Study, count: int, seed: int) -> list[dict[str, float]]:
    """Draw contexts that fill the box evenly, on the scale of each dimension."""
    from sdmbtl.contexts import ContextSpace, Interval

    box = dict.fromkeys(study.space.names, Interval(0.0, 1.0))
    units = ContextSpace.sample(count, seed=seed, **box).targets
    return [study.space.context(vector) for vector in study.space.from_unit(units)]


def _summarise(study: Study, contexts: list[dict[str, float]], means: Any) -> dict[str, Any]:
    """Return mean, coverage and worst contexts of (n,) mean returns, NaN where that failed."""
    import numpy as np
    import scipy

    from sdmbtl.transfer import coverage_of, mean_of

    evaluated = np.flatnonzero(~np.isnan(means))
    failed, means = len(means) - len(evaluated), means[evaluated]
    mean = mean_of(means)
    interval = None
    if len(means) > 1:  # 95 % by Student's t, within the possible returns
        error = means.std(ddof=1) / np.sqrt(len(means))
        margin = float(scipy.special.stdtrit(len(means) - 1, 0.975) * error)
        low, high = study.return_range or (-np.inf, np.inf)
        interval = [max(mean - margin, low), min(mean + margin, high)]
    by_context = [
        {"context": contexts[i], "mean": m} for i, m in zip(evaluated, means.tolist(), strict=True)
    ]
    covered = coverage_of(means, study.selector.rows.returns, study.return_range)
    return {
        "count": len(means),
        "failed": failed,
        "mean": mean,
        "interval": interval,
        "coverage": study.share(mean),
        "covered": None if covered is None else covered.to_dict(),
        "worst": [by_context[i] for i in means.argsort(kind="stable")[:WORST]],
        "by_context": by_context,
    }


def _print_evaluation(result: Mapping[str, Any], names: list[str]) -> None:
    from sdmbtl.studies.describe import covered_text

    is_sample = result["contexts"] != "targets"
    of = "contexts between the targets" if is_sample else "targets"
    interval = ""
    if result["interval"] is not None:
        low, high = result["interval"]
        interval = f", 95 % interval {low:.4g} to {high:.4g}"
    lines = [
        f"{counted(result['episodes'], 'new episode')} on each of {result['count']} {of}",
        f"Mean return {result['mean']:.4g}{interval} over contexts",
    ]
    if result["failed"]:
        lines.append(f"Evaluation failed on {result['failed']} more, which are not counted")
    if result["coverage"] is not None:
        lines.append(f"Coverage {coverage_text(result['coverage'])}")
    if result["covered"] is not None:
        covered = result["covered"]
        noun = "contexts" if is_sample else "tasks"
        lines.append(covered_text(covered["worst_tenth"], covered["within_5_percent"], noun))
    table = context_table((), names, ["mean return"])
    for entry in result["worst"]:
        table.add_row(*context_cells(entry["context"]), figure(entry["mean"]))
    console = result_console()
    print_lines(console, *lines, "", "Worst contexts:")
    console.print(table)


def doctor(
    path: StudyArgument,
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair of everything that can be repaired.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Look for damage in a study; exit status 1 if problems remain."""
    from sdmbtl.studies import doctor as clinic

    diagnosis = clinic.repair(path) if repair else clinic.examine(path)
    if as_json:
        print_json(diagnosis.to_dict())
    else:
        for done in diagnosis.repaired:
            say(f"repaired  {done}")
        for finding in diagnosis.findings:
            say(f"{finding.level:<8}  {finding.text}")
            if finding.remedy:
                say(f"{'':<8}  -> {finding.remedy}")
        if diagnosis.healthy:
            say("The study is healthy.")
        elif not repair and any("--repair" in (f.remedy or "") for f in diagnosis.findings):
            say(f"Repair with: sdmbtl doctor {quote(str(path))} --repair")
        elif repair and not diagnosis.repaired:
            say("--repair can do nothing about this.")
    if not diagnosis.healthy:
        raise typer.Exit(1)
