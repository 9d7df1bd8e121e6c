"""What a selector proposes: a source, and why."""

from __future__ import annotations

from dataclasses import dataclass, field

from sdmbtl.checks import short_text
from sdmbtl.contexts import Source
from sdmbtl.errors import SelectorError


@dataclass(frozen=True)
class Proposal:
    """What `Selector.propose` returns: a source, and why it was chosen.

    Attributes:
        source: What to train on: `space.source(index)`, `Source.at(vector)` with a width, a parent
            and a number of steps, or `space.whole()`.
        strategy: Name of the strategy that chose it.
        reason: Why, in a sentence or two.
        structure: The structure that was detected, None if nothing was.
        model: The model whose prediction the choice rests on, None if no model predicted.
        numbers: The figures behind the reason. `expected_gain` is for the rise of the mean best
            return that is expected, in units of the history's returns, and for nothing else.
    """

    source: Source
    strategy: str
    reason: str
    structure: str | None = None
    model: str | None = None
    numbers: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given: object = self.source
        if not isinstance(given, Source):
            raise SelectorError(
                "The 'source' of a Proposal must be a Source: space.source(index) for a target, "
                f"Source.at(vector) for any context. Got {short_text(given)} instead."
            )
