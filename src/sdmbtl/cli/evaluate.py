"""`sdmbtl evaluate` and `sdmbtl doctor`: new episodes, and damage of a study."""

from __future__ import annotations

import math
from collections.abc import Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import typer

from sdmbtl.cli import options
from sdmbtl.cli.output import ArgumentError, print_json, print_lines, say
from sdmbtl.cli.signals import stoppable
from sdmbtl.wording import counted, coverage_text, shown_context

if TYPE_CHECKING:
    from sdmbtl.studies import Study

#: Contexts that are listed as the worst ones.
_WORST = 5


def evaluate(
    path: options.StudyArgument,
    episodes: int | None = typer.Option(
        None, metavar="N", help="Episodes on each context.", min=1, show_default="as in the study"
    ),
    seed: int = typer.Option(0, metavar="N", help="Seed of the episodes.", min=0),
    samples: int | None = typer.Option(
        None, metavar="N", help="Number of contexts between the targets, or of each split.", min=1
    ),
    split: list[str] | None = typer.Option(
        None,
        metavar="NAME|FILE.toml",
        help="train (the targets), interpolation, extrapolation, or [splits] of a file; may be "
        "repeated.",
    ),
    missing: bool = typer.Option(
        False,
        "--missing",
        help="Evaluation of every policy on every target without a return, failed ones included; "
        "recorded in the study.",
    ),
    trust: options.TrustOption = False,
    as_json: options.JsonOption = False,
) -> None:
    """Play new episodes, in each context with the policy chosen for it."""
    from sdmbtl.contexts.splits import split_contexts
    from sdmbtl.studies import Study

    study = Study.open(path, trust=trust)
    _ = study.training  # refuses a study without environments
    if missing:
        if episodes is not None or samples is not None or split or seed:
            raise ArgumentError(
                "--missing plays the recorded episodes on the targets. Leave --episodes, "
                "--samples, --split and --seed out."
            )
        _evaluate_missing(study, as_json=as_json)
        return
    splits: dict[str, Any] = {}
    for name in split or ["train" if samples is None else "interpolation"]:
        splits |= split_contexts(study.space, name, samples, seed)
    results = []
    with stoppable("Interrupted; nothing was changed.") as signals:
        for name, contexts in splits.items():
            returns = study.evaluate(
                contexts,
                episodes=episodes,
                seed=seed,
                progress=lambda *_: signals.check(),
            )
            results.append({"split": name, "seed": seed, **_result(study, contexts, returns)})
    if as_json:
        print_json({"path": str(path), **({"splits": results} if split else results[0])})
        return
    for result in results:
        _print_split(result)


def _result(study: Study, contexts: Any, returns: Any) -> dict[str, Any]:
    """Sum up (n, episodes) returns in contexts."""
    from sdmbtl.transfer import coverage_of, mean_of

    means = returns.mean(axis=1)  # NaN where the evaluation failed
    played = [
        {"context": study.space.context(context), "mean": mean}
        for context, mean in zip(contexts, means.tolist(), strict=True)
        if not math.isnan(mean)
    ]
    weights = study.space.weights if contexts is study.space.targets else None
    covered = coverage_of(means, study.selector.rows.returns, study.return_range, weights)
    mean = mean_of(means, weights)
    return {
        "episodes": returns.shape[1],
        "count": len(played),
        "failed": len(contexts) - len(played),
        "mean": mean,
        "coverage": study.share(mean),
        "covered": None if covered is None else covered.to_dict(),
        "worst": sorted(played, key=itemgetter("mean"))[:_WORST],
        "by_context": played,
    }


def _print_split(result: Mapping[str, Any]) -> None:
    """Print the summary of one split, and its worst contexts."""
    from sdmbtl.studies.describe import covered_text

    where = {
        "train": "tasks",
        "interpolation": "contexts between the tasks",
        "extrapolation": "contexts beyond the tasks",
    }.get(result["split"], f"contexts of {result['split']}")
    level = f"mean return {result['mean']:.4g}"
    if result["coverage"] is not None:
        level = f"coverage {coverage_text(result['coverage'])}, {level}"
    episodes = counted(result["episodes"], "new episode")
    lines = [f"{episodes} on each of {result['count']} {where}: {level}"]
    if result["failed"]:
        lines.append(f"Evaluation failed on {result['failed']} more, which are not counted")
    covered = result["covered"]
    if covered is not None and covered["range_known"]:
        noun = "tasks" if result["split"] == "train" else "contexts"
        lines.append(covered_text(covered["worst_tenth"], covered["within_5_percent"], noun))
    lines.append("Worst contexts:")
    worst = result["worst"]
    lines += [f"  mean return {e['mean']:.4g}: {shown_context(e['context'])}" for e in worst]
    print_lines(*lines, hanging=2)


def _evaluate_missing(study: Study, *, as_json: bool) -> None:
    """Fill in missing returns and print their number."""
    with stoppable("Interrupted; returns filled in so far are kept.") as signals:
        counts = study.evaluate_missing([lambda _: signals.check()])
    if as_json:
        print_json({"path": str(study.path), **counts})
        return
    say(f"{counted(counts['missing'], 'return')} missing before, {counts['left']} now.")
    for entry in study.snapshot().rounds:
        if entry.failed_targets:
            failed = counted(entry.failed_targets, "task")
            say(f"policy {entry.trial.id}, {failed}: {entry.first_target_error}")


def doctor(
    path: options.StudyArgument,
    repair: bool = typer.Option(
        False, "--repair", help="Repair of everything that can be repaired."
    ),
    as_json: options.JsonOption = False,
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
