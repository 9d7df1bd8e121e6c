"""A whole portfolio as one ONNX graph: the choice of a policy, and all policies.

Needs onnx: `pip install 'sdmbtl[onnx]'`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sdmbtl.contexts import Categories
from sdmbtl.contexts.targets import SAME_CONTEXT
from sdmbtl.errors import PolicyError, PortfolioError
from sdmbtl.policies import MlpPolicy
from sdmbtl.policies.onnx_graph import Actions, Graph, add_actions, add_outputs

if TYPE_CHECKING:
    from sdmbtl.portfolio.portfolio import Portfolio


def make_portfolio_onnx(portfolio: Portfolio) -> bytes:
    """The portfolio as an ONNX file: "context" and "observation" in, "action" out.

    The context is (n, D) doubles in the order of the space's dimensions, the observation (n, O)
    floats. For each row the policy that `Portfolio.choose` takes acts.

    Raises:
        MissingPackageError: If onnx is not installed.
        PolicyError: If a policy is of another kind, or its actions have another space.
        PortfolioError: If a policy is not here.
    """
    graph = Graph()
    kinds = graph.onnx.TensorProto
    unit = _add_unit(graph, portfolio)
    chosen = _add_choice(graph, portfolio, unit)
    actions, size = [], 0
    for member in portfolio:
        policy = portfolio.policy(member.id)
        if not isinstance(policy, MlpPolicy):
            raise PolicyError(
                f"A portfolio can be written as ONNX if its policies are networks of the trainer "
                f"'ppo' without a memory. Policy {member.id} is of the kind {policy.kind!r}. Write "
                "policies one by one: portfolio.policy(0).to_onnx()."
            )
        seen = "observation"
        size = policy.observation_size
        if policy.sees_context:
            coordinates = graph.apply("Cast", unit, to=kinds.FLOAT)
            seen = graph.apply("Concat", "observation", coordinates, axis=-1)
            size -= portfolio.space.n_units
        actions.append(add_actions(graph, policy, add_outputs(graph, policy, seen)))
    action = _add_selection(graph, actions, chosen)
    names = ", ".join(
        f"{name} ({', '.join(f'{i}: {c}' for i, c in enumerate(d.categories))})"
        if isinstance(d, Categories)
        else name
        for name, d in portfolio.space.dimensions.items()
    )
    inputs = {
        "context": (kinds.DOUBLE, portfolio.space.n_dimensions, names),
        "observation": (kinds.FLOAT, size, "observation"),
    }
    return graph.to_bytes(inputs, {"action": action})


def _add_unit(graph: Graph, portfolio: Portfolio) -> str:
    """Add the (n, U) unit coordinates of the context: piecewise linear in each dimension."""
    columns = []
    for axis, dimension in enumerate(portfolio.space.dimensions.values()):
        column = graph.apply("Gather", "context", np.array([axis]), axis=1)
        if isinstance(dimension, Categories):
            same = graph.apply("Equal", column, dimension.knots[None])
            columns.append(
                graph.apply(
                    "Mul",
                    graph.apply("Cast", same, to=graph.onnx.TensorProto.DOUBLE),
                    np.float64(0.5),
                )
            )
            continue
        knots = dimension.knots
        if dimension.scale == "log":
            column, knots = graph.apply("Log", column), np.log(knots)
        columns.append(_add_interpolation(graph, column, knots, dimension.knot_units))
    return graph.apply("Concat", *columns, axis=-1)


def _add_interpolation(graph: Graph, column: str, knots: Any, units: Any) -> str:
    """Add the line through the knots; the first and the last piece go on beyond the ends."""
    if len(knots) == 1:
        return graph.apply("Add", graph.apply("Mul", column, np.float64(0.0)), units[:1])
    slopes = np.diff(units) / np.diff(knots)
    # The sum of the hinges at the inner knots, on top of the first piece.
    first = graph.apply("Mul", graph.apply("Sub", column, knots[:1]), slopes[:1])
    value = graph.apply("Add", first, units[:1])
    if len(slopes) == 1:
        return value
    hinges = graph.apply("Max", graph.apply("Sub", column, knots[None, 1:-1]), np.float64(0.0))
    bends = graph.apply("MatMul", hinges, np.diff(slopes)[:, None])
    return graph.apply("Add", value, bends)


def _add_choice(graph: Graph, portfolio: Portfolio, unit: str) -> str:
    """Add the (n,) place of the policy with the highest expected return."""
    form, returns = portfolio.model.fit, portfolio.model.returns
    within = graph.apply("Clip", unit, np.float64(0.0), np.float64(1.0))
    squares = graph.apply("ReduceSum", graph.apply("Mul", within, within), np.array([1]))
    across = graph.apply("MatMul", within, -2.0 * form.units.T)
    sums = graph.apply("Add", graph.apply("Add", across, squares), (form.units**2).sum(axis=1))
    away = graph.apply("Sqrt", graph.apply("Max", sums, np.float64(0.0)))
    near = graph.apply("Exp", graph.apply("Mul", away, np.float64(-1.0 / form.length)))
    means = graph.apply("Add", graph.apply("MatMul", near, form.weights.T), np.float64(form.center))
    means = graph.apply("Clip", means, np.nanmin(returns), np.nanmax(returns))
    rounded = graph.apply("Round", graph.apply("Div", means, np.float64(portfolio.tie_margin)))
    best = graph.apply("ArgMax", rounded, axis=1, keepdims=0)
    if not form.is_subset:
        return best
    # On a target its own episodes count, too: the choice there is looked up.
    targets, apart = portfolio.space.unit_targets, ""
    for axis in range(targets.shape[1]):
        column = graph.apply("Gather", unit, np.array([axis]), axis=1)
        off = graph.apply("Abs", graph.apply("Sub", column, targets[None, :, axis]))
        apart = graph.apply("Add", apart, off) if apart else off
    nearest = graph.apply("ArgMin", apart, axis=1, keepdims=0)
    distance = graph.apply("ReduceMin", apart, axes=[1], keepdims=0)
    is_target = graph.apply("LessOrEqual", distance, np.float64(SAME_CONTEXT))
    places = np.array([portfolio.places[number] for number in portfolio.best_policies])
    on_target = graph.apply("Gather", places, nearest)
    return graph.apply("Where", is_target, on_target, best)


def _add_selection(graph: Graph, actions: list[Actions], chosen: str) -> Actions:
    """Add for each row the action of the chosen policy."""
    first = actions[0]
    if any((a.kind, a.shape) != (first.kind, first.shape) for a in actions):
        raise PortfolioError("The policies have different action spaces. Export them one by one.")
    selected = first.name
    for place, action in enumerate(actions[1:], start=1):
        mine = graph.apply("Equal", chosen, np.int64(place))
        if first.shape:
            mine = graph.apply("Reshape", mine, np.array([-1, *[1] * len(first.shape)]))
        selected = graph.apply("Where", mine, action.name, selected)
    return first._replace(name=selected)
