"""The policy that a training run returns: the best by evaluations, or the latest."""

from types import SimpleNamespace

import numpy as np
import pytest

from sdmbtl.errors import TrainingError
from sdmbtl.policies import MlpPolicy
from sdmbtl.training import Evaluation, TrainingJob
from sdmbtl.training.best_policy import BestPolicy


def policy(weight=0.0):
    return MlpPolicy([np.full((4, 2), weight)], [np.zeros(2)], np.zeros(4), np.ones(4))


def consider(best, policies, returns=(1.0,), contexts=1, episodes=2):
    """Have policies considered that get these mean returns; returns what was played."""
    left, played = iter(returns), []

    def play(family, policy, contexts, **how):
        played.append((len(np.unique(contexts)), how["episodes"], how["seed"]))
        return Evaluation(np.full((len(contexts), how["episodes"]), next(left)))

    trainer = SimpleNamespace(
        family=None, play=play, failed=lambda job, cause: TrainingError(f"failed: {cause}")
    )
    job = TrainingJob(np.linspace(0.5, 2.0, contexts)[:, None], seed=0)
    for number, each in enumerate(policies):
        how = {"training_return": 10.0 - number, "episodes": episodes, "seed": 5}
        best.consider(trainer, job, each, 64 * number, **how)
    return played


@pytest.mark.parametrize(("means", "kept"), [([1, 3, 2], 1), ([1, 3, 3], 2), ([5, 3, 4], 0)])
def test_the_best_is_kept_and_of_equals_the_later(means, kept):
    best, policies = BestPolicy(), [policy(), policy(), policy()]
    played = consider(best, policies, means)
    assert best.policy is policies[kept]
    assert best.mean_return == means[kept]
    assert (
        best.take_new_evaluations()
        == tuple(best.curve)
        == tuple(zip((0, 64, 128), means, strict=True))
    )
    assert best.take_new_evaluations() == (), "each is reported once"
    assert played == [(1, 2, 5)] * 3, "the same episodes each time"


def test_without_evaluations_the_latest_is_kept():
    best, policies = BestPolicy(), [policy(), policy(), policy()]
    assert consider(best, policies, episodes=0) == []
    assert best.policy is policies[2]
    assert (best.mean_return, best.evaluation_steps) == (8.0, 0)
    assert best.curve == [(0, 10.0), (64, 9.0), (128, 8.0)], "the returns of training"


@pytest.mark.parametrize(("contexts", "played"), [(1, (1, 20)), (8, (8, 3)), (300, (16, 2))])
def test_of_many_contexts_some_are_evaluated(contexts, played):
    found = consider(BestPolicy(), [policy()], contexts=contexts, episodes=20)
    assert found == [(*played, 5)]


def test_what_is_not_finite_ends_the_run():
    with pytest.raises(TrainingError, match="weights are not finite after 0 steps"):
        consider(BestPolicy(), [policy(np.inf)])
    with pytest.raises(TrainingError, match="the mean return is inf after 0 steps"):
        consider(BestPolicy(), [policy()], [np.inf])
