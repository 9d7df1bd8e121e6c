"""The methods that are compared: what each does with the steps, seeds side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from generalists.data_sets import DataSet
from generalists.long_runs import LongRuns
from generalists.measuring import Floats, Measured, fresh_rows, new_returns
from sdmbtl.callbacks import Event
from sdmbtl.policies import Policy
from sdmbtl.seeds import derived_seed, seed_sequence
from sdmbtl.selectors.history import History
from sdmbtl.studies import Study
from sdmbtl.training import TrainingJob, make_trainer

#: Contexts that one policy for the whole space is trained on.
WHOLE = 256
#: Segments of a unit of the prioritised baseline.
SEGMENTS = 2

Results = Iterator[tuple[int, Measured]]
Run = Callable[[DataSet, Sequence[int], Path], Results]


def generalist(data: DataSet, seeds: Sequence[int], _: Path) -> Results:
    """One policy, every episode in one of 256 contexts anywhere in the space."""
    return _one_policy(data, seeds, "generalist", sees_context=False)


def multi_task(data: DataSet, seeds: Sequence[int], _: Path) -> Results:
    """The same, and the policy sees the context."""
    return _one_policy(data, seeds, "multi-task", sees_context=True)


def _one_policy(data: DataSet, seeds: Sequence[int], key: str, *, sees_context: bool) -> Results:
    trainer = data.trainer(chunk=len(seeds))
    whole = data.space.whole()
    jobs = [
        TrainingJob(
            data.space.draw(whole, WHOLE, _rng(seed, key)),
            derived_seed(seed, key),
            sees_context=sees_context,
        )
        for seed in seeds
    ]
    at_marks = trainer.policies_after(jobs, [mark * data.unit for mark in data.marks])
    for number, seed in enumerate(seeds):
        rows = {
            mark: new_returns(data, trainer, policies[number], seed)
            for mark, policies in zip(data.marks, at_marks, strict=True)
        }
        yield seed, Measured(rows)


def prioritised(data: DataSet, seeds: Sequence[int], _: Path) -> Results:
    """One policy, continued on contexts of which half are those where most is missing."""
    trainer = data.trainer(chunk=len(seeds))
    every = trainer.ppo_settings.eval_every * trainer.ppo_settings.batch_size
    steps = -(-data.unit // (SEGMENTS * every)) * every
    policies: list[Policy | None] = [None for _ in seeds]
    rows: list[dict[int, Floats]] = [{} for _ in seeds]
    for segment in range(1, SEGMENTS * max(data.marks) + 1):
        jobs = [
            TrainingJob(
                _prioritised_contexts(data, trainer, policy, seed, segment),
                derived_seed(seed, "prioritised", segment),
                parent=policy,
                steps=steps,
            )
            for seed, policy in zip(seeds, policies, strict=True)
        ]
        policies = [training.policy for training in trainer.train(jobs)]
        mark, rest = divmod(segment, SEGMENTS)
        if rest == 0 and mark in data.marks:
            for row, policy, seed in zip(rows, policies, seeds, strict=True):
                if policy is not None:
                    row[mark] = new_returns(data, trainer, policy, seed)
    yield from ((seed, Measured(row)) for seed, row in zip(seeds, rows, strict=True))


def _prioritised_contexts(
    data: DataSet, trainer: LongRuns, policy: Policy | None, seed: int, segment: int
) -> Floats:
    """(256, D) contexts: half where the policy falls short most, half anywhere."""
    rng, space = _rng(seed, "prioritised", segment), data.space
    returns = None
    if policy is not None:
        returns = trainer.evaluate(
            policy,
            space.targets,
            episodes=data.scoring_episodes,
            seed=derived_seed(seed, "scored", segment),
        ).returns.mean(axis=1)
    return space.draw(space.whole(), WHOLE, rng, returns)


def plain_sb3(data: DataSet, seeds: Sequence[int], _: Path) -> Results:
    """PPO of stable-baselines3 with its defaults, on the contexts of the generalist."""
    import stable_baselines3

    from sdmbtl.policies.sb3 import SB3Policy
    from sdmbtl.training.sb3 import OneContextEachEpisode

    space, trainer = data.space, make_trainer("sb3", data.family, data.space)
    for seed in seeds:
        drawn = space.draw(space.whole(), WHOLE, _rng(seed, "generalist"))
        contexts = [space.context(vector) for vector in drawn]
        made = data.family.make(contexts[0])
        env = OneContextEachEpisode(made, contexts, _rng(seed, "plain sb3"))
        number = derived_seed(seed, "plain sb3")
        model = stable_baselines3.PPO("MlpPolicy", env, seed=number % 2**32, device="cpu")
        rows = {}
        for mark in data.marks:
            missing = mark * data.unit - model.num_timesteps
            model.learn(missing, reset_num_timesteps=False)
            rows[mark] = new_returns(data, trainer, SB3Policy.from_model(model), seed)
        yield seed, Measured(rows)


def generalist_first(data: DataSet, seeds: Sequence[int], work: Path) -> Results:
    """A study as it is by default: a generalist, then what adds most."""
    for seed in seeds:
        begun = time.monotonic()
        study = Study.open(
            work / f"study-{seed}",
            data.family,
            space=data.space,
            trainer="ppo",
            trainer_options=data.options,
            seed=seed,
        )
        known = _AtMarks(study, data)
        ended = study.run(
            total_steps=max(data.marks) * data.unit, callbacks=[known.keep], eval_processes=1
        )
        seconds = time.monotonic() - begun
        yield seed, _measured_study(data, study, known.histories, ended, seconds)


class _AtMarks:
    """What a study knew when it had spent as many units as each mark has."""

    def __init__(self, study: Study, data: DataSet) -> None:
        self.study, self.data = study, data
        self.histories: dict[int, History] = {}

    def keep(self, event: Event) -> None:
        """Keep the study for the marks that are not passed yet."""
        if event.stage == "finished":
            known = History(self.data.space, 0, self.study.trials)
            spent = self.study.steps / self.data.unit
            self.histories |= {mark: known for mark in self.data.marks if spent <= mark}


def _measured_study(
    data: DataSet, study: Study, known: Mapping[int, History], ended: str, seconds: float
) -> Measured:
    finished = [trial for trial in study.trials if trial.row is not None]
    portfolio = study.portfolio()
    policies = [portfolio.policy(trial.id) for trial in finished]
    # The rows of a history are those of the first policies, in the same order.
    chosen = {mark: history.expected_returns.argmax(axis=0) for mark, history in known.items()}
    rows = fresh_rows(data, data.trainer(), policies, chosen, study.configuration.seed)
    sources = [trial.source.to_dict() for trial in finished]
    notes = {"ended": ended, "policies": len(finished), "sources": sources}
    notes |= {"training_steps": study.training_steps, "evaluation_steps": study.evaluation_steps}
    return Measured(rows, {**notes, "study_seconds": round(seconds, 1)})


def _rng(seed: int, key: str, *numbers: int) -> np.random.Generator:
    return np.random.default_rng(seed_sequence(seed, f"{key}, contexts", *numbers))


class Method(NamedTuple):
    """A way to use the steps.

    Attributes:
        name: Name in the result.
        run: Function that trains and measures it.
        keyed: True if results are valid only for the code version that produced them.
        for_foreign: True if it is measured on foreign environments only.
    """

    name: str
    run: Run
    keyed: bool = False
    for_foreign: bool = False


#: The quickest first.
METHODS = (
    Method("generalist", generalist),
    Method("multi-task", multi_task),
    Method("prioritised", prioritised),
    Method("plain-sb3", plain_sb3, for_foreign=True),
    Method("generalist-first", generalist_first, keyed=True),
)
