"""A policy that leaves as a model of Stable-Baselines3 acts there as it does here."""

import json
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from sdmbtl.errors import PolicyError
from sdmbtl.policies import MlpPolicy

pytest.importorskip("stable_baselines3")

import torch
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from sdmbtl.policies.stable_baselines import StableBaselinesPolicy
from sdmbtl.policies.stable_baselines_names import algorithm_class

#: As somebody would read it who does not have this package.
ELSEWHERE = """
import json, sys
import numpy as np
sys.modules["sdmbtl"] = None
import stable_baselines3
model = getattr(stable_baselines3, sys.argv[1]).load(sys.argv[2])
seen = np.array(json.loads(sys.argv[3]), np.float32)
print(json.dumps(model.predict(seen, deterministic=True)[0].tolist()))
"""


class Seen(gymnasium.Env):
    """Spaces, and one observation."""

    def __init__(self, actions):
        self.observation_space = spaces.Box(-10, 10, (4,))
        self.action_space = actions

    def reset(self, *, seed=None, options=None):
        return np.zeros(4, np.float32), {}


ACTIONS = {"discrete": spaces.Discrete(3), "box": spaces.Box(-2, 1, (2,))}
MODELS = [
    ("PPO", "discrete", {}),
    ("PPO", "box", {"use_sde": True}),
    ("A2C", "box", {"policy_kwargs": {"net_arch": [5], "activation_fn": torch.nn.ReLU}}),
    ("DQN", "discrete", {"buffer_size": 10}),
    ("SAC", "box", {"buffer_size": 10}),
    ("TD3", "box", {"buffer_size": 10}),
    ("DDPG", "box", {"buffer_size": 10}),
    ("TQC", "box", {"buffer_size": 10}),
    ("ARS", "box", {}),
]


def make_model(algorithm, actions, settings, *, normalised=False):
    env = DummyVecEnv([lambda: Seen(ACTIONS[actions])])
    if normalised:
        env = VecNormalize(env)
        env.obs_rms.mean, env.obs_rms.var = np.arange(4.0), np.arange(1.0, 5.0)
        env.obs_rms.count, env.ret_rms.var = 77.0, 9.0
    return algorithm_class(algorithm)("MlpPolicy", env, seed=1, **settings)


def observations():
    return (3 * np.random.default_rng(0).normal(size=(40, 4))).astype(np.float32)


@pytest.mark.parametrize(("algorithm", "actions", "settings"), MODELS)
def test_the_librarys_own_load_reads_it(algorithm, actions, settings, tmp_path):
    if algorithm in ("TQC", "ARS"):
        pytest.importorskip("sb3_contrib")
    model = make_model(algorithm, actions, settings)
    policy = StableBaselinesPolicy.from_model(model)
    for number, some in enumerate((policy, policy.acting())):
        path = tmp_path / f"{number}.zip"
        assert some.to_stable_baselines3(path) == [path]
        loaded = algorithm_class(algorithm).load(path)
        acted = loaded.predict(observations(), deterministic=True)[0]
        np.testing.assert_array_equal(acted, policy.act(observations()))
    loaded = algorithm_class(algorithm).load(tmp_path / "0.zip")
    state = model.policy.state_dict()
    assert all(torch.equal(w, state[name]) for name, w in loaded.policy.state_dict().items())


def test_statistics_of_observations_are_beside_it(tmp_path):
    policy = StableBaselinesPolicy.from_model(make_model("PPO", "box", {}, normalised=True))
    model, statistics = policy.to_stable_baselines3(tmp_path / "third")
    assert (model.name, statistics.name) == ("third.zip", "third.vecnormalize.pkl")
    env = VecNormalize.load(str(statistics), DummyVecEnv([lambda: Seen(ACTIONS["box"])]))
    assert not env.training
    assert (env.obs_rms.count, env.ret_rms.var) == (77.0, 9.0)
    loaded = algorithm_class("PPO").load(model)
    seen = env.normalize_obs(observations())
    acted = loaded.predict(seen, deterministic=True)[0]
    np.testing.assert_array_equal(acted, policy.act(observations()))
    assert not np.array_equal(acted, loaded.predict(observations(), deterministic=True)[0])


def test_it_is_read_where_this_package_is_not(tmp_path):
    policy = StableBaselinesPolicy.from_model(make_model("PPO", "discrete", {}))
    (path,) = policy.to_stable_baselines3(tmp_path / "model.zip")
    script = tmp_path / "elsewhere.py"
    script.write_text(ELSEWHERE)
    given = ["PPO", str(path), json.dumps(observations().tolist())]
    made = subprocess.run([sys.executable, script, *given], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout) == policy.act(observations()).tolist()


def test_nothing_else_is_drawn_from_the_global_generator(tmp_path):
    policy = StableBaselinesPolicy.from_model(make_model("PPO", "discrete", {}))
    before = torch.random.get_rng_state()
    policy.to_stable_baselines3(tmp_path / "model.zip")
    assert torch.equal(torch.random.get_rng_state(), before)


def test_what_is_not_such_a_model_is_refused(tmp_path):
    policy = MlpPolicy([np.ones((2, 2))], [np.zeros(2)], np.zeros(2), np.ones(2))
    with pytest.raises(PolicyError, match=r"kind 'mlp' is no model .*--trainer sb3, or use 'to_o"):
        policy.to_stable_baselines3(tmp_path / "it.zip")
    assert list(tmp_path.iterdir()) == []
