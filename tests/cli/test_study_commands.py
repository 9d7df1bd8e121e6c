"""run, resume, status, evaluate and doctor."""

import os
import re
import shutil
import signal
import sqlite3

import gymnasium
import numpy as np
import pytest
import scipy.stats
from command_runner import QUICK

from sdmbtl import ContextSpace
from sdmbtl.errors import StudyError
from sdmbtl.parallel import Workers
from sdmbtl.studies import Study, evaluation
from sdmbtl.training.ppo.jax_env import JaxEnvPPO

CONTEXT = {"length", "masscart", "masspole"}


@pytest.fixture
def copied(trained, tmp_path):
    path = tmp_path / "copy"
    shutil.copytree(trained[0], path)
    return path


def test_a_run_shows_every_policy_and_a_summary(trained):
    _, result = trained
    # So short a training run may well do no better than random actions, which is said then.
    lines = [line for line in result.stderr.splitlines() if "does no better" not in line]
    assert lines[0].startswith("CartPole: 8 targets (length, masscart, masspole), trainer ppo")
    assert [line[:14] for line in lines[1:4]] == [f"{k}/3  policy {k - 1} " for k in (1, 2, 3)]
    assert all("own return " in line and "coverage 0." in line for line in lines[1:4])
    assert lines[1].endswith("  m-mbtl")
    assert re.search(
        r"coverage 0\.\d{3} \(\+0\.\d{3}, expected \+0\.\d{3}\)  first policy$", lines[2]
    )
    assert lines[3].endswith(")  plateau")  # the one that is used while nothing was tested
    assert "policy  length  masscart  masspole  return  coverage" in result.stdout
    assert "Stopped: the budget of 3 policies is used." in result.stdout
    assert "sdmbtl portfolio" in result.stdout
    shown = result.stdout.split("Next:")[0]
    assert max(map(len, shown.splitlines())) <= 80


def test_json_is_all_there_is_on_stdout(command, copied):
    status = command.json("resume", copied)
    assert status["stopped"] == "the budget of 3 policies is used"
    assert [set(entry["context"]) for entry in status["rounds"]] == [CONTEXT] * 3


def test_the_same_command_continues(command, copied, tiny):
    points = ["--width", "0", "--init", "scratch"]
    same = ["run", "CartPole", "--space", tiny, *QUICK, *points, "--seed", 1, "--out", copied]
    again = command(*same)
    assert "Continuing after 3 finished policies." in again.stderr
    assert "the budget of 3 policies is used" in again.stdout
    more = command.json(*same, "--budget", 4)
    assert more["policies"] == 4
    assert more["stopped"] == "the budget of 4 policies is used"
    assert more["budget"] == 4


def test_another_configuration_is_refused(command, trained, tiny):
    text = command.error(
        "run", "CartPole", "--space", tiny, *QUICK, "--seed", 2, "--out", trained[0]
    )
    assert "seed: recorded 1, now 2" in text


