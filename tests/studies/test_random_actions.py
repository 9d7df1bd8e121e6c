"""What random actions do is measured once, and policies that do no better are named."""

from concurrent.futures import Future

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from sdmbtl import ContextSpace
from sdmbtl.callbacks import RunProgress
from sdmbtl.environments import FactoryFamily
from sdmbtl.errors import WorkerLostError
from sdmbtl.execution import SerialExecutor
from sdmbtl.studies import Study
from sdmbtl.studies.describe import status_lines
from sdmbtl.studies.random_actions import MOST_STEPS, RandomActions, measure_random_actions
from sdmbtl.training.evaluation import play_random_actions

SPACE = ContextSpace(a=np.linspace(0.0, 1.0, 5))


class Coins(gymnasium.Env):
    """Four steps; a reward for action 1, plus the context at the end; some never end or fail."""

    observation_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = spaces.Discrete(2)
    endless = False
    broken = False
    idle = False  # whether actions change nothing

    def __init__(self, context):
        self.context = context

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        if Coins.broken:
            raise ZeroDivisionError("broken")
        self.steps += 1
        end = self.steps == 4 and not Coins.endless
        action = 1 if Coins.idle else action
        return np.zeros(1, np.float32), action + 100 * self.context["a"] * end, end, False, {}


@pytest.fixture
def coins(monkeypatch):
    monkeypatch.setattr(Coins, "endless", False)
    monkeypatch.setattr(Coins, "broken", False)
    return FactoryFamily(lambda context: Coins(context), SPACE)


def play(family, **options):
    options = {"episodes": 3, "most_steps": 1000, "max_episode_steps": None, "seed": 0} | options
    return play_random_actions(family, SPACE, SPACE.targets, **options).returns


def test_random_actions_are_uniform_and_seeded(coins):
    many = play(coins, episodes=400, most_steps=10_000) - 100 * SPACE.targets
    shares = np.bincount(many.astype(int).ravel(), minlength=5) / many.size
    assert np.allclose(shares, np.array([1, 4, 6, 4, 1]) / 16, atol=0.03)
    assert np.array_equal(play(coins), play(coins))
    assert not np.array_equal(play(coins), play(coins, seed=1))


def test_actions_are_not_what_the_environment_draws():
    drawn, acted = [], []

    class Draws(Coins):
        action_space = spaces.Box(-1.0, 1.0, (4,), np.float64)

        def reset(self, *, seed=None, options=None):
            drawn.append(np.random.Generator(np.random.PCG64(seed)).uniform(-1.0, 1.0, 4))
            return super().reset(seed=seed)

        def step(self, action):
            acted.append(action)
            return super().step(0)

    play(FactoryFamily(lambda context: Draws(context), SPACE))
    assert len(drawn) * 4 == len(acted) > 0
    for own, action in zip(drawn, acted[::4], strict=True):
        assert not np.isclose(own, action).any()


def test_steps_are_limited(coins):
    returns = play(coins, most_steps=4 * 7)
    assert np.isfinite(returns).sum(axis=1).tolist() == [2, 2, 1, 1, 1], "each context in turn"
    options = {"episodes": 3, "max_episode_steps": None, "seed": 0}
    for most, taken in ((4 * 7, 4 * 7), (30, 30), (1000, 4 * 15)):
        played = play_random_actions(coins, SPACE, SPACE.targets, most_steps=most, **options)
        assert played.steps == taken
    Coins.endless = True
    assert np.isnan(play(coins)).all()
    assert np.isfinite(play(coins, max_episode_steps=20)).all(), "cut off, as in training"


# -- in a study --------------------------------------------------------------------------

TINY = {
    "total_timesteps": 32,
    "num_envs": 2,
    "num_steps": 8,
    "update_epochs": 1,
    "eval_episodes": 1,
    "policy_kwargs": {"net_arch": [2]},
}


def open_study(path, family, **options):
    return Study.open(
        path,
        family,
        return_range=(0.0, 104.0),
        trainer="sb3",
        trainer_options=TINY,
        episodes=2,
        **options,
    )


def measure(study, executor=None):
    measure_random_actions(study, executor or SerialExecutor())


def test_it_is_measured_once_and_shown(coins, tmp_path):
    study = open_study(tmp_path / "study", coins)
    assert study.random_actions is None
    assert study.status()["random_actions"] is None
    study.run(budget=1)
    found = study.random_actions
    assert found.targets.tolist() == [0, 1, 2, 3, 4], "all, if they are few"
    assert found.returns.shape == (5, 2)
    assert abs(found.mean(study.space) - 52) < 2
    status = study.status()["random_actions"]
    assert status == {
        "performance": found.mean(study.space),
        "coverage": pytest.approx(found.mean(study.space) / 104),
        "id": None,
    }
    Coins.broken = True  # it would be noticed
    again = Study.open(tmp_path / "study")
    measure_random_actions(again, SerialExecutor())
    assert np.array_equal(again.random_actions.returns, found.returns)


