"""Which episodes of a policy are played, and which steps they cost."""

import shutil

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.contexts import Source
from sdmbtl.selectors import Trial
from sdmbtl.selectors.history import History
from sdmbtl.selectors.trial import TrainingRun
from sdmbtl.studies import Study
from sdmbtl.studies.row_evaluation import (
    LARGEST_SHARE,
    LARGEST_SHARE_WHOLE,
    WAVE,
    RowEvaluation,
    episodes_behind,
)

SPACE = ContextSpace(a=np.linspace(0, 1, 10), b=np.linspace(0, 1, 10))
N, EPISODES, LONG = len(SPACE), 4, 10


def trial_of(number, steps=100_000, gain=None, **changes):
    numbers = {} if gain is None else {"expected_gain": gain}
    source = SPACE.whole(parent=None if number == 0 else 0, steps=steps)
    about = {"context": SPACE.context(source.vector), "index": None, "region": SPACE.region(source)}
    made = Trial(number, source, **about, strategy="x", reason="", numbers=numbers)
    return made.updated(run=TrainingRun(steps=steps), **changes)


def evaluation(trial, history, **changes):
    known = np.full((N, EPISODES), np.nan)
    return RowEvaluation(trial, SPACE, known, 7, history=history, **changes)


def true_returns(number):
    return np.sin(3 * SPACE.unit_targets.sum(axis=1) + number)


def play(row, number=0, failing=()):
    """Play all waves, every episode in `LONG` steps; returns what was played."""
    batches = []
    while wave := row.next_wave():
        for numbers, episodes, seed in wave:
            batches.append((numbers, episodes, seed))
            noise = np.random.default_rng(seed).normal(0, 0.3, size=(N, episodes))[numbers]
            errors = {target: "it fails" for target in numbers if target in failing}
            played = true_returns(number)[numbers, None] + noise
            played[[target in errors for target in numbers]] = np.nan
            row.take(numbers, played, errors, LONG * played.size)
    return batches


def with_one_policy():
    """A history of one policy that was played on every target."""
    row = np.arange(N) / N
    return History(SPACE, 0, [trial_of(0, status="finished", row=row)])


class TestAll:
    def test_everything_is_played_once(self):
        row = evaluation(trial_of(0), None)
        ((numbers, episodes, _),) = play(row)
        assert (numbers, episodes) == (list(range(N)), EPISODES)
        assert not np.isnan(row.known).any()
        assert episodes_behind(row.known) is None

    def test_known_returns_are_not_played_again(self):
        row = evaluation(trial_of(0), None)
        row.known[3] = 1.0
        ((numbers, *_),) = play(row)
        assert numbers == [n for n in range(N) if n != 3]
        assert (row.known[3] == 1.0).all()

    def test_a_source_between_the_targets_is_played_too(self):
        trial = trial_of(0)
        source = SPACE.source(0).__class__.at([0.03, 0.03])
        row = evaluation(trial.updated(source=source), None)
        ((numbers, *_),) = row.next_wave()
        assert numbers[-1] == N
        assert row.contexts[N].tolist() == [0.03, 0.03]
        played = np.ones((N + 1, EPISODES))
        played[N] = 5.0
        row.take(numbers, played, {}, 0)
        assert row.own == 5.0
        assert not row.next_wave()


