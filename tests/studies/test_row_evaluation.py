"""Which episodes of a policy are played, and which steps they cost."""

import shutil

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.contexts import Source
from sdmbtl.environments import make_family
from sdmbtl.selectors import Trial
from sdmbtl.selectors.history import History
from sdmbtl.selectors.trial import TrainingRun
from sdmbtl.studies import Study, loop
from sdmbtl.studies.row_evaluation import (
    COMPARED,
    COMPARED_SHARE,
    FEWEST,
    FIRST,
    RowEvaluation,
    Spent,
    episodes_behind,
    first_targets,
    next_comparison,
)

SPACE = ContextSpace(a=np.linspace(0, 1, 10), b=np.linspace(0, 1, 10))
N, EPISODES = len(SPACE), 4


def trial_of(number, **changes):
    source = SPACE.whole(parent=None if number == 0 else 0, steps=1000)
    about = {"context": SPACE.context(source.vector), "index": None, "region": SPACE.region(source)}
    made = Trial(number, source, **about, strategy="x", reason="")
    return made.updated(run=TrainingRun(steps=1000), **changes)


def evaluation(trial, targets=None):
    return RowEvaluation(trial, SPACE, np.full((N, EPISODES), np.nan), 7, targets)


def history_of(*rows, episodes=1):
    """Policies with these rows, each a mean of so many episodes."""
    counts = np.where(np.isnan(rows), 0, episodes)
    finished = [
        trial_of(n, status="finished", row=row, episodes=count)
        for n, (row, count) in enumerate(zip(rows, counts, strict=True))
    ]
    return History(SPACE, 0, finished)


def everywhere(*numbers):
    return {number: np.ones(N, bool) for number in numbers}


class TestAll:
    def test_everything_is_played_once(self):
        row = evaluation(trial_of(0))
        (batch,) = row.batches()
        assert (batch.numbers, batch.episodes) == (list(range(N)), EPISODES)
        row.take(batch, np.arange(N * EPISODES, dtype=float).reshape(N, EPISODES), {})
        np.testing.assert_array_equal(row.known.ravel(), np.arange(N * EPISODES))
        assert not row.batches()

    def test_known_returns_are_not_played_again(self):
        row = evaluation(trial_of(0))
        row.known[3] = 1.0
        (batch,) = row.batches()
        assert batch.numbers == [n for n in range(N) if n != 3]

    def test_a_source_between_the_targets_is_played_too(self):
        row = evaluation(trial_of(0).updated(source=Source.at([0.03, 0.03])))
        (batch,) = row.batches()
        assert batch.numbers[-1] == N
        assert row.contexts[N].tolist() == [0.03, 0.03]
        played = np.ones((N + 1, EPISODES))
        played[N] = 5.0
        row.take(batch, played, {})
        assert row.own == 5.0
        assert not row.batches()


class TestOneMoreEpisode:
    def test_all_policies_meet_the_same_episodes(self):
        """The seed belongs to the number of an episode on its target, whoever plays it."""
        one, other = (evaluation(trial_of(number), np.array([3, 5])) for number in (0, 1))
        other.known[5, 0] = 1.0  # so its next one is the second
        (first,), (again, second) = one.batches(), other.batches()
        assert (first.numbers, again.numbers, second.numbers) == ([3, 5], [3], [5])
        assert first.seed == again.seed != second.seed
        assert {first.episodes, again.episodes, second.episodes} == {1}

    def test_returns_and_errors_are_kept(self):
        row = evaluation(trial_of(0), np.array([3, 5]))
        row.known[:4, 0] = 1.0
        for batch in row.batches():
            values = np.array([[np.nan if n == 5 else 9.0] for n in batch.numbers])
            row.take(batch, values, {5: "it fails"} if 5 in batch.numbers else {})
        assert row.known[3, :2].tolist() == [1.0, 9.0]
        assert np.isnan(row.known[5]).all()
        assert row.errors == {5: "it fails"}


class TestFirstTargets:
    def test_they_are_spread_out_and_those_of_every_policy(self):
        nothing = np.full((N, EPISODES), np.nan)
        first = first_targets(SPACE, nothing, 7)
        assert len(first) == FIRST
        quarters = {tuple(np.round(unit).astype(int)) for unit in SPACE.unit_targets[first]}
        assert len(quarters) == 4
        nothing[first[:3], 0] = 1.0
        assert first_targets(SPACE, nothing, 7).tolist() == first[3:].tolist()

    def test_some_of_them_if_episodes_are_long(self):
        nothing = np.full((N, EPISODES), np.nan)
        first = first_targets(SPACE, nothing, 7).tolist()
        fewer, few = (first_targets(SPACE, nothing, 7, number).tolist() for number in (9, 0))
        assert (len(fewer), len(few)) == (9, FEWEST)
        assert set(few) < set(fewer) < set(first)

    def test_no_more_than_there_are(self):
        small = ContextSpace(a=[0.0, 1.0])
        assert first_targets(small, np.full((2, 1), np.nan), 0).tolist() == [0, 1]


