"""One network from a portfolio: it does what the policies do, told the context or not."""

import numpy as np
import pytest
from distillation_makers import ACTIONS, LENGTH, RIGHT, SPACE, Sides, sides, two_teachers
from gymnasium import spaces
from portfolio_makers import linear_policy

from sdmbtl.contexts import ContextSpace
from sdmbtl.environments import FactoryFamily, make_family
from sdmbtl.errors import FamilyError, PolicyError, PortfolioError, TrainingError
from sdmbtl.policies import policy_bytes
from sdmbtl.policies.action_code import ActionCode
from sdmbtl.portfolio import Member, Portfolio
from sdmbtl.portfolio.distillation import Distiller, distill_to_file, learner
from sdmbtl.portfolio.network import read_record
from sdmbtl.training.checkpoint import Checkpoint

POLES = ContextSpace(length=[0.3, 0.5, 0.8], masscart=[0.5, 1.0])


@pytest.fixture
def little_learning(monkeypatch):
    """Few updates, for tests that ask for no good student."""
    monkeypatch.setattr(learner, "FEWEST", 1)


@pytest.fixture(scope="module")
def cartpole():
    """A portfolio of CartPole with one policy that balances the pole, more or less."""
    member = Member(0, POLES.target(0), linear_policy(0.1, 0.5, 3.0, 1.0), np.full((6, 2), 500.0))
    return Portfolio(POLES, [member], family={"name": "CartPole", "options": {}})


@pytest.fixture(scope="module")
def hidden_distiller(cartpole):
    return Distiller(cartpole, make_family("CartPole"), "hidden", max_episode_steps=8)


# -- in Gymnasium environments -------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", ["one choice", "numbers", pytest.param("choices", marks=pytest.mark.slow)]
)
def test_a_told_student_does_what_the_policy_for_the_context_does(kind):
    made = Distiller(two_teachers(kind), sides(kind), "told", seed=1).run(300)
    assert not made.policy.remembers
    for side, right in enumerate(RIGHT[kind]):
        action, _ = made.policy.act(np.zeros(2), made.policy.start({"side": side}))
        np.testing.assert_allclose(action, right, atol=0.1)
        assert ACTIONS[kind].contains(action) or kind == "one choice"


@pytest.mark.slow
def test_a_hidden_student_finds_the_context_out_by_one_step():
    kind = "one choice"
    distiller = Distiller(two_teachers(kind), sides(kind), "hidden", seed=1)
    made = distiller.run(900)
    played = distiller.evaluate(made.policy, SPACE.targets, episodes=8, seed=0)
    # The first action is a guess; a wrong one costs 2.
    assert set(np.unique(played.returns)) == {LENGTH - 2, LENGTH}
    assert played.steps == 2 * 8 * LENGTH


# -- in JAX environments -------------------------------------------------------------------------


@pytest.mark.usefixtures("little_learning")
def test_the_compiled_student_is_the_policy(hidden_distiller):
    """What NumPy computes from the recorded observations is what JAX has played."""
    made = hidden_distiller.run(300)
    contexts = POLES.targets[[0, 5]]
    for episode in hidden_distiller.player.play(made.policy, contexts, [3, 4]):
        state = made.policy.start()
        for observation, inputs in zip(episode.observations, episode.inputs, strict=True):
            np.testing.assert_array_equal(inputs[:4], observation)
            np.testing.assert_array_equal(inputs[4:], state[-2:])
            action, state = made.policy.act(observation, state)
        assert action in (0, 1)
        assert episode.total == len(episode) == 8


@pytest.mark.usefixtures("little_learning")
def test_episodes_follow_from_their_seeds(hidden_distiller):
    policy = hidden_distiller.run(100).policy
    first = hidden_distiller.player.play(policy, POLES.targets, [7, 8, 9, 7, 8, 9])
    again = hidden_distiller.player.play(policy, POLES.targets[1:2], [8])
    np.testing.assert_array_equal(first[1].inputs, again[0].inputs)
    assert not np.array_equal(first[0].inputs[0], first[1].inputs[0])


# -- killed and continued ------------------------------------------------------------------------


class KilledError(Exception):
    """Ends a run in the middle."""


@pytest.mark.usefixtures("little_learning")
def test_a_killed_run_continues_to_the_same_network(cartpole, tmp_path):
    def run(progress=None, name="checkpoint.npz"):
        distiller = Distiller(cartpole, make_family("CartPole"), "hidden", max_episode_steps=8)
        return distiller.run(500, progress, Checkpoint(tmp_path / name, 0.0))

    def kill_in_second_round(report):
        if report.stage == "training" and len(seen) == 2:
            raise KilledError
        seen.append(report)

    whole = run(name="other.npz")
    seen = []
    with pytest.raises(KilledError):
        run(kill_in_second_round)
    stages = []
    continued = run(lambda report: stages.append((report.stage, report.steps)))
    assert stages[0] == ("continued", whole.curve[1][0])
    assert policy_bytes(continued.policy) == policy_bytes(whole.policy)
    assert continued.curve == whole.curve


