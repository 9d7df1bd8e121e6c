"""What the numbers of a transfer matrix say, as sentences by fixed rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from sdmbtl.wording import in_words, whole_percent
from sdmbtl_lab.matrices.margins import CHOICE_MATTERS

if TYPE_CHECKING:
    from sdmbtl_lab.matrices.anatomy import Anatomy, Effect

#: Share of what all policies reach from which on one policy is enough.
SATURATED = 0.97
#: R² from which on a model describes what it is fitted to.
DESCRIBES = 0.5
#: What a richer model must add to R² to be worth a sentence.
BETTER = 0.1
#: A change across a whole dimension that is smaller than this does no harm.
HARMLESS = 0.02
#: Shares of variance below this are not worth a sentence.
NEGLIGIBLE = 0.05
#: Correlation between seeds below which a run says little about the next, and above which
#: it says nearly everything.
VARIES, REPEATABLE = 0.5, 0.8
#: A policy whose row is this much better than the same source's in the other seeds is counted.
MUCH_BETTER = 0.1
#: Share of contexts that should be best served by their own policy.
OWN_IS_BEST = 0.8
#: Share of the returns at the top, or of hard targets, that is worth a sentence.
MANY = 0.3
SOME_HARD = 0.05


def findings(found: Anatomy) -> tuple[str, ...]:
    """The findings, the most important first."""
    if found.size.lowest == found.size.highest:
        return (f"All returns are the same ({found.size.lowest:g}): there is nothing to choose.",)
    sentences = [
        _margin(found),
        _saturation(found),
        _variance(found),
        _mountain(found),
        _shape(found),
        _sides(found),
        _effect(found.quality, "Policy quality f", found.shares.quality),
        _effect(found.difficulty, "Task difficulty g", found.shares.difficulty),
        _run_variance(found),
        *_defects(found),
        _multi_task(found),
        _detection(found),
    ]
    return tuple(sentence for sentence in sentences if sentence)


def _margin(found: Anatomy) -> str:
    few = found.few_policies
    k = few.margin_round
    numbers = (
        f"{_policies(k)} chosen by the oracle reach {few.oracle[k - 1]:.3f}, "
        f"chosen at random {few.random[k - 1]:.3f}"
    )
    if few.margin >= CHOICE_MATTERS:
        return f"The choice matters: {numbers}."
    return f"The choice hardly matters: {numbers} (less than {CHOICE_MATTERS:g} apart)."


def _saturation(found: Anatomy) -> str:
    few = found.few_policies
    reached = few.single / few.everything
    if reached >= SATURATED:
        return (
            f"Saturated: the best single policy reaches {reached:.3f} of what all "
            f"{found.size.contexts} reach together."
        )
    if few.at_top >= MANY:
        return f"Plateaus: {whole_percent(few.at_top)} of all returns are at the very top."
    return ""


def _variance(found: Anatomy) -> str:
    shares = {
        "which policy runs (f)": found.shares.quality,
        "which target it is (g)": found.shares.difficulty,
        "how the two fit (h)": found.shares.dissimilarity,
    }
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    listed = ", ".join(f"{name} {whole_percent(share)}" for name, share in ordered)
    return f"What returns depend on, by variance: {listed}."


def _mountain(found: Anatomy) -> str:
    gap = found.gap
    if gap.mountain_r2 is None or found.shares.dissimilarity < NEGLIGIBLE:
        return (
            "No mountain, nor another shape: source and target hardly interact "
            f"({whole_percent(found.shares.dissimilarity)} of the variance)."
        )
    distance = (
        "the weighted distance of source and target explains "
        f"{whole_percent(gap.mountain_r2)} of the interaction"
    )
    if gap.ceiling is not None:
        distance += f" (the seeds agree on {whole_percent(gap.ceiling)} of it)"
    # Noise, which no model can explain, must not count against this one.
    explainable = 1.0 if gap.ceiling is None else gap.ceiling
    if gap.mountain_r2 < DESCRIBES * explainable or (gap.weights < 0).any():
        rising = _names(found, gap.weights < 0)
        return f"No mountain: {distance}{f'; farther is better in {rising}' if rising else ''}."
    if found.is_mountain:
        return f"Mountain: policies are alike, and {distance}."
    return f"A ridge, but not a mountain: {distance}, but {found.detection.explanation}."


def _shape(found: Anatomy) -> str:
    gap = found.gap
    if gap.mountain_r2 is None or gap.curves_r2 is None:
        return ""
    if found.shares.dissimilarity < NEGLIGIBLE:
        return ""
    parts = []
    if gap.curves_r2 - gap.mountain_r2 >= BETTER:
        parts.append(f"bent curves of the difference explain {whole_percent(gap.curves_r2)}")
    if gap.positions_r2 is not None and gap.positions_r2 - gap.curves_r2 >= BETTER:
        parts.append(
            "where source and target lie, dimension by dimension, explains "
            f"{whole_percent(gap.positions_r2)}"
        )
    return f"Not straight slopes: {'; '.join(parts)} of the interaction." if parts else ""


def _sides(found: Anatomy) -> str:
    """Dimensions in which returns fall on one side of the target only."""
    left, right = found.gap.left, found.gap.right
    parts = []
    for side, other, falling, flat in (
        ("above", "below", left, right),
        ("below", "above", right, left),
    ):
        names = _names(found, (falling <= -BETTER) & (flat >= -HARMLESS))
        if names:
            parts.append(f"in {names} a source {side} the target does no harm, one {other} does")
    return f"One-sided: {'; '.join(parts)}." if parts else ""


def _effect(effect: Effect, name: str, share: float) -> str:
    if share < NEGLIGIBLE or effect.linear_r2 is None or effect.additive_r2 is None:
        return ""
    main = max(effect.main_effects, key=lambda m: m.share)
    if effect.additive_r2 < DESCRIBES:
        return (
            f"{name} is not a sum over the dimensions (R² {effect.additive_r2:.2f}): neighbouring "
            "contexts differ, or dimensions act together."
        )
    kind = "nearly linear" if effect.linear_r2 >= 0.8 * effect.additive_r2 else "bent"
    return (
        f"{name} is {kind} (R² {effect.linear_r2:.2f} linear, {effect.additive_r2:.2f} with "
        f"curves), mostly along {main.name} ({whole_percent(main.share)})."
    )


def _run_variance(found: Anatomy) -> str:
    variance = found.run_variance
    if found.size.seeds == 1:
        return "One seed: noise between training runs cannot be separated from policy quality."
    if variance.row is None or variance.row_correlation is None:
        return ""
    correlation = (
        f"mean returns of the policies of two seeds correlate {variance.row_correlation:.2f}"
    )
    rows = f"noise between training runs is {whole_percent(variance.row)} of all variance"
    if variance.better_runs:
        every = found.size.seeds * found.size.contexts
        beaten = f"beat their source's others by {MUCH_BETTER:g} or more"
        rows += f", {variance.better_runs} of {every} policies {beaten}"
    verdict = "Partly repeatable"
    if variance.row_correlation < VARIES:
        verdict = "Policies differ by chance"
    elif variance.row_correlation >= REPEATABLE:
        verdict = "Training is repeatable"
    return f"{verdict}: {correlation}; {rows}."


def _defects(found: Anatomy) -> Iterator[str]:
    """What is wrong with evaluation, training or targets, if anything."""
    noise, training, size = found.run_variance.evaluation_noise, found.training, found.size
    if noise is not None and noise >= NEGLIGIBLE:
        yield (
            f"Noisy evaluation: {size.episodes} episodes leave noise of {whole_percent(noise)} "
            "of the variance."
        )
    if training.own_is_best < OWN_IS_BEST:
        yield (
            "Training where it counts is not a guarantee: in "
            f"{whole_percent(training.own_is_best)} of the contexts the own policy has 0.95 of "
            f"the best one's return (mean {training.own:.3f}, best {training.best:.3f})."
        )
    if training.unsolved:
        count = len(training.unsolved)
        targets = "one target" if count == 1 else f"{count} targets"
        yield (
            f"Out of reach: no policy gets half of the range on {targets} "
            f"({whole_percent(count / size.contexts)}): {training.unsolved_where}."
        )
    if found.few_policies.hard_targets >= SOME_HARD:
        yield (
            f"Hard targets: on {whole_percent(found.few_policies.hard_targets)} of the targets "
            "fewer than 5 % of the policies have 0.9 of the best one's return."
        )


def _multi_task(found: Anatomy) -> str:
    few = found.few_policies
    compared = [k for k in few.multi_task if k <= len(few.oracle)]
    if not compared:
        return ""
    k = max(compared)
    multi_task, oracle, random = few.multi_task[k], few.oracle[k - 1], few.random[k - 1]
    if multi_task >= oracle:
        verdict = "is at least as good as the oracle"
    elif multi_task >= random:
        verdict = "lies between"
    else:
        verdict = "is worse"
    reach = "reaches" if k == 1 else "reach"
    return (
        f"One policy for all contexts, with the steps of {k}, reaches {multi_task:.3f} and "
        f"{verdict}: {_policies(k)} chosen at random {reach} {random:.3f}, "
        f"by the oracle {oracle:.3f}."
    )


def _detection(found: Anatomy) -> str:
    every, few, paper = (
        "Mountain" if detection.structure == "mountain" else "no structure"
        for detection in (found.detection, found.few_rows_detection, found.paper_detection)
    )
    return (
        f"Structure detection finds {every} in all rows, {few} in a few evenly spread ones, and "
        f"with the paper's own criteria {paper}."
    )


def _names(found: Anatomy, which: np.ndarray) -> str:
    dimensions = found.size.dimensions
    return ", ".join(d.name for d, chosen in zip(dimensions, which, strict=True) if chosen)


def _policies(count: int) -> str:
    words = in_words(count) if count in (1, 2, 3, 6) else str(count)
    return f"{words} {'policy' if count == 1 else 'policies'}"
