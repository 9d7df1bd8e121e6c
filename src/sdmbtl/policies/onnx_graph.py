"""A multilayer perceptron as an ONNX graph, for programs that know nothing of this package.

Needs onnx: `pip install 'sdmbtl[onnx]'`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sdmbtl.errors import MissingPackageError, PolicyError

if TYPE_CHECKING:
    from sdmbtl.policies.mlp import MlpPolicy

#: Version of the operators: all that is used here is older, and every runtime of today has it.
OPSET = 17


class _Graph:
    """Nodes that follow each other, from "observation" on."""

    def __init__(self, onnx: Any) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.last = "observation"
        self._onnx = onnx

    def constant(self, value: Any) -> str:
        """Name of a new constant."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(self._onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def apply(self, operator: str, *values: Any, **attributes: Any) -> str:
        """Apply an operator to what was computed last, and to constants; the result's name."""
        return self.apply_to(self.last, operator, *values, **attributes)

    def apply_to(self, source: str, operator: str, *values: Any, **attributes: Any) -> str:
        """The same to something else."""
        names = [source, *(self.constant(value) for value in values)]
        self.last = f"value_{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(operator, names, [self.last], **attributes))
        return self.last


def make_onnx(policy: MlpPolicy) -> bytes:
    """The policy as an ONNX file.

    Its input "observation" is (n, O) floats: observations, flattened if they are not vectors. Its
    output "action" is what `policy.act` gives for a batch.

    Raises:
        MissingPackageError: If onnx is not installed.
        PolicyError: If actions have a space that it cannot be made for.
    """
    try:
        import onnx
    except ModuleNotFoundError:
        raise MissingPackageError(
            "ONNX files need onnx, which is not installed. Install it with: "
            "pip install 'sdmbtl[onnx]'",
            name="onnx",
        ) from None
    graph = _Graph(onnx)
    graph.apply("Sub", policy.shift)
    graph.apply("Mul", policy.scale)
    if policy.limit is not None:
        limit = np.float32(policy.limit)
        graph.apply("Clip", -limit, limit)
    layers = list(zip(policy.weights, policy.biases, strict=True))
    for number, (weight, bias) in enumerate(layers):
        graph.apply("MatMul", weight)
        graph.apply("Add", bias)
        if number < len(layers) - 1:
            graph.apply("Tanh")
    kind, shape = _choose_actions(graph, policy, onnx)
    graph.nodes.append(onnx.helper.make_node("Identity", [graph.last], ["action"]))
    inputs = [
        onnx.helper.make_tensor_value_info(
            "observation", onnx.TensorProto.FLOAT, ["n", policy.observation_size]
        )
    ]
    outputs = [onnx.helper.make_tensor_value_info("action", kind, ["n", *shape])]
    made = onnx.helper.make_graph(graph.nodes, "policy", inputs, outputs, graph.constants)
    opset = [onnx.helper.make_opsetid("", OPSET)]
    # An old format of the file itself, which says what is needed for these operators.
    model = onnx.helper.make_model(made, opset_imports=opset, ir_version=8, producer_name="sdmbtl")
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content


def _choose_actions(graph: _Graph, policy: MlpPolicy, onnx: Any) -> tuple[Any, tuple[int, ...]]:
    """From the outputs of the network to actions; returns their type, and the shape of one."""
    if policy.action_space is not None:
        return _choose_in_space(graph, policy.action_space, onnx)
    if policy.bounds is not None:
        graph.apply("Clip", *(np.float32(bound) for bound in policy.bounds))
        return onnx.TensorProto.FLOAT, policy.biases[-1].shape
    graph.apply("ArgMax", axis=-1, keepdims=0)
    return onnx.TensorProto.INT64, ()


def _choose_in_space(graph: _Graph, space: Any, onnx: Any) -> tuple[Any, tuple[int, ...]]:
    from gymnasium import spaces

    match space:
        case spaces.Box() if space.dtype == np.float32:
            graph.apply("Reshape", np.array([-1, *space.shape], np.int64))
            graph.apply("Max", space.low)
            graph.apply("Min", space.high)
            return onnx.TensorProto.FLOAT, space.shape
        case spaces.Discrete():
            graph.apply("ArgMax", axis=-1, keepdims=0)
            graph.apply("Add", np.int64(space.start))
            return onnx.TensorProto.INT64, ()
        case spaces.MultiDiscrete() if space.nvec.ndim == 1:
            outputs, chosen, first = graph.last, [], 0
            for size in space.nvec.tolist():
                part = (np.array([first]), np.array([first + size]), np.array([-1]))
                graph.apply_to(outputs, "Slice", *part)
                chosen.append(graph.apply("ArgMax", axis=-1, keepdims=1))
                first += size
            graph.last = "choices"
            graph.nodes.append(onnx.helper.make_node("Concat", chosen, ["choices"], axis=-1))
            graph.apply("Add", space.start.astype(np.int64))
            return onnx.TensorProto.INT64, space.shape
    raise PolicyError(
        "ONNX files can be made for actions that are a Box of float32, Discrete or a MultiDiscrete "
        f"with one dimension. This policy has {space}."
    )