def test_options_become_the_configuration(command, tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(Study, "run", lambda self, *_, **__: "nothing was done")
    status = command.json(
        *("run", "CartPole", "--space", tiny, *QUICK, "--out", tmp_path / "s", "--retries", 0),
        *("--budget", 2, "--batch", 2, "--selector", "random", "--physics", "carl"),
        *("--set", "learning_rate=0.002", "--set", "hidden_sizes=[16, 16]", "--observe-context"),
    )
    assert status["stopped"] == "nothing was done"
    configuration = Study.open(tmp_path / "s").configuration
    assert (configuration.batch, configuration.retries, configuration.episodes) == (2, 0, 2)
    assert configuration.selector == {"name": "random", "options": {}}
    assert configuration.family["options"]["physics"] == "carl"
    settings = configuration.trainer["settings"]
    assert settings["learning_rate"] == 0.002
    assert settings["hidden_sizes"] == [16, 16]
    assert settings["observe_context"] is True


def test_quiet_and_levels(command, tmp_path):
    result = command(
        *("run", "CartPole", "--space", "forces", "--levels", 2, *QUICK, "--out", tmp_path / "s"),
        *("--budget", 1, "--quiet"),
    )
    assert not result.output
    space = Study.open(tmp_path / "s").space
    assert space.shape == (2, 2, 2)
    assert space.names == ("length", "force_mag", "gravity")


def test_time_and_gain_end_a_run(command, copied):
    assert "time" in command.json("resume", copied, "--time", "0s")["stopped"]
    stopped = command.json("resume", copied, "--min-gain", 1, "--patience", 2)["stopped"]
    assert re.fullmatch(
        r"two more policies are expected to add .*, less than the 100 points .*", stopped
    )


def test_default_directory_and_budget(command, tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    budgets = []

    def run(self, budget, **limits):
        budgets.append(budget)
        return "nothing was done"

    monkeypatch.setattr(Study, "run", run)
    command("run", "CartPole", "--space", tiny)
    assert (tmp_path / "runs" / "cartpole" / "study.db").exists()
    assert budgets == [12]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_a_run_cleanly(number, status, command, copied, monkeypatch):
    def run(self, *_, callbacks, **__):
        os.kill(os.getpid(), number)  # nothing is raised in the middle of something
        callbacks[0](None)
        raise AssertionError("the signal was not noticed")

    monkeypatch.setattr(Study, "run", run)
    before = signal.getsignal(number)
    result = command("resume", copied, "--time", "1h", status=status)
    assert "Interrupted; 3 policies are kept. Continue with: sdmbtl resume" in result.stderr
    assert result.stderr.rstrip().endswith("--time 1h")
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("more", [(), ("--missing",)])
def test_signals_end_an_evaluation_cleanly(more, command, copied, monkeypatch):
    def evaluate(*_, callbacks=None, progress=None, **__):
        os.kill(os.getpid(), signal.SIGINT)
        (callbacks[0] if progress is None else progress)(None)

    monkeypatch.setattr(Study, "evaluate", evaluate)
    monkeypatch.setattr(Study, "evaluate_missing", lambda _, c, **__: evaluate(callbacks=c))
    result = command("evaluate", copied, *more, status=130)
    assert "Interrupted; " in result.stderr


def test_a_signal_at_the_very_end_of_a_run(command, copied, monkeypatch):
    """A loop of a shell around it must know."""

    def run(self, *_, **__):
        os.kill(os.getpid(), signal.SIGINT)
        return "the budget is used"

    monkeypatch.setattr(Study, "run", run)
    result = command("resume", copied, status=130)
    assert "Stopped: the budget is used" in result.stdout


@pytest.mark.parametrize("number", [1, 2])
def test_the_number_of_processes_for_evaluations(number, command, copied, monkeypatch):
    made = []
    monkeypatch.setattr(evaluation, "Workers", lambda n: made.append(n) or Workers(n))
    command("evaluate", copied, "--episodes", 1, "--eval-processes", number)
    command("evaluate", copied, "--missing", "--eval-processes", number)
    command("resume", copied, "--budget", 3, "--eval-processes", number)
    assert made == [number - 1] * 3
    with pytest.raises(StudyError, match="'eval_processes' must be a whole number >= 1. Got 0"):
        Study.open(copied).run(budget=3, eval_processes=0)


def test_a_failed_attempt_is_shown(command, tiny, tmp_path, monkeypatch):
    failures = iter([FloatingPointError("the weights exploded")])
    train = JaxEnvPPO.train_chunk

    def sometimes(self, jobs, *more):
        for failure in failures:
            raise failure
        return train(self, jobs, *more)

    monkeypatch.setattr(JaxEnvPPO, "train_chunk", sometimes)
    result = command(
        "run", "CartPole", "--space", tiny, *QUICK, "--budget", 1, "--out", tmp_path / "s"
    )
    failed, finished = result.stderr.splitlines()[1:3]
    assert "attempt 1 failed, trying again with another seed: FloatingPointError" in failed
    assert finished.startswith("1/1  policy 0")


def test_contexts_that_failed_may_be_tried_again(command, tiny, tmp_path, monkeypatch):
    def never(self, jobs, *more):
        raise FloatingPointError("the weights exploded")

    arguments = ["--space", tiny, *QUICK, "--budget", 2, "--out", tmp_path / "s"]
    with monkeypatch.context() as patched:
        patched.setattr(JaxEnvPPO, "train_chunk", never)
        text = command.error("run", "CartPole", *arguments, "--retries", 0)
    assert "attempt 1 failed, the context is given up: FloatingPointError: the weights" in text
    assert "--retry-failed" in text
    assert "failed: FloatingPointError" in command("status", tmp_path / "s").stdout
    resumed = command("resume", tmp_path / "s", "--retry-failed")
    assert "3 contexts whose training failed may be chosen again" in resumed.stderr
    assert command.json("status", tmp_path / "s")["policies"] == 2


def test_status(command, trained):
    path, _ = trained
    result = command("status", path)
    assert "3 policies on 8 targets: mean best return" in result.stdout
    assert f"sdmbtl resume {path} --budget" in result.stdout
    status = command.json("status", path)
    assert [entry["id"] for entry in status["rounds"]] == [0, 1, 2]
    assert status["coverage"] == pytest.approx(status["performance"] / 500)
    assert status["rounds"][0]["gain"] is None


def test_status_shows_the_model_and_what_is_left_to_gain(command, trained):
    path, _ = trained
    status = command.json("status", path)
    lines = command("status", path).stdout.splitlines()
    model, scores = status["model"], status["scores"]
    ordered = sorted(scores.items(), key=lambda item: -item[1])
    others = [f"{n} {score:.2f}" for n, score in ordered if n != model]
    place = lines.index(f"Best predictor so far: {model}, score {scores[model]:.2f}.")
    assert lines[place + 1] == f"  Others: {', '.join(others)}."
    higher = [name for name, score in ordered if score > scores[model]]
    assert status["passed_over"] == {"higher, but counted as equal": higher}
    place += 2
    assert lines[place] == f"  Higher, but counted as equal: {', '.join(higher)}."
    assert re.fullmatch(
        r"Three more policies are expected to add [\d.]+ points of coverage "
        r"\([\d.]+ in return\)\.",
        lines[place + 1],
    )


def test_status_says_when_nothing_predicts_the_gains_yet(command, trained, monkeypatch):
    status = command.json("status", trained[0])
    scores = dict.fromkeys(status["scores"], 0.01)
    monkeypatch.setattr(Study, "status", lambda self: {**status, "scores": scores})
    text = command("status", trained[0]).stdout
    assert "No model predicts the gains yet: all scores are near 0.\n" in text
    assert "Others: " not in text


def test_status_shows_what_was_expected_and_what_came(command, trained, monkeypatch):
    status = command.json("status", trained[0])
    rounds = [
        {**entry, "expected_gain": expected, "gain": gain}
        for entry, expected, gain in zip(
            status["rounds"], (None, 100.0, 25.0), (None, 50.0, -5.0), strict=True
        )
    ]
    changed = {**status, "rounds": rounds}
    monkeypatch.setattr(Study, "status", lambda self: changed)
    text = command("status", trained[0]).stdout
    assert "Two policies so far were expected to add 25 points; they added 9 points.\n" in text
    changed |= {"return_range": None, "coverage": None}
    text = command("status", trained[0]).stdout
    assert "Two policies so far were expected to add 125; they added 45.\n" in text
    rounds[1]["expected_gain"] = None
    text = command("status", trained[0]).stdout
    assert "One policy so far was expected to add 25; it added -5.\n" in text


def test_status_shows_the_whole_reason_of_the_latest_choice(command, trained):
    path, _ = trained
    reason = command.json("status", path)["rounds"][-1]["reason"]
    assert len(reason) > 100
    shown = command("status", path).stdout.split("\n\n")[1]
    assert f"Why policy 2: {reason}" in " ".join(shown.split())


def test_status_with_pending_policies_says_what_the_gain_is_beyond(command, copied):
    Study.open(copied).ask()
    assert "\nAfter what is pending, three more policies are expected" in (
        command("status", copied).stdout
    )


def test_status_of_a_study_with_a_single_model(command, tmp_path):
    space = ContextSpace(a=range(6))
    options = {"models": ["plateau"]}
    study = Study.open(tmp_path / "study", space=space, selector_options=options)
    for _ in range(4):
        trial = study.ask()
        study.tell(trial, 10.0 - np.abs(space.targets[:, 0] - trial.context["a"]))
    assert "Best predictor so far: plateau, score " in command("status", tmp_path / "study").stdout
    assert "plateau" in command("status", tmp_path / "study", "--evidence").stdout


def test_next_steps_of_environments_from_a_function(command, tmp_path):
    def make_env(context):
        return gymnasium.make("CartPole-v1", max_episode_steps=int(context["limit"]))

    space = ContextSpace(limit=[5, 9])
    options = {"total_timesteps": 64, "num_envs": 1, "num_steps": 64, "update_epochs": 1}
    study = Study.open(tmp_path / "own", make_env, space=space, trainer_options=options, episodes=1)
    study.run(budget=1)
    text = command("status", tmp_path / "own").stdout
    assert "Study.open(" in text
    assert "sdmbtl evaluate" not in text
    assert "sdmbtl resume" not in text


def test_status_says_what_is_covered_and_when_the_rest_will_be(command, trained):
    path, run = trained
    status, text = command.json("status", path), command("status", path).stdout
    best = np.sort(Study.open(path).selector.rows.best)
    covered = status["covered"]
    assert covered["coverage"] == pytest.approx(status["coverage"])
    assert covered["worst_tenth"] == pytest.approx(best[0] / 500)
    assert covered["within_5_percent"] == np.mean(best >= best[-1] - 25)
    assert status["reach"]["coverage"] == 0.95
    for shown in (text, run.stdout):
        assert f"\nWorst tenth {best[0] / 500:.3f}; " in shown
        assert "of the targets within 5 % of the best return.\n" in shown
        assert shown.count("\n95 % coverage") == 1


def test_evidence_for_each_policy(command, trained):
    path, _ = trained
    status = command.json("status", path)
    text = command("status", path, "--evidence").stdout
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == [
        *("policy", "plateau", "additive-quality", "additive", "mountain", "none"),
        *("expected", "gain"),
    ]
    assert lines[1].split() == ["0", *["-"] * 7]
    last = status["rounds"][2]
    assert last["model"] == "plateau"
    expected, gain = last["expected_gain"] / 500, last["gain"] / 500
    first, *others = (f"{score:.2f}" for score in last["scores"].values())
    assert lines[3].split() == ["2", f"{first}*", *others, f"{expected:+.3f}", f"{gain:+.3f}"]
    assert lines[4].split() == ["mean", *(f"{score:.2f}" for score in status["scores"].values())]
    assert "* is the model that chose." in " ".join(text.split())
    assert "Best predictor so far: " in text


def test_evidence_where_there_is_none(command, tiny, tmp_path):
    Study.open(tmp_path / "s", "CartPole", space=str(tiny), width=0, init="scratch")
    text = command("status", tmp_path / "s", "--evidence").stdout
    assert " ".join(text.split()) == (
        "No model was tested yet: that needs three finished policies, there are 0."
    )
    Study.open(tmp_path / "r", "CartPole", space=str(tiny), selector="random")
    text = command("status", tmp_path / "r", "--evidence").stdout
    assert text.startswith("The selector random has no models that predict")


def test_status_before_the_beginning_and_while_another_runs(command, tiny, tmp_path):
    study = Study.open(tmp_path / "s", "CartPole", space=str(tiny))
    result = command("status", tmp_path / "s")
    assert "No policy is finished yet; 8 targets." in result.stdout
    assert command.json("status", tmp_path / "s")["performance"] is None
    from sdmbtl.lock import exclusive

    with exclusive(study.path / "study.lock", doing="testing"):
        command("status", tmp_path / "s")


def test_a_study_without_budget_says_what_to_give(command, tiny, tmp_path):
    Study.open(tmp_path / "s", "CartPole", space=str(tiny))
    assert "Say when to stop: --budget" in command.error("resume", tmp_path / "s")


def test_evaluate(command, trained):
    path, _ = trained
    result = command.json("evaluate", path, "--episodes", 3)
    assert (result["count"], result["episodes"], result["contexts"]) == (8, 3, "targets")
    low, high = result["interval"]
    assert low < result["mean"] < high
    means = [entry["mean"] for entry in result["by_context"]]
    assert result["mean"] == pytest.approx(sum(means) / 8)
    assert [entry["mean"] for entry in result["worst"]] == sorted(means)[:5]
    covered = result["covered"]
    assert covered["coverage"] == pytest.approx(result["coverage"])
    assert covered["worst_tenth"] == pytest.approx(min(means) / 500), "one of 8 targets"
    best = max([*means, Study.open(path).selector.rows.returns.max()])
    assert covered["within_5_percent"] == np.mean([mean >= best - 25 for mean in means])
    text = command("evaluate", path, "--episodes", 3).stdout
    assert f"\nWorst tenth {covered['worst_tenth']:.3f}; " in text
    other = command.json("evaluate", path, "--episodes", 3, "--seed", 5)
    assert other["by_context"] != result["by_context"]


def test_the_interval_stays_within_what_is_possible(command, trained, monkeypatch):
    returns = np.array([[500.0]] * 7 + [[300.0]])
    monkeypatch.setattr(Study, "evaluate", lambda *_, **__: returns)
    low, high = command.json("evaluate", trained[0])["interval"]
    assert (low, high) == (pytest.approx(475 - scipy.stats.t.ppf(0.975, 7) * 25), 500.0)
    assert "interval 415.9 to 500" in command("evaluate", trained[0]).stdout


def test_evaluate_between_the_targets(command, trained):
    path, _ = trained
    result = command.json("evaluate", path, "--samples", 64, "--episodes", 1)
    space = Study.open(path).space
    contexts = [entry["context"] for entry in result["by_context"]]
    assert len(contexts) == 64
    assert all(context in space and space.find(context) is None for context in contexts)
    # Even on a logarithmic scale: about half lie below the geometric mean of 0.1 and 2.
    assert sum(c["length"] < 0.2**0.5 for c in contexts) == pytest.approx(32, abs=4)
    text = command("evaluate", path, "--samples", 1, "--episodes", 1).stdout
    assert "1 new episode on each of 1 contexts between the targets" in text
    assert "interval" not in text


def test_doctor(command, trained, copied):
    assert "healthy" in command("doctor", trained[0]).stdout
    (copied / "policies" / "0001.safetensors").write_bytes(b"rust")
    ill = command("doctor", copied, status=1)
    assert "problem" in ill.stdout
    assert "--retrain-missing" in ill.stdout
    assert command.json("doctor", copied, status=1)["healthy"] is False
    command("doctor", copied, "--repair", status=1)
    rounds = command.json("status", copied)["rounds"]
    assert rounds == command.json("status", trained[0])["rounds"], "no returns are given up"
    command("resume", copied, "--retrain-missing", "--quiet")
    assert command.json("doctor", copied)["healthy"] is True


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["run", "CartPol"], "Did you mean 'CartPole'?"),
        (["run", "CartPole", "--space", "broad"], "it has wide, paper, forces, everything"),
        (["run", "CartPole", "--space", "none.toml"], "cannot be read"),
        (["run", "CartPole", "--space", "x.toml", "--levels", "3"], "has its own levels"),
        (["run", "envs:make"], "--space FILE.toml"),
        (["run", "CartPole", "--option", "phys=carl"], "Did you mean 'physics'?"),
        (["run", "CartPole", "--option", "physics"], "--option takes KEY=VALUE"),
        (["run", "CartPole", "--set", "num_stepz=1"], "Did you mean 'num_steps'?"),
        (["run", "CartPole", "--set", "a=1", "--set", "a.b=1"], "--set a.b is inside 'a'"),
        (["run", "CartPole", "--trainer", "pp"], "Did you mean 'ppo'?"),
        (["run", "CartPole", "--selector", "bset"], "Unknown selector 'bset'"),
        (["run", "CartPole", "--selector-option", "x=1"], "Unknown option 'x'"),
        (["run", "CartPole", "--time", "soon"], "as 90s, 30m, 2h or 1h30m. Got 'soon'"),
        (["run", "CartPole", "--budget", "0"], "Got '0' instead"),
        (["run", "CartPole", "--out", "."], "exists and is not a study"),
        (["resume", "nowhere"], "There is not a study in 'nowhere'"),
        (["status", "nowhere"], "sdmbtl run CartPole --out nowhere"),
        (["evaluate", "nowhere"], "There is not a study in 'nowhere'"),
        (["doctor", "nowhere"], "nowhere"),
    ],
)
def test_errors_are_sentences(arguments, text, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "something").touch()
    assert text in command.error(*arguments)


def test_files_that_may_not_be_read(command, copied, monkeypatch):
    def closed(*_, **__):
        raise PermissionError(13, "Permission denied", str(copied))

    monkeypatch.setattr(Study, "open", closed)
    assert command.error("status", copied).endswith(f"'{copied}': Permission denied.\n")

    def locked(*_, **__):
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(Study, "open", locked)
    assert "database cannot be used: unable to open" in command.error("status", copied)


def test_a_missing_package_is_named_with_its_extra(command, copied, monkeypatch):
    def incomplete(*_, **__):
        raise ModuleNotFoundError("No module named 'jaxlib.xla'", name="jaxlib.xla")

    monkeypatch.setattr(Study, "open", incomplete)
    assert "pip install 'sdmbtl[jax]'" in command.error("status", copied)
