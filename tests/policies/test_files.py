"""Policies in files: the same back, the same bytes twice, and nothing executed."""

import json
import pickle
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import safetensors.numpy
import torch
from gymnasium import spaces
from stable_baselines3 import DDPG, DQN, PPO, SAC
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from sdmbtl.errors import MissingPackageError, PolicyError
from sdmbtl.policies import (
    MlpPolicy,
    load_notes,
    load_policy,
    policy_bytes,
    policy_from_bytes,
    save_policy,
)
from sdmbtl.policies.sb3 import SB3Policy


def mlp(bounds=(-1.0, 1.0), limit=10.0):
    rng = np.random.default_rng(0)
    shapes = [(3, 4), (4, 2)]
    return MlpPolicy(
        [rng.normal(size=s).astype(np.float32) for s in shapes],
        [rng.normal(size=s[1]).astype(np.float32) for s in shapes],
        np.zeros(3, np.float32),
        np.ones(3, np.float32),
        bounds,
        limit,
    )


def model(algorithm=PPO, env="Pendulum-v1", **arguments):
    small = {"policy_kwargs": {"net_arch": [8, 8], "activation_fn": torch.nn.ReLU}}
    return algorithm("MlpPolicy", gymnasium.make(env), device="cpu", seed=0, **small | arguments)


def kept(original):
    return SB3Policy.from_model(
        original, policy_kwargs={"net_arch": [8, 8], "activation_fn": "torch.nn.ReLU"}
    )


OBSERVATIONS = np.random.default_rng(3).normal(size=(30, 3)).astype(np.float32)


# -- every kind --------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [mlp(), mlp(bounds=None, limit=None)])
def test_a_perceptron_comes_back(policy, tmp_path):
    path = tmp_path / "policy.safetensors"
    save_policy(path, policy, {"seed": 3})
    again = load_policy(path)
    np.testing.assert_array_equal(again.act(OBSERVATIONS), policy.act(OBSERVATIONS))
    assert again.description() == policy.description()
    assert load_notes(path) == {"seed": 3}
    assert policy_bytes(again, {"seed": 3}) == path.read_bytes()


@pytest.mark.parametrize(
    ("algorithm", "env", "arguments"),
    [
        (PPO, "Pendulum-v1", {}),
        (PPO, "Pendulum-v1", {"use_sde": True}),
        (SAC, "Pendulum-v1", {"buffer_size": 10}),
        (DDPG, "Pendulum-v1", {"buffer_size": 10}),
        (DQN, "CartPole-v1", {"buffer_size": 10}),
    ],
)
def test_networks_of_stable_baselines_come_back(algorithm, env, arguments, tmp_path):
    original = model(algorithm, env, **arguments)
    policy = kept(original)
    save_policy(tmp_path / "p", policy)
    again = load_policy(tmp_path / "p")
    space = original.observation_space
    batch = np.random.default_rng(0).normal(size=(20, *space.shape)).astype(np.float32)
    expected = original.predict(batch, deterministic=True)[0]
    np.testing.assert_array_equal(again.act(batch), expected)
    single = again.act(batch[0])
    np.testing.assert_allclose(single, expected[0], rtol=1e-5, atol=1e-6)
    assert np.shape(single) == original.action_space.shape
    assert policy_bytes(again) == policy_bytes(policy) == (tmp_path / "p").read_bytes()
    json.dumps(policy.description(), allow_nan=False)


def test_statistics_of_observations_travel_with_the_policy():
    envs = VecNormalize(DummyVecEnv([lambda: gymnasium.make("Pendulum-v1")]), clip_obs=1.5)
    envs.seed(0)
    envs.reset()
    for _ in range(50):
        envs.step(np.array([[1.0]]))
    original = PPO("MlpPolicy", envs, device="cpu", seed=0)
    policy = policy_from_bytes(policy_bytes(SB3Policy.from_model(original)))
    wide = OBSERVATIONS * 5
    seen = envs.normalize_obs(wide)
    assert np.abs(seen).max() == 1.5
    expected = original.predict(seen, deterministic=True)[0]
    np.testing.assert_array_equal(policy.act(wide), expected)
    assert not np.array_equal(expected, original.predict(wide, deterministic=True)[0])
    envs.norm_obs = False
    assert SB3Policy.from_model(original).normalization is None


@pytest.mark.parametrize("shape", [(4,), (5, 2), (1, 1, 3), ()])
def test_observations_of_other_shapes_are_refused(shape):
    policy = kept(model())
    with pytest.raises(PolicyError, match=r"observations of shape \(3,\), one or a batch"):
        policy.act(np.zeros(shape))


