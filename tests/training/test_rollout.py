"""Playing policies: against a plain loop, however the episodes are grouped."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from sdmbtl import ContextSpace
from sdmbtl.environments import FactoryFamily, make_family
from sdmbtl.errors import TrainerError, TrainingError
from sdmbtl.policies import Policy
from sdmbtl.training import rollout
from sdmbtl.training.rollout import evaluate_in_gymnasium

SPACE = ContextSpace(length=[0.1, 0.5, 3.0], masspole=[0.1, 1.0])
CONTEXTS = np.array([[0.1, 0.1], [0.5, 1.0], [3.0, 0.1]])


class Leaning(Policy):
    """Pushes to the side to which the pole leans; remembers the batches it saw."""

    kind = "leaning"

    def __init__(self):
        self.shapes = []

    def act(self, observation):
        observation = np.asarray(observation)
        self.shapes.append(observation.shape)
        return (observation[..., 2] > 0).astype(np.int64)

    def arrays(self):
        return {}

    def description(self):
        return {}

    @classmethod
    def from_arrays(cls, arrays, description):
        return cls()


def play(contexts=CONTEXTS, *, family=None, space=None, policy=None, **arguments):
    if family is None:
        family, space = make_family("cartpole"), space or SPACE
    arguments = {"episodes": 7, "seed": 5} | arguments
    arguments = {"max_episode_steps": None, "endless_after": 1000} | arguments
    return evaluate_in_gymnasium(
        family, policy or Leaning(), space or family.space(), np.array(contexts), **arguments
    )


def returns_of(*args, **kwargs):
    return play(*args, **kwargs).complete()


def test_returns_are_those_of_a_plain_loop():
    family, policy = make_family("cartpole"), Leaning()
    expected = np.zeros((3, 7))
    for i, context in enumerate(CONTEXTS):
        for e in range(7):
            env = family.make(SPACE.context(context))
            seed = int(np.random.SeedSequence([5, i, e]).generate_state(1)[0])
            observation, _ = env.reset(seed=seed)
            ended = False
            while not ended:
                action = int(policy.act(observation))
                observation, reward, terminated, truncated, _ = env.step(action)
                expected[i, e] += reward
                ended = terminated or truncated
    played = play()
    returns = played.complete()
    assert played.steps == expected.sum(), "CartPole's reward is 1 in every step"
    assert returns.dtype == np.float64
    np.testing.assert_array_equal(returns, expected)
    assert len(np.unique(returns)) > 7, "episodes and contexts must differ"


@pytest.mark.parametrize("used", [1, 4, 21, 40])
def test_grouping_does_not_matter(monkeypatch, used):
    expected = returns_of()
    monkeypatch.setattr(rollout, "ENV_SLOTS", used)
    np.testing.assert_array_equal(returns_of(), expected)


def test_a_policy_always_acts_on_batches_of_one_size():
    policy = Leaning()
    play(CONTEXTS[:1], policy=policy, episodes=2)
    assert set(policy.shapes) == {(rollout.ENV_SLOTS, 4)}


def test_the_context_is_observed_in_the_space():
    policy = Leaning()
    policy.sees_context = True
    observed = returns_of(policy=policy)
    assert set(policy.shapes) == {(rollout.ENV_SLOTS, 6)}
    np.testing.assert_array_equal(observed, returns_of())


def test_no_contexts_and_unusable_numbers():
    assert returns_of(np.empty((0, 2))).shape == (0, 7)
    with pytest.raises(TrainerError, match="'episodes' must be a whole number >= 1"):
        returns_of(episodes=0)
    with pytest.raises(TrainerError, match="'seed' must be a whole number >= 0"):
        returns_of(seed=-1)


class Fragile(gymnasium.Env):
    """Ends after three steps. a = 1: rewards are NaN. The second step raises for a = 2, and has an
    observation of another shape for a = 3.
    """

    observation_space = spaces.Box(-1.0, 1.0, (4,), np.float32)
    action_space = spaces.Discrete(2)
    open_ones = 0

    def __init__(self, context):
        self.a, self.steps = context["a"], 0
        Fragile.open_ones += 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(4, np.float32), {}

    def step(self, action):
        self.steps += 1
        if self.a == 2 and self.steps == 2:
            raise ZeroDivisionError("the wheel came off")
        reward = float("nan") if self.a == 1 else 2.0
        size = 3 if self.a == 3 and self.steps == 2 else 4
        return np.zeros(size, np.float32), reward, False, self.steps == 3, {}

    def close(self):
        Fragile.open_ones -= 1


FRAGILE = FactoryFamily(Fragile, ContextSpace(a=[0.0, 1.0, 2.0, 3.0]))


def test_returns_that_are_not_finite_come_back_as_they_are():
    Fragile.open_ones = 0
    returns = play([[0.0], [1.0]], family=FRAGILE, episodes=2).returns
    np.testing.assert_array_equal(returns, [[6.0, 6.0], [np.nan, np.nan]])
    assert Fragile.open_ones == 0, "every environment is closed"


@pytest.mark.parametrize("lanes", [1, 2, 64])
@pytest.mark.parametrize(
    ("a", "error"), [(2, "ZeroDivisionError: the wheel came off"), (3, "shape")]
)
def test_a_failing_environment_is_named_and_the_others_are_played(monkeypatch, lanes, a, error):
    monkeypatch.setattr(rollout, "ENV_SLOTS", lanes)
    Fragile.open_ones = 0
    evaluation = play([[0.0], [a], [0.0]], family=FRAGILE, episodes=2)
    np.testing.assert_array_equal(evaluation.returns, [[6.0, 6.0], [np.nan, np.nan], [6.0, 6.0]])
    assert set(evaluation.errors) == {1}
    assert f"{{'a': {a:.1f}}}: " in evaluation.errors[1]
    assert error in evaluation.errors[1]
    assert Fragile.open_ones == 0
    with pytest.raises(
        TrainingError, match=rf"failed on 1 of 3 contexts. The first error: .*{error}"
    ):
        evaluation.complete()


class Moody(Fragile):
    """Plays as many steps as its seed says, and fails in episodes that begin with a high one."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.end = int(self.np_random.integers(2, 30))
        return np.zeros(4, np.float32), {}

    def step(self, action):
        self.steps += 1
        if self.steps == self.end and self.end > 15:
            raise ValueError(f"step {self.end}")
        return np.zeros(4, np.float32), 1.0, self.steps == self.end, False, {}


