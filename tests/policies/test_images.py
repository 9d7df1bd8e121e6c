"""Convolutions in policies, against loops over every place."""

import numpy as np
import pytest
from gymnasium import spaces

from sdmbtl.errors import PolicyError
from sdmbtl.policies import MlpPolicy, policy_bytes, policy_from_bytes
from sdmbtl.policies.images import (
    ImageShape,
    choose_kernels,
    convolve,
    count_places,
    image_shape,
    stride,
)


@pytest.mark.parametrize(
    ("space", "shape"),
    [
        (spaces.Box(0, 255, (84, 84, 4), np.uint8), ImageShape(84, 84, 4)),
        (spaces.Box(0, 255, (4, 84, 84), np.uint8), ImageShape(84, 84, 4, channels_first=True)),
        (spaces.Box(0, 255, (20, 30), np.uint8), ImageShape(20, 30, 1)),
        (spaces.Box(0, 1, (10, 10, 4), np.bool_), ImageShape(10, 10, 4)),
        (spaces.MultiDiscrete(np.full((7, 7, 3), 16)), ImageShape(7, 7, 48)),
        (spaces.Box(-1, 1, (5, 5), np.float32), None),
        (spaces.Box(0, 255, (3, 3, 3), np.uint8), None),
        (spaces.Box(-1, 1, (8,), np.float32), None),
    ],
)
def test_images_are_recognised(space, shape):
    assert image_shape(space) == shape


@pytest.mark.parametrize("image", [ImageShape(40, 37, 2), ImageShape(9, 7, 3, channels_first=True)])
def test_convolutions_are_sums_over_patches(image):
    rng = np.random.default_rng(0)
    layers = [(rng.normal(size=k), rng.normal(size=k[3])) for k in choose_kernels(image)]
    x = rng.normal(size=(2, image.size + 1))
    found = convolve(layers, x, image)
    for row, own in zip(x, found, strict=True):
        if image.channels_first:
            shape = image.channels, image.height, image.width
            seen = row[:-1].reshape(shape).transpose(1, 2, 0)
        else:
            seen = row[:-1].reshape(image.height, image.width, image.channels)
        for weight, bias in layers:
            k, step = len(weight), stride(len(weight))
            places = [range(count_places(side, k)) for side in seen.shape[:2]]
            seen = np.array(
                [
                    [
                        np.tensordot(seen[i * step :][:k, j * step :][:, :k], weight, 3) + bias
                        for j in places[1]
                    ]
                    for i in places[0]
                ]
            ).clip(0)
        assert own[:-1] == pytest.approx(seen.ravel())
        assert own[-1] == row[-1]  # the context follows
    assert found.shape[1] == image.n_features([w.shape for w, _ in layers]) + 1


def image_policy(sees_context):
    rng = np.random.default_rng(1)
    image = ImageShape(8, 6, 3)
    kernels = choose_kernels(image)
    inputs = image.n_features(kernels) + 2 * sees_context
    weights = [rng.normal(size=shape) for shape in (*kernels, (inputs, 4))]
    size = image.size + 2 * sees_context
    return MlpPolicy(
        weights,
        [rng.normal(size=w.shape[-1]) for w in weights],
        np.zeros(size),
        np.ones(size),
        observation_space=spaces.Box(0, 255, (8, 6, 3), np.uint8),
        sees_context=sees_context,
        image=image,
    )


@pytest.mark.parametrize("sees_context", [False, True])
def test_the_file_and_onnx_act_as_the_policy_does(sees_context):
    onnxruntime = pytest.importorskip("onnxruntime")
    policy = image_policy(sees_context)
    images = np.random.default_rng(2).integers(256, size=(20, 8, 6, 3)).astype(np.uint8)
    flat = policy.flatten(images)
    if sees_context:
        flat = np.concatenate([flat, np.random.default_rng(3).random((20, 2))], axis=1)
    actions = policy.act(flat if sees_context else images)
    assert len(set(actions.tolist())) > 1
    again = policy_from_bytes(policy_bytes(policy))
    assert (again.act(flat if sees_context else images) == actions).all()
    session = onnxruntime.InferenceSession(policy.to_onnx())
    (found,) = session.run(None, {"observation": flat.astype(np.float32)})
    assert (found == actions).all()


def test_kernels_that_do_not_fit_are_refused():
    policy = image_policy(False)
    with pytest.raises(PolicyError, match="does not fit"):
        MlpPolicy(
            policy.weights, policy.biases, policy.shift, policy.scale, image=ImageShape(8, 9, 2)
        )
