"""Vector environments with a context for each sub-environment, and training with them."""

import re
from pathlib import Path

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from sdmbtl import ContextSpace
from sdmbtl.environments import ContextInDict, ContextualVectorEnv, DrawnContexts, make_family
from sdmbtl.errors import ContextError

CARTPOLE = make_family("CartPole")
LENGTHS = [{"length": 0.1}, {"length": 1.0}, {"length": 3.0}]
DOCS = (Path(__file__).parents[2] / "docs/guides/training-loop.md").read_text(encoding="utf-8")


def lengths(infos):
    return infos["context"]["length"].tolist()


def play(envs, steps=120):
    """Push to the right; returns the lengths in force after each step, and the ended episodes."""
    seen, ended = [], 0
    for _ in range(steps):
        _, _, terminated, truncated, infos = envs.step(np.ones(envs.num_envs, np.int64))
        seen.append(lengths(infos))
        ended += int((terminated | truncated).sum())
    return seen, ended


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_each_context_survives_the_resets_of_its_environment(mode):
    envs = ContextualVectorEnv(CARTPOLE, LENGTHS, autoreset_mode=mode)
    _, infos = envs.reset(seed=0)
    assert lengths(infos) == [0.1, 1.0, 3.0]
    seen, ended = play(envs)
    assert ended > 6
    assert all(now == [0.1, 1.0, 3.0] for now in seen)
    assert [env.inner.unwrapped.length for env in envs.get_attr("unwrapped")] == [0.1, 1.0, 3.0]


def test_a_reset_gives_other_contexts_which_stay():
    envs = ContextualVectorEnv(CARTPOLE, LENGTHS)
    _, infos = envs.reset(seed=0, options={"contexts": LENGTHS[::-1]})
    assert lengths(infos) == [3.0, 1.0, 0.1]
    assert all(now == [3.0, 1.0, 0.1] for now in play(envs)[0])
    assert [context["length"] for context in envs.contexts] == [3.0, 1.0, 0.1]
    with pytest.raises(ContextError, match="one context for each of 3"):
        envs.reset(options={"contexts": LENGTHS[:2]})
    with pytest.raises(ContextError, match="len"):
        envs.reset(options={"contexts": [{"lenght": 1.0}] * 3})


def test_episodes_draw_from_all_contexts_and_a_seed_repeats_them():
    def run():
        envs = ContextualVectorEnv(CARTPOLE, LENGTHS, num_envs=2)
        first, _ = envs.reset(seed=5)
        return first, play(envs, 300)[0]

    (first, seen), (again, repeated) = run(), run()
    np.testing.assert_array_equal(first, again)
    assert seen == repeated
    assert {length for now in seen for length in now} == {0.1, 1.0, 3.0}


def test_observations_as_in_carl():
    envs = ContextualVectorEnv(CARTPOLE, LENGTHS, observe_context="dict")
    observations, _ = envs.reset(seed=0)
    assert observations["obs"].shape == (3, 4)
    assert observations["context"].shape == (3, len(CARTPOLE.defaults))
    assert observations in envs.observation_space
    env = ContextInDict(DrawnContexts(CARTPOLE.make(), LENGTHS[:1]))
    observation, _ = env.reset(seed=0)
    assert observation["context"].tolist() == pytest.approx([0.1, 1.0, 0.1, 10.0, 9.8])


def test_coordinates_at_the_end_of_observations():
    space = ContextSpace(length=[0.1, 1.0, 3.0])
    envs = ContextualVectorEnv(CARTPOLE, space, observe_context=space)
    observations, _ = envs.reset(seed=0)
    assert observations[:, -1].tolist() == [0.0, 0.5, 1.0]


def test_no_contexts_are_refused():
    with pytest.raises(ContextError, match="at least one"):
        ContextualVectorEnv(CARTPOLE, [])


@pytest.mark.parametrize("package", ["stable_baselines3", "gymnasium"])
def test_documented_training_loops(package):
    pytest.importorskip(package)
    blocks = re.findall(r"```python\n(.*?)```", DOCS, re.DOTALL)
    (code,) = [block for block in blocks if re.match(f"(from|import) {package}", block)]
    lines = [x for x in code.splitlines() if x and not x.startswith(("import", "from"))]
    assert len(lines) <= (5 if package == "stable_baselines3" else 9)
    names = {}
    shorter = code.replace("200_000", "128").replace("1_000", "50")
    exec(shorter.replace('device="cpu"', 'device="cpu", n_steps=64'), names)  # noqa: S102
    if package == "gymnasium":
        assert names["obs"].shape == (8, 4 + names["space"].n_dimensions)
        assert len(set(names["infos"]["context"]["length"])) > 1
    else:
        assert names["model"].num_timesteps == 128