class TestChosen:
    def test_the_first_wave_of_the_first_policy_is_spread_out(self):
        row = evaluation(trial_of(0), History(SPACE, 0))
        ((numbers, episodes, _),) = row.next_wave()
        assert (len(numbers), episodes) == (WAVE, 1)
        quarters = {tuple(np.round(unit).astype(int)) for unit in SPACE.unit_targets[numbers]}
        assert len(quarters) == 4

    @pytest.mark.parametrize("steps", [64, 1000, 5000])
    @pytest.mark.parametrize("whole", [False, True])
    def test_a_share_of_the_steps_of_training(self, steps, whole):
        """A wave is begun if it keeps within the share; the first one always."""
        trial = trial_of(1, steps)
        if not whole:
            trial = trial.updated(source=Source.at(SPACE.targets[0], 0.25, parent=0))
        row = evaluation(trial, with_one_policy())
        play(row)
        most, wave = (LARGEST_SHARE_WHOLE if whole else LARGEST_SHARE) * steps, WAVE * LONG
        assert wave <= row.steps <= max(most, wave)
        assert row.steps + wave > most or (row.known[:, -1] > -9).all()

    def test_all_policies_meet_the_same_episodes(self):
        """The seed belongs to the number of an episode on its target, whoever plays it."""
        seeds = []
        for number in (1, 2):
            row = evaluation(trial_of(number, 4000), with_one_policy())
            counts, found = np.zeros(N, int), {}
            for numbers, _, seed in play(row, number):
                for target in numbers:
                    found[target, int(counts[target])] = seed
                    counts[target] += 1
            seeds.append(found)
        common = seeds[0].keys() & seeds[1].keys()
        assert len(common) > WAVE
        assert {seeds[0][key] for key in common} == {seeds[1][key] for key in common}
        assert all(seeds[0][key] == seeds[1][key] for key in common)

    @pytest.mark.parametrize("history", [History(SPACE, 0), with_one_policy()])
    def test_a_context_that_fails_is_not_chosen_again(self, history):
        failing = set(range(0, N, 2))
        row = evaluation(trial_of(1), history)
        batches = play(row, failing=failing)
        chosen = [target for numbers, *_ in batches for target in numbers if target in failing]
        assert len(chosen) == len(set(chosen)) > 0
        assert set(row.errors) == set(chosen)
        assert np.isnan(row.known[chosen]).all()

    def test_a_policy_that_fails_everywhere_ends(self):
        row = evaluation(trial_of(0), History(SPACE, 0))
        play(row, failing=range(N))
        assert set(row.errors) == set(range(N))

    def test_no_more_is_played_than_training_would_be_worth(self):
        eager, thrifty = (
            evaluation(trial_of(1, gain=gain), with_one_policy()) for gain in (None, 1e9)
        )
        play(eager)
        play(thrifty)
        assert thrifty.steps == WAVE * LONG < eager.steps

    def test_it_plays_where_the_choice_is_open(self):
        """Where another policy is far better, episodes change nothing."""
        other = np.where(SPACE.targets[:, 0] < 0.5, 100.0, 0.0)
        history = History(SPACE, 0, [trial_of(0, status="finished", row=other)])
        row = evaluation(trial_of(1, 2000), history)
        play(row)
        counts = (~np.isnan(row.known)).sum(axis=1)
        assert counts[other == 0].sum() > 2 * counts[other == 100].sum()

    def test_a_later_policy_changes_nothing(self):
        """So a row that is begun again after a kill is the same, whatever is finished since."""
        later = trial_of(1, status="finished", row=true_returns(5))
        row = evaluation(trial_of(0, 3000), History(SPACE, 0))
        again = evaluation(trial_of(0, 3000), History(SPACE, 0, [trial_of(0, 3000), later]))
        play(row)
        play(again)
        np.testing.assert_array_equal(row.known, again.known)


def test_episodes_behind_a_row():
    returns = np.ones((3, 2))
    assert episodes_behind(returns) is None
    returns[1, 1] = np.nan
    assert episodes_behind(returns).tolist() == [2, 1, 2]
    returns[:, 1] = np.nan
    assert episodes_behind(returns).tolist() == [1, 1, 1], "fewer than were asked for"


def test_all_gives_complete_rows_with_a_generalist(tmp_path):
    from small_study import REGIONS, open_small

    study = open_small(tmp_path / "study", **REGIONS, evaluate="all")
    study.run(budget=2)
    assert np.isfinite(study.returns).all()
    np.testing.assert_array_equal(study.selector.expected_returns, study.selector.rows.returns)


def test_reopened_studies_expect_the_same(finished_regions, tmp_path):
    shutil.copytree(finished_regions.path, tmp_path / "study")
    again = Study.open(tmp_path / "study")
    expected = finished_regions.selector.expected_returns
    np.testing.assert_array_equal(again.selector.expected_returns, expected)
    partial = np.full((8, 3), np.nan)
    partial[:6, 0], partial[0, 1] = np.arange(6.0), 3.0
    again.tell(again.space.targets[2], partial)
    reopened = Study.open(again.path)
    expected = again.selector.expected_returns
    np.testing.assert_array_equal(reopened.selector.expected_returns, expected)
    assert np.isfinite(expected).all()
    told = np.full(8, np.nan)
    told[:3] = 1.0, 7.0, 9.0
    assert again.tell(again.space.targets[4], told).episodes is None, "means, as they are"
    assert Study.open(again.path).trials[-1].episodes is None
    np.testing.assert_allclose(again.selector.expected_returns[-1, :3], told[:3], atol=0.1)
    again.forget(len(again.trials) - 1)
    corrected = again.tell(len(again.trials) - 2, np.arange(8.0), correct=True)
    assert corrected.episodes is None
    np.testing.assert_array_equal(again.selector.expected_returns[-1], np.arange(8.0))
