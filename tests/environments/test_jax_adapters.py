"""Environments with the functions of gymnax and brax: adapted, checked and trained on."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.environments import FactoryFamily, check_contextual_env, make_family
from sdmbtl.environments.functional import from_brax, from_gymnax
from sdmbtl.errors import FamilyError
from sdmbtl.training import TrainingJob, make_trainer

DOCS = (Path(__file__).parents[2] / "docs/examples/jax.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", DOCS, re.DOTALL)
QUICK = {"total_timesteps": 512, "num_envs": 8, "num_steps": 32, "minibatch_size": 64}


@dataclass(frozen=True)
class Params:
    drift: float = 0.5
    kicks: int = 1
    max_steps_in_episode: int = 20


class Walk:
    """A random walk in gymnax's form: nested state, two observations, actions in a matrix."""

    def reset(self, key, params):
        state = {"x": jax.random.normal(key, (2,)), "time": 0}
        return self.seen(state), state

    def step(self, key, state, action, params):
        noise = params.kicks * jax.random.normal(key, (2,))
        x = state["x"] + action.sum(axis=1) + params.drift + noise
        state = {"x": x, "time": state["time"] + 1}
        ended = jnp.abs(x).max() > 50
        return self.seen(state), state, -jnp.abs(x).sum(), ended, ended, {}

    def seen(self, state):
        return {"place": state["x"], "late": jnp.float32(state["time"]) > 5}

    def action_space(self, params):
        high = jnp.array([[1.0, 2.0], [3.0, 4.0]])
        return SimpleNamespace(low=-high, high=high, shape=(2, 2))


class Point(NamedTuple):
    obs: jax.Array
    reward: jax.Array
    done: jax.Array
    info: dict


class Slide:
    """A sliding mass in brax's form."""

    action_size = 1

    def __init__(self):
        self.sys = {"mass": jnp.float32(2.0)}

    def reset(self, rng):
        return Point(jax.random.uniform(rng, (1,)), jnp.float32(0), jnp.float32(0), {"n": 0})

    def step(self, state, action):
        x = state.obs + action / self.sys["mass"]
        done = jnp.float32(jnp.abs(x[0]) > 3)
        return Point(x, -jnp.abs(x[0]), done, {"n": state.info["n"] + 1})


def walk():
    return from_gymnax(Walk(), Params())


def counted_walk():
    return from_gymnax(Walk(), Params(), features={"drift": 0.5, "kicks": 1})


def slide():
    def scale(system, context):
        return {"mass": system["mass"] * context["mass"]}

    return from_brax(Slide(), scale, {"mass": 1.0}, max_steps=30)


STAND_INS = {
    "walk": FactoryFamily(walk, ContextSpace(drift=[0.0, 1.0])),
    "counted walk": FactoryFamily(counted_walk, ContextSpace(kicks=[0, 1, 3])),
    "slide": FactoryFamily(slide, ContextSpace(mass=[0.5, 1.0, 4.0])),
}
each_stand_in = pytest.mark.parametrize("family", STAND_INS.values(), ids=STAND_INS)


@each_stand_in
def test_an_adapted_environment_is_a_family(family):
    report = check_contextual_env(family)
    assert list(report.first_difference) == list(family.space().names)


@pytest.mark.parametrize("name", ["walk", pytest.param("slide", marks=pytest.mark.slow)])
def test_several_policies_are_trained_at_once_and_repeat_themselves(name):
    family = STAND_INS[name]
    space = family.space()
    trainer = make_trainer("ppo", family, space, **QUICK)
    assert type(trainer).__name__ == "JaxEnvPPO"
    jobs = [TrainingJob(space.targets[:1], 1), TrainingJob(space.targets[1:2], 2)]
    first, again = trainer.train(jobs), trainer.train(jobs)
    assert [t.steps for t in first] == [512, 512]
    assert [t.curve for t in first] == [t.curve for t in again]
    played = trainer.evaluate(first[0].policy, space.targets, episodes=3, seed=0)
    assert np.isfinite(played.returns).all()


def test_actions_with_several_bounds_reach_each_of_them():
    functions = walk()
    assert functions.actions.shape == (4,)
    parameters = jnp.array([0.0])
    state = functions.reset(jax.random.PRNGKey(0), parameters)
    best = functions.step(state, jnp.full(4, 5.0), parameters)[0].inner["x"]
    worst = functions.step(state, jnp.full(4, -1.0), parameters)[0].inner["x"]
    np.testing.assert_allclose(best - worst, [6.0, 14.0], rtol=1e-5)


