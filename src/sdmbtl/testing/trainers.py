"""Conformance checks of trainers; each raises AssertionError with a sentence.

They train on CartPole for as long as the trainer that the factory makes is set to: set it to a few
hundred steps. Needs Gymnasium.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.environments import EnvironmentFamily, make_family
from sdmbtl.errors import ContextError, SdmbtlError, TrainerError
from sdmbtl.policies import Policy, policy_bytes, policy_from_bytes
from sdmbtl.training import (
    Report,
    Trainer,
    TrainerSpec,
    Training,
    TrainingJob,
    train,
    trainer_names,
)

#: Called as `factory(family, space)`.
TrainerFactory = Callable[[EnvironmentFamily, ContextSpace], Trainer]
TrainerCheck = Callable[[TrainerFactory], None]

_SPACE = ContextSpace(length=[0.3, 0.9], masspole=[0.05, 0.5])
_EPISODES = 2


def trainer_checks() -> tuple[TrainerCheck, ...]:
    """Every check; each takes a factory `factory(family, space)`."""
    return tuple(value for name, value in globals().items() if name.startswith("check_"))


def check_trains_a_policy_for_each_job(factory: TrainerFactory) -> None:
    """One training run for each job, in order, whether it is called by `train` or itself."""
    trainer = _make(factory)
    jobs = [_job(0), _job(3)]
    runs = trainer.train(jobs)
    assert len(runs) == 2, f"two jobs must give two policies. Got {len(runs)}"
    for training in runs:
        assert isinstance(training, Training), f"not a Training: {training!r}"
        assert isinstance(training.policy, Policy), f"not a Policy: {training.policy!r}"
        assert training.steps > 0, "a training run takes steps"
        assert np.isfinite(training.source_return), "the return on the source must be finite"
        steps = [at for at, _ in training.curve]
        assert steps == sorted(steps), "a learning curve goes forward"
    again = train(TrainerSpec.of(trainer), jobs)
    assert all(isinstance(result, Training) for result in again), f"failed: {again}"
    assert _bytes(runs) == _bytes([t for t in again if isinstance(t, Training)]), (
        "train(spec, jobs) must give what trainer.train(jobs) gives"
    )


def check_same_job_same_policy(factory: TrainerFactory) -> None:
    """The policy depends on the job alone: not on what was trained before, nor on who trains."""
    trainer = _make(factory)
    first = _bytes(trainer.train([_job(0)]))
    assert _bytes(trainer.train([_job(0)])) == first, "the same job gave another policy"
    assert _bytes(_make(factory).train([_job(0)])) == first, "another trainer gave another policy"
    assert _bytes(trainer.train([_job(0, seed=1)])) != first, "another seed gave the same policy"


def check_takes_contexts_and_steps_of_a_job(factory: TrainerFactory) -> None:
    """A job may have several contexts, and another number of steps than the trainer is set to."""
    trainer = _make(factory)
    (usual,) = trainer.train([_job(0)])
    (longer,) = trainer.train([TrainingJob(_SPACE.targets, 0, steps=3 * usual.steps)])
    assert longer.steps >= 3 * usual.steps, f"{3 * usual.steps} steps asked, {longer.steps} taken"
    assert _play(trainer, longer.policy).shape == (len(_SPACE), _EPISODES)


def check_starts_from_a_parent_or_refuses(factory: TrainerFactory) -> None:
    """A parent changes the policy, always in the same way, or the trainer refuses it."""
    trainer = _make(factory)
    (parent,) = trainer.train([_job(0)])
    job = TrainingJob(_SPACE.targets[[3]], 0, parent=parent.policy)
    if not trainer.starts_from_parent:
        _expect_error(TrainerError, lambda: trainer.train([job]))
        return
    child = _bytes(trainer.train([job]))
    assert _bytes(trainer.train([job])) == child, "the same parent gave another policy"
    assert _bytes(trainer.train([_job(3)])) != child, "the parent changed nothing"


def check_evaluates_each_context(factory: TrainerFactory) -> None:
    """Returns depend on policy, context and seed alone, also after a policy was written and read.

    With `only`, the same episodes are played on those contexts, and none on the others.
    """
    trainer = _make(factory)
    (training,) = trainer.train([_job(3)])
    policy = training.policy
    returns = _play(trainer, policy)
    assert returns.shape == (len(_SPACE), _EPISODES), f"wrong shape {returns.shape}"
    assert np.isfinite(returns).all(), "returns must be finite"
    assert np.array_equal(returns, _play(trainer, policy)), "the same seed gave other returns"
    other = _play(trainer, policy, seed=6)
    assert not np.array_equal(returns, other), "another seed gave the same returns"
    again = policy_from_bytes(policy_bytes(policy))
    assert np.array_equal(_play(trainer, again), returns), "a policy read again plays differently"
    calls: list[tuple[int, int]] = []
    some = trainer.evaluate(
        policy,
        _SPACE.targets,
        episodes=_EPISODES,
        seed=5,
        only=[3, 1],
        progress=lambda *call: calls.append(call),
    )
    assert np.array_equal(some.returns[[1, 3]], returns[[1, 3]]), (
        "a context has other returns if it is evaluated without the others"
    )
    assert np.isnan(some.returns[[0, 2]]).all(), "contexts that were not asked for must be NaN"
    assert some.steps >= 2 * _EPISODES, f"an episode has at least one step. Got {some.steps} in all"
    assert calls[-1:] in ([], [(2, 2)]), f"the last progress must be (2, 2). Got {calls[-1]}"


def check_settings_make_it_again(factory: TrainerFactory) -> None:
    """The settings are JSON data, from which the trainer can be made again."""
    trainer = _make(factory)
    spec = TrainerSpec.of(trainer)
    assert spec.make_trainer() is trainer, "in this process the trainer itself is used"
    again = TrainerSpec(**json.loads(json.dumps(spec.to_dict(), allow_nan=False)))
    assert again == spec, "the settings are not the same after they were written and read"
    if trainer.name in trainer_names():
        made = again.make_trainer()
    else:
        made = type(trainer)(trainer.family, trainer.space, **again.settings)
    assert made.settings() == trainer.settings(), "the settings made another trainer"


def check_progress_is_reported(factory: TrainerFactory) -> None:
    """Progress goes forward to the end; what the callback raises is not swallowed."""
    trainer = _make(factory)
    reports: list[Report] = []
    trainer.train([_job(0), _job(3)], reports.append)
    done = [report.steps for report in reports]
    assert done, "progress was not reported"
    assert done == sorted(done), f"progress went backward: {done}"
    assert done[-1] == reports[-1].total_steps, "the last report must be that of the end"

    def stop(report: Report) -> None:
        raise LookupError(report)

    try:
        train(TrainerSpec.of(trainer), [_job(0)], stop)
    except LookupError:
        return
    raise AssertionError("what the progress callback raises must pass through")


def check_bad_contexts_are_refused(factory: TrainerFactory) -> None:
    """Contexts of another shape, or in which the physics makes no sense, are errors."""
    trainer = _make(factory)
    (training,) = trainer.train([_job(0)])
    for contexts, error in (([[0.3]], TrainerError), ([[-1.0, 0.1]], ContextError)):
        array = np.array(contexts)
        _expect_error(error, lambda array=array: trainer.train([TrainingJob(array, 0)]))  # type: ignore[misc]
        _expect_error(error, lambda array=array: _play(trainer, training.policy, array))  # type: ignore[misc]


def _make(factory: TrainerFactory) -> Trainer:
    return factory(make_family("CartPole", space=_SPACE), _SPACE)


def _job(target: int, seed: int = 0) -> TrainingJob:
    return TrainingJob(_SPACE.targets[[target]], seed)


def _bytes(runs: list[Training]) -> list[bytes]:
    return [policy_bytes(training.policy) for training in runs]


def _play(
    trainer: Trainer,
    policy: Policy,
    contexts: NDArray[np.float64] = _SPACE.targets,
    seed: int = 5,
) -> NDArray[np.float64]:
    return trainer.evaluate(policy, contexts, episodes=_EPISODES, seed=seed).complete()


def _expect_error(error: type[SdmbtlError], call: Callable[[], object]) -> None:
    try:
        call()
    except error:
        return
    raise AssertionError(f"{error.__name__} was not raised")
