"""Choices among very many targets: computed on a sample, among all, close to the exact ones."""

import json
import tracemalloc

import numpy as np
import pytest
from test_conformance import CONTRACT

from sdmbtl.contexts import ContextSpace, Interval
from sdmbtl.errors import ExhaustedError
from sdmbtl.selectors import make_selector

NAMES = ("predictive", "m/gp-mbtl", "m-mbtl", "gp-mbtl", "generalist-first")
SPACE = ContextSpace(a=np.linspace(0, 1, 12), b=np.linspace(0, 1, 12), c=np.linspace(0, 1, 12))


def make(name, space=SPACE, *, seed=0, size=150, exact_up_to=500):
    """A selector that chooses on a sample."""
    selector = make_selector(name, space, seed=seed)
    selector.sample_size, selector.exact_up_to = size, exact_up_to
    return selector


def make_row(space, source, seed=0):
    """Returns that fall with the distance from the source, with some noise."""
    units = space.unit_targets
    distance = np.abs(units - space.to_unit(source.vector)).sum(axis=1)
    noise = np.random.default_rng(seed).normal(size=len(space))
    return 10.0 - 4.0 * distance + units[:, 0] + 0.2 * noise


def run(selector, rounds, space=SPACE):
    trials = []
    for _ in range(rounds):
        trial = selector.ask()
        selector.tell(trial, make_row(space, trial.source, seed=trial.id))
        trials.append(trial)
    return trials


@pytest.mark.parametrize("check", CONTRACT, ids=lambda check: check.__name__)
def test_the_contract_holds_on_a_sample_of_a_few_targets(check):
    check(lambda space, seed: make("predictive", space, seed=seed, size=3, exact_up_to=3))


@pytest.mark.parametrize("name", NAMES)
class TestEverySelector:
    def test_it_continues_from_its_state(self, name):
        selector = make(name)
        run(selector, 7)
        again = make(name)
        again.load_state_dict(json.loads(json.dumps(selector.state_dict())))
        assert [t.source for t in again.ask(3)] == [t.source for t in selector.ask(3)]

    def test_rows_in_part_are_enough(self, name):
        selector = make(name)
        rng = np.random.default_rng(0)
        for _ in range(6):
            trial = selector.ask()
            row = make_row(SPACE, trial.source)
            row[rng.permutation(len(row))[60:]] = np.nan
            selector.tell(trial, row)
        expected = selector.expected_returns
        seen = ~np.isnan(selector.rows.returns)
        assert expected.shape == (6, len(SPACE))
        assert np.array_equal(expected[seen], selector.rows.returns[seen])
        assert not np.isnan(expected).any()
        assert set(selector.best_trials) <= set(range(6))


@pytest.mark.parametrize("name", ["auto", "m/gp-mbtl", "gp-mbtl"])
def test_choices_are_as_good_as_those_on_all_targets(name):
    """The mean best return after some rounds, on average over samples."""
    exact = make_selector(name, SPACE)
    run(exact, 10)
    reached = []
    for seed in range(3):
        sampled = make(name, seed=seed)
        run(sampled, 10)
        reached.append(sampled.performance)
    width = float(np.ptp(exact.rows.returns))
    assert np.mean(reached) > exact.performance - 0.01 * width


def test_targets_outside_of_the_sample_are_chosen_where_they_are_better():
    selector = make("m-mbtl")
    trials = selector.ask(12)
    sample = selector._sample
    assert all(trial.index is not None for trial in trials)
    assert any(sample.find(trial.index) is None for trial in trials)
    middle = np.abs(SPACE.unit_targets[trials[0].index] - 0.5).max()
    assert middle < 0.1, "the first one is the middle of all targets, not of the sample"


def test_the_forecast_is_about_all_targets():
    """A mean over equal parts is the mean over all: forecasts agree with the exact ones."""
    exact, sampled = make_selector("auto", SPACE), make("auto")
    for trial in run(exact, 6):
        sampled.tell(trial.source, exact.trials[trial.id].row)
    gain, expected = sampled.remaining_gain(), exact.remaining_gain()
    assert gain == pytest.approx(expected, rel=0.25)
    models = {e["model"] for e in sampled.evidence()}
    assert models == {e["model"] for e in exact.evidence()}


def test_rows_that_come_later_or_again_are_seen():
    selector = make("auto")
    trials = selector.ask(4)
    for trial in reversed(trials):
        selector.tell(trial, make_row(SPACE, trial.source, seed=trial.id))
    selector.tell(trials[1], make_row(SPACE, trials[1].source, seed=99), correct=True)
    fresh = make("auto")
    fresh.load_state_dict(selector.state_dict())
    assert selector.ask().source == fresh.ask().source


def test_when_the_sample_is_used_up_others_follow():
    space = ContextSpace(a=range(8))
    selector = make("m-mbtl", space, size=2, exact_up_to=2)
    trials = selector.ask(8)
    assert sorted(t.index for t in trials) == list(range(8))
    with pytest.raises(ExhaustedError, match="none is left of 8"):
        selector.ask()


def test_random_choice_is_among_all_targets():
    selector = make("m+random")
    chosen = selector.strategies["none"].propose(selector._seen())
    assert "one of 1728 targets" in chosen.reason


@pytest.mark.parametrize(("more", "seen"), [(0, len(SPACE)), (-1, 10)])
def test_small_spaces_are_not_sampled(more, seen):
    selector = make("auto", size=10, exact_up_to=len(SPACE) + more)
    assert len(selector._seen().space) == seen


def test_targets_to_evaluate_are_different_and_hold_the_own_context():
    selector = make("auto")
    run(selector, 3)
    trial = selector.ask()
    targets = selector.targets_to_evaluate(trial, 400)
    assert len(set(targets.tolist())) == len(targets) == 400
    assert trial.index in targets


def test_a_hundred_thousand_targets_need_memory_for_a_few_rows():
    space = ContextSpace.sample(100_000, **{f"x{d}": Interval(0, 1) for d in range(4)})
    selector = make_selector("auto", space)
    space.unit_targets  # noqa: B018 (made before the memory is watched)
    tracemalloc.start()
    try:
        run(selector, 3, space)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 60 * 8 * len(space)