def test_a_failure_is_recorded_and_nothing_else(coins, tmp_path):
    study = open_study(tmp_path / "study", coins)
    Coins.endless = True
    measure(study)
    assert study.store.facts()["random_actions"] == {
        "targets": [],
        "returns": [],
        "steps": MOST_STEPS,
    }
    assert study.random_actions is None
    other = open_study(tmp_path / "other", coins)
    Coins.broken = True
    measure(other)
    assert "ZeroDivisionError: broken" in other.store.facts()["random_actions"]["error"]
    assert other.random_actions is None


class Elsewhere(SerialExecutor):
    """Notes what it is given; a worker may be lost."""

    def __init__(self, *, lost=False):
        super().__init__()
        self.lost, self.names = lost, []

    def submit(self, function, /, *args, on_report=None):
        self.names.append(function.__name__)
        if not self.lost:
            return super().submit(function, *args)
        future = Future()
        future.set_exception(WorkerLostError("The worker crashed (SIGSEGV)."))
        return future


def test_an_executor_plays_them_so_that_a_crash_is_not_this_process(tmp_path):
    here, there, lost = [
        Study.open(tmp_path / name, "CartPole", space=ContextSpace(length=[0.5, 1.0]))
        for name in ("here", "there", "lost")
    ]
    measure(here)
    executor = Elsewhere()
    measure(there, executor)
    assert executor.names == ["random_actions_task"]
    assert np.array_equal(there.random_actions.returns, here.random_actions.returns)
    measure(lost, Elsewhere(lost=True))
    error = lost.store.facts()["random_actions"]["error"]
    assert error == "WorkerLostError: The worker crashed (SIGSEGV)."


@pytest.mark.parametrize(
    ("returns", "own", "no_better"),
    [
        ([[1.0, 3.0]] * 5, 2.0, True),
        ([[1.0, 3.0]] * 5, 4.4, True),  # 2 + 2 * sqrt(2) * sqrt(1/4 + 1/2) = 4.449
        ([[1.0, 3.0]] * 5, 4.5, False),
        ([[2.0, np.nan]] * 5, 2.0, True),  # no noise: as good is no better
        ([[2.0, np.nan]] * 5, 2.1, False),
    ],
)
def test_no_better_up_to_noise(tmp_path, returns, own, no_better):
    random = RandomActions(np.arange(5), np.array(returns), steps=0)
    study = Study.open(tmp_path / "told", space=SPACE, selector="random")
    row = np.full(5, 0.0)
    trial = study.ask()
    row[trial.index] = own
    finished = study.tell(trial, row)
    assert random.are_no_worse_than(finished, SPACE, episodes=4) == no_better
    assert not random.are_no_worse_than(trial, SPACE, episodes=4), "not evaluated yet"
    row[row == 0] = 50.0
    good = study.tell(finished, row, correct=True)
    assert not random.are_no_worse_than(good, SPACE, episodes=4), "it has learned, elsewhere"


def test_the_nearest_target_is_compared_with(tmp_path):
    random = RandomActions(np.array([0, 4]), np.array([[10.0], [20.0]]), steps=0)
    study = Study.open(tmp_path / "told", space=SPACE, selector="random")
    for target, expected in ((1, 10.0), (3, 20.0), (4, 20.0)):
        trial = study.tell(SPACE.target(target), np.full(5, 15.0))
        assert random.own_returns(trial, SPACE).tolist() == [expected]
        assert random.are_no_worse_than(trial, SPACE, episodes=1) == (target > 2)
    whole = study.tell(SPACE.whole(), np.full(5, 15.0))
    assert random.own_returns(whole, SPACE).tolist() == [10.0, 20.0]
    assert random.are_no_worse_than(whole, SPACE, episodes=1), "15 on average"


@pytest.mark.parametrize(
    ("choice", "where"), [({"selector": "predictive"}, "context"), ({}, "region")]
)
def test_such_a_policy_is_named(coins, tmp_path, monkeypatch, choice, where):
    monkeypatch.setattr(Coins, "idle", True)
    study = open_study(tmp_path / "study", coins, **choice)
    events = []
    study.run(budget=1, callbacks=[events.append])
    (entry,) = study.status()["rounds"]
    assert entry["no_better_than_random"]
    lines = status_lines(study.snapshot())
    assert any(line.startswith("No better than random actions: policy 0.") for line in lines)
    assert f"random actions {100 * study.random_actions.mean(study.space) / 104:.1f} %" in lines
    said = RunProgress(study).take(events[-1])[1].removeprefix("  ! ")
    assert said == events[-1].warning
    assert said.startswith(f"policy 0 does no better in its own {where} than random actions do (m")
    assert "(--steps)" in said
