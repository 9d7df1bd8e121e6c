"""Studies: the loop, its rules, failures as data, ask and tell, the result."""

import importlib
import json
import subprocess
import sys
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from small_study import REGIONS, TRAINER, open_small
from stand_ins import hand_over

from sdmbtl import ContextSpace
from sdmbtl.environments.cartpole import CartPole
from sdmbtl.errors import (
    ConfigurationError,
    ContextError,
    DamagedStudyError,
    DuplicateTellError,
    ExhaustedError,
    SelectorError,
    StudyError,
)
from sdmbtl.selectors import Trial, make_selector
from sdmbtl.selectors.random_selector import RandomSelector
from sdmbtl.studies import (
    NoGain,
    StopRule,
    Study,
    TimeLimit,
    stopping,
    store,
)
from sdmbtl.studies.doctor import examine
from sdmbtl.studies.store import open_store
from sdmbtl.training import Failure, tasks

SPACE = ContextSpace(a=[0.0, 1.0, 2.0], b=[0.0, 1.0])


def test_status_of_a_finished_study(finished):
    status = finished.status()
    assert json.loads(json.dumps(status, allow_nan=False)) == status
    assert status["policies"] == status["budget"] == 4
    assert status["environment"] == "CartPole"
    assert status["training_steps"] == 4 * 4096
    assert status["steps"] == status["training_steps"] + status["evaluation_steps"]
    assert [r["id"] for r in status["rounds"]] == [0, 1, 2, 3]
    for number, entry in enumerate(status["rounds"]):
        assert finished.space.find(entry["context"]) is not None
        best = finished.returns[: number + 1].mean(axis=2).max(axis=0).mean()
        assert entry["performance"] == pytest.approx(best)
        assert entry["coverage"] == pytest.approx(best / 500)
        assert entry["steps"] == 4096
    assert status["coverage"] == status["rounds"][-1]["coverage"]
    gains = [r["gain"] for r in status["rounds"]]
    assert gains[0] is None
    assert sum(gains[1:]) == pytest.approx(
        status["performance"] - status["rounds"][0]["performance"]
    )
    assert set(status["timing"]["seconds"]) == {"choosing", "training", "evaluation"}
    names = ["plateau", "linear-gap"]
    assert [list(r["model_weights"]) for r in status["rounds"]] == [[], names, names, names]
    entries = finished.selector.evidence()
    for name in names:
        own = [e["weight"] for e in entries if e["model"] == name]
        assert [r["model_weights"][name] for r in status["rounds"][1:]] == own
        assert status["model_weights"][name] == own[-1]
    assert status["structure"] is None
    assert [r["model"] for r in status["rounds"]] == [t.model for t in finished.trials]
    gain = finished.selector.remaining_gain(3)
    assert status["remaining_gain"] == {"policies": 3, "gain": gain, "share": gain / 500}
    assert status["return_span"] == 500


def test_status_without_estimates(tmp_path):
    study = Study.open(tmp_path / "study", space=SPACE, selector="m/gp-mbtl")
    for key in ("structure", "remaining_gain"):
        assert study.status()[key] is None
    for k in range(6):
        study.tell(study.ask(), np.arange(6.0) * (k + 1))
    status = study.status()
    assert status["model_weights"] == {}
    detected = study.selector.detector.detect(study.selector.rows)
    assert status["structure"] == detected.structure
    assert status["rounds"][-1]["structure"] in ("mountain", "none")
    assert {r["model"] for r in status["rounds"]} == {None}
    assert status["return_span"] == 30


def test_status_names_policies_far_below_the_others(tmp_path):
    space = ContextSpace(a=range(6), b=range(6))
    gap = np.abs(space.targets[:, None] - space.targets).sum(axis=2)
    matrix = 50.0 - gap + 0.1 * np.random.default_rng(0).normal(size=gap.shape)
    study = Study.open(tmp_path / "study", space=space)
    for k in range(10):
        candidate = study.ask()
        row = matrix[candidate.index] - (200.0 if k == 7 else 0.0)
        study.tell(candidate, row) if k != 3 else study.tell(candidate, status="failed")
    rounds = study.status()["rounds"]
    assert [entry["id"] for entry in rounds if entry["probably_failed"]] == [7]


