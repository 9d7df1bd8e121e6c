"""PPO on the host: any spaces, agents that come and go, several processes, the same policies."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from host_environments import Aim, Obliging, Traffic, Walk

from sdmbtl import ContextSpace
from sdmbtl.environments import FactoryFamily, make_family
from sdmbtl.errors import FamilyError, TrainerError, TrainingError
from sdmbtl.policies import policy_bytes, policy_from_bytes
from sdmbtl.studies import Study
from sdmbtl.training import TrainerSpec, TrainingJob, make_trainer, train
from sdmbtl.training.ppo import BatchedPPOTrainer, HostPPOTrainer
from sdmbtl.training.ppo.host_lanes import open_lanes
from sdmbtl.training.ppo.host_settings import complete_settings
from sdmbtl.training.ppo.lanes import Episodes, LaneState
from sdmbtl.training.ppo.recommended import RECOMMENDED
from sdmbtl.training.ppo.settings import PPOSettings

POLES = ContextSpace(length=[0.3, 0.9], masspole=[0.05, 0.5])
CARTPOLE = "host_environments:make_cartpole"
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
    assert isinstance(make_trainer("auto", family, POLES), BatchedPPOTrainer)
    trainer = made(CARTPOLE, POLES)
    assert isinstance(trainer, HostPPOTrainer)
    assert trainer.name == "ppo"


def test_it_learns_gymnasiums_cartpole():
    trainer = made(CARTPOLE, POLES, total_timesteps=30_000)
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
    host, training = trained
    batched = BatchedPPOTrainer(
        make_family("CartPole", space=POLES), POLES, **{**SMALL, "norm_obs": True}
    )
    ours, theirs = (
        trainer.evaluate(training.policy, POLES.targets, episodes=60, seed=1).returns.mean()
        for trainer in (host, batched)
    )
    assert np.isclose(ours, theirs, rtol=0.15)
    weights, scaling = batched.form.begin(0, training.policy)
    again = batched.form.make_policy(weights, scaling)
    assert batched.form.bounds is host.form.bounds is None
    child = host.begin(TrainingJob(POLES.targets, 0, parent=again))
    assert np.allclose(child.learner.scaling.variance, scaling.variance)


def test_processes_do_not_matter(trained):
    alone = trained[1]
    spread = train_one(cartpole(env_processes=2), POLES.targets)
    assert policy_bytes(spread.policy) == policy_bytes(alone.policy)
    assert spread.curve == alone.curve


def test_the_context_is_observed():
    trainer = cartpole(observe_context=True)
    lanes = trainer.open_lanes(TrainingJob(POLES.targets, 0))
    lanes.start([LaneState() for _ in range(4)])
    assert lanes.arrays.obs.shape[-1] == trainer.form.n_inputs == 4 + 2
    for number, lane in enumerate(lanes._lanes):
        expected = POLES.to_unit(POLES.vector(lane._context))
        assert np.allclose(lanes.arrays.obs[0, number, 4:], expected)


@pytest.mark.slow
def test_several_jobs_in_several_processes():
    jobs = [TrainingJob(POLES.targets[[i]], i) for i in range(2)]
    spec = TrainerSpec.of(cartpole(processes=2))
    for mine, expected in zip(train(spec, jobs), cartpole().train(jobs), strict=True):
        assert policy_bytes(mine.policy) == policy_bytes(expected.policy)


# -- starting from a parent --------------------------------------------------------------


def test_a_parent_gives_weights_critic_and_statistics(trained):
    trainer, parent = trained[0], trained[1].policy
    assert parent.return_statistics.number == parent.observations_seen >= 64
    state = trainer.begin(
        TrainingJob(POLES.targets, 5, parent=policy_from_bytes(policy_bytes(parent)))
    )
    weights = state.learner.optimiser.weights
    for (mine, _), its in zip(weights.actor, parent.weights, strict=True):
        assert np.array_equal(mine, its)
    for (mine, _), (its, _) in zip(weights.critic, parent.critic, strict=True):
        assert np.array_equal(mine, its)
    assert not np.asarray(weights.log_std).any()
    assert np.allclose(state.learner.scaling.mean, parent.shift)
    assert float(state.learner.scaling.number) == parent.observations_seen
    returns = state.learner.returns
    inherited = (returns.mean[0], returns.variance[0], returns.number)
    assert inherited == pytest.approx(parent.return_statistics)
    assert parent.return_statistics.mean > 1.0  # CartPole's rewards are all positive


class Fixed(gymnasium.Env):
    """The second entry of an action can be one number only."""

    observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space = spaces.Box(np.float32([-1.0, 3.0]), np.float32([2.0, 3.0]))

    def __init__(self, context):
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.steps += 1
        return np.zeros(2, np.float32), float(action[0]), self.steps == 8, False, {}


def test_an_action_with_one_possible_value_can_be_trained_further():
    trainer = made(Fixed, POLES, **{**SMALL, "total_timesteps": 640})
    parent = train_one(trainer, POLES.targets)
    assert parent.policy.act(np.zeros(2, np.float32))[1] == 3.0
    child = train_one(trainer, POLES.targets, 3, parent=parent.policy)
    assert child.source_return >= parent.source_return


def test_nothing_worse_than_the_parent_is_returned(trained):
    child = train_one(cartpole(learning_rate=0.3), POLES.targets, 3, parent=trained[1].policy)
    assert child.curve[0][0] == 0
    assert child.source_return == max(value for _, value in child.curve)
    assert min(value for _, value in child.curve[1:]) < child.curve[0][1], "training ruined it"


# -- spaces ------------------------------------------------------------------------------


def test_nested_observations_and_actions_that_do_not_start_at_zero():
    space = ContextSpace(goal=[1.0, 2.0])
    trainer = made(Walk, space, total_timesteps=4096, num_steps=32)
    training = train_one(trainer, space.targets[:1])
    assert training.source_return > 0.65
    policy = policy_from_bytes(policy_bytes(training.policy))
    env = trainer.family.make({"goal": 2.0})
    observation, _ = env.reset(seed=0)
    assert policy.act(observation) == 4  # to the right
    assert training.policy.act(observation) in env.action_space


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
    same = trainer.form.make_policy(child.optimiser.weights, child.scaling)
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
        (Walk, {"observe_context": True}, "context can be appended to observations that are vec"),
        (Walk, {"max_agents": 3}, "'max_agents' is for environments of several agents"),
        (Traffic, {}, r"do not say how many agents.*Set 'max_agents'"),
        (CARTPOLE, {"env_processes": 0}, "'env_processes' must be a whole number >= 1"),
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


def lanes_of(factory, space, contexts, seed=3, **options):
    trainer = made(factory, space, **{**SMALL, **options})
    agents = trainer.environment.agents
    episodes = Episodes(trainer.family, space, np.array(contexts), seed, False, agents)
    shape = trainer.environment.rollout_shape(trainer.ppo_settings, trainer.form.n_inputs)
    return open_lanes(episodes, shape, 4, 1, parallel=trainer.environment.is_parallel)


def play_at_random(lanes, seed=0, steps=16):
    rng = np.random.default_rng(seed)
    for t in range(steps):
        lanes.arrays.env_action[:] = rng.integers(0, 2, len(lanes.arrays.env_action)) + 3 * (
            lanes.arrays.obs.shape[-1] > 4
        )
        lanes.step(t)


@pytest.mark.parametrize("kind", [Walk, Obliging])
def test_environments_are_made_anew_only_for_another_context(kind):
    space = ContextSpace(goal=[1.0, 2.0])
    lanes = lanes_of(kind, space, [[1.0], [2.0]])
    before = kind.made
    lanes.start([LaneState() for _ in range(4)])
    play_at_random(lanes)
    episodes = sum(state.episode for state in lanes.states())
    assert episodes >= 4
    assert kind.made - before == 4 if kind is Obliging else 4 < kind.made - before <= 4 + episodes
    goals = lanes.arrays.reward[lanes.arrays.terminated]
    assert set(goals) == {1.0, 2.0}
    lanes.close()


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


@pytest.mark.parametrize(
    ("factory", "space"),
    [(CARTPOLE, POLES), (Traffic, ContextSpace(length=[3.0, 5.0]))],
    ids=["one agent", "several"],
)
def test_lanes_continue_from_their_states(factory, space):
    options = {"max_agents": 3} if factory is Traffic else {}
    contexts = space.targets[[0, -1]]
    first = lanes_of(factory, space, contexts, **options)
    first.start([LaneState() for _ in range(4)])
    play_at_random(first)
    again = lanes_of(factory, space, contexts, **options)
    again.start(first.states())
    assert np.array_equal(again.arrays.present[0], first.arrays.present[-1])
    there = first.arrays.present[-1]
    assert np.array_equal(again.arrays.obs[0][there], first.arrays.obs[-1][there])
    first.arrays.obs[0], first.arrays.present[0] = first.arrays.obs[-1], first.arrays.present[-1]
    for lanes in (first, again):
        play_at_random(lanes, seed=1)
    for name in ("reward", "terminated", "truncated", "present"):
        assert np.array_equal(getattr(first.arrays, name)[1:], getattr(again.arrays, name)[1:])


def test_an_environment_that_fails_is_named():
    class Fragile(Walk):
        def step(self, action):
            raise ZeroDivisionError("the wheel came off")

    space = ContextSpace(goal=[1.0, 2.0])
    with pytest.raises(TrainingError, match=r"\{'goal': 1.0\}: ZeroDivisionError: the wheel"):
        train_one(made(Fragile, space, **SMALL), space.targets[:1])


def failing_step(context):
    """Fails in every process."""
    env = Walk(context)
    env.step = lambda action: 1 / 0
    return env


def test_an_environment_that_fails_in_another_process_is_named():
    space = ContextSpace(goal=[1.0, 2.0])
    trainer = made("test_host_ppo:failing_step", space, **SMALL, env_processes=2)
    with pytest.raises(TrainingError, match=r"context \{'goal': 1.0\}: ZeroDivisionError"):
        train_one(trainer, space.targets[:1])


# -- agents that come and go -------------------------------------------------------------


def test_agents_have_a_slot_from_their_first_observation_to_their_last():
    space = ContextSpace(length=[3.0, 5.0])
    lanes = lanes_of(Traffic, space, [[3.0]], max_agents=3)
    lanes.start([LaneState() for _ in range(4)])
    play_at_random(lanes)
    arrays = lanes.arrays
    done = arrays.terminated | arrays.truncated
    present = arrays.present
    assert present.shape == (17, 12)
    assert 0.2 < present.mean() < 0.95, "some slots are empty at times"
    assert arrays.terminated.sum() > 10
    assert not done[~present[:-1]].any(), "nobody leaves an empty slot"
    assert not arrays.reward[~present[:-1]].any()
    # Who leaves makes room: where a slot stays full, it is the same agent, or a new one at the
    # beginning of the road.
    left = done & present[1:]
    assert left.any()
    assert (arrays.obs[1:][left][:, 0] == 0.0).all()
    stays = present[:-1] & ~done
    assert present[1:][stays].all()
    assert (arrays.obs[1:][stays][:, 0] > arrays.obs[:-1][stays][:, 0]).all()


def test_a_policy_for_all_agents():
    space = ContextSpace(length=[3.0, 5.0])
    trainer = made(
        Traffic, space, **{**SMALL, "total_timesteps": 6400, "max_agents": 3, "gamma": 0.5}
    )
    training = train_one(trainer, space.targets)
    returns = trainer.evaluate(training.policy, space.targets, episodes=2, seed=0).complete()
    assert returns.shape == (2, 2)
    assert training.policy.act(np.array([0.5, 0.5])) == 1
    # Going fast, all vehicles but those that the end of the episode cuts off cover the road.
    assert (returns > 0.8).all()
    few = made(Traffic, space, **{**SMALL, "max_agents": 1})
    with pytest.raises(TrainingError, match="more agents at once than 'max_agents' = 1"):
        train_one(few, space.targets)


def test_a_study_of_several_agents(tmp_path):
    space = ContextSpace(length=[3.0, 5.0])
    options = {**SMALL, "total_timesteps": 640, "max_agents": 3, "gamma": 0.5}
    study = Study.open(
        tmp_path / "study", "host_environments:Traffic", space=space, trainer_options=options
    )
    study.run(budget=1, rules=[])
    assert study.trainer.name == "ppo"
    assert ((study.returns > 0) & (study.returns <= 1)).all()


def test_an_environment_of_several_agents_is_no_gymnasium_one():
    family = FactoryFamily(Traffic, ContextSpace(length=[3.0, 5.0]))
    with pytest.raises(FamilyError, match="environments of several agents.*family.build"):
        family.make()


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
    flat = made(CARTPOLE, POLES).environment.observations
    settings = complete_settings(given, None, flat)
    assert settings["num_steps"] == num_steps
    assert settings["norm_obs"] is True
    assert given.items() <= settings.items()
    envs = settings.get("num_envs", 8)
    if "num_steps" not in given:
        assert envs * num_steps % 64 == 0
        assert envs * num_steps * 25 <= max(given["total_timesteps"], 25 * 64)


def test_recommended_settings_come_after_those_of_the_user():
    space = ContextSpace(gravity=[5.0, 10.0])
    family = FactoryFamily(lambda context: gymnasium.make("Pendulum-v1"), space)
    settings = make_trainer("ppo", family, space, gamma=0.8, total_timesteps=30_000).settings()
    assert (settings["gamma"], settings["learning_rate"]) == (0.8, 1e-3)
    assert settings["num_steps"] == 128, "follows from the steps"
    flat = made(CARTPOLE, POLES).environment.observations
    for name in RECOMMENDED:
        assert name in gymnasium.registry
        settings = complete_settings({}, name, flat)
        assert not {"num_steps", "total_timesteps"} & set(RECOMMENDED[name])
        settings.pop("norm_reward")
        assert PPOSettings(**settings).num_iterations() >= 25


def test_few_updates_are_a_warning(caplog):
    trainer = cartpole(total_timesteps=128)
    assert train_one(trainer, POLES.targets[:1]).steps == 128
    assert "2 updates in 128 steps: a policy learns little from so few" in caplog.text


def test_rewards_that_are_not_numbers():
    trainer = made("host_environments:make_worthless", POLES, **SMALL, total_timesteps=640)
    with pytest.raises(TrainingError, match="weights are not finite after.*smaller learning_rate"):
        train_one(trainer, POLES.targets[:1])
