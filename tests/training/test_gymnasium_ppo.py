"""PPO on Gymnasium environments: any spaces, parents, time limits, failures."""

import re
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from small_environments import Aim, Obliging, Walk

from sdmbtl import ContextSpace
from sdmbtl.environments import FactoryFamily, make_family
from sdmbtl.environments.flattening import FlatObservations
from sdmbtl.errors import FamilyError, TrainerError, TrainingError
from sdmbtl.policies import policy_bytes, policy_from_bytes
from sdmbtl.policies.action_code import ActionCode
from sdmbtl.portfolio.member import ContextPolicy
from sdmbtl.training import TrainingJob, make_trainer
from sdmbtl.training.ppo.env_slots import EnvState, EpisodeReturns, RolloutArrays
from sdmbtl.training.ppo.gymnasium_env import GymnasiumPPO
from sdmbtl.training.ppo.jax_env import JaxEnvPPO
from sdmbtl.training.ppo.settings import RECOMMENDED, PPOSettings, complete_settings

POLES = ContextSpace(length=[0.3, 0.9], masspole=[0.05, 0.5])
CARTPOLE = "small_environments:make_cartpole"
SMALL = {
    "num_envs": 4,
    "num_steps": 16,
    "minibatch_size": 32,
    "update_epochs": 2,
    "hidden_sizes": [16],
    "eval_episodes": 2,
}


def made(factory, space, **options):
    return make_trainer("ppo", FactoryFamily(factory, space), space, **options)


def cartpole(**options):
    return made(CARTPOLE, POLES, **{**SMALL, "total_timesteps": 640, **options})


def train_one(trainer, contexts, seed=0, **options):
    (training,) = trainer.train([TrainingJob(contexts, seed, **options)])
    return training


@pytest.fixture(scope="module")
def trained():
    trainer = cartpole()
    return trainer, train_one(trainer, POLES.targets)


def test_the_form_follows_from_the_family():
    family = make_family("CartPole", space=POLES)
    assert isinstance(make_trainer("auto", family, POLES), JaxEnvPPO)
    trainer = made(CARTPOLE, POLES)
    assert isinstance(trainer, GymnasiumPPO)
    assert trainer.name == "ppo"


def test_it_learns_gymnasiums_cartpole():
    trainer = made(CARTPOLE, POLES, total_timesteps=30_000, eval_episodes=5)
    calls = []
    (training,) = trainer.train([TrainingJob(POLES.targets[:1], 1)], calls.append)
    assert training.source_return >= 400
    assert training.steps == 30_720
    assert training.source_return == max(value for _, value in training.curve)
    assert training.curve[0][0] == 1024, "the first evaluation is after the first update"
    assert training.curve[-1][0] == calls[-1].steps == calls[-1].total_steps == 30_720
    assert len(calls) == 31
    assert (calls[0].stage, calls[0].steps, calls[0].total_steps) == ("compiling", 0, 30_720)


def test_both_forms_share_policies(trained):
    """What one has trained, the other evaluates and continues."""
    here, training = trained
    batched = JaxEnvPPO(make_family("CartPole", space=POLES), POLES, **{**SMALL, "norm_obs": True})
    ours, theirs = (
        trainer.evaluate(training.policy, POLES.targets, episodes=60, seed=1).returns.mean()
        for trainer in (here, batched)
    )
    assert np.isclose(ours, theirs, rtol=0.15)
    weights, obs_stats = batched.form.begin(TrainingJob(POLES.targets, 0, parent=training.policy))
    again = batched.form.make_policy(weights, obs_stats)
    assert batched.form.bounds is here.form.bounds is None
    child = here.begin(TrainingJob(POLES.targets, 0, parent=again))
    assert np.allclose(child.learner.obs_stats.var, obs_stats.var)


def test_the_context_is_observed():
    slots = cartpole().open_slots(TrainingJob(POLES.targets, 0, sees_context=True))
    slots.start([EnvState() for _ in range(4)])
    assert slots.arrays.obs.shape[-1] == 4 + 2
    for number, context in enumerate(slots._contexts):
        expected = POLES.to_unit(POLES.vector(context))
        assert np.allclose(slots.arrays.obs[0, number, 4:], expected)