def test_all_returns_the_same(tmp_path):
    study = Study.open(tmp_path / "study", space=SPACE)
    for _ in range(3):
        study.tell(study.ask(), np.ones(6))
    assert study.status()["remaining_gain"] == {"policies": 3, "gain": 0.0, "share": None}


def test_training_curve_is_recorded(finished):
    run = finished.trials[0].run
    assert [steps for steps, _ in run.curve] == [2048, 4096]
    assert run.training_return == max(value for _, value in run.curve)


def test_another_configuration_is_refused(finished):
    with pytest.raises(ConfigurationError) as caught:
        open_small(
            finished.path,
            seed=4,
            selector="random",
            trainer_options={**TRAINER, "total_timesteps": 8192},
        )
    text = str(caught.value)
    assert "seed: recorded 3, now 4" in text
    assert "selector.name: recorded 'predictive', now 'random'" in text
    assert "trainer.settings.total_timesteps: recorded 4096, now 8192" in text
    assert "another directory" in text
    assert open_small(finished.path).n_finished == 4


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"region_contexts": 0}, StudyError, "'region_contexts' must be a whole number >= 1"),
        ({**REGIONS, "selector_options": {"width": 1.5}}, SelectorError, "'width'"),
        ({**REGIONS, "selector_options": {"width": "wide"}}, SelectorError, "'width'"),
    ],
)
def test_bad_settings_leave_nothing_behind(arguments, error, text, tmp_path):
    with pytest.raises(error, match=text):
        open_small(tmp_path / "study", **arguments)
    assert not (tmp_path / "study").exists()


def test_no_study_and_other_directories(tmp_path):
    with pytest.raises(StudyError, match="There is not a study in .*sdmbtl run"):
        Study.open(tmp_path / "nothing")
    (tmp_path / "letter.txt").write_text("hello")
    with pytest.raises(StudyError, match="There is not a study in"):
        Study.open(tmp_path)
    with pytest.raises(StudyError, match="Cannot make a study in .*another directory"):
        Study.open(tmp_path / "letter.txt" / "below", space=SPACE)
    with pytest.raises(StudyError, match="exists and is not a study"):
        Study.open(tmp_path, "CartPole")
    with pytest.raises(StudyError, match="exists and is not a study"):
        Study.open(tmp_path / "letter.txt", "CartPole")


def test_making_a_study_twice_at_once_keeps_the_first(tmp_path):
    """The second process has looked before the first one made it."""
    first = Study.open(tmp_path / "study", space=SPACE)
    first.ask()
    open_store(tmp_path / "study", 0.0, dict)
    assert len(Study.open(tmp_path / "study").trials) == 1


def test_killed_while_being_made(tmp_path):
    path = tmp_path / "study"
    (path / "policies").mkdir(parents=True)
    (path / "study.db").write_bytes(b"")  # SQLite has made the file, and no table
    with pytest.raises(StudyError, match="not a study in") as caught:
        Study.open(path)
    assert not isinstance(caught.value, DamagedStudyError)
    assert Study.open(path, space=SPACE).trials == ()


def test_settings_are_compared_as_they_are_recorded(tmp_path):
    options = {**TRAINER, "hidden_sizes": (8, 8)}
    for _ in range(2):
        open_small(tmp_path / "study", trainer_options=options)
    with pytest.raises(StudyError, match="kept as JSON"):
        Study.open(tmp_path / "other", space=SPACE, episodes=np.int64(3))


def test_a_study_keeps_its_settings_when_recommendations_change(finished, monkeypatch):

    monkeypatch.setattr(CartPole, "training", {"ppo": {"ent_coef": 0.5, "total_timesteps": 5}})
    assert Study.open(finished.path).trainer.settings() == finished.trainer.settings()


