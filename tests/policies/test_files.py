"""Policies in files: the same back, the same bytes twice, and nothing executed."""

import base64
import io
import json
import pickle
import sys
import zipfile
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import safetensors.numpy
import torch
from gymnasium import spaces
from stable_baselines3 import DDPG, DQN, PPO, SAC
from stable_baselines3.common.save_util import json_to_data
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from sdmbtl.environments import make_family
from sdmbtl.errors import MissingPackageError, PolicyError
from sdmbtl.policies import (
    MlpPolicy,
    load_notes,
    load_policy,
    policy_bytes,
    policy_from_bytes,
    save_policy,
)
from sdmbtl.policies.spaces import space_from_json, space_to_json
from sdmbtl.policies.stable_baselines import Normalization, StableBaselinesPolicy


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
    policy = StableBaselinesPolicy.from_model(original)
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


def test_a_kept_policy_does_not_change_with_its_model():
    original = model()
    policy = StableBaselinesPolicy.from_model(original)
    before = policy_bytes(policy)
    with torch.no_grad():
        for parameter in original.policy.parameters():
            parameter += 1.0
    assert policy_bytes(policy) == before
    assert policy_bytes(StableBaselinesPolicy.from_model(original)) != before


def test_making_a_policy_draws_nothing_from_the_global_generator():
    content = policy_bytes(StableBaselinesPolicy.from_model(model()))
    before = torch.get_rng_state()
    policy_from_bytes(content)
    assert torch.equal(torch.get_rng_state(), before)


def test_statistics_of_observations_travel_with_the_policy():
    envs = VecNormalize(DummyVecEnv([lambda: gymnasium.make("Pendulum-v1")]), clip_obs=1.5)
    envs.seed(0)
    envs.reset()
    for _ in range(50):
        envs.step(np.array([[1.0]]))
    original = PPO("MlpPolicy", envs, device="cpu", seed=0)
    policy = policy_from_bytes(policy_bytes(StableBaselinesPolicy.from_model(original)))
    wide = OBSERVATIONS * 5
    seen = envs.normalize_obs(wide)
    assert np.abs(seen).max() == 1.5
    expected = original.predict(seen, deterministic=True)[0]
    np.testing.assert_array_equal(policy.act(wide), expected)
    assert not np.array_equal(expected, original.predict(wide, deterministic=True)[0])
    envs.norm_obs = False
    assert Normalization.of(envs) is None


@pytest.mark.parametrize("shape", [(4,), (5, 2), (1, 1, 3), ()])
def test_observations_of_other_shapes_are_refused(shape):
    policy = StableBaselinesPolicy.from_model(model())
    with pytest.raises(PolicyError, match=r"observations of shape \(3,\), one or a batch"):
        policy.act(np.zeros(shape))


def test_images_are_taken_with_channels_first_or_last():
    class Camera(gymnasium.Env):
        observation_space = spaces.Box(0, 255, (36, 36, 3), np.uint8)
        action_space = spaces.Discrete(4)

    original = PPO("CnnPolicy", Camera(), device="cpu", seed=0, n_steps=2, batch_size=2)
    policy = policy_from_bytes(policy_bytes(StableBaselinesPolicy.from_model(original)))
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
    with pytest.raises(PolicyError, match="kind 'oracle'; known: mlp, stable-baselines3"):
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
        ({"action_space": {"type": "Sphere"}}, "Unknown type of space 'Sphere'"),
        ({"normalization": {"epsilon": 0.1, "clip": 1.0}}, "observation_mean"),
    ],
)
def test_descriptions_that_do_not_fit_are_refused(changes, text):
    policy = StableBaselinesPolicy.from_model(model())
    with pytest.raises(PolicyError, match=text):
        policy_from_bytes(
            rewritten(policy_bytes(policy), description={**policy.description(), **changes})
        )


def test_missing_and_superfluous_weights_are_refused():
    policy = StableBaselinesPolicy.from_model(model())
    arrays = policy.arrays()
    name = "network.action_net.weight"
    fewer = {k: v for k, v in arrays.items() if k != name}
    for changed in (fewer, {**arrays, "network.more": arrays[name]}):
        with pytest.raises(PolicyError, match="weights are not those"):
            StableBaselinesPolicy.from_arrays(changed, policy.description())


def test_there_is_no_file(tmp_path):
    for read in (load_policy, load_notes):
        with pytest.raises(FileNotFoundError, match="no policy file"):
            read(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match="no archive"):
        StableBaselinesPolicy.from_archive(tmp_path / "none", make_family("Pendulum"))


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
    save_policy(tmp_path / "p", StableBaselinesPolicy.from_model(model()))
    monkeypatch.delitem(sys.modules, "sdmbtl.policies.stable_baselines")
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(MissingPackageError, match=r"not installed.*pip install 'sdmbtl\[sb3\]'"):
        load_policy(tmp_path / "p")


# -- arguments and spaces as JSON --------------------------------------------------------


