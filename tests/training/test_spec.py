"""Training specified by data: there and back, failures as values, who raises what."""

import json
from copy import copy

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.environments import FactoryFamily, make_family
from sdmbtl.environments.registry import can_be_made_anywhere
from sdmbtl.errors import FamilyError, TrainerError, TrainingError
from sdmbtl.policies import MlpPolicy
from sdmbtl.training import (
    Evaluation,
    Failure,
    Report,
    Trainer,
    TrainerSpec,
    Training,
    TrainingJob,
    evaluate,
    make_trainer,
    train,
)

SPACE = ContextSpace(length=[0.2, 0.5, 1.0, 2.0])
POLICY = MlpPolicy([np.zeros((4, 2))], [np.zeros(2)], np.zeros(4), np.ones(4))


class Pretending(Trainer):
    """Trains nothing. Fails on lengths of `failing`; plays returns that are the length."""

    name = "pretending"
    chunk = 3

    def __init__(self, family, space, *, failing=(), error=TrainingError):
        super().__init__(family, space)
        self.failing, self.error, self.seen = failing, error, []

    def train_chunk(self, jobs, progress=None, checkpoint=None):
        lengths = [float(job.contexts[0, 0]) for job in jobs]
        self.seen.append(lengths)
        for length in lengths:
            if length in self.failing:
                raise self.error(f"length {length}")
        if progress is not None:
            progress(Report(10 * len(jobs), 10 * len(jobs), 1.0))
        return [Training(POLICY, 10, length) for length in lengths]

    def evaluate(self, policy, contexts, *, episodes, seed, only=None, progress=None):
        return Evaluation(np.repeat(self.usable_contexts(contexts), episodes, axis=1))

    def settings(self):
        return {}


def pretending(**options):
    trainer = Pretending(make_family("CartPole"), SPACE, **options)
    return trainer, TrainerSpec.of(trainer)


JOBS = [TrainingJob(SPACE.targets[[i]], seed=i, attempt=1) for i in range(4)]


def test_there_and_back():
    family = make_family("CartPole", physics="carl")
    trainer = make_trainer("sb3", family, SPACE, total_timesteps=77)
    spec = TrainerSpec.of(trainer)
    assert spec.make_trainer() is trainer
    assert spec.make_family() is family
    again = TrainerSpec(**json.loads(json.dumps(spec.to_dict())))
    assert again == spec
    made = again.make_trainer()
    assert made is again.make_trainer(), "made once"
    assert made is not trainer
    assert made.settings() == trainer.settings()
    assert made.space == SPACE
    assert made.family.settings()["options"]["physics"] == "carl"


def test_settings_must_be_data():
    trainer, _ = pretending()
    trainer.settings = lambda: {"activation": object}
    with pytest.raises(TrainerError, match="'pretending' must be JSON data"):
        TrainerSpec.of(trainer)


def test_environments_that_only_this_process_has():
    family = FactoryFamily(lambda context: None, SPACE)
    trainer = make_trainer("sb3", family, SPACE)
    spec = TrainerSpec.of(trainer)
    assert spec.environment["importable"] is False
    assert spec.make_trainer() is trainer
    with pytest.raises(FamilyError, match="<lambda>', which cannot be imported by name"):
        copy(spec).make_trainer()  # as another process gets it


def test_the_one_that_fails_is_found():
    trainer, spec = pretending(failing=[0.5], error=ValueError)
    results = train(spec, JOBS)
    assert results[1] == Failure("ValueError: length 0.5", attempt=1)
    assert [isinstance(r, Training) for r in results] == [True, False, True, True]
    assert trainer.seen == [[0.2, 0.5, 1.0], [0.2], [0.5], [1.0], [2.0]]


def test_a_wrong_set_up_is_raised():
    _, spec = pretending(failing=[2.0], error=TrainerError)
    with pytest.raises(TrainerError, match="length 2.0"):
        train(spec, JOBS)


def test_progress_is_that_of_all_jobs():
    calls = []
    train(pretending()[1], JOBS, calls.append)
    assert calls == [Report(30, 40, 1.0), Report(40, 40, 1.0)]


def test_returns_that_are_not_finite_are_errors_of_their_context():
    trainer, spec = pretending()
    whole = evaluate(spec, POLICY, SPACE.targets, episodes=2, seed=0)
    assert whole.complete().shape == (4, 2)
    played = np.array([[1.0, 2.0], [np.nan, 1.0], [-np.inf, np.inf]])
    trainer.evaluate = lambda *_, **__: Evaluation(played)
    evaluation = evaluate(spec, POLICY, SPACE.targets[:3], episodes=2, seed=0)
    np.testing.assert_array_equal(evaluation.returns, [[1, 2], [np.nan] * 2, [np.nan] * 2])
    assert evaluation.errors == {
        1: "The policy's return is nan in the context {'length': 0.5}.",
        2: "The policy's return is -inf in the context {'length': 1.0}.",
    }


def test_a_trainer_that_fails_as_a_whole():
    trainer, spec = pretending()

    def fail(*_, **__):
        raise ZeroDivisionError("no wheels")

    trainer.evaluate = fail
    evaluation = evaluate(spec, POLICY, SPACE.targets, episodes=2, seed=0)
    assert np.isnan(evaluation.returns).all()
    assert evaluation.errors == dict.fromkeys(range(4), "ZeroDivisionError: no wheels")


@pytest.mark.parametrize(
    ("contexts", "seed", "text"),
    [
        ((), 0, "at least one context"),
        ([{"length": 1.0}], 0, r"space.vector\(context\) makes one of a dict"),
        ([1.0, 2.0], 0, "one row for each"),
        ([[1.0]], -1, "'seed' must be"),
        ([[1.0]], 0.5, "'seed' must be"),
    ],
)
def test_unusable_jobs(contexts, seed, text):
    with pytest.raises(TrainerError, match=text):
        TrainingJob(contexts, seed)


def test_a_subclass_is_not_known_elsewhere():
    assert can_be_made_anywhere(make_family("cartpole", physics="carl"))

    class Mine(type(make_family("cartpole"))):
        """Has the name of its parent, and is another one."""

    assert not can_be_made_anywhere(Mine())


def test_jobs_do_not_change():
    contexts = np.ones((1, 1))
    job = TrainingJob(contexts, 0)
    contexts[0] = 5.0
    assert job.contexts.tolist() == [[1.0]]
    with pytest.raises(ValueError, match="read-only"):
        job.contexts[0] = 2.0