def test_run_needs_an_end(tmp_path):
    with pytest.raises(StudyError, match="needs a 'budget'"):
        open_small(tmp_path / "study").run()


# -- environments from a function ------------------------------------------------------------------


def make_cartpole(context):
    env = gymnasium.make("CartPole-v1")
    env.unwrapped.length = context["length"]
    return env


def test_a_function_that_can_be_imported_is_recorded_by_name(tmp_path, monkeypatch):
    (tmp_path / "own_environments.py").write_text(FAULTY.format(broken=[]))
    monkeypatch.syspath_prepend(str(tmp_path))
    make = importlib.import_module("own_environments").make
    arguments = {"space": ContextSpace(length=[0.2, 0.4]), "trainer_options": QUICK_SB3}
    study = Study.open(tmp_path / "study", make, **arguments)
    assert study.configuration.family == {"name": "own_environments:make", "options": {}}
    again = Study.open(tmp_path / "study")
    again.run(budget=1)
    assert again.n_finished == 1


@pytest.mark.parametrize("function", [make_cartpole, lambda context: make_cartpole(context)])
def test_a_function_of_a_notebook_must_be_passed_again(tmp_path, monkeypatch, function):
    monkeypatch.setattr(make_cartpole, "__module__", "__main__")
    arguments = {"space": ContextSpace(length=[0.2, 0.4]), "trainer_options": QUICK_SB3}
    path = tmp_path / "study"
    Study.open(path, function, **arguments).run(budget=1)
    looking = Study.open(path)
    assert looking.status()["environment"] == function.__qualname__
    assert len(looking.portfolio()) == 1
    with pytest.raises(StudyError, match=r"Pass it again to resume: Study.open\(path, function"):
        looking.run(budget=2)
    study = Study.open(path, function, **arguments)
    study.run(budget=2)
    assert study.n_finished == 2
    assert examine(path).healthy


def test_a_function_needs_a_space(tmp_path):
    with pytest.raises(StudyError, match="needs a context space"):
        Study.open(tmp_path / "study", make_cartpole)


def test_the_given_range_of_returns_counts(tmp_path):
    study = open_small(tmp_path / "study", return_range=(0, 100))
    assert study.return_range == (0.0, 100.0)
    assert Study.open(study.path).return_span == 100
    with pytest.raises(ConfigurationError, match="return_range"):
        open_small(study.path)


# -- stop rules ------------------------------------------------------------------------------------


def after(*performances, span=10.0, complete=False, expected=None, failed=()):
    """A study of one target after policies with these returns.

    `expected` is what each further policy is expected to add, if the selector can tell.
    """
    return SimpleNamespace(
        trials=[SimpleNamespace(id=n, row=value) for n, value in enumerate(performances)],
        n_finished=len(performances),
        space=SimpleNamespace(mean=np.mean),
        selector=SimpleNamespace(
            expected_returns=np.array(performances)[:, None],
            failed_runs=lambda: list(failed),
            remaining_gain=lambda n: None if expected is None else n * expected,
        ),
        return_range=(0.0, performances[-1]) if complete else None,
        return_span=span,
    )