class TestNextComparison:
    def test_it_plays_where_the_choice_is_open(self):
        """Where another policy is far better, episodes change nothing."""
        far = np.where(SPACE.targets[:, 0] < 0.5, 100.0, 0.0)
        history = history_of(far, np.sin(9 * SPACE.unit_targets.sum(axis=1)))
        _, targets = next_comparison(history, everywhere(0, 1), 7)
        assert len(targets) == COMPARED
        assert (far[targets] == 0.0).all()

    def test_a_policy_that_is_never_chosen_is_not_played(self):
        bumps = np.sin(9 * SPACE.unit_targets.sum(axis=1))
        poor = bumps - 50.0
        history = history_of(bumps, poor, -bumps)
        number, _ = next_comparison(history, everywhere(0, 1, 2), 7)
        assert number != 1
        number, _ = next_comparison(history, everywhere(1), 7)
        assert number == 1, "unless no other can be"

    def test_only_open_targets(self):
        history = history_of(np.arange(N) / N)
        open_targets = {0: np.arange(N) == 41}
        for seed in range(30):  # it is not always among those that are drawn
            chosen = next_comparison(history, open_targets, seed)
            assert chosen is None or (chosen[0], chosen[1].tolist()) == (0, [41])
        assert next_comparison(history, {0: np.zeros(N, bool)}, 7) is None
        assert next_comparison(history, {}, 7) is None


def test_steps_that_are_left_for_comparisons():
    """100 steps an episode: a comparison takes 100 * COMPARED of the share of training."""
    enough = (1600 + 100 * COMPARED) / COMPARED_SHARE
    assert Spent(int(enough) + 1, 1600, 16).allows_comparison
    assert not Spent(int(enough) - 10, 1600, 16).allows_comparison
    assert not Spent(1000, 0, 0).allows_comparison, "nothing was played yet"
    assert Spent(1000, 1600, 16).for_episodes(999) == 9


def test_first_targets_keep_to_the_share(tmp_path):
    from small_study import TRAINER, open_small

    trainer = {**TRAINER, "total_timesteps": 8192, "eval_every": 20}
    space = make_family("CartPole").space("wide", levels=4)
    regions = {"selector": "generalist-first"}
    study = open_small(tmp_path / "study", **regions, space=space, trainer_options=trainer)
    study.run(budget=4)
    counts = [int(trial.episodes.sum()) for trial in study.trials]
    assert counts[0] == FIRST
    assert FEWEST <= min(counts) < FIRST


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_share_of_the_steps_of_training(jobs, tmp_path):
    """Policies are compared until the share is used, also with the last one."""
    from small_study import REGIONS, TRAINER, open_small

    trainer = {**TRAINER, "total_timesteps": 40_960, "eval_every": 20}
    study = open_small(tmp_path / "study", **REGIONS, episodes=50, trainer_options=trainer)
    study.run(budget=3, jobs=jobs)
    played = sum(t.run.evaluation_steps for t in study.trials)
    share, one_comparison = COMPARED_SHARE * study.training_steps, 500 * COMPARED
    assert share - one_comparison < played <= share
    assert all(trial.earlier == () for trial in study.trials)


def test_each_comparison_chooses_among_other_targets(tmp_path, monkeypatch):
    from small_study import REGIONS, TRAINER, open_small

    seeds, choose = [], loop.next_comparison
    monkeypatch.setattr(
        loop, "next_comparison", lambda *given: seeds.append(given[-1]) or choose(*given)
    )
    trainer = {**TRAINER, "total_timesteps": 40_960, "eval_every": 20}
    study = open_small(tmp_path / "study", **REGIONS, episodes=50, trainer_options=trainer)
    study.run(budget=2)
    assert len(seeds) == len(set(seeds)) > 2


def test_policies_are_told_of_when_they_were_compared(tmp_path):
    from small_study import REGIONS, open_small

    study, told = open_small(tmp_path / "study", **REGIONS), []

    def keep(event):
        if event.stage == "finished":
            told.append((event.trial.id, int(event.trial.episodes.sum())))

    study.run(budget=2, callbacks=[keep])
    assert [number for number, _ in told] == [0, 1]
    assert told[1][1] == study.trials[1].episodes.sum()


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
