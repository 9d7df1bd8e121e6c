"""Every selector of the package passes the suite that ships for selectors of third parties."""

from functools import partial

import pytest

from sdmbtl.errors import SelectorError
from sdmbtl.selectors import (
    GPSelector,
    MountainSelector,
    Proposal,
    RandomSelector,
    Selector,
    make_selector,
    selector_names,
)
from sdmbtl.testing import selector_checks
from sdmbtl.testing import selectors as suite

FACTORIES = {
    **{name: partial(make_selector, name) for name in selector_names() if name != "auto"},
    "m-mbtl in the box": partial(MountainSelector, sources="box"),
    "m-mbtl with few restarts": partial(MountainSelector, sources="box", restarts=3),
    "random in the box": partial(RandomSelector, sources="box"),
    "gp-mbtl within": partial(GPSelector, slopes="within"),
}
#: The whole suite runs on these: one that chooses points and one that chooses regions.
FULL = ("predictive", "generalist-first")
CONTRACT = (
    suite.check_never_proposes_twice,
    suite.check_says_when_exhausted,
    suite.check_state_continues_exactly,
    suite.check_accepts_partial_rows,
    suite.check_shift_and_scale_change_nothing,
)
CASES = [(name, check) for name in FULL for check in selector_checks()]
CASES += [(name, check) for name in FACTORIES if name not in FULL for check in CONTRACT]


@pytest.mark.parametrize(("name", "check"), CASES, ids=lambda one: getattr(one, "__name__", one))
def test_conformance(name, check):
    check(FACTORIES[name])


class Stubborn(Selector):
    """Proposes the same target every time."""

    name = "stubborn"

    def propose(self, history):
        return Proposal(history.space.source(0), self.name, "always the first target")


class Forgetful(RandomSelector):
    """Decides by what it remembers instead of by the history."""

    name = "forgetful"
    calls = 0

    def propose(self, history):
        self.calls += 1
        free = history.free_targets().nonzero()[0]
        index = int(free[self.calls % len(free)])
        return Proposal(history.space.source(index), self.name, "by count")


class Mute(RandomSelector):
    """Gives no reason."""

    name = "mute"

    def propose(self, history):
        return Proposal(super().propose(history).source, self.name, "")


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (Stubborn, "must not propose a context twice"),
        (Forgetful, "the loaded selector asks something else"),
        (Mute, "a reason is a few words"),
    ],
)
def test_suite_finds_broken_selectors(broken, complaint):
    with pytest.raises((AssertionError, SelectorError), match=complaint):
        [check(broken) for check in selector_checks()]