def test_observations_of_any_kind_are_flattened_before_the_context():
    space = ContextSpace(goal=[1.0, 2.0])
    trainer = made(Walk, space, **SMALL, total_timesteps=640)
    job = TrainingJob(space.targets, 0, sees_context=True)
    policy = policy_from_bytes(policy_bytes(trainer.train([job])[0].policy))
    assert policy.sees_context
    size = FlatObservations(Walk.observation_space).size
    assert policy.observation_size == size + 1
    assert np.isfinite(trainer.evaluate(policy, space.targets, episodes=2, seed=0).complete()).all()
    context = {"goal": 1.5}
    env = trainer.family.make(context, observe_context=space)
    seen = env.reset(seed=1)[0]
    assert seen in env.observation_space
    plain = trainer.family.make(context).reset(seed=1)[0]
    assert np.array_equal(seen, [*policy.flatten(plain), 0.5])
    actor = ContextPolicy(policy, space.to_unit([1.5]))
    assert actor.act(plain) == policy.act(seen)
    blind = trainer.train([TrainingJob(space.targets, 0)])[0].policy
    assert not blind.sees_context
    assert blind.act(plain) in Walk.action_space


class Grid(gymnasium.Env):
    """Shows kinds of things as small integers in an image of bytes."""

    observation_space = spaces.Box(0, 255, (2, 2, 2), np.uint8)
    action_space = spaces.Discrete(3)

    def __init__(self, context):
        self.wanted = round(context["wanted"])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self._observe(), {}

    def step(self, action):
        reward, self.steps = float(action == (self.kind + self.wanted) % 3), self.steps + 1
        return self._observe(), reward, self.steps >= 5, False, {}

    def _observe(self):
        self.kind = int(self.np_random.integers(3))
        image = self.np_random.integers(0, 11, (2, 2, 2), dtype=np.uint8)
        image[0, 0, 0] = self.kind
        return image


def test_small_integers_in_images_are_learned_as_categories():
    space = ContextSpace(wanted=[0.0, 1.0])
    trainer = made(Grid, space, **SMALL, total_timesteps=640)
    runs = [train_one(trainer, space.targets, sees_context=seeing) for seeing in (False, True)]
    for training, size in zip(runs, (8 * 16, 8 * 16 + 1), strict=True):
        policy = policy_from_bytes(policy_bytes(training.policy))
        assert policy.observation_size == size
        played = trainer.evaluate(policy, space.targets, episodes=2, seed=0)
        assert played.steps == 20
        assert np.isfinite(played.complete()).all()


def test_returns_of_training_make_the_learning_curve():
    rng = np.random.default_rng(0)
    returns, expected, running = EpisodeReturns(np.zeros(3)), [], np.zeros(3)
    arrays = RolloutArrays.allocate(5, 3, 1, ActionCode(spaces.Discrete(2)))
    assert returns.take_mean(None) == 0.0
    for _ in range(4):
        arrays.reward[:] = rng.integers(-3, 9, (5, 3))
        arrays.terminated[:] = rng.random((5, 3)) < 0.2
        arrays.truncated[:] = (rng.random((5, 3)) < 0.2) & ~arrays.terminated
        for t, slot in np.ndindex(5, 3):
            running[slot] += arrays.reward[t, slot]
            if arrays.terminated[t, slot] or arrays.truncated[t, slot]:
                expected.append(running[slot])
                running[slot] = 0.0
        returns.add(arrays)
    assert returns.take_mean(1.0) == pytest.approx(np.mean(expected))
    assert returns.take_mean(1.0) == 1.0, "no episode since the last one"
    assert np.array_equal(returns.running, running)


def test_no_episode_is_played_for_the_learning_curve():
    trainer = cartpole(eval_episodes=0)
    training = train_one(trainer, POLES.targets)
    assert training.evaluation_steps == 0
    assert training.source_return == training.curve[-1][1]
    assert cartpole().settings()["eval_episodes"] == 2
    assert train_one(cartpole(), POLES.targets).evaluation_steps > 0


# -- starting from a parent --------------------------------------------------------------


def test_a_parent_gives_weights_critic_and_statistics(trained):
    trainer, parent = trained[0], trained[1].policy
    assert parent.return_statistics.number == parent.observations_seen >= 64
    state = trainer.begin(
        TrainingJob(POLES.targets, 5, parent=policy_from_bytes(policy_bytes(parent)))
    )
    assert np.array_equal(state.learner.optimiser.weights.critic[0][0], parent.critic[0][0])
    assert float(state.learner.obs_stats.number) == parent.observations_seen
    returns = state.learner.return_stats
    inherited = (returns.mean[0], returns.var[0], returns.number)
    assert inherited == pytest.approx(parent.return_statistics)
    assert parent.return_statistics.mean > 1.0  # CartPole's rewards are all positive


# -- spaces ------------------------------------------------------------------------------