def test_only_known_classes_can_be_kept():
    class Own(torch.nn.ReLU):
        pass

    with pytest.raises(PolicyError, match="activations of torch.nn.*Got <class"):
        StableBaselinesPolicy.from_model(model(policy_kwargs={"activation_fn": Own}))

    class OwnPolicy(PPO.policy_aliases["MlpPolicy"]):
        pass

    own = PPO(OwnPolicy, gymnasium.make("Pendulum-v1"), device="cpu")
    with pytest.raises(PolicyError, match="Stable-Baselines3's own.*OwnPolicy"):
        StableBaselinesPolicy.from_model(own)


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(-np.inf, np.inf, (3,), np.float32),
        spaces.Box(np.array([-1.0, -np.inf]), np.array([np.inf, 2.5]), dtype=np.float64),
        spaces.Box(np.float32([-0.1, -3.4e38]), np.float32([0.1, 3.4e38])),
        spaces.Box(0, 255, (4, 5, 3), np.uint8),
        spaces.Box(np.array([[0, 1], [2, 3]]), np.array([[9, 9], [9, 8]]), dtype=np.int64),
        spaces.Box(-1.0, 1.0, (), np.float32),
        spaces.Discrete(5),
        spaces.Discrete(5, start=-2),
        spaces.MultiDiscrete([3, 2]),
        spaces.MultiDiscrete(np.array([[2, 3], [4, 5]])),
        spaces.MultiBinary(4),
        spaces.MultiBinary([2, 3]),
    ],
    ids=str,
)
def test_spaces_come_back(space):
    text = json.dumps(space_to_json(space), allow_nan=False)
    again = space_from_json(json.loads(text))
    assert again == space
    assert again.dtype == space.dtype


def test_other_spaces_cannot_be_kept():
    with pytest.raises(PolicyError, match="Box, Discrete, MultiDiscrete or MultiBinary.*Text"):
        space_to_json(spaces.Text(3))


# -- archives of Stable-Baselines3 -------------------------------------------------------


class Trap:
    """Touches a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def with_entry(archive, name, content, to):
    """A copy of an archive with another content of one entry."""
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(to, "w") as new:
        for entry in old.namelist():
            new.writestr(entry, content if entry == name else old.read(entry))
    return to


SMALL = {"net_arch": [8, 8], "activation_fn": "torch.nn.ReLU"}


@pytest.fixture
def archive(tmp_path):
    model().save(tmp_path / "model.zip")
    return tmp_path / "model.zip"


def test_an_archive_is_read(archive):
    family = make_family("Pendulum")
    expected = model().predict(OBSERVATIONS, deterministic=True)[0]
    for environment in (family, family.make()):
        policy = StableBaselinesPolicy.from_archive(archive, environment, policy_kwargs=SMALL)
        np.testing.assert_array_equal(policy.act(OBSERVATIONS), expected)
    statistics = Normalization(np.ones(3), np.full(3, 4.0), 0.0, 10.0)
    policy = StableBaselinesPolicy.from_archive(
        archive, family, policy_kwargs=SMALL, normalization=statistics
    )
    np.testing.assert_allclose(policy.act(2 * OBSERVATIONS + 1), expected, rtol=1e-4, atol=1e-5)


def test_an_archive_of_ddpg_has_one_critic(tmp_path):
    original = model(DDPG, buffer_size=10)
    original.save(tmp_path / "m.zip")
    policy = StableBaselinesPolicy.from_archive(
        tmp_path / "m.zip", make_family("Pendulum"), "DDPG", policy_kwargs=SMALL
    )
    expected = original.predict(OBSERVATIONS, deterministic=True)[0]
    np.testing.assert_array_equal(policy.act(OBSERVATIONS), expected)


def test_pickled_data_in_an_archive_is_not_opened(archive, tmp_path):
    mark = tmp_path / "mark"
    trap = base64.b64encode(pickle.dumps(Trap(mark))).decode()
    data = json.dumps({"policy_class": {":type:": "x", ":serialized:": trap}})
    bad = with_entry(archive, "data", data, tmp_path / "bad.zip")
    policy = StableBaselinesPolicy.from_archive(bad, make_family("Pendulum"), policy_kwargs=SMALL)
    expected = model().predict(OBSERVATIONS, deterministic=True)[0]
    np.testing.assert_array_equal(policy.act(OBSERVATIONS), expected)
    assert not mark.exists()
    json_to_data(data)
    assert mark.exists(), "the trap must be one"


@pytest.mark.parametrize("protocol", ["torch", "pickle"])
def test_weights_that_are_more_than_weights_are_refused(archive, tmp_path, protocol):
    mark = tmp_path / "mark"
    buffer = io.BytesIO()
    if protocol == "torch":
        torch.save({"weight": Trap(mark)}, buffer)
    else:
        pickle.dump({"weight": Trap(mark)}, buffer, protocol=2)
    bad = with_entry(archive, "policy.pth", buffer.getvalue(), tmp_path / "bad.zip")
    with pytest.raises(PolicyError, match="damaged, or hold more than weights"):
        StableBaselinesPolicy.from_archive(bad, make_family("Pendulum"))
    assert not mark.exists()


def test_invalid_archives(archive, tmp_path):
    family = make_family("Pendulum")
    (tmp_path / "text.zip").write_text("no zip")
    with zipfile.ZipFile(tmp_path / "empty.zip", "w") as empty:
        empty.writestr("data", "{}")
    for name in ("text.zip", "empty.zip"):
        with pytest.raises(PolicyError, match="not an archive of Stable-Baselines3"):
            StableBaselinesPolicy.from_archive(tmp_path / name, family)
    buffer = io.BytesIO()
    torch.save([1, 2], buffer)
    bad = with_entry(archive, "policy.pth", buffer.getvalue(), tmp_path / "bad.zip")
    with pytest.raises(PolicyError, match="not tensors with names"):
        StableBaselinesPolicy.from_archive(bad, family)
    with pytest.raises(PolicyError, match="weights are not those of a MlpPolicy of PPO"):
        StableBaselinesPolicy.from_archive(archive, family)
