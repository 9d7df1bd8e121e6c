"""A snapshot of a study in sentences, shared by `status`, the end of a run and the report."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from sdmbtl.studies.networks import Baseline
from sdmbtl.studies.snapshot import PolicySnapshot, StudySnapshot
from sdmbtl.wording import (
    counted,
    coverage_text,
    duration,
    gain_figure,
    gain_text,
    html_lines,
    html_table,
    level_figure,
    whole_percent,
)

#: Number of policies that a line lists at most.
MOST_LISTED = 10
#: The context that an error of an environment names.
_CONTEXT = re.compile(r" in the context \{[^}]*\}")
#: Tasks may be unsolvable if this many policies have not solved them, and they are few.
ENOUGH_POLICIES, FEW = 3, 0.1


def title(snapshot: StudySnapshot) -> str:
    """Name the study: its environment, or its directory."""
    return snapshot.environment or Path(snapshot.path).name


def headline(snapshot: StudySnapshot) -> str:
    """Sum a study up: policies, steps, seconds and coverage."""
    if not snapshot.finished:
        return f"no finished policy, {counted(snapshot.targets, 'task')}"
    parts = [counted(len(snapshot.finished), "policy", "policies")]
    parts += [f"{snapshot.steps:,} steps"] if snapshot.steps else []
    seconds = sum(snapshot.timing["seconds"].values())
    parts += [duration(seconds)] if seconds >= 1 else []
    measure = "mean best return" if snapshot.coverage is None else "coverage"
    return f"{', '.join(parts)}: {measure} {_level(snapshot, snapshot.performance)}"


def result_lines(snapshot: StudySnapshot) -> list[str]:
    """Describe the policies: sum, comparison, gaps, outlook."""
    return [*level_lines(snapshot), *gap_lines(snapshot), *outlook_lines(snapshot)]


def level_lines(snapshot: StudySnapshot) -> list[str]:
    """Sum the study up, and compare it with single policies and networks."""
    lines = [headline(snapshot)]
    if (level := objective_text(snapshot)) is not None:
        lines.append(f"objective {snapshot.objective}: {level}")
    compared = []
    single, random = snapshot.best_single, snapshot.random_actions
    if single is not None and len(snapshot.finished) > 1:
        level = _level(snapshot, single.performance)
        compared.append(f"best single policy {level} (policy {single.id})")
    if random is not None:
        compared.append(f"random actions {_level(snapshot, random.performance)}")
    lines += [" · ".join(compared)] if compared else []
    predicted = snapshot.targets - snapshot.evaluated_targets
    if predicted and snapshot.finished:
        tasks = counted(snapshot.targets, "task")
        lines.append(f"{predicted} of {tasks} predicted; sdmbtl evaluate plays them all")
    return lines + comparison_lines(snapshot)


def comparison_lines(snapshot: StudySnapshot) -> list[str]:
    """Compare the policies with networks that replace them, and with baselines."""
    lines = []
    for network in snapshot.networks:
        own, portfolio = (
            _level(snapshot, mean) for mean in (network.mean_return, network.portfolio_return)
        )
        steps = f"{network.steps:,} steps{_before(snapshot, network.policies)}"
        text = f"one network, context {network.context}: {own}, portfolio {portfolio} ({steps})"
        lines.append(text)
    return lines + [baseline_line(snapshot, baseline) for baseline in snapshot.baselines]


def objective_text(snapshot: StudySnapshot) -> str | None:
    """Show the value of an objective other than the mean; None if it is the mean, or not known."""
    level = snapshot.objective_level
    if snapshot.objective == "mean" or level is None:
        return None
    is_share = snapshot.coverage is not None or snapshot.objective.startswith("share")
    return coverage_text(level) if is_share else f"{level:.4g}"


def baseline_line(snapshot: StudySnapshot, baseline: Baseline) -> str:
    """Compare the study with one policy of the same steps."""
    own = _level(snapshot, baseline.mean_return)
    ours, known = _level(snapshot, baseline.study_return), snapshot.known_span is not None
    error = gain_figure(baseline.standard_error, snapshot.known_span).removeprefix("+")
    lead = baseline.study_return - baseline.mean_return
    gain = gain_figure(abs(lead), snapshot.known_span).removeprefix("+")
    unit, side = " points" if known else "", "ahead of" if lead >= 0 else "behind"
    return (
        f"{gain} ± {error}{unit} {side} one policy on random contexts: "
        f"{'coverage' if known else 'mean return'} {ours} against {own} in new episodes "
        f"(context {baseline.context}, {baseline.steps:,} steps"
        f"{_before(snapshot, baseline.policies)})."
    )


def gap_lines(snapshot: StudySnapshot) -> list[str]:
    """Describe the badly covered tasks."""
    gaps = snapshot.gaps
    if not gaps.count:
        return []
    where = "" if gaps.corner is None else f", mostly {gaps.corner}"
    lines = [f"{gaps.count} of {counted(snapshot.targets, 'task')} badly covered{where}"]
    if gaps.count <= FEW * snapshot.targets and len(snapshot.finished) >= ENOUGH_POLICIES:
        lines.append("No policy has solved them; they may be unsolvable.")
    return lines


def outlook_lines(snapshot: StudySnapshot) -> list[str]:
    """Describe the expected gain of one more policy."""
    if snapshot.next_gain is None or not snapshot.finished:
        return []
    after = " after the pending ones" if snapshot.count("pending") else ""
    gain = gain_text(max(snapshot.next_gain, 0.0), snapshot.known_span)
    return [f"Another policy{after}: about {gain}."]


def detail_lines(snapshot: StudySnapshot) -> list[str]:
    """Describe the details of `status`: low end, models and forecasts so far, stopping rules."""
    lines = []
    if snapshot.steps:
        training, evaluation = snapshot.training_steps, snapshot.evaluation_steps
        lines.append(f"Steps: {training:,} of training, {evaluation:,} of evaluation.")
    if snapshot.covered is not None and snapshot.covered.known:
        lines.append(covered_text(snapshot.covered.worst_tenth, snapshot.covered.near_best))
    if snapshot.model_weights:
        ordered = sorted(snapshot.model_weights.items(), key=lambda item: -item[1])
        weights = ", ".join(f"{name} {whole_percent(weight)}" for name, weight in ordered)
        lines.append(f"Weights of the models: {weights}.")
    if snapshot.structure is not None:
        lines.append(f"Detected structure: {snapshot.structure}.")
    forecasts = [
        (predicted, policy.gain)
        for policy in snapshot.rounds
        if (predicted := policy.trial.expected_gain) is not None
        and policy.gain is not None
        and not math.isnan(policy.gain)
    ]
    if forecasts:
        sums = (sum(gains) for gains in zip(*forecasts, strict=True))
        expected, realised = (gain_text(gain, snapshot.known_span) for gain in sums)
        who = counted(len(forecasts), "policy", "policies")
        lines.append(f"Forecasts so far, for {who}: {expected} expected, {realised} realised.")
    for event in snapshot.extensions:
        after = counted(event["policies"], "policy", "policies")
        lines.append(f"Extended after {after}: {'; '.join(event['changes'])}.")
    if snapshot.running_process is not None:
        lines.append(f"Process {snapshot.running_process} is working on the study now.")
    budget = snapshot.stop_rules.get("budget")
    if snapshot.stopped is not None and snapshot.running_process is None:
        lines.append(f"Stopped: {snapshot.stopped}.")
    elif budget is not None:
        done = ", all trained" if len(snapshot.finished) >= budget else ""
        lines.append(f"Budget: {counted(budget, 'policy', 'policies')}{done}.")
    return lines


def problem_lines(snapshot: StudySnapshot) -> list[str]:
    """Describe failures, and unfinished work."""
    lines = [
        f"{counted(number, 'policy', 'policies')} {status}"
        for status in ("pending", "failed", "forgotten")
        if (number := snapshot.count(status))
    ]
    alike: dict[str, list[tuple[PolicySnapshot, str]]] = {}
    for policy in snapshot.rounds:
        for text in policy_problems(policy):  # the same error in several contexts is told once
            alike.setdefault(_CONTEXT.sub("", text), []).append((policy, text))
    lines += [f"{_listed([p for p, _ in found])}: {found[0][1]}" for found in alike.values()]
    useless = [p for p in snapshot.rounds if p.no_better_than_random]
    if useless:
        advice = " Train longer (--steps), or with other settings (sdmbtl trainers lists them)."
        many = 2 * len(useless) >= len(snapshot.finished)  # one may have met unsolvable tasks
        lines.append(f"No better than random actions: {_listed(useless)}.{advice if many else ''}")
    return lines


def policy_problems(policy: PolicySnapshot) -> list[str]:
    """Describe the problems of a policy, apart from what random actions do as well."""
    found = []
    if policy.trial.status == "failed" and policy.run.errors:
        found.append(f"failed: {policy.run.errors[-1]}")
    if policy.failed_targets:
        failed = counted(policy.failed_targets, "task")
        found.append(f"evaluation failed on {failed}: {policy.first_target_error}")
    if policy.probably_failed:
        found.append("far below the others, its training may have failed")
    if policy.trial.earlier:
        became, reason = policy.trial.earlier[-1].became, policy.trial.earlier[-1].reason
        text = "forgotten" if policy.trial.status == "forgotten" else "corrected"
        found.append(f"{text}: {reason}" if reason and became == policy.trial.status else text)
    return found


def status_lines(snapshot: StudySnapshot) -> list[str]:
    """Describe everything: identity, result, problems, details."""
    parts = [title(snapshot), counted(snapshot.targets, "task")]
    parts.append("trained elsewhere" if snapshot.trainer is None else snapshot.trainer)
    parts += [f"selector {snapshot.selector}", f"seed {snapshot.seed}"]
    lines = [" · ".join(parts), *result_lines(snapshot)]
    return lines + problem_lines(snapshot) + detail_lines(snapshot)


def covered_text(worst_tenth: float, near_best: float, noun: str = "tasks") -> str:
    """Describe the low end of the coverage, and the share that is solved.

    >>> covered_text(0.5, 0.75)
    'Worst tenth 50.0 %; 75 % of the tasks within 5 % of the best return.'
    """
    near = f"{whole_percent(near_best)} of the {noun} within 5 % of the best return"
    return f"Worst tenth {coverage_text(worst_tenth)}; {near}."


def _level(snapshot: StudySnapshot, mean_return: float) -> str:
    """Write a mean return, as a coverage where that is known."""
    level = snapshot.level(mean_return)
    return level_figure(level.performance, level.coverage)


def _before(snapshot: StudySnapshot, policies: int) -> str:
    """Count the policies that were added since something was made of the first ones."""
    later = len(snapshot.finished) - policies
    return f", before the last {counted(later, 'policy', 'policies')}" if later > 0 else ""


def _listed(policies: Sequence[PolicySnapshot]) -> str:
    which = ", ".join(str(policy.trial.id) for policy in policies[:MOST_LISTED])
    more = ", …" if len(policies) > MOST_LISTED else ""
    return f"{'policy' if len(policies) == 1 else 'policies'} {which}{more}"


def study_html(snapshot: StudySnapshot) -> str:
    """Return the status and a table of the policies, for a notebook."""
    rows = [
        (
            policy.trial.id,
            policy.trained_on,
            policy.trial.status,
            level_figure(policy.performance, policy.coverage),
            gain_figure(policy.gain, snapshot.known_span),
            policy.trial.reason,
        )
        for policy in snapshot.rounds
    ]
    level = "mean best return" if snapshot.known_span is None else "coverage"
    table = html_table(["policy", "trained on", "status", level, "gain", "why"], rows)
    return html_lines(snapshot.path, status_lines(snapshot)) + (table if rows else "")