def test_bounds_of_all_kinds():
    space = ContextSpace(target=[1.0, 3.0])
    trainer = made(Aim, space, total_timesteps=16_384, learning_rate=2e-3, gamma=0.5)
    assert trainer.settings()["norm_obs"] is False  # they are within fit bounds
    training = train_one(trainer, space.targets[:1])
    assert training.source_return > -12
    again = policy_from_bytes(policy_bytes(training.policy))
    actions = again.act(np.array([[-1.0, 0.0], [1.0, 0.0]]))
    assert actions.shape == (2, 1, 2)
    assert (actions[:, 0, 0] >= 0).all()
    assert actions[1, 0, 0] > actions[0, 0, 0] + 4
    # A child begins with the same actions, up to rounding.
    child = trainer.begin(TrainingJob(space.targets[:1], 0, parent=again)).learner
    same = trainer.form.make_policy(child.optimiser.weights, child.obs_stats)
    np.testing.assert_allclose(same.act(np.eye(2)), again.act(np.eye(2)), rtol=1e-5, atol=1e-5)


class Odd(Walk):
    action_space = spaces.Text(3)


class Unreadable(Walk):
    observation_space = spaces.Graph(spaces.Discrete(2), None)


@pytest.mark.parametrize(
    ("factory", "options", "text"),
    [
        (Odd, {}, "'ppo' cannot be used on .*Odd. Actions can be learned if.*Got Text"),
        (Unreadable, {}, "'ppo' cannot be used on .*Observations can be flattened if"),
        (CARTPOLE, {"norm_reward": 3}, "'norm_reward' must be true or false"),
        (CARTPOLE, {"num_step": 3}, "Unknown option 'num_step'.*Did you mean 'num_steps'"),
        (CARTPOLE, {"num_envs": 3, "num_steps": 5}, "must divide num_envs \\* num_steps = 15"),
    ],
)
def test_what_cannot_work_is_refused_at_once(factory, options, text):
    space = POLES if factory is CARTPOLE else ContextSpace(goal=[1.0, 2.0], length=[3.0, 4.0])
    with pytest.raises(TrainerError, match=text):
        made(factory, space, **options)


# -- environments ------------------------------------------------------------------------


def slots_of(factory, space, contexts, **options):
    trainer = made(factory, space, **{**SMALL, **options})
    return trainer.open_slots(TrainingJob(np.array(contexts), 3))


def play_at_random(slots, seed=0, steps=16):
    rng = np.random.default_rng(seed)
    for t in range(steps):
        slots.arrays.env_action[:] = rng.integers(0, 2, len(slots.arrays.env_action)) + 3 * (
            slots.arrays.obs.shape[-1] > 4
        )
        slots.step(t)


@pytest.mark.parametrize("kind", [Walk, Obliging])
def test_environments_are_made_anew_only_for_another_context(kind):
    space = ContextSpace(goal=[1.0, 2.0])
    slots = slots_of(kind, space, [[1.0], [2.0]])
    before = kind.made
    slots.start([EnvState() for _ in range(4)])
    play_at_random(slots)
    episodes = sum(state.episode for state in slots.states())
    assert episodes >= 4
    assert kind.made - before == 4 if kind is Obliging else 4 < kind.made - before <= 4 + episodes
    goals = slots.arrays.reward[slots.arrays.terminated]
    assert set(goals) == {1.0, 2.0}
    slots.close()


def test_box2d_is_made_anew_for_each_episode():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Box2D's own, which crash its import as errors
        import Box2D  # noqa: F401
    lander = FactoryFamily(lambda context: gymnasium.make("LunarLander-v3"), POLES)
    assert lander.use_of(lander.build({}, None)) == "episode"
    assert make_family("CartPole").use_of(object()) == "context"
    lander.built_for = "day"
    with pytest.raises(FamilyError, match="'built_for' of .* must be one of episode, context, sp"):
        lander.use_of(object())


# -- failures ----------------------------------------------------------------------------


