"""Methods trained side by side, their measurements and files."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import against_generalists
from generalists import measuring, methods, results
from generalists.data_sets import DataSet
from generalists.long_runs import GymnasiumLongRuns, JaxLongRuns
from generalists.measuring import Measured
from generalists.methods import Method
from sdmbtl.callbacks import Event
from sdmbtl.contexts import ContextSpace
from sdmbtl.environments import make_family
from sdmbtl.selectors import Trial
from sdmbtl.training import Evaluation, TrainingJob

OURS = "generalist-first"
DATA = DataSet("CartPole wide", "CartPole")
SMALL = {"num_envs": 2, "num_steps": 32, "minibatch_size": 32, "update_epochs": 1}


class NumberedTrainer:
    """Plays policies that are numbers: the return of policy p on target i is p + i / 1000."""

    def __init__(self):
        self.calls = []

    def evaluate(self, policy, contexts, *, episodes, seed, only):
        self.calls.append((policy, seed, len(only)))
        returns = np.full((len(contexts), episodes), np.nan)
        returns[only] = (policy + np.array(only) / 1000)[:, None]
        return Evaluation(returns)


def test_targets_get_the_policy_that_is_chosen_for_them():
    i = np.arange(512)
    chosen = {
        1: np.zeros(512, int),
        2: np.where(i < 100, 1, 0),
        3: np.select([i < 100, i < 110], [1, 2], 0),
    }
    trainer = NumberedTrainer()
    rows = measuring.fresh_rows(DATA, trainer, [10.0, 20.0, 30.0], chosen, 7)
    np.testing.assert_allclose(rows[1], 10 + i / 1000)
    np.testing.assert_allclose(rows[2], np.where(i < 100, 20, 10) + i / 1000)
    best = np.select([i < 100, i < 110], [20, 30], 10)
    np.testing.assert_allclose(rows[3], best + i / 1000)
    assert [n for _, _, n in trainer.calls] == [512, 100, 10], "only those that are needed"
    assert len({seed for _, seed, _ in trainer.calls}) == 1, "all play the same episodes"


def test_a_mark_has_what_was_known_when_its_units_were_spent():
    source = DATA.space.whole()
    about = {"context": {}, "index": None, "strategy": "", "reason": ""}
    trials = [Trial(number, source, **about) for number in range(3)]
    study = SimpleNamespace(trials=[], steps=0)
    known = methods._AtMarks(study, replace(DATA, steps=100))
    for number, steps in enumerate((150, 310, 1100)):
        study.trials, study.steps = trials[: number + 1], steps
        known.keep(Event("finished", trials[number]))
        known.keep(Event("training", trials[number]))
    policies = {mark: len(history.trials) for mark, history in known.histories.items()}
    assert policies == {2: 1, 3: 1, 4: 2, 6: 2, 8: 2, 12: 3}


def test_shorter_runs_of_gymnasium_are_the_beginning_of_longer_ones():
    space = ContextSpace(gravity=[5.0, 10.0])
    family = make_family("gym:Pendulum-v1", space=space, dimensions={"gravity": "g"})
    trainer = GymnasiumLongRuns(family, space, hidden_sizes=(4,), eval_every=2, **SMALL)
    jobs = [TrainingJob(space.targets, seed) for seed in (1, 2)]
    short, long = trainer.policies_after(jobs, [64 * 3, 64 * 4])
    for steps, policies in ((64 * 3, short), (64 * 4, long)):
        for policy, job in zip(policies, jobs, strict=True):
            (again,) = trainer.train([TrainingJob(job.contexts, job.seed, steps=steps)])
            for ours, theirs in zip(policy.weights, again.policy.weights, strict=True):
                np.testing.assert_array_equal(ours, theirs)
    assert not np.array_equal(short[0].weights[0], long[0].weights[0])


@pytest.mark.slow
def test_shorter_runs_are_the_beginning_of_longer_ones():
    family = make_family("CartPole")
    space = family.space("wide")
    trainer = JaxLongRuns(family, space, hidden_sizes=(4,), eval_every=2, **SMALL)
    jobs = [TrainingJob(space.targets[:3], seed) for seed in (1, 2)]
    short, long = trainer.policies_after(jobs, [64 * 2, 64 * 6])
    for steps, policies in ((64 * 2, short), (64 * 6, long)):
        again = trainer.train([TrainingJob(j.contexts, j.seed, steps=steps) for j in jobs])
        for policy, training in zip(policies, again, strict=True):
            for ours, theirs in zip(policy.weights, training.policy.weights, strict=True):
                np.testing.assert_array_equal(ours, theirs)
    assert not np.array_equal(short[0].weights[0], long[0].weights[0])
    assert not np.array_equal(long[0].weights[0], long[1].weights[0])
    annealed = JaxLongRuns(family, space, hidden_sizes=(4,), anneal_lr=True, **SMALL)
    with pytest.raises(ValueError, match="a separate run"):
        annealed.policies_after(jobs, [64])


def test_only_what_is_missing_is_measured(tmp_path):
    asked = []

    def run(data, seeds, work):
        for seed in seeds:
            asked.append(seed)
            if seed == 2 and asked.count(2) == 1:
                raise KeyboardInterrupt
            yield seed, Measured({1: np.full(512, 250.0 + seed)}, {"ended": "so"})

    method = Method("generalist", run)
    with pytest.raises(KeyboardInterrupt):
        against_generalists.measure(DATA, method, 3, tmp_path)
    against_generalists.measure(DATA, method, 3, tmp_path)
    against_generalists.measure(DATA, method, 3, tmp_path)
    assert asked == [0, 1, 2, 2]
    result = json.loads(json.dumps(results.collect(tmp_path, [DATA], {})))
    found = result["data"]["CartPole wide"]["methods"]["generalist"]
    shares = [found[seed]["coverage"]["1"] for seed in "012"]
    assert shares == pytest.approx([0.5, 0.502, 0.504])
    assert found["2"]["worst_tenth"]["1"] == pytest.approx(0.504)
    assert found["2"]["ended"] == "so"


def test_a_study_counts_for_its_code_only(tmp_path, monkeypatch):
    method = Method("generalist-first", lambda *_: iter(()), keyed=True)

    def code(name):
        monkeypatch.setattr(results, "code_fingerprint", lambda *_: name)

    code("old")
    measuring.save(
        results.folder_of(tmp_path, DATA, method), DATA, 0, Measured({1: np.full(512, 100.0)})
    )
    found = results.collect(tmp_path, [DATA], {})["data"]["CartPole wide"]["methods"]
    assert found[OURS]["0"]["coverage"]["1"] == pytest.approx(0.2)
    code("new")
    assert results.collect(tmp_path, [DATA], {})["data"] == {}
    unkeyed = Method("prioritised", method.run)
    assert results.folder_of(tmp_path, DATA, unkeyed).name == "prioritised"


def test_earlier_measurements_stay_until_there_are_as_many_new_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "code_fingerprint", lambda *_: "new")

    def save(method, seed, value):
        folder = results.folder_of(tmp_path, DATA, Method(method, None, method == OURS))
        measuring.save(folder, DATA, seed, Measured({1: np.full(512, value)}))

    def found(earlier):
        return results.collect(tmp_path, [DATA], earlier)["data"]["CartPole wide"]["methods"]

    for method, seed in (("prioritised", 0), ("prioritised", 1), (OURS, 0)):
        save(method, seed, 100.0)
    earlier = results.collect(tmp_path, [DATA], {})
    for path in tmp_path.rglob("*.json"):
        path.unlink()
    save("prioritised", 0, 300.0)
    save("generalist", 0, 300.0)
    kept = found({**earlier, "code": "old"})
    assert kept["prioritised"]["1"]["coverage"] == pytest.approx({"1": 0.2}), "two seeds, not one"
    assert kept["generalist"]["0"]["coverage"] == pytest.approx({"1": 0.6})
    assert OURS not in kept, "of other code"
    assert OURS in found({**earlier, "code": "new"})
    assert not any("near_best" in seed for seeds in kept.values() for seed in seeds.values())
    save("prioritised", 1, 300.0)
    assert found(earlier)["prioritised"]["1"]["coverage"] == pytest.approx({"1": 0.6})


def test_near_the_best_of_all_methods():
    rows = {
        "a": {"1": np.array([0.5, 0.9]), "2": np.array([0.8, 0.9])},
        "b": {"1": np.array([0.84, 0.1])},
    }
    assert results.near_best(rows) == {"a": {"1": 0.5, "2": 1.0}, "b": {"1": 0.5}}


@pytest.mark.slow
@pytest.mark.parametrize("method", methods.METHODS, ids=lambda method: method.name)
def test_every_method_measures_an_environment_that_python_steps(method, tmp_path):
    data = DataSet(
        "Small Pendulum",
        "gym:Pendulum-v1",
        own_space=ContextSpace(gravity=[5.0, 10.0, 15.0]),
        arguments={"dimensions": {"gravity": "g"}},
        steps=4096,
        own_range=(-2000.0, 0.0),
        marks=(1, 2),
        episodes=1,
        scoring_episodes=1,
        is_foreign=True,
    )
    assert not data.is_compiled
    assert against_generalists.measure(data, method, 1, tmp_path)
    found = results.collect(tmp_path, [data], {})["data"][data.name]["methods"][method.name]["0"]
    assert set(found["coverage"]) <= {"1", "2"}
    assert 0 < found["coverage"]["2"] < 1
    assert not against_generalists.measure(data, method, 1, tmp_path)
