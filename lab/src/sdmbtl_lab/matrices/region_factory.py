"""Matrices whose sources are regions: generalists and specialists, on every target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import scipy
from numpy.typing import NDArray

from sdmbtl.contexts import Source
from sdmbtl.errors import MatrixError
from sdmbtl.policies import load_policy, save_policy
from sdmbtl.seeds import derived_seed, seed_sequence
from sdmbtl.training import TrainerSpec, Training, TrainingJob
from sdmbtl_lab.matrices.factory import Factory, Rows, Unit
from sdmbtl_lab.matrices.recipe import Recipe
from sdmbtl_lab.matrices.region_dataset import RegionDataset, ancestors


@dataclass(frozen=True)
class RegionForm:
    """A way of training a specialist, whatever its region is around.

    Attributes:
        width: Width of the region, 0 (a point) to 1.
        from_generalist: True if it starts from a generalist, not from scratch.
        length: Its steps, in those that the trainer is set to.
    """

    width: float
    from_generalist: bool
    length: float


#: Four widths from scratch, the same from a generalist with half the steps; and half the steps
#: from scratch, for the width that specialists usually have.
FORMS = (
    *(RegionForm(width, False, 1.0) for width in (0.0, 0.125, 0.25, 0.5)),
    *(RegionForm(width, True, 0.5) for width in (0.0, 0.125, 0.25, 0.5)),
    RegionForm(0.25, False, 0.5),
)


@dataclass(frozen=True)
class RegionRecipe(Recipe):
    """Generalists of several lengths, and specialists of several forms around some targets.

    Attributes:
        centers: Number of targets that regions are around, spread evenly over the space.
        forms: The ways of training a specialist; each for every centre.
        runs: Number of generalists that are trained from scratch, and then continued.
        lengths: Units after which each of them is evaluated, rising.
        parent_lengths: Generalists of these lengths are the starts of specialists.
        region_contexts: Contexts drawn in a region to train on; `whole_contexts` in the space.
    """

    centers: int = 96
    forms: tuple[RegionForm, ...] = FORMS
    runs: int = 4
    lengths: tuple[int, ...] = (1, 2, 3, 4, 6, 8)
    parent_lengths: tuple[int, ...] = (1, 2, 4)
    region_contexts: int = 64
    whole_contexts: int = 256

    def __post_init__(self) -> None:
        super().__post_init__()
        forms = [f if isinstance(f, RegionForm) else RegionForm(**f) for f in self.forms]
        lengths, parents = sorted(set(self.lengths)), sorted(set(self.parent_lengths))
        self.put(forms=tuple(forms), lengths=tuple(lengths), parent_lengths=tuple(parents))
        if not parents or not set(parents) <= set(lengths):
            raise MatrixError(
                f"'parent_lengths' must be some of the 'lengths' of generalists, {lengths}. "
                f"Got {parents} instead."
            )

    @property
    def unit(self) -> int:
        """Environment steps of one unit."""
        return int(self.training["total_timesteps"])

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """Everything that is trained, in order: a parent is the number of an earlier one."""
        generalists, parents = self._generalists()
        rng = np.random.default_rng(seed_sequence(self.seed, "parents"))
        centers = self._spread_targets()
        # By chance: otherwise the parents would lie in the space like the order of the centres.
        starts = rng.permutation(np.resize(parents, len(centers))).tolist()
        specialists = [
            Source.at(
                self.space.targets[center],
                form.width,
                start if form.from_generalist else None,
                round(form.length * self.unit),
            )
            for form in self.forms
            for center, start in zip(centers, starts, strict=True)
        ]
        return (*generalists, *specialists)

    def _generalists(self) -> tuple[list[Source], list[int]]:
        """The generalists, and the numbers of those that specialists start from."""
        found: list[Source] = []
        parents: list[int] = []
        for _ in range(self.runs):
            parent, before = None, 0
            for length in self.lengths:
                # A longer one is a shorter one, continued, as a study would do it.
                steps = (length - before) * self.unit
                found.append(self.space.whole(parent=parent, steps=steps))
                parent, before = len(found) - 1, length
                if length in self.parent_lengths:
                    parents.append(parent)
        return found, parents

    def _spread_targets(self) -> list[int]:
        """Different targets that fill the space evenly: those nearest to Halton points."""
        space = self.space
        if self.centers > len(space):
            raise MatrixError(
                f"Regions around {self.centers} different targets cannot be had of "
                f"{len(space)}. Use at most as many 'centers'."
            )
        rng = np.random.default_rng(seed_sequence(self.seed, "centers"))
        points = scipy.stats.qmc.Halton(space.n_dimensions, rng=rng).random(self.centers)
        free = np.ones(len(space), dtype=np.bool_)
        chosen = []
        for point in points:
            chosen.append(space.nearest_to_unit(point, free))
            free[chosen[-1]] = False
        return chosen

    def contexts(self, number: int, seed: int) -> NDArray[np.float64]:
        """(m, D) the contexts that a source is trained on with one seed."""
        source = self.sources[number]
        count = self.whole_contexts if self.space.is_whole(source) else self.region_contexts
        rng = np.random.default_rng(seed_sequence(self.seed, "contexts", seed, number))
        return self.space.draw(source, count, rng)


class RegionFactory(Factory[RegionRecipe, RegionDataset]):
    """Makes generalists and specialists, each on every target; see `Factory`."""

    def units(self, seed: int) -> list[Unit]:
        """The work of one seed. Which policies are trained side by side belongs to the recipe."""
        sources = self.recipe.sources
        parents = {source.parent for source in sources}
        alike: dict[tuple[int, float, int | None], list[int]] = {}
        for number, source in enumerate(sources):
            stage = len(ancestors(sources, number))
            alike.setdefault((stage, source.width, source.steps), []).append(number)
        chunk = self.recipe.training.get("chunk", 1)
        return [
            Unit(seed, some, parents=tuple(n for n in some if n in parents), stage=stage)
            for (stage, *_), numbers in alike.items()
            for first in range(0, len(numbers), chunk)
            for some in [tuple(numbers[first : first + chunk])]
        ]

    def jobs(self, unit: Unit, attempt: int) -> tuple[TrainerSpec, list[TrainingJob], list[int]]:
        """The training of a unit, from the policies of its parents."""
        recipe = self.recipe

        def job(number: int) -> TrainingJob:
            source = recipe.sources[number]
            parent = source.parent
            return TrainingJob(
                recipe.contexts(number, unit.seed),
                derived_seed(recipe.seed, "training", unit.seed, number, attempt),
                attempt,
                None if parent is None else load_policy(self._policy(unit.seed, parent)),
                source.steps,
            )

        seeds = [derived_seed(recipe.seed, "evaluation", unit.seed, n) for n in unit.sources]
        return recipe.specification(), [job(number) for number in unit.sources], seeds

    def keep(self, unit: Unit, runs: Sequence[Training]) -> None:
        """Write the policies that others start from."""
        for number, run in zip(unit.sources, runs, strict=True):
            if number in unit.parents:
                path = self._policy(unit.seed, number)
                path.parent.mkdir(parents=True, exist_ok=True)
                save_policy(path, run.policy)

    def is_done(self, unit: Unit) -> bool:
        """Return if the rows are there, and the policies that others have yet to start from."""
        if not super().is_done(unit):
            return False
        missing = {n for n in unit.parents if not self._policy(unit.seed, n).exists()}
        if not missing:
            return True
        parents = [source.parent for source in self.recipe.sources]
        waiting = [
            u for u in self.units(unit.seed) if any(parents[n] in missing for n in u.sources)
        ]
        return all(map(self.is_done, waiting))

    def assemble(self, each: Sequence[Sequence[tuple[Unit, Rows]]]) -> RegionDataset:
        """A data set of what was computed for each seed."""

        def stacked(attribute: str) -> NDArray[np.float64]:
            return np.stack([_in_order(seed, attribute) for seed in each])

        curves = stacked("curves")
        return RegionDataset(
            self.recipe.space,
            self.recipe.sources,
            stacked("returns"),
            stacked("source_returns"),
            stacked("episode_variance"),
            curves[0, :, :, 0],
            curves[..., 1],
            self.card(each),
        )

    def _policy(self, seed: int, number: int) -> Path:
        """File of a policy that others start from."""
        return self.out / "policies" / f"seed-{seed}" / f"{number:05}.safetensors"


def _in_order(seed: Sequence[tuple[Unit, Rows]], attribute: str) -> NDArray[np.float64]:
    """(S, ...) one row for each source; curves that are shorter are filled up with NaN."""
    by_number: dict[int, NDArray[np.float64]] = {}
    for unit, rows in seed:
        by_number |= zip(unit.sources, getattr(rows, attribute), strict=True)
    ordered = [np.asarray(by_number[number]) for number in range(len(by_number))]
    if attribute == "curves":
        longest = max(map(len, ordered))
        padding = [((0, longest - len(row)), (0, 0)) for row in ordered]
        ordered = [
            np.pad(r, p, constant_values=np.nan) for r, p in zip(ordered, padding, strict=True)
        ]
    return np.stack(ordered)
