"""Matrices whose sources are regions: generalists and specialists, on every target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from sdmbtl.checks import MAX_COUNT, check_bool, check_float, check_int
from sdmbtl.contexts import Source
from sdmbtl.errors import MatrixError
from sdmbtl.policies import load_policy, save_policy
from sdmbtl.seeds import derived_seed, seed_sequence
from sdmbtl.training import TrainingJob
from sdmbtl.transfer.storage import Shape
from sdmbtl_lab.computing import Heartbeat
from sdmbtl_lab.matrices.factory import Factory
from sdmbtl_lab.matrices.recipe import Recipe
from sdmbtl_lab.matrices.region_dataset import RegionDataset, ancestors
from sdmbtl_lab.matrices.units import Computation, Rows, Unit, train_and_evaluate


@dataclass(frozen=True)
class RegionForm:
    """A way of training a specialist, whatever its region is around.

    Attributes:
        width: Width of the region, 0 (a point) to 1.
        from_generalist: True if it starts from a generalist, not from scratch.
        length: Its steps, in units: a unit is what the trainer is set to.
    """

    width: float
    from_generalist: bool
    length: float

    def __post_init__(self) -> None:
        check_bool("from_generalist", self.from_generalist, error=MatrixError)
        for name in ("width", "length"):
            check_float(name, getattr(self, name), low=0.0, error=MatrixError)
        if self.width > 1 or self.length == 0:
            raise MatrixError(
                "A form of regions has a 'width' of at most 1 and a 'length' above 0. "
                f"Got {self!r} instead."
            )


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
        lengths: After how many units each of them is evaluated, rising.
        parent_lengths: Generalists of these lengths are the starts of specialists.
        region_contexts: Contexts drawn in a region to train on, and
        whole_contexts: in the whole space.
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
        for name in ("centers", "runs", "region_contexts", "whole_contexts"):
            given = getattr(self, name)
            self.put(**{name: check_int(name, given, low=1, high=MAX_COUNT, error=MatrixError)})
        for name in ("lengths", "parent_lengths"):
            numbers = [check_int(name, n, low=1, error=MatrixError) for n in getattr(self, name)]
            self.put(**{name: tuple(sorted(set(numbers)))})
        forms = [f if isinstance(f, RegionForm) else RegionForm(**f) for f in self.forms]
        self.put(forms=tuple(forms))
        self._check_together()

    def _check_together(self) -> None:
        sources = self.runs * len(self.lengths) + self.centers * len(self.forms)
        check_int("sources", sources, low=1, high=MAX_COUNT, error=MatrixError)
        if not set(self.parent_lengths) <= set(self.lengths) or not self.parent_lengths:
            raise MatrixError(
                "'parent_lengths' must be some of the 'lengths' of generalists, "
                f"{list(self.lengths)}. Got {list(self.parent_lengths)} instead."
            )
        if "total_timesteps" not in self.training:
            raise MatrixError(
                "Lengths are counted in the trainer's 'total_timesteps', which its settings do "
                "not have. Use the trainer 'ppo'."
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


@dataclass(frozen=True)
class RegionUnit(Unit):
    """Some policies of one seed.

    Attributes:
        sources: Numbers of the sources, in the recipe.
        parents: Those among them that others start from: their policies are kept.
        generation: Number of policies that they start from, one after the other.
    """

    sources: tuple[int, ...]
    parents: tuple[int, ...] = ()
    generation: int = 0

    @property
    def name(self) -> str:
        """Name of its file."""
        return f"{self.sources[0]:05}"

    @property
    def label(self) -> str:
        """Label in the progress display."""
        return f"seed {self.seed}, {len(self.sources)} sources from {self.sources[0]}"

    @property
    def n_policies(self) -> int:
        """Number of policies."""
        return len(self.sources)

    @property
    def stage(self) -> int:
        """Parents come before those that start from them."""
        return self.generation


@dataclass(frozen=True)
class RegionRows(Rows):
    """Result of a unit, for its c policies."""

    shapes: ClassVar[Mapping[str, Shape]] = {**Rows.shapes, "curves": ("policies", "times", 2)}

    curves: NDArray[np.float64]

    def fit(self, c: int, n: int) -> bool:
        """Return if they are of c policies on n targets."""
        shape = self.curves.shape
        return super().fit(c, n) and len(shape) == 3 and (shape[0], shape[2]) == (c, 2)


def policy_path(directory: Path, seed: int, number: int) -> Path:
    """File of a policy that others start from."""
    return directory / "policies" / f"seed-{seed}" / f"{number:05}.safetensors"


def region_units(recipe: RegionRecipe, seed: int) -> list[RegionUnit]:
    """The work of one seed. Which policies are trained side by side belongs to the recipe."""
    parents = {source.parent for source in recipe.sources}
    alike: dict[tuple[int, float, int | None], list[int]] = {}
    for number, source in enumerate(recipe.sources):
        generation = len(ancestors(recipe.sources, number))
        alike.setdefault((generation, source.width, source.steps), []).append(number)
    chunk = recipe.training.get("chunk", 1)
    return [
        RegionUnit(seed, some, tuple(n for n in some if n in parents), generation)
        for (generation, *_), numbers in alike.items()
        for first in range(0, len(numbers), chunk)
        for some in [tuple(numbers[first : first + chunk])]
    ]


def compute_region_unit(
    recipe: RegionRecipe,
    directory: Path,
    unit: RegionUnit,
    attempt: int,
    heartbeat: Heartbeat | None,
) -> RegionRows:
    """Train and evaluate once; the same arguments give the same rows.

    Policies that others start from are written to the directory.
    """

    def job(number: int) -> TrainingJob:
        source = recipe.sources[number]
        parent = source.parent
        return TrainingJob(
            recipe.contexts(number, unit.seed),
            derived_seed(recipe.seed, "training", unit.seed, number, attempt),
            attempt,
            None if parent is None else load_policy(policy_path(directory, unit.seed, parent)),
            source.steps,
        )

    jobs = [job(number) for number in unit.sources]
    seeds = [derived_seed(recipe.seed, "evaluation", unit.seed, n) for n in unit.sources]
    runs, rows = train_and_evaluate(recipe, recipe.specification(), jobs, seeds, heartbeat)
    for number, run in zip(unit.sources, runs, strict=True):
        if number in unit.parents:
            path = policy_path(directory, unit.seed, number)
            path.parent.mkdir(parents=True, exist_ok=True)
            save_policy(path, run.policy)
    return RegionRows(**vars(rows), curves=np.array([run.curve for run in runs], dtype=np.float64))


class RegionFactory(Factory[RegionRecipe, RegionUnit, RegionRows, RegionDataset]):
    """Makes generalists and specialists, each on every target; see `Factory`."""

    rows_type = RegionRows

    def units(self, seed: int) -> list[RegionUnit]:
        """The work of one seed."""
        return region_units(self.recipe, seed)

    @property
    def computation(self) -> Computation[RegionUnit, RegionRows]:
        """Function that does a piece of work."""
        return partial(compute_region_unit, self.recipe, self.out)

    def is_done(self, unit: RegionUnit) -> bool:
        """Return if the rows are there, and the policies that others have yet to start from."""
        if not super().is_done(unit):
            return False
        missing = {n for n in unit.parents if not policy_path(self.out, unit.seed, n).exists()}
        return not missing or all(map(self.is_done, self._children(unit.seed, missing)))

    def _children(self, seed: int, parents: AbstractSet[int]) -> list[RegionUnit]:
        """The work of a seed that starts from the policies of these sources."""
        sources = self.recipe.sources
        return [u for u in self.units(seed) if any(sources[n].parent in parents for n in u.sources)]

    def assemble(self, each: Sequence[Sequence[tuple[RegionUnit, RegionRows]]]) -> RegionDataset:
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


def _in_order(seed: Sequence[tuple[RegionUnit, RegionRows]], attribute: str) -> NDArray[np.float64]:
    """(S, ...) one row for each source; curves that are shorter are filled up with NaN."""
    by_number: dict[int, Any] = {}
    for unit, rows in seed:
        by_number |= zip(unit.sources, getattr(rows, attribute), strict=True)
    ordered = [np.asarray(by_number[number]) for number in range(len(by_number))]
    longest = max((len(row) for row in ordered if row.ndim == 2), default=0)
    return np.stack(
        [
            np.pad(row, ((0, longest - len(row)), (0, 0)), constant_values=np.nan)
            if row.ndim == 2
            else row
            for row in ordered
        ]
    )
