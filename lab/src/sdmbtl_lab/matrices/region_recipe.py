"""Recipe of a matrix whose sources are regions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from sdmbtl.checks import MAX_COUNT, check_bool, check_float, check_int
from sdmbtl.contexts import Source
from sdmbtl.errors import MatrixError
from sdmbtl.seeds import seed_sequence
from sdmbtl_lab.matrices.recipe import Recipe


@dataclass(frozen=True)
class RegionForm:
    """A way of training a specialist, whatever its region is around.

    Attributes:
        width: Width of the region, 0 (a point) to 1.
        from_generalist: Whether it starts from a generalist, or from scratch.
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