class Faulty(Walk):
    """Fails in one of several ways, from its second step on."""

    fault = "raise"
    observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)

    def _observe(self):
        return np.zeros(2, np.float32)

    def step(self, action):
        result = super().step(action)
        if self.steps == 1:
            return result
        observation, reward, *rest = result
        match self.fault:
            case "raise":
                raise ZeroDivisionError("the wheel came off")
            case "exit":
                raise SystemExit(0)
            case "four values":
                return observation, reward, *rest[:2]
            case "reward":
                return observation, np.ones(1), *rest
            case "text":
                return observation, "high", *rest
            case "shape":
                return np.zeros(1, np.float32), reward, *rest
            case "infinite reward":
                return observation, -np.inf, *rest
            case "unknown observation":
                return np.array([0.0, np.nan], np.float32), reward, *rest


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("raise", "ZeroDivisionError: the wheel came off"),
        ("exit", "SystemExit"),
        ("four values", "unpack"),
        ("reward", "sequence|0-dimensional"),
        ("shape", r"shape \(1,\), but .* \(2,\)"),
        ("infinite reward", "reward is -inf"),
    ],
)
def test_failures_name_the_context(monkeypatch, fault, text):
    monkeypatch.setattr(Faulty, "fault", fault)
    space = ContextSpace(goal=[1.0, 2.0])
    trainer = made(Faulty, space, **SMALL, total_timesteps=64)
    line = re.escape(f" ({__file__}:")
    with pytest.raises(TrainingError, match=rf"context \{{'goal': 1.0\}}: .*{text}.*{line}\d+"):
        train_one(trainer, space.targets[:1])
    monkeypatch.setattr(Faulty, "fault", "")
    monkeypatch.setattr(Faulty, "step", Walk.step)
    policy = train_one(trainer, space.targets[:1]).policy
    monkeypatch.undo()
    monkeypatch.setattr(Faulty, "fault", fault)
    evaluation = trainer.evaluate(policy, space.targets, episodes=1, seed=0)
    assert evaluation.errors
    for number, error in evaluation.errors.items():
        assert f"{{'goal': {number + 1}.0}}" in error
        assert f"({__file__}:" in error


def test_observations_that_are_not_finite_end_training(monkeypatch):
    monkeypatch.setattr(Faulty, "fault", "unknown observation")
    trainer = made(Faulty, ContextSpace(goal=[1.0, 2.0]), **SMALL, total_timesteps=64)
    with pytest.raises(TrainingError, match=r"context \{'goal': 1.0\}: .*observation.*not finite"):
        train_one(trainer, [[1.0]])


class FaultyAtOnce(Faulty):
    def step(self, action):
        self.steps += 1
        return super().step(action)


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("raise", "ZeroDivisionError: the wheel came off"),
        ("four values", "unpack"),
        ("reward", "reward must be a finite number. Got array"),
        ("text", "isfinite"),
        ("shape", r"must have the shape \(2,\) of its space. Got \(1,\)"),
        ("infinite reward", "must be a finite number. Got -inf"),
        ("unknown observation", "must be finite. Got .*nan"),
    ],
)
def test_a_first_step_that_fails_is_refused_before_training(monkeypatch, fault, text):
    monkeypatch.setattr(Faulty, "fault", fault)
    trainer = made(FaultyAtOnce, ContextSpace(goal=[1.0, 2.0]), **SMALL)
    line = re.escape(f" ({__file__}:")
    with pytest.raises(TrainingError, match=rf"\{{'goal': .*{text}.*{line}\d+"):
        trainer.check_environment()


# -- settings ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "num_steps"),
    [
        ({"total_timesteps": 30_000}, 128),
        ({"total_timesteps": 1_000_000}, 256),
        ({"total_timesteps": 1000}, 8),
        ({"total_timesteps": 30_000, "num_envs": 6}, 128),
        ({"total_timesteps": 30_000, "num_steps": 200}, 200),
    ],
)
def test_the_rollout_follows_from_the_steps(given, num_steps):
    flat = made(CARTPOLE, POLES)._observations
    settings = complete_settings(given, None, flat)
    assert settings["num_steps"] == num_steps
    assert settings["norm_obs"] is True
    assert given.items() <= settings.items()
    envs = settings.get("num_envs", 8)
    if "num_steps" not in given:
        assert envs * num_steps % 64 == 0
        assert envs * num_steps * 25 <= max(given["total_timesteps"], 25 * 64)


@pytest.mark.parametrize(("bound", "expected"), [(1.0, False), (10.0, True), (np.inf, True)])
def test_observations_are_normalised_unless_their_bounds_are_tight(bound, expected):
    observations = FlatObservations(spaces.Box(-bound, bound, (3,)))
    assert complete_settings({}, None, observations)["norm_obs"] is expected


def test_recommended_settings_come_after_those_of_the_user():
    space = ContextSpace(gravity=[5.0, 10.0])
    family = FactoryFamily(lambda context: gymnasium.make("Pendulum-v1"), space)
    settings = make_trainer("ppo", family, space, gamma=0.8, total_timesteps=30_000).settings()
    assert (settings["gamma"], settings["learning_rate"]) == (0.8, 1e-3)
    assert settings["num_steps"] == 128, "follows from the steps"
    flat = made(CARTPOLE, POLES)._observations
    for name in RECOMMENDED:
        assert name in gymnasium.registry
        settings = complete_settings({}, name, flat)
        assert not {"num_steps", "total_timesteps"} & set(RECOMMENDED[name])
        settings.pop("norm_reward")
        assert PPOSettings(**settings).num_iterations() >= 25