def test_every_step_draws_other_numbers_and_an_episode_follows_from_its_key():
    functions, parameters = walk(), jnp.array([0.0])

    def play(seed):
        state, places = functions.reset(jax.random.PRNGKey(seed), parameters), []
        for _ in range(3):
            state, _, _ = functions.step(state, jnp.zeros(4), parameters)
            places.append(np.asarray(state.inner["x"]))
        return np.diff(places, axis=0)

    moves = play(0)
    assert not np.allclose(moves[0], moves[1])
    np.testing.assert_array_equal(moves, play(0))
    assert not np.allclose(moves, play(1))


def test_observations_become_one_vector():
    functions, parameters = walk(), jnp.array([0.5])
    state = functions.reset(jax.random.PRNGKey(0), parameters)
    assert functions.observation_size == 3
    np.testing.assert_allclose(functions.observe(state, parameters)[1:], state.inner["x"])


def test_an_environment_without_a_time_limit_is_refused():
    @dataclass(frozen=True)
    class Endless:
        drift: float = 0.5
        kicks: int = 1

    with pytest.raises(FamilyError, match="max_steps"):
        from_gymnax(Walk(), Endless())
    assert from_gymnax(Walk(), Endless(), max_steps=7).max_steps == 7


def test_a_factory_without_arguments_must_return_functions():
    with pytest.raises(FamilyError, match="from_gymnax"):
        FactoryFamily(lambda: 3, ContextSpace(x=[0, 1]))


def test_gymnax_cartpole_takes_the_steps_of_ours():
    gymnax = pytest.importorskip("gymnax")

    def masses(params, context):
        p = replace(params, **context)
        total, moment = p.masscart + p.masspole, p.masspole * p.length
        return replace(p, total_mass=total, polemass_length=moment)

    theirs, ours = from_gymnax(*gymnax.make("CartPole-v1"), change=masses), make_family("CartPole")
    twin, rng = ours.functional(), np.random.default_rng(0)
    step, own_step = jax.jit(theirs.step), jax.jit(twin.step)
    assert (theirs.actions, theirs.max_steps) == (twin.actions, twin.max_steps)
    for target in ours.space().targets[::100]:
        contexts = [f.parameters(ours.space().names, target) for f in (theirs, twin)]
        state = theirs.reset(jax.random.PRNGKey(1), contexts[0])
        own = theirs.observe(state, contexts[0])
        for _ in range(5):
            action = jnp.int32(rng.integers(2))
            state, reward, ended = step(state, action, contexts[0])
            own, own_reward, own_ended = own_step(own, action, contexts[1])
            np.testing.assert_allclose(
                theirs.observe(state, contexts[0]), own, rtol=2e-4, atol=1e-6
            )
            assert (float(reward), bool(ended)) == (float(own_reward), bool(own_ended))
            if ended:
                break


@pytest.mark.filterwarnings("ignore")  # those of the packages
@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_the_documented_families_are_short_and_run(number, monkeypatch, tmp_path):
    code = BLOCKS[number]
    own = "class " in code
    assert len([line for line in code.splitlines() if line.strip()]) <= (20 if own else 15)
    monkeypatch.syspath_prepend(tmp_path)
    module = f"documented_{number}"
    (tmp_path / f"{module}.py").write_text(code)
    for package in re.findall(r"^(?:import|from) (gymnax|brax)", code, re.MULTILINE):
        pytest.importorskip(package)
    name = re.search(r"^(?:def|class) (\w+)", code, re.MULTILINE)[1]
    dimension = {"pendulum": "l", "cart": "masscart", "ant": "mass", "Wind": "gust"}[name]
    family = make_family(f"{module}:{name}", space=ContextSpace(**{dimension: [0.5, 1.0]}))
    functions = family.functional()
    parameters = functions.parameters([dimension], np.array([0.5]))
    state = jax.jit(functions.reset)(jax.random.PRNGKey(0), parameters)
    action = jnp.asarray(functions.actions.sample())
    state, reward, _ = jax.jit(functions.step)(state, action, parameters)
    assert np.isfinite(reward)
    assert functions.observe(state, parameters).shape == (functions.observation_size,)