def test_images_are_taken_with_channels_first_or_last():
    class Camera(gymnasium.Env):
        observation_space = spaces.Box(0, 255, (36, 36, 3), np.uint8)
        action_space = spaces.Discrete(4)

    original = PPO("CnnPolicy", Camera(), device="cpu", seed=0, n_steps=2, batch_size=2)
    policy = policy_from_bytes(policy_bytes(SB3Policy.from_model(original, "CnnPolicy")))
    images = np.random.default_rng(0).integers(0, 256, (6, 36, 36, 3), dtype=np.uint8)
    expected = original.predict(images, deterministic=True)[0]
    np.testing.assert_array_equal(policy.act(images), expected)
    np.testing.assert_array_equal(policy.act(images.transpose(0, 3, 1, 2)), expected)
    assert len(json.dumps(policy.description())) < 1000, "equal bounds are written once"


# -- damaged files -----------------------------------------------------------------------


@pytest.fixture
def content():
    return policy_bytes(mlp())


def rewritten(content, **changes):
    """The file with other entries of its header."""
    arrays = safetensors.numpy.load(content)
    length = int.from_bytes(content[:8], "little")
    header = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["sdmbtl"])
    header.update(changes)
    header = {k: v for k, v in header.items() if v is not None}
    return safetensors.numpy.save(arrays, metadata={"sdmbtl": json.dumps(header)})


@pytest.mark.parametrize("keep", [0, 4, 8, 60, -1])
def test_truncated_files_are_refused(content, keep, tmp_path):
    (tmp_path / "p").write_bytes(content[:keep])
    for read in (load_policy, load_notes):
        with pytest.raises(PolicyError, match="p is not a policy of sdmbtl, or it is damaged"):
            read(tmp_path / "p")


def test_foreign_files_are_refused(content):
    foreign = safetensors.numpy.save({"x": np.zeros(3)})
    other = safetensors.numpy.save({"x": np.zeros(3)}, metadata={"sdmbtl": "[1]"})
    for given in (b"hello, world, this is a text", pickle.dumps(3), foreign, other):
        with pytest.raises(PolicyError, match="not a policy of sdmbtl"):
            policy_from_bytes(given)


def test_files_that_say_something_else_are_refused(content):
    with pytest.raises(PolicyError, match="format version 99; this release reads 1"):
        policy_from_bytes(rewritten(content, version=99))
    with pytest.raises(PolicyError, match="kind 'oracle'; known: mlp, distilled, "):
        policy_from_bytes(rewritten(content, kind="oracle"))
    for changes in ({"notes": None}, {"description": {}}, {"description": [1]}):
        with pytest.raises(PolicyError, match="damaged"):
            policy_from_bytes(rewritten(content, **changes))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"algorithm": "Dreamer"}, "Unknown algorithm 'Dreamer'; known: PPO"),
        ({"policy": "MlpPolic"}, "Unknown policy 'MlpPolic'.*Did you mean 'MlpPolicy'"),
        ({"policy_kwargs": {"net_arch": [9]}}, "weights are not those of a MlpPolicy of PPO"),
        ({"policy_kwargs": {"activation_fn": "os.system"}}, "Unknown class 'os.system'"),
        ({"policy_kwargs": {"no_such": 1}}, "weights are not those of a MlpPolicy of PPO"),
        ({"policy_kwargs": {"net_arch": [10**6]}}, "larger than its weights"),
        ({"action_space": {"type": "Sphere"}}, "Unknown type of space 'Sphere'"),
        ({"normalization": {"epsilon": 0.1, "clip": 1.0}}, "observation_mean"),
    ],
)
def test_descriptions_that_do_not_fit_are_refused(changes, text):
    policy = kept(model())
    with pytest.raises(PolicyError, match=text):
        policy_from_bytes(
            rewritten(policy_bytes(policy), description={**policy.description(), **changes})
        )


def test_missing_and_superfluous_weights_are_refused():
    policy = kept(model())
    arrays = policy.arrays()
    name = "network.action_net.weight"
    fewer = {k: v for k, v in arrays.items() if k != name}
    for changed in (fewer, {**arrays, "network.more": arrays[name]}):
        with pytest.raises(PolicyError, match="weights are not those"):
            SB3Policy.from_arrays(changed, policy.description())


def test_there_is_no_file(tmp_path):
    for read in (load_policy, load_notes):
        with pytest.raises(FileNotFoundError, match="no policy file"):
            read(tmp_path / "none")


def test_a_failed_write_leaves_the_old_file(content, tmp_path, monkeypatch):
    path = tmp_path / "p"
    save_policy(path, mlp())

    def full(self, target):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="disk full"):
        save_policy(path, mlp(bounds=None))
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path], "nothing temporary is left"


def test_without_stable_baselines(tmp_path, monkeypatch):
    save_policy(tmp_path / "p", kept(model()))
    monkeypatch.delitem(sys.modules, "sdmbtl.policies.sb3")
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(MissingPackageError, match=r"not installed.*pip install 'sdmbtl\[sb3\]'"):
        load_policy(tmp_path / "p")


def test_making_a_policy_draws_nothing_from_the_global_generator():
    content = policy_bytes(kept(model()))
    before = torch.get_rng_state()
    policy_from_bytes(content)
    assert torch.equal(torch.get_rng_state(), before)
