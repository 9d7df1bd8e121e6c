"""Conformance checks of selectors; each raises AssertionError with a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace, Source
from sdmbtl.errors import (
    DuplicateTellError,
    ExhaustedError,
    SdmbtlError,
    SelectorError,
)
from sdmbtl.selectors import Selector, TrainingRun, Trial
from sdmbtl.testing.spaces import example_matrix, example_spaces

#: Called as `factory(space, seed=seed)`.
SelectorFactory = Callable[..., Selector]
Check = Callable[[SelectorFactory], None]


def selector_checks() -> tuple[Check, ...]:
    """Every check; each takes a factory `factory(space, seed=seed)`."""
    return tuple(value for name, value in globals().items() if name.startswith("check_"))


def check_proposes_contexts_of_the_space(factory: SelectorFactory) -> None:
    """Trials have every dimension, by name, inside the box, and know their target."""
    for name, space in example_spaces().items():
        selector = factory(space, seed=0)
        for trial in _run(selector, rounds=min(len(space), 6)):
            assert list(trial.context) == list(space.names), f"{name}: wrong dimensions"
            assert trial.context in space, f"{name}: {trial.context} is outside the box"
            target = space.find(trial.context) if trial.source.is_point else None
            assert trial.index == target, f"{name}: wrong index"
            assert trial.region == space.region(trial.source), f"{name}: wrong region"
            parent = trial.parent
            assert parent is None or parent < trial.id, f"{name}: {parent} is not an earlier trial"
            assert trial.strategy, "a trial needs the name of its strategy"
            assert " " in trial.reason, f"a reason is a few words. Got {trial.reason!r}"
            assert all(np.isfinite(v) for v in trial.numbers.values()), "numbers must be finite"


def check_never_proposes_twice(factory: SelectorFactory) -> None:
    """No source is proposed twice, up to as many rounds as there are targets."""
    for name, space in example_spaces().items():
        trials = _run(factory(space, seed=1), rounds=len(space))
        seen = {
            (*np.round(space.to_unit(s.vector), 9).tolist(), s.width, s.parent, s.steps)
            for s in _sources(trials)
        }
        assert len(seen) == len(trials), f"{name}: a source was proposed twice"


def check_says_when_exhausted(factory: SelectorFactory) -> None:
    """Without a free context `ask` raises ExhaustedError; a batch takes the rest."""
    space = ContextSpace(a=range(3))
    selector = factory(space, seed=0)
    if any(t.index is None for t in _run(factory(space, seed=0), rounds=3)):
        return  # proposes any point of the box: it has more to offer than the targets
    assert len(selector.ask(10)) == 3, "a batch larger than what is left must return what is left"
    error = _raised(ExhaustedError, selector.ask)
    assert "none is left of 3" in str(error), f"the message must say what is used up: {error}"
    _raised(ExhaustedError, lambda: selector.ask(2))


def check_batches(factory: SelectorFactory) -> None:
    """`ask(n)` gives n trials with ids in order, also before any row; none is offered again."""
    space = example_spaces()["grid"]
    selector = factory(space, seed=0)
    sources = _sources([selector.ask() for _ in range(len(space))])
    assert len(set(sources)) == len(sources), "a pending source was offered again"
    assert len(selector.pending) == len(space), "pending must list what was not reported yet"
    selector, matrix = factory(space, seed=0), example_matrix(space)
    for _ in range(3):
        batch = selector.ask(3)
        assert [t.id for t in batch] == list(range(batch[0].id, batch[0].id + 3)), "ids in order"
        for trial in batch:
            selector.tell(trial, _row(space, matrix, trial))
    for bad in (0, -1, 2.5, True):
        _raised(SelectorError, lambda bad=bad: selector.ask(bad))  # type: ignore[misc]


def check_order_of_tells_does_not_matter(factory: SelectorFactory) -> None:
    """A batch reported in another order leads to the same next choices."""
    space = example_spaces()["grid"]
    matrix = example_matrix(space)
    following = []
    for order in ([0, 1, 2, 3, 4, 5], [5, 3, 1, 0, 2, 4]):
        selector = factory(space, seed=0)
        batch = selector.ask(6)
        for number in order:
            selector.tell(batch[number], _row(space, matrix, batch[number]))
        following.append(_sources(_run(selector, rounds=4)))
    assert following[0] == following[1], "the order of tells changed the next choices"


def check_failed_and_cancelled(factory: SelectorFactory) -> None:
    """A failed run has no row and its context is not offered again; a cancelled one may."""
    space = example_spaces()["grid"]
    selector, matrix = factory(space, seed=0), example_matrix(space)
    failed = []
    for number in range(len(space)):
        trial = selector.ask()
        assert trial.source not in failed, "a failed source was offered again"
        if number % 2:
            selector.tell(trial, status="failed")
            failed.append(trial.source)
        else:
            selector.tell(trial, _row(space, matrix, trial))
    assert not selector.pending, "a failed run must not stay pending"
    assert len(selector.rows) == len(space) - len(failed), "a failed run must have no row"
    selector = factory(ContextSpace(a=range(4)), seed=0)
    selector.tell(selector.ask(), status="cancelled")
    assert len(_run(selector, rounds=4)) == 4, "a cancelled context did not come back"


def check_state_continues_exactly(factory: SelectorFactory) -> None:
    """A state goes through JSON and the loaded selector asks what the original asks."""
    for name, space in example_spaces().items():
        original, matrix = factory(space, seed=5), example_matrix(space)
        for number in range(min(len(space) - 1, 7)):
            trial = original.ask()
            if number == 2:
                original.tell(trial, status="failed")
            elif number != 4:  # one stays pending
                row = _row(space, matrix, trial)
                row[0] = np.nan if len(row) > 1 else row[0]
                run = TrainingRun(attempt=number, errors=("lost",), steps=9, curve=((1, 0.5),))
                original.record(original.tell(trial, row).updated(run=run))
        loaded = factory(space, seed=5)
        loaded.load_state_dict(json.loads(json.dumps(original.state_dict(), allow_nan=False)))
        assert loaded.state_dict() == original.state_dict(), f"{name}: the state changed"
        assert loaded.trials == original.trials, f"{name}: the trials changed"
        assert loaded.ask() == original.ask(), f"{name}: the loaded selector asks something else"


def check_choices_depend_on_the_history_alone(factory: SelectorFactory) -> None:
    """Through failures, cancelled and late tells, each ask is that of a fresh selector."""
    space = example_spaces()["grid"]
    selector, matrix = factory(space, seed=2), example_matrix(space)
    rng = np.random.default_rng(0)
    for _ in range(len(space)):
        fresh = factory(space, seed=2)
        fresh.load_state_dict(selector.state_dict())
        trial = selector.ask()
        assert fresh.ask() == trial, "the choice depends on more than the history"
        for running in selector.pending:
            row = _row(space, matrix, running)
            row[rng.random(len(row)) < 0.2] = np.nan
            row[0] = matrix[0, 0]
            fate = rng.random()
            if fate < 0.5:
                selector.tell(running, row)
            elif fate < 0.6:
                selector.tell(running, status="failed")
            elif fate < 0.7:
                selector.tell(running, status="cancelled")


def check_accepts_partial_rows(factory: SelectorFactory) -> None:
    """Rows with NaN work from the first to the last, also if a target is never evaluated."""
    space = example_spaces()["grid"]
    selector, matrix = factory(space, seed=0), example_matrix(space)
    rng = np.random.default_rng(0)
    for _ in range(len(space)):
        trial = selector.ask()
        row = _row(space, matrix, trial)
        row[rng.random(len(row)) < 0.6] = np.nan
        row[1] = np.nan
        row[2] = matrix[0, 2]
        selector.tell(trial, row)
    assert np.isfinite(selector.performance), "performance must count the evaluated targets"


def check_accepts_repeats_and_warm_starts(factory: SelectorFactory) -> None:
    """Contexts that were never asked, sources that are not targets, regions, repeated runs."""
    space = example_spaces()["grid"]
    selector, matrix = factory(space, seed=0), example_matrix(space)
    selector.tell(space.target(5), matrix[5])
    selector.tell(space.target(5), matrix[5] + 0.1, repeat=True)
    selector.tell({"a": 0.4, "b": 0.9}, matrix[1], source_return=9.0)
    _raised(SdmbtlError, lambda: selector.tell({"a": 0.4, "b": 900.0}, matrix[1]))
    region = Source.at(space.targets[4], width=0.5, parent=0, steps=100)
    told = selector.tell(region, matrix[4])
    mean = matrix[4][space.targets_in(region)].mean()
    assert (told.source, told.index, told.source_return) == (region, None, mean), "of a region"
    _raised(DuplicateTellError, lambda: selector.tell(region, matrix[4]))
    trials = _run(selector, rounds=len(space) - 1)
    assert space.source(5) not in _sources(trials), "a reported context was proposed"
    assert len(selector.rows) == len(space) + 3, "every reported row counts"


def check_shift_and_scale_change_nothing(factory: SelectorFactory) -> None:
    """Returns in other units lead to the same contexts."""
    space = example_spaces()["grid"]
    matrix = example_matrix(space)
    usual = _sources(_run(factory(space, seed=0), rounds=8, matrix=matrix))
    for scale, shift in ((1e-6, 0.0), (1e90, 0.0), (1.15, -300.0), (1.0, 1e6)):
        other = _sources(_run(factory(space, seed=0), rounds=8, matrix=scale * matrix + shift))
        assert other == usual, f"returns times {scale:g} plus {shift:g} changed the choices"


def check_constant_returns(factory: SelectorFactory) -> None:
    """A matrix of equal returns is not a reason to fail."""
    for name, space in example_spaces().items():
        matrix = np.full((len(space), len(space)), 7.0)
        selector = factory(space, seed=0)
        _run(selector, rounds=len(space), matrix=matrix)
        assert selector.performance == 7.0, f"{name}: performance must be 7"


def _run(selector: Selector, rounds: int, matrix: NDArray[np.float64] | None = None) -> list[Trial]:
    """Ask and tell for some rounds on a known matrix."""
    space = selector.space
    returns = example_matrix(space) if matrix is None else matrix
    trials = []
    for _ in range(rounds):
        trial = selector.ask()
        selector.tell(trial, _row(space, returns, trial))
        trials.append(trial)
    return trials


def _row(space: ContextSpace, matrix: NDArray[np.float64], trial: Trial) -> NDArray[np.float64]:
    return np.array(matrix[space.nearest(trial.context)])


def _sources(trials: list[Trial]) -> list[Source]:
    return [t.source for t in trials]


def _raised(expected: type[Exception], call: Callable[[], object]) -> Exception:
    try:
        call()
    except expected as error:
        return error
    raise AssertionError(f"{expected.__name__} was expected, nothing was raised")
