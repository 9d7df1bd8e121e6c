"""Policies as ONNX graphs, for programs that know nothing of this package.

Needs onnx: `pip install 'sdmbtl[onnx]'`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sdmbtl.errors import MissingPackageError, PolicyError
from sdmbtl.policies.mlp import OBSERVATION_LIMIT as LIMIT

if TYPE_CHECKING:
    from sdmbtl.policies.distilled import DistilledPolicy
    from sdmbtl.policies.mlp import MlpPolicy

#: Version of the operators: all that is used here is older, and every runtime of today has it.
OPSET = 17


class Actions(NamedTuple):
    """Actions in a graph: name of the value, type of its numbers, shape of one action."""

    name: str
    kind: Any
    shape: tuple[int, ...]


class Graph:
    """Nodes of an ONNX graph that is being made."""

    def __init__(self) -> None:
        try:
            import onnx
        except ModuleNotFoundError:
            raise MissingPackageError(
                "ONNX files need onnx, which is not installed. Install it with: "
                "pip install 'sdmbtl[onnx]'",
                name="onnx",
            ) from None
        self.onnx: Any = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def apply(self, operator: str, *values: Any, **attributes: Any) -> str:
        """Apply an operator to values, by their names, and to constants; the result's name."""
        names = [value if isinstance(value, str) else self._constant(value) for value in values]
        result = f"value_{len(self._nodes)}"
        self._nodes.append(self.onnx.helper.make_node(operator, names, [result], **attributes))
        return result

    def part(self, value: str, first: int, end: int) -> str:
        """Take entries of the last axis; returns the result's name."""
        return self.apply("Slice", value, np.array([first]), np.array([end]), np.array([-1]))

    def _constant(self, value: Any) -> str:
        name = f"constant_{len(self._constants)}"
        self._constants.append(self.onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def to_bytes(
        self,
        inputs: Mapping[str, tuple[Any, int, str]],
        outputs: Mapping[str, Actions],
    ) -> bytes:
        """Return a file's content; each input is its type, the size of a row and a description."""
        helper = self.onnx.helper
        for name, value in outputs.items():
            self._nodes.append(helper.make_node("Identity", [value.name], [name]))
        given = [
            helper.make_tensor_value_info(name, kind, ["n", size], doc_string=text)
            for name, (kind, size, text) in inputs.items()
        ]
        made = [
            helper.make_tensor_value_info(name, value.kind, ["n", *value.shape])
            for name, value in outputs.items()
        ]
        graph = helper.make_graph(self._nodes, "policy", given, made, self._constants)
        opset = [helper.make_opsetid("", OPSET)]
        # An old format of the file itself, enough for these operators.
        model = helper.make_model(graph, opset_imports=opset, ir_version=8, producer_name="sdmbtl")
        self.onnx.checker.check_model(model)
        content: bytes = model.SerializeToString()
        return content


def make_onnx(policy: MlpPolicy) -> bytes:
    """The policy as an ONNX file.

    Its input "observation" is (n, O) floats: observations, flattened if they are not vectors. For a
    policy that sees the context, the unit coordinates of the context follow in each row; the file
    says so in the description of its input. The output "action" is that of `policy.act` for a
    batch.

    Raises:
        MissingPackageError: If onnx is not installed.
        PolicyError: If actions have a space that it cannot be made for.
    """
    graph = Graph()
    action = add_actions(graph, policy, add_outputs(graph, policy, "observation"))
    text = "observation"
    if policy.sees_context:
        text += ", then the unit coordinates of the context"
    observed = (graph.onnx.TensorProto.FLOAT, policy.observation_size, text)
    return graph.to_bytes({"observation": observed}, {"action": action})


def make_distilled_onnx(policy: DistilledPolicy) -> bytes:
    """The policy as an ONNX file, with "observation" and "state" in, "action" and "next_state" out.

    The (n, S) state is the one of `DistilledPolicy.start`: the unit coordinates of the context, or
    zeros for a network with a memory.

    Raises:
        MissingPackageError: If onnx is not installed.
        PolicyError: If actions have a space that it cannot be made for.
    """
    graph, head = Graph(), policy.head
    kind = graph.onnx.TensorProto.FLOAT
    state = Actions("state", kind, (policy.state_size,))
    if policy.memory is None:
        seen = graph.apply("Concat", "observation", "state", axis=-1)
        action = add_actions(graph, head, add_outputs(graph, head, seen))
    else:
        hidden = _add_memory(graph, policy)
        outputs = add_outputs(graph, head, hidden)
        action = add_actions(graph, head, outputs)
        code = _add_code(graph, policy, outputs, action.name)
        state = state._replace(name=graph.apply("Concat", hidden, code, axis=-1))
    told = "unit coordinates of the context: " + ", ".join(policy.dimensions or ())
    text = "zeros at the first step, then next_state" if policy.remembers else told
    seen = "observation"
    if policy.sees_context:
        seen += ", then the unit coordinates of the context"
    inputs = {
        "observation": (kind, policy.observation_size, seen),
        "state": (kind, policy.state_size, text),
    }
    return graph.to_bytes(inputs, {"action": action, "next_state": state})


def add_outputs(graph: Graph, policy: MlpPolicy, x: str) -> str:
    """Add a network that sees a value; returns the name of its (n, K) outputs."""
    x = graph.apply("Mul", graph.apply("Sub", x, policy.shift), policy.scale)
    if policy.limit is not None:
        limit = np.float32(policy.limit)
        x = graph.apply("Clip", x, -limit, limit)
    layers = list(zip(policy.weights, policy.biases, strict=True))
    if policy.image is not None:
        x = _add_convolutions(graph, policy, x)
        layers = [layer for layer in layers if layer[0].ndim == 2]
    for number, (weight, bias) in enumerate(layers):
        x = graph.apply("Add", graph.apply("MatMul", x, weight), bias)
        if number < len(layers) - 1:
            x = graph.apply("Tanh", x)
    return x


def _add_convolutions(graph: Graph, policy: MlpPolicy, x: str) -> str:
    """Add the convolutions of the image that inputs begin with; see `convolve`."""
    from sdmbtl.policies.images import stride

    image = policy.image
    assert image is not None  # noqa: S101 (the caller has looked)
    seen = graph.part(x, 0, image.size)
    others = graph.part(x, image.size, policy.observation_size)
    height, width, channels = image.height, image.width, image.channels
    if image.channels_first:
        seen = graph.apply("Reshape", seen, np.array([-1, channels, height, width]))
    else:
        seen = graph.apply("Reshape", seen, np.array([-1, height, width, channels]))
        seen = graph.apply("Transpose", seen, perm=[0, 3, 1, 2])
    for weight, bias in zip(policy.weights, policy.biases, strict=True):
        if weight.ndim == 4:
            kernels = np.ascontiguousarray(weight.transpose(3, 2, 0, 1))
            seen = graph.apply("Conv", seen, kernels, bias, strides=[stride(len(weight))] * 2)
            seen = graph.apply("Relu", seen)
    flat = graph.apply("Flatten", graph.apply("Transpose", seen, perm=[0, 2, 3, 1]))
    return graph.apply("Concat", flat, others, axis=-1)


def add_actions(graph: Graph, policy: MlpPolicy, outputs: str) -> Actions:
    """Add the choice of actions by the outputs of a network."""
    kinds = graph.onnx.TensorProto
    if policy.action_space is not None:
        return _add_choice(graph, policy.action_space, outputs)
    if policy.bounds is not None:
        low, high = (np.float32(bound) for bound in policy.bounds)
        clipped = graph.apply("Clip", outputs, low, high)
        return Actions(clipped, kinds.FLOAT, policy.biases[-1].shape)
    return Actions(graph.apply("ArgMax", outputs, axis=-1, keepdims=0), kinds.INT64, ())


def _add_choice(graph: Graph, space: Any, outputs: str) -> Actions:
    from gymnasium import spaces

    kinds = graph.onnx.TensorProto
    match space:
        case spaces.Box() if space.dtype == np.float32:
            shaped = graph.apply("Reshape", outputs, np.array([-1, *space.shape], np.int64))
            bounded = graph.apply("Min", graph.apply("Max", shaped, space.low), space.high)
            return Actions(bounded, kinds.FLOAT, space.shape)
        case spaces.Discrete():
            best = graph.apply("ArgMax", outputs, axis=-1, keepdims=0)
            return Actions(graph.apply("Add", best, np.int64(space.start)), kinds.INT64, ())
        case spaces.MultiDiscrete() if space.nvec.ndim == 1:
            best = graph.apply("Concat", *_add_best(graph, space.nvec.tolist(), outputs), axis=-1)
            chosen = graph.apply("Add", best, space.start.astype(np.int64))
            return Actions(chosen, kinds.INT64, space.shape)
    raise PolicyError(
        "ONNX files can be made for actions that are a Box of float32, Discrete or a MultiDiscrete "
        f"with one dimension. This policy has {space}."
    )


def _add_best(graph: Graph, sizes: list[int], outputs: str) -> list[str]:
    """Add the (n, 1) best possibility of each choice."""
    ends = np.cumsum(sizes)
    parts = [graph.part(outputs, end - size, end) for size, end in zip(sizes, ends, strict=True)]
    return [graph.apply("ArgMax", part, axis=-1, keepdims=1) for part in parts]


def _add_memory(graph: Graph, policy: DistilledPolicy) -> str:
    """Add the recurrent unit; returns the name of its next (n, H) hidden numbers."""
    unit = policy.memory
    assert unit is not None  # noqa: S101 (the caller has looked)
    size, total, part = unit.size, policy.state_size, graph.part
    before = part("state", 0, size)
    x = graph.apply("Concat", "observation", part("state", size, total), axis=-1)
    x = graph.apply("Mul", graph.apply("Sub", x, unit.shift), unit.scale)
    x = graph.apply("Clip", x, np.float32(-LIMIT), np.float32(LIMIT))
    from_x = graph.apply("Add", graph.apply("MatMul", x, unit.inputs), unit.bias)
    from_h = graph.apply("MatMul", before, unit.hidden)
    both = graph.apply("Add", part(from_x, 0, 2 * size), part(from_h, 0, 2 * size))
    gates = graph.apply("Sigmoid", both)
    inner = graph.apply("Add", part(from_h, 2 * size, 3 * size), unit.candidate_bias)
    inner = graph.apply("Mul", part(gates, 0, size), inner)
    candidate = graph.apply("Tanh", graph.apply("Add", part(from_x, 2 * size, 3 * size), inner))
    kept = graph.apply("Mul", part(gates, size, 2 * size), graph.apply("Sub", before, candidate))
    return graph.apply("Add", candidate, kept)


def _add_code(graph: Graph, policy: DistilledPolicy, outputs: str, action: str) -> str:
    """Add the (n, K) code of an action; see `ActionCode`."""
    code = policy.code
    if code.sizes is None:
        flat = graph.apply("Reshape", action, np.array([-1, code.size], np.int64))
        return graph.apply("Div", graph.apply("Sub", flat, code.centre), code.half_width)
    values = np.array([0.0, 1.0], np.float32)
    hot = [
        graph.apply(
            "OneHot",
            graph.apply("Squeeze", best, np.array([1])),
            np.int64(size),
            values,
            axis=-1,
        )
        for size, best in zip(code.sizes, _add_best(graph, list(code.sizes), outputs), strict=True)
    ]
    return graph.apply("Concat", *hot, axis=-1)