@pytest.mark.parametrize(("batch", "stops"), [(1, False), (2, True)])
def test_time_limit_leaves_room_for_a_whole_batch(batch, stops, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(stopping.time, "monotonic", lambda: now[0])
    rule = TimeLimit(110)
    now[0] = 10.0  # what comes before the first policy is not the time of one
    study = SimpleNamespace(n_finished=3, configuration=SimpleNamespace(batch=batch))
    assert rule.reason(study) is None
    now[0], study.n_finished = 50.0, 4
    assert (rule.reason(study) is not None) == stops
    now[0] = 111.0
    assert "too short for one more" in rule.reason(study)


@pytest.mark.parametrize(
    ("patience", "study", "reason"),
    [
        (2, after(1.0, 1.0), None),  # too early to say
        (2, after(1.0, 1.0, 1.6), None),
        (2, after(1.0, 1.0, 1.4), "the last 2 policies"),
        (2, after(10.0, complete=True), "highest return"),
        (1, after(1.0, 1.0, 1.5), None),
        (1, after(1.0, 1.0, 1.0), "the last 1 policy"),
        (3, after(1.0, 1.0, expected=0.01), None),
        (
            3,
            after(1.0, 1.0, 1.0, expected=0.01),
            "+0.03 in mean best return expected of the next 3",
        ),
        (3, after(1.0, 1.0, 1.0, 1.0), "the last 3"),
        (3, after(1.0, 1.0, 1.0, 1.0, expected=0.2), None),  # which counts more than the past
        # Experience must not contradict the estimate.
        (3, after(0.0, 1.0, 1.6, 2.4, expected=0.001), None),  # 0.8 each, more than 0.5
        (3, after(0.0, 1.0, 1.6, 1.9, 2.3, 2.4, expected=0.001), "expected"),  # 0.27 each
        (3, after(0.0, 1.4, 1.4, 1.4, expected=0.001), "expected"),  # 0.47 each
        (3, after(0.0, 1.5, 1.5, 1.5, expected=0.001), None),  # 0.5 each
        (3, after(0.0, 0.3, 0.9, expected=0.001), "expected"),  # as many as there are: 0.45 each
        # Runs that failed say nothing about the next ones; three must have been in earnest.
        (2, after(0.0, 4.0, 8.0, 8.0, 8.0), "the last 2"),
        (2, after(0.0, 4.0, 8.0, 8.0, 8.0, failed=[3, 4]), None),
        (2, after(1.0, 1.0, 1.0, expected=0.0), "expected"),
        (2, after(1.0, 1.0, 1.0, expected=0.0, failed=[1]), None),
        # Returns that are all the same say nothing about gains.
        (3, after(1.0, 1.0, 1.0, 1.0, span=0.0), None),
        (3, after(1.0, 1.0, 1.0, 1.0, span=0.0, expected=0.0), None),
    ],
)
def test_no_gain(patience, study, reason):
    found = NoGain(0.05, patience).reason(study)
    assert found is None if reason is None else reason in found


@pytest.mark.parametrize("gain", [0.0, 4.0])
def test_a_selector_of_your_own_may_estimate(gain, tmp_path, monkeypatch):
    study = open_small(tmp_path / "study", selector="random")
    assert study.selector.remaining_gain() is None
    monkeypatch.setattr(RandomSelector, "remaining_gain", lambda self, policies=3: gain * policies)
    reason = study.run(budget=4, min_gain=0.02)
    if gain:  # 12 of 500
        assert reason == "the budget of 4 policies is used"
    else:
        assert "+0.0 points expected" in reason


def test_what_is_pending_is_finished_first_and_not_judged(tmp_path):
    """A rule that costs time is not asked while its answer would not count."""

    class Asked(StopRule):
        def reason(self, study):
            return f"asked after {study.n_finished}"

    study = open_small(tmp_path / "study")
    study.ask()
    hand_over(study)
    assert study.run(rules=[Asked()]) == "asked after 1"
    study.ask()
    hand_over(study)
    assert study.run(budget=1) == "the budget of 1 policy is used"
    assert study.n_finished == 2
    assert not study.pending


def test_every_target_trained_on(tmp_path):
    space = ContextSpace(length=[0.2, 1.0])
    study = open_small(tmp_path / "study", space=space)
    assert study.run(budget=5) == "every target has been trained on"
    assert study.n_finished == 2


# -- failures are data -----------------------------------------------------------------------------

FAULTY = """
import gymnasium

BROKEN = {broken!r}

def make(context):
    if context["length"] in BROKEN:
        raise RuntimeError("the motor is stuck")
    env = gymnasium.make("CartPole-v1")
    env.unwrapped.length = context["length"]
    return env
"""

QUICK_SB3 = {
    "total_timesteps": 64,
    "num_envs": 2,
    "eval_episodes": 1,
    "num_steps": 32,
    "minibatch_size": 32,
    "update_epochs": 1,
}


def faulty_study(tmp_path, monkeypatch, broken, lengths):
    (tmp_path / "faulty.py").write_text(FAULTY.format(broken=broken))
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("faulty", None)
    return Study.open(
        tmp_path / "study",
        "faulty:make",
        space=ContextSpace(length=lengths),
        selector="independent",
        trainer_options=QUICK_SB3,
        episodes=1,
        seed=0,
    )


def test_failed_training_is_retried_then_skipped(tmp_path, monkeypatch):
    # Neither the ends nor the middle, which are tried before a study is made.
    lengths = [round(0.1 * n, 1) for n in range(2, 11)]
    study = faulty_study(tmp_path, monkeypatch, lengths[1:4], lengths)
    study.run(budget=1)
    assert np.flatnonzero(np.isnan(study.trials[0].row)).tolist() == [1, 2, 3]
    with pytest.raises(StudyError, match="failed on 3 contexts in a row.*motor is stuck"):
        study.run(budget=2)
    failed = [t for t in study.trials if t.status == "failed"]
    assert len(failed) == study.status()["failed"] == 3
    assert [t.run.attempt for t in failed] == [1, 1, 1]
    assert all("the motor is stuck" in e for t in failed for e in t.run.errors)
    assert len(failed[0].run.errors) == 2
    # Once it is fixed, the contexts are given back and the study continues.
    (tmp_path / "faulty.py").write_text(FAULTY.format(broken=[]))
    sys.modules.pop("faulty", None)
    study = Study.open(tmp_path / "study")
    assert study.retry_failed() == 3
    study.run(budget=2)
    assert study.n_finished == 2
    assert study.status()["rounds"][failed[0].id]["status"] == "cancelled"


# -- ask and tell ----------------------------------------------------------------------------------


def test_ask_and_tell_without_an_environment(tmp_path):
    path = tmp_path / "study"
    first = Study.open(path, space=SPACE, seed=1).ask()
    study = Study.open(path)
    assert study.pending[0].id == first.id
    study.tell(first.id, np.arange(6.0))
    second, third = Study.open(path).ask(2)
    assert {second.id, third.id} == {1, 2}
    study = Study.open(path)
    study.tell(second.context, np.ones((6, 4)))
    study.tell(third, status="failed", error="no licence")
    assert [t.status for t in study.trials] == ["finished", "finished", "failed"]
    assert study.trials[2].run.errors == ("no licence",)
    assert study.performance == pytest.approx(np.maximum(np.arange(6.0), 1).mean())
    again = Study.open(path)
    assert again.selector.state_dict() == study.selector.state_dict()
    with pytest.raises(StudyError, match="has no environment"):
        again.run(budget=3)
    assert len(again.trials) == 3, "nothing was chosen"


def test_ask_and_tell_need_numpy_and_scipy_only(tmp_path):
    (tmp_path / "space.toml").write_text(
        "[dimensions.length]\nvalues = [0.3, 0.9]\n[returns]\nmin = 0\nmax = 4\n"
    )
    code = """
import sys
for name in ("gymnasium", "torch", "jax", "stable_baselines3", "safetensors"):
    sys.modules[name] = None
from sdmbtl.studies import Study
study = Study.open("study", space="space.toml")
study.tell(study.ask(), [1, 3])
print(study.status()["coverage"], study.portfolio().choose({"length": 0.9}).policy)
"""
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert (answer.stdout, answer.stderr) == ("0.5 0\n", "")


def test_episodes_that_were_not_played(tmp_path):
    study = Study.open(tmp_path / "study", space=SPACE)
    study.tell({"a": 0.0, "b": 0.0}, [[1, 3], [None, 2], [None, None], [0, 0], [1, 1], [2, 2]])
    study.tell({"a": 2.0, "b": 0.0}, [1, 1, 1, 1, 1, 1])
    assert study.selector.rows.returns[0, :3] == pytest.approx([2.0, 2.0, np.nan], nan_ok=True)
    assert study.returns.shape == (2, 6, 2)
    assert np.isnan(study.returns[1, :, 1]).all()


def test_ask_has_the_contract_of_a_selector(tmp_path):
    study = Study.open(tmp_path / "study", space=SPACE, selector="random")
    alone = make_selector("random", SPACE)
    assert study.ask() == alone.ask()
    assert study.ask(2) == alone.ask(2)
    assert study.ask(9) == alone.ask(9), "what is left"
    assert [t.id for t in study.pending] == list(range(6))
    with pytest.raises(ExhaustedError):
        study.ask()


def test_tell_has_the_contract_of_a_selector(tmp_path):
    path = tmp_path / "study"
    study = Study.open(path, space=SPACE)
    trial = study.ask()
    reported = study.tell(trial, np.arange(12.0).reshape(6, 2), source_return=None)
    assert (reported.id, reported.status) == (trial.id, "finished")
    assert reported.row.tolist() == (2 * np.arange(6.0) + 0.5).tolist()
    with pytest.raises(DuplicateTellError, match="was reported already"):
        study.tell(trial, np.ones(6))
    assert study.tell(trial, np.ones(6), skip_if_finished=True) is reported
    assert study.tell(trial, np.arange(12.0).reshape(6, 2)) is reported, "the same row is skipped"
    assert Study.open(path).returns.shape == (1, 6, 2)
    corrected = study.tell(trial, np.ones(6), correct=True)
    assert corrected.row.tolist() == [1.0] * 6
    assert Study.open(path).returns.tolist() == [[[1.0]] * 6], "the old episodes are gone"
    again = study.tell(trial.context, np.full(6, 2.0), repeat=True)
    assert again.id == 1
    assert [t.row.tolist() for t in Study.open(path).trials] == [[1.0] * 6, [2.0] * 6]


def test_two_who_work_on_one_study(tmp_path, monkeypatch):
    """Each takes over what the other has recorded, and reads nothing else again."""
    read = []
    original = Trial.from_dict

    def counted(data, number, space):
        read.append(number)
        return original(data, number, space)

    monkeypatch.setattr(Trial, "from_dict", counted)
    one = Study.open(tmp_path / "study", space=SPACE)
    other = Study.open(tmp_path / "study")
    first = one.ask()
    second = other.ask()
    assert second.context != first.context
    assert read == [0]
    one.tell(second, np.arange(6.0))
    assert read == [0, 1]
    other.tell(first, np.ones(6))
    assert read == [0, 1, 1]
    one.refresh()
    assert read == [0, 1, 1, 0]
    assert one.selector.state_dict() == other.selector.state_dict()


def test_the_database_comes_first(tmp_path, monkeypatch):
    """What could not be recorded was not chosen, nor reported."""
    study = Study.open(tmp_path / "study", space=SPACE)
    trial = study.ask()

    def full(*_, **__):
        raise StudyError("no room")

    monkeypatch.setattr(study.store, "write", full)
    for change in (study.ask, lambda: study.tell(trial, np.ones(6))):
        with pytest.raises(StudyError, match="no room"):
            change()
        assert [t.status for t in study.trials] == ["pending"]


# -- the result ------------------------------------------------------------------------------------


def test_fresh_evaluation(finished):
    returns = finished.evaluate(episodes=3)
    assert returns.shape == (8, 3)
    assert np.array_equal(returns, finished.evaluate(episodes=3))
    assert not np.array_equal(returns, finished.evaluate(episodes=3, seed=1))
    elsewhere = finished.evaluate([{"length": 0.5, "masscart": 1.0, "masspole": 0.1}], episodes=2)
    assert elsewhere.shape == (1, 2)
    with pytest.raises(StudyError, match="empty"):
        finished.evaluate([])
    with pytest.raises(StudyError, match="'seed' must be a whole number >= 0"):
        finished.evaluate(seed=-1)
    with pytest.raises(StudyError, match="'episodes' must be a whole number >= 1"):
        finished.evaluate(episodes=-1)


def test_no_episode_is_played_in_a_context_that_is_not_valid(tmp_path):
    space = ContextSpace(length=[1, 2], masscart=[1, 2], valid="length + masscart < 4")
    study = Study.open(tmp_path, "CartPole", space=space)
    with pytest.raises(ContextError, match="length=2 masscart=2 is not valid"):
        study.evaluate([{"length": 1, "masscart": 2}, {"length": 2, "masscart": 2}])


# -- what a batch, a cluster and somebody else's trainer may do ------------------------------------


def test_a_batch_is_recorded_at_once(tmp_path, monkeypatch):
    """A part of it would be trained again without the others after a crash, and differ."""
    study = open_small(tmp_path / "study", batch=2, selector="independent")
    train, written = tasks.train, []

    def fail_the_first(*arguments):
        return [Failure("RuntimeError: no", 0), *train(*arguments)[1:]]

    monkeypatch.setattr(tasks, "train", fail_the_first)
    write = store.StudyStore.write
    monkeypatch.setattr(
        store.StudyStore,
        "write",
        lambda self, *trials, **more: (
            written.append([t.id for t in trials]) or write(self, *trials, **more)
        ),
    )
    with pytest.raises(KeyboardInterrupt):
        study.run(budget=2, callbacks=[interrupt_at("failed")])
    assert written == [[0, 1], [0, 1]]
    first, second = Study.open(study.path).trials
    assert (first.run.attempt, first.run.errors) == (1, ("RuntimeError: no",))
    assert second.run.policy_sha256 is not None


def interrupt_at(stage):
    def interrupt(event):
        if event.stage == stage:
            raise KeyboardInterrupt

    return interrupt


# -- what comes in ---------------------------------------------------------------------------------


def test_a_series_is_put_in_the_order_of_the_targets(tmp_path):
    pandas = pytest.importorskip("pandas")
    study = Study.open(tmp_path / "study", space=SPACE)
    index = pandas.MultiIndex.from_tuples([(1.0, 2.0), (0.0, 1.0)], names=["b", "a"])
    told = study.tell([0.0, 0.0], pandas.Series([5.0, 3.0], index=index))
    assert told.row.tolist() == pytest.approx(
        [np.nan] * 2 + [3.0] + [np.nan] * 2 + [5.0], nan_ok=True
    )


WANDERING = """
import os
import sys
import gymnasium

class Wandering(gymnasium.Wrapper):
    def step(self, action):
        if "TROUBLE" in os.environ:
            {line}
        return super().step(action)

def make(context):
    env = gymnasium.make("CartPole-v1")
    env.unwrapped.length = context["length"]
    return Wandering(env)
"""


def wandering_study(tmp_path, monkeypatch, line):
    (tmp_path / "wandering.py").write_text(WANDERING.format(line=line))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    sys.modules.pop("wandering", None)
    space = ContextSpace(length=[0.2, 0.4, 0.6, 0.8])
    options = {"selector": "independent", "trainer_options": QUICK_SB3, "episodes": 1}
    study = Study.open("study", "wandering:make", space=space, **options)
    monkeypatch.setenv("TROUBLE", "now")
    return study


def test_an_environment_may_change_the_directory(tmp_path, monkeypatch, caplog):
    study = wandering_study(tmp_path, monkeypatch, "os.chdir('/')")
    study.run(budget=1)
    assert "callback" not in caplog.text, "all files are written where the study is"
    monkeypatch.chdir(tmp_path)
    assert Study.open("study").n_finished == 1
    assert examine(tmp_path / "study").healthy


def test_an_error_in_the_code_is_tried_once_and_names_its_line(tmp_path, monkeypatch):
    study = wandering_study(tmp_path, monkeypatch, "len(action + 1 + None)")
    with pytest.raises(StudyError, match=r"failed on a context.*TypeError.*wandering\.py:9"):
        study.run(budget=1)
    assert [t.run.attempt for t in study.trials] == [0]
