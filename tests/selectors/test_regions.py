"""Regions, parents and steps between ask, tell, history and state."""

import json

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.contexts import Source
from sdmbtl.errors import ContextError, RowError, SelectorError
from sdmbtl.selectors import History, Proposal, Selector, make_selector

SPACE = ContextSpace(a=range(5), b=range(3))
ROW = np.arange(15.0)


class Listed(Selector):
    """Proposes what it is given, in order."""

    name = "listed"

    def __init__(self, space, sources):
        super().__init__(space)
        self.sources = sources

    def propose(self, history):
        return Proposal(self.sources[len(history.trials)], self.name, "as given")


def sources_on(center):
    return [
        Source.at(center),
        Source.at(center, width=0.25),
        Source.at(center, width=0.5),
        Source.at(center, parent=0),
        Source.at(center, width=0.25, parent=0),
        Source.at(center, width=0.25, parent=1),
        Source.at(center, steps=10),
    ]


def test_the_same_centre_is_not_the_same_source():
    sources = sources_on([2.0, 1.0])
    selector = Listed(SPACE, sources)
    for source in sources:
        assert not selector.history.is_taken(source)
        trial = selector.tell(selector.ask(), ROW)
        assert trial.source == source
        assert [t.id for t in selector.history.with_source(source)] == [trial.id]
    with pytest.raises(SelectorError, match="must not propose a context twice"):
        Listed(SPACE, [Source.at([2.0, 1.0], 0.5)] * 2).ask(2)


def test_rounding_of_a_centre_does_not_make_another_source():
    history = Listed(SPACE, [Source.at([0.1 + 0.2, 1.0], width=0.5)])
    history.ask()
    assert history.history.is_taken(Source.at([0.3, 1.0], width=0.5))
    assert not history.history.is_taken(Source.at([0.3, 1.0], width=0.6))


def test_trials_show_their_source():
    trial = Listed(SPACE, [Source.at([2.0, 1.0], width=0.5, steps=9)]).ask()
    assert trial.region == {"a": (1.0, 3.0), "b": (0.5, 1.5)}
    assert (trial.width, trial.parent, trial.steps) == (0.5, None, 9)
    assert trial.context == {"a": 2.0, "b": 1.0}
    assert trial.index is None, "a region is not a target"
    point = Listed(SPACE, [SPACE.source(7)]).ask()
    assert (point.index, point.region) == (7, {"a": (2.0, 2.0), "b": (1.0, 1.0)})


def test_state_with_regions():
    selector = Listed(SPACE, sources_on([2.0, 1.0]))
    for _ in range(5):
        selector.tell(selector.ask(), ROW)
    selector.ask()
    again = Listed(SPACE, selector.sources)
    again.load_state_dict(json.loads(json.dumps(selector.state_dict())))
    assert again.trials == selector.trials
    assert [t.region for t in again.trials] == [t.region for t in selector.trials]


def test_free_targets_count_points_only():
    selector = Listed(SPACE, [Source.at([2.0, 1.0], 0.5), SPACE.source(3)])
    selector.ask(2)
    assert np.flatnonzero(~selector.history.free_targets()).tolist() == [3]


def test_regions_stand_at_their_centre():
    selector = Listed(SPACE, [Source.at([2.2, 1.0], 0.5)])
    selector.tell(selector.ask(), ROW)
    assert selector.rows.sources.tolist() == [[2.2, 1.0]]
    inside = SPACE.targets_in(Source.at([2.2, 1.0], 0.5))
    assert selector.rows.source_returns.tolist() == [ROW[inside].mean()]
    points = History(SPACE, 0, selector.trials)
    assert points.covering.tolist() == SPACE.to_unit([[2.2, 1.0]]).tolist()


def test_own_return_of_a_region():
    source = Source.at([2.0, 1.0], 0.5)
    inside = np.flatnonzero(SPACE.targets_in(source))
    partial = ROW.copy()
    partial[inside[1:]] = np.nan
    selector = make_selector("auto", SPACE)
    assert selector.tell(source, ROW).source_return == ROW[inside].mean()
    assert selector.tell(source, partial, correct=True).source_return == ROW[inside[0]]
    partial[inside] = np.nan
    assert selector.tell(source, partial, correct=True).source_return is None
    assert selector.tell(source, ROW, source_return=99.0, correct=True).source_return == 99.0


def test_warm_starts_on_regions_are_checked():
    selector = make_selector("auto", SPACE)
    with pytest.raises(ContextError, match="outside the context space"):
        selector.tell(Source.at([9.0, 1.0], 0.5), ROW)
    with pytest.raises(ContextError, match="has 2 values"):
        selector.tell(Source.at([1.0], 0.5), ROW)
    with pytest.raises(SelectorError, match="Trial 3 is not"):
        selector.tell(Source.at([1.0, 1.0], 0.5, parent=3), ROW)
    with pytest.raises(RowError):
        selector.tell(Source.at([1.0, 1.0], 0.5), ROW[:-1])
    assert not selector.trials


def test_a_parent_must_be_finished():
    selector = Listed(SPACE, [SPACE.source(0), Source.at([1.0, 1.0], parent=0)])
    selector.ask()
    with pytest.raises(SelectorError, match="Trial 0 is not"):
        selector.ask()
    selector.tell(0, status="failed")
    with pytest.raises(SelectorError, match="Trial 0 is not"):
        selector.ask()