@pytest.mark.usefixtures("little_learning")
def test_a_file_is_written_once(tmp_path):
    distiller = Distiller(two_teachers("choices"), sides("choices"))
    path = tmp_path / "networks" / "told.safetensors"
    path.parent.mkdir()
    path.write_bytes(b"nothing")
    assert read_record(path) is None
    record = distill_to_file(path, distiller, 100)
    assert read_record(path) == record
    assert [file.name for file in path.parent.iterdir()] == ["told.safetensors"]
    assert (record.steps, record.policies) == (192, 2)
    assert record.portfolio_return == distiller.portfolio.mean_return
    assert record.evaluation_steps == 2 * LENGTH
    assert [steps for steps, _ in record.curve] == [96, 192]  # two rounds of 16 episodes
    before = path.stat().st_mtime_ns
    assert distill_to_file(path, distiller, 100) == record
    assert path.stat().st_mtime_ns == before
    assert distill_to_file(path, distiller, 200).steps > record.steps


# -- bad input -----------------------------------------------------------------------------------


def test_policies_trained_elsewhere_cannot_teach():
    member = Member(0, SPACE.target(0), None, np.ones((2, 1)))
    with pytest.raises(PortfolioError, match="trained elsewhere"):
        Distiller(Portfolio(SPACE, [member]), sides("choices"))


def test_contexts_with_other_spaces_are_refused():
    def make(context):
        return Sides("choices" if context["side"] else "numbers", context["side"])

    with pytest.raises(FamilyError, match="depends on the context"):
        Distiller(two_teachers("choices"), FactoryFamily(make, SPACE))


def test_arguments_are_checked(cartpole):
    family = make_family("CartPole")
    with pytest.raises(PortfolioError, match="told"):
        Distiller(cartpole, family, "guessed")
    with pytest.raises(PortfolioError, match="steps"):
        Distiller(cartpole, family).run(0)


@pytest.mark.usefixtures("little_learning")
def test_an_environment_that_fails_is_named_with_its_context():
    class Failing(Sides):
        def step(self, action):
            raise ZeroDivisionError("no ground")

    family = FactoryFamily(lambda context: Failing("choices", context["side"]), SPACE)
    with pytest.raises(TrainingError, match=r"'side'.*no ground"):
        Distiller(two_teachers("choices"), family).run(100)


# -- codes of actions ----------------------------------------------------------------------------


@pytest.mark.parametrize("space", [*ACTIONS.values(), spaces.MultiBinary((2, 2))], ids=str)
def test_codes_lead_back_to_actions(space):
    code = ActionCode(space)
    space.seed(0)
    batch = np.stack([space.sample() for _ in range(20)])
    codes = code(batch)
    assert codes.shape == (20, code.size)
    assert np.abs(codes).max() <= 1
    outputs = codes * code.half_width + code.centre if code.sizes is None else codes
    np.testing.assert_allclose(code.best(outputs), batch, rtol=1e-6)
    np.testing.assert_array_equal(code(batch[3]), codes[3])


def test_numbers_without_bounds_are_their_own_codes():
    code = ActionCode(spaces.Box(-np.inf, np.inf, (2,), np.float32))
    np.testing.assert_array_equal(code(np.array([3.0, -4.0])), [3.0, -4.0])


def test_other_actions_are_refused():
    with pytest.raises(PolicyError, match="Actions can be learned"):
        ActionCode(spaces.Text(3))


@pytest.mark.usefixtures("little_learning")
def test_a_hidden_student_plays_in_stable_baselines3(monkeypatch):
    """Its memory is new in every episode, as in the player here."""
    common = pytest.importorskip("stable_baselines3.common")
    network = Distiller(two_teachers("choices"), sides("choices"), "hidden").run(100).policy
    env = common.vec_env.DummyVecEnv([lambda side=side: Sides("choices", side) for side in (0, 1)])
    states, act = [], network.act
    monkeypatch.setattr(network, "act", lambda x, s=None: states.append(s) or act(x, s))
    common.evaluation.evaluate_policy(network, env, n_eval_episodes=4, warn=False)
    assert states[0] is None
    begun = [t for t, state in enumerate(states) if state is not None and not state.any()]
    assert begun == [LENGTH]
