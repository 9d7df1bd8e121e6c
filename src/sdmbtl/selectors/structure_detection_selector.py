"""SD-MBTL: detect the structure, then let the selector that fits it choose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from sdmbtl.checks import check_int, known_name
from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import SelectorError
from sdmbtl.selectors.base import SAMPLE_SIZE, Selector
from sdmbtl.selectors.gp_selector import GPSelector
from sdmbtl.selectors.history import History
from sdmbtl.selectors.mountain_selector import MountainSelector
from sdmbtl.selectors.random_selector import RandomSelector
from sdmbtl.selectors.trial import Proposal
from sdmbtl.transfer.detection import (
    MOUNTAIN,
    NO_STRUCTURE,
    Detection,
    DetectorLike,
    MountainDetector,
    make_detector,
)


class StructureDetectionSelector(Selector):
    """SD-MBTL: any detector, and a selector for each structure.

    The strategies decide on this selector's history, so each of them knows every row, whichever
    strategy chose it, and switching needs no hand-over.

    Args:
        space: The context space.
        detector: Detects the structure from the observed rows; also as its name, or its name and
            settings, see `make_detector`.
        strategies: For each structure the detector may return, the selector that then chooses.
        seed: Seed of the strategies' random choices.
        assumed: The structure that is assumed before detection begins.
        first_rounds: Number of rounds before detection begins.

    Raises:
        SelectorError: If a structure has no strategy.
    """

    name: ClassVar[str] = "sd-mbtl"
    sample_size = SAMPLE_SIZE

    def __init__(
        self,
        space: ContextSpace,
        detector: DetectorLike,
        strategies: Mapping[str, Selector],
        *,
        seed: int = 0,
        assumed: str = MOUNTAIN,
        first_rounds: int = 5,
    ) -> None:
        super().__init__(space, seed=seed)
        self.detector = make_detector(detector)
        for structure, strategy in strategies.items():
            if not isinstance(strategy, Selector) or strategy.space != space:
                raise SelectorError(
                    f"The strategy for {structure!r} must be a selector of the same space. "
                    f"Got {strategy!r} instead."
                )
        for structure in (*self.detector.structures, assumed):
            known_name("structure", structure, strategies, has="strategies:", error=SelectorError)
        self.strategies = dict(strategies)
        self.assumed = assumed
        self.first_rounds = check_int("first_rounds", first_rounds, low=0, error=SelectorError)
        self.detection: Detection | None = None

    def settings(self) -> dict[str, Any]:
        """Every setting that changes the choices."""
        return {
            "detector": self.detector.describe(),
            "strategies": {
                structure: {"selector": s.name, **s.settings()}
                for structure, s in self.strategies.items()
            },
            "assumed": self.assumed,
            "first_rounds": self.first_rounds,
        }

    def propose(self, history: History) -> Proposal:
        """Detect the structure and let its strategy choose; `detection` keeps the evidence."""
        rows = history.rows
        if history.round <= self.first_rounds or len(rows) < self.detector.min_rows:
            self.detection = None
            structure = self.assumed
            why = f"Too early to detect a structure: {self.assumed} is assumed."
        else:
            self.detection = self.detector.detect(rows)
            structure = self.detection.structure
            why = f"Detected structure: {structure}, as {self.detection.explanation}."
        known_name("structure", structure, self.strategies, error=SelectorError)
        proposal = self.strategies[structure].propose(history)
        detected = None if self.detection is None else structure
        return replace(proposal, structure=detected, reason=f"{why} {proposal.reason}")


class MGPSelector(StructureDetectionSelector):
    """M/GP-MBTL: M-MBTL where the Mountain structure is detected, GP-MBTL otherwise.

    Args:
        space: The context space.
        seed: Seed of the strategies' random choices.
        detector: Detector of the Mountain structure; the paper's criteria if left out.
        mountain: Selector where a Mountain is detected; M-MBTL if left out.
        otherwise: Selector where no structure is detected; GP-MBTL if left out.
        first_rounds: Number of rounds before detection begins.
    """

    name: ClassVar[str] = "m/gp-mbtl"

    def __init__(
        self,
        space: ContextSpace,
        *,
        seed: int = 0,
        detector: DetectorLike | None = None,
        mountain: Selector | None = None,
        otherwise: Selector | None = None,
        first_rounds: int = 5,
    ) -> None:
        super().__init__(
            space,
            MountainDetector.as_in_the_paper() if detector is None else detector,
            {
                MOUNTAIN: mountain or MountainSelector(space, seed=seed),
                NO_STRUCTURE: otherwise or GPSelector(space, seed=seed),
            },
            seed=seed,
            first_rounds=first_rounds,
        )

    @classmethod
    def unbiased(cls, space: ContextSpace, *, seed: int = 0) -> MGPSelector:
        """M/GP-MBTL with unbiased slopes that must be similar on both sides."""
        return cls(space, seed=seed, detector=MountainDetector())


def mountain_or_random(space: ContextSpace, *, seed: int = 0) -> MGPSelector:
    """The ablation M+Random: random choice where Mountain is not detected."""
    return MGPSelector(space, seed=seed, otherwise=RandomSelector(space, seed=seed))


def gp_or_random(space: ContextSpace, *, seed: int = 0) -> MGPSelector:
    """The ablation GP+Random: GP-MBTL where its linear gap holds, random choice elsewhere.

    The slope criterion alone tests the linear gap, from the first rows on.
    """
    _, slope = MountainDetector.as_in_the_paper().criteria
    return MGPSelector(
        space,
        seed=seed,
        detector=MountainDetector([slope]),
        mountain=GPSelector(space, seed=seed),
        otherwise=RandomSelector(space, seed=seed),
        first_rounds=0,
    )
