"""`max_episode_steps` is a time limit: as Gymnasium's, in training and in evaluations."""

import gymnasium
import pytest
from gymnasium.wrappers import TimeLimit

from sdmbtl import ContextSpace
from sdmbtl.environments import FactoryFamily
from sdmbtl.environments.cartpole import CartPole
from sdmbtl.environments.functional.cartpole import FunctionalCartPole
from sdmbtl.errors import TrainerError
from sdmbtl.policies import policy_bytes
from sdmbtl.training import TrainingJob, make_trainer
from sdmbtl.training.ppo.jax_env import JaxEnvPPO

LIMIT = 12
SPACE = ContextSpace(gravity=[5.0, 10.0])
SETTINGS = {"total_timesteps": 256, "num_envs": 2, "num_steps": 32, "minibatch_size": 64}


def pendulum(context):
    return gymnasium.make("Pendulum-v1", g=context["gravity"], disable_env_checker=True)


def limited_pendulum(context):
    return TimeLimit(pendulum(context).unwrapped, LIMIT)


class ShortFunctionalCartPole(FunctionalCartPole):
    max_steps = LIMIT


class ShortCartPole(CartPole):
    def functional(self):
        return ShortFunctionalCartPole()


def outcome(trainer):
    """The policies of a training run with a time limit, and its returns in new episodes."""
    (run,) = trainer.train([TrainingJob(trainer.space.targets[:2], 3)])
    played = trainer.evaluate(run.policy, trainer.space.targets, episodes=2, seed=0).complete()
    return policy_bytes(run.policy), run.curve, played.tolist()


@pytest.mark.parametrize("name", ["ppo", "sb3"])
def test_it_is_what_gymnasium_does(name):
    """Also in what is learned: what follows a cut is estimated."""
    ours = make_trainer(
        name, FactoryFamily(pendulum, SPACE), SPACE, max_episode_steps=LIMIT, **SETTINGS
    )
    theirs = make_trainer(name, FactoryFamily(limited_pendulum, SPACE), SPACE, **SETTINGS)
    without = make_trainer(name, FactoryFamily(pendulum, SPACE), SPACE, **SETTINGS)
    assert outcome(ours) == outcome(theirs)
    assert outcome(ours)[1] != outcome(without)[1]
    assert ours.settings()["max_episode_steps"] == LIMIT


def test_pure_functions_have_the_same_limit():
    space = CartPole().space("wide", levels=2)
    ours = JaxEnvPPO(CartPole(), space, max_episode_steps=LIMIT, **SETTINGS)
    theirs = JaxEnvPPO(ShortCartPole(), space, **SETTINGS)
    assert outcome(ours) == outcome(theirs)
    assert max(value for _, value in outcome(ours)[1]) <= LIMIT
    assert ours.settings()["max_episode_steps"] == LIMIT
    assert "max_episode_steps" not in theirs.settings()
    longer = JaxEnvPPO(CartPole(), space, max_episode_steps=10_000, **SETTINGS)
    assert longer._ppo.max_steps == 500, "the limit of an environment stays"


@pytest.mark.parametrize("name", ["max_episode_steps", "endless_after"])
def test_unusable_limits(name):
    with pytest.raises(TrainerError, match=f"'{name}' must be a whole number >= 1. Got 0"):
        make_trainer("ppo", FactoryFamily(pendulum, SPACE), SPACE, **{name: 0})