def test_the_error_is_that_of_the_first_episode_however_they_are_grouped(monkeypatch):
    family = FactoryFamily(Moody, ContextSpace(a=[0.0, 1.0]))
    expected = play([[0.0], [1.0], [0.0]], family=family, episodes=6)
    assert expected.errors
    for lanes in (1, 2, 3, 5):
        monkeypatch.setattr(rollout, "ENV_SLOTS", lanes)
        again = play([[0.0], [1.0], [0.0]], family=family, episodes=6)
        assert again.errors == expected.errors
        np.testing.assert_array_equal(again.returns, expected.returns)


def test_an_environment_that_cannot_be_built_is_named():
    def broken(context):
        if context["a"] == 1:
            raise OSError("no display")
        return Fragile(context)

    family = FactoryFamily(broken, ContextSpace(a=[0.0, 1.0]))
    evaluation = play([[1.0], [0.0]], family=family, episodes=2)
    np.testing.assert_array_equal(evaluation.returns, [[np.nan, np.nan], [6.0, 6.0]])
    assert "context {'a': 1.0}" in evaluation.errors[0]
    assert "no display" in evaluation.errors[0]
    assert set(play([[1.0]], family=family).errors) == {0}, "all of them may fail"


class Endless(Fragile):
    """Never ends for a = 1."""

    def step(self, action):
        self.steps += 1
        return np.zeros(4, np.float32), 1.0, self.a == 0 and self.steps == 20, False, {}


def test_an_episode_that_does_not_end_is_stopped():
    family = FactoryFamily(Endless, ContextSpace(a=[0.0, 1.0]))
    evaluation = play([[0.0], [1.0]], family=family, episodes=2, endless_after=20)
    np.testing.assert_array_equal(evaluation.returns, [[20.0, 20.0], [np.nan, np.nan]])
    assert set(evaluation.errors) == {1}
    assert "an episode has not ended after 20 steps" in evaluation.errors[1]


def test_a_time_limit_cuts_an_episode_off():
    family = FactoryFamily(Endless, ContextSpace(a=[0.0, 1.0]))
    limited = returns_of([[0.0], [1.0]], family=family, episodes=2, max_episode_steps=25)
    np.testing.assert_array_equal(limited, [[20.0, 20.0], [25.0, 25.0]])
    same = returns_of([[1.0]], family=family, max_episode_steps=25, endless_after=25)
    assert (same == 25.0).all()


def test_progress_counts_contexts(monkeypatch):
    monkeypatch.setattr(rollout, "ENV_SLOTS", 2)
    calls = []
    play(episodes=2, progress=lambda *call: calls.append(call))
    assert [total for _, total in calls] == [3] * len(calls)
    assert [done for done, _ in calls] == sorted({done for done, _ in calls})
    assert calls[-1] == (3, 3)


@pytest.mark.parametrize("built_for", ["context", "episode"])
def test_environments_are_used_again_where_that_is_safe(monkeypatch, built_for):
    monkeypatch.setattr(rollout, "ENV_SLOTS", 2)
    made = []

    def make(context):
        made.append(Fragile(context))
        made[-1].built_for = built_for
        return made[-1]

    family = FactoryFamily(make, ContextSpace(a=[0.0, 1.0]))
    returns = play([[0.0], [0.0]], family=family, episodes=3).returns
    np.testing.assert_array_equal(returns, np.full((2, 3), 6.0))
    assert len(made) == (2 if built_for == "context" else 6)


def test_an_environment_that_cannot_be_closed_costs_nothing(monkeypatch):
    def refuse(self):
        raise OSError("the window is gone")

    monkeypatch.setattr(Fragile, "close", refuse)
    played = play([[0.0], [0.0]], family=FRAGILE, episodes=2)
    assert played.errors == {}
    assert (played.returns == 6.0).all()
