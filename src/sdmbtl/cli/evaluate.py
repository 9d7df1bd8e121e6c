"""`sdmbtl evaluate` and `sdmbtl doctor`: new episodes, and damage of a study."""

from __future__ import annotations

import math
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated

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
    print_json,
    print_lines,
    prints_as_notes,
    say,
    warnings_as_notes,
)
from sdmbtl.cli.signals import StopSignals
from sdmbtl.console import PlainConsole
from sdmbtl.wording import counted, coverage_text, shown_context

if TYPE_CHECKING:
    from sdmbtl.studies import Study

#: Contexts that are listed as the worst ones.
_WORST = 5


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
    from sdmbtl.contexts import ContextSpace, Interval
    from sdmbtl.studies import Study
    from sdmbtl.studies.describe import covered_text
    from sdmbtl.transfer import coverage_of, mean_of

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
    space = study.space
    contexts = list(space)
    if samples is not None:  # evenly in the box, on the scale of each dimension
        box = dict.fromkeys(space.names, Interval(0.0, 1.0))
        units = ContextSpace.sample(samples, seed=seed, **box).targets
        contexts = [space.context(vector) for vector in space.from_unit(units)]
    signals = StopSignals()
    with (
        signals.ending_with(lambda: "Interrupted; nothing was changed."),
        warnings_as_notes(),
        prints_as_notes(),
    ):
        returns = study.evaluate(
            contexts,
            episodes=episodes,
            seed=seed,
            eval_processes=eval_processes,
            progress=lambda *_: signals.check(),
        )
    means = returns.mean(axis=1)  # NaN where the evaluation failed
    played = [
        {"context": context, "mean": mean}
        for context, mean in zip(contexts, means.tolist(), strict=True)
        if not math.isnan(mean)
    ]
    weights = space.weights if samples is None else None
    covered = coverage_of(means, study.selector.rows.returns, study.return_range, weights)
    worst = sorted(played, key=itemgetter("mean"))[:_WORST]
    failed = len(contexts) - len(played)
    mean = mean_of(means, weights)
    coverage = study.share(mean)
    if as_json:
        print_json(
            {
                "path": str(path),
                "contexts": "targets" if samples is None else "samples",
                "episodes": returns.shape[1],
                "seed": seed,
                "count": len(played),
                "failed": failed,
                "mean": mean,
                "coverage": coverage,
                "covered": None if covered is None else covered.to_dict(),
                "worst": worst,
                "by_context": played,
            }
        )
        return
    where = "targets" if samples is None else "contexts between the targets"
    episodes_each = counted(returns.shape[1], "new episode")
    lines = [f"{episodes_each} on each of {len(played)} {where}: mean return {mean:.4g}"]
    if failed:
        lines.append(f"Evaluation failed on {failed} more, which are not counted")
    if coverage is not None:
        lines.append(f"Coverage {coverage_text(coverage)}")
    if covered is not None and covered.known:
        noun = "tasks" if samples is None else "contexts"
        lines.append(covered_text(covered.worst_tenth, covered.near_best, noun))
    lines += ["", "Worst contexts:"]
    lines += [f"  mean return {e['mean']:.4g}: {shown_context(e['context'])}" for e in worst]
    print_lines(PlainConsole(), *lines)


def _evaluate_missing(study: Study, eval_processes: int | None, *, as_json: bool) -> None:
    """Fill in missing returns and print their number."""
    signals = StopSignals()
    with (
        signals.ending_with(lambda: "Interrupted; returns filled in so far are kept."),
        prints_as_notes(),
    ):
        counts = study.evaluate_missing([lambda _: signals.check()], eval_processes=eval_processes)
    if as_json:
        print_json({"path": str(study.path), **counts})
        return
    say(f"{counted(counts['missing'], 'return')} missing before, {counts['left']} now.")
    for entry in study.snapshot().rounds:
        if entry.failed_targets:
            failed = counted(entry.failed_targets, "target")
            say(f"policy {entry.trial.id}, {failed}: {entry.first_target_error}")


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
    if not diagnosis.healthy:
        raise typer.Exit(1)
