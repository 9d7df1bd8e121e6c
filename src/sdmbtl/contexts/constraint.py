"""Valid combinations of a context's values: an expression such as `mass * gravity < 40`.

An expression is parsed and then computed here, one operation at a time on whole columns. It is
never evaluated as code, so a space file of somebody else can do no harm.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import known_name, short_text
from sdmbtl.contexts.dimension import Categories, Dimension
from sdmbtl.errors import ContextError

#: Most characters of an expression: nested parentheses cost the parser memory.
MAX_LENGTH = 1_000

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.mod,
    ast.Pow: np.power,
    ast.USub: np.negative,
    ast.UAdd: np.positive,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "sqrt": np.sqrt,
    "log": np.log,
    "exp": np.exp,
    "min": lambda *columns: reduce(np.minimum, columns),
    "max": lambda *columns: reduce(np.maximum, columns),
}
_HINT = (
    "Use names of dimensions, numbers, categories in quotes, + - * / // % **, comparisons, 'in' "
    f"with a list, 'and', 'or', 'not', and {', '.join(_FUNCTIONS)}."
)


class Constraint:
    """An expression that is true for the valid contexts of a space.

    Raises:
        ContextError: If it is not an expression of these dimensions.

    Example:
        >>> from sdmbtl.contexts.dimension import Levels
        >>> heavy = Constraint("mass * g < 40", {"mass": Levels([1, 9]), "g": Levels([4, 5])})
        >>> heavy.holds(np.array([[9.0, 4.0], [9.0, 5.0]]))
        array([ True, False])
    """

    def __init__(self, text: str, dimensions: Mapping[str, Dimension]) -> None:
        self.text, self._dimensions = text, dict(dimensions)
        if len(text) > MAX_LENGTH:
            raise ContextError(f"'valid' has at most {MAX_LENGTH} characters. Got {len(text)}.")
        try:
            self._tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise self._unusable(f"it is not an expression ({error})") from None
        self.holds(np.array([[d.low for d in dimensions.values()]]))

    def holds(self, vectors: NDArray[np.float64]) -> NDArray[np.bool_]:
        """(n,) which of (n, D) contexts are valid."""
        columns = dict(zip(self._dimensions, vectors.T, strict=True))
        try:
            with np.errstate(all="ignore"):  # a quotient by zero compares as NumPy's infinity
                found = _truth(self._computed(self._tree, columns))
        except (TypeError, RecursionError, OverflowError) as error:
            raise self._unusable(f"it cannot be computed ({error})") from None
        return np.broadcast_to(found, len(vectors)).copy()

    def _computed(self, node: ast.expr, columns: Mapping[str, NDArray[np.float64]]) -> Any:
        """Compute a part of the expression: a column, or one value for all contexts."""
        match node:
            case ast.Constant(value=bool() | int() | float() | str() as value):
                return value if isinstance(value, str) else float(value)
            case ast.Name(id=name):
                known_name(f"name in valid = {self.text!r}:", name, columns, error=ContextError)
                return columns[name]
            case ast.BinOp(left=left, op=op, right=right):
                both = self._computed(left, columns), self._computed(right, columns)
                return self._operator(op)(*both)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return ~_truth(self._computed(operand, columns))
            case ast.UnaryOp(op=op, operand=operand):
                return self._operator(op)(self._computed(operand, columns))
            case ast.BoolOp(op=op, values=values):
                join = np.logical_and if isinstance(op, ast.And) else np.logical_or
                return reduce(join, (_truth(self._computed(v, columns)) for v in values))
            case ast.Compare(left=left, ops=ops, comparators=rights):
                sides = [left, *rights]
                pairs = zip(sides, ops, rights, strict=False)
                return reduce(np.logical_and, (self._compared(*p, columns) for p in pairs))
            case ast.Call(func=ast.Name(id=name), args=[_, *_] as given, keywords=[]):
                known_name(
                    f"function in valid = {self.text!r}:", name, _FUNCTIONS, error=ContextError
                )
                return _FUNCTIONS[name](*(self._computed(a, columns) for a in given))
        raise self._unusable(f"{short_text(ast.unparse(node))} is not allowed")

    def _compared(
        self, left: ast.expr, op: ast.cmpop, right: ast.expr, columns: Mapping[str, Any]
    ) -> Any:
        if isinstance(op, ast.In | ast.NotIn):
            if not isinstance(right, ast.List | ast.Tuple | ast.Set) or not right.elts:
                raise self._unusable("'in' is followed by a list, such as [1, 2]")
            equal = [self._compared(left, ast.Eq(), value, columns) for value in right.elts]
            found = reduce(np.logical_or, equal)
            return np.logical_not(found) if isinstance(op, ast.NotIn) else found
        named = [self._category(side) for side in (left, right)]
        if any(named) and not isinstance(op, ast.Eq | ast.NotEq):
            raise self._unusable("categories have no order: compare them with ==, != or 'in'")
        read = [
            other.read(side.value)
            if other and isinstance(side, ast.Constant)
            else self._computed(side, columns)
            for side, other in zip((left, right), reversed(named), strict=True)
        ]
        if any(isinstance(side, str) for side in read):
            raise self._unusable("a text is compared with a dimension of categories only")
        return self._operator(op)(*read)

    def _category(self, node: ast.expr) -> Categories | None:
        """Return the dimension of categories that a part of the expression names, if it does."""
        found = self._dimensions.get(node.id) if isinstance(node, ast.Name) else None
        return found if isinstance(found, Categories) else None

    def _operator(self, op: ast.AST) -> Callable[..., Any]:
        if type(op) not in _OPERATORS:
            raise self._unusable(f"the operator {type(op).__name__} is not allowed")
        return _OPERATORS[type(op)]

    def _unusable(self, why: str) -> ContextError:
        return ContextError(f"valid = {short_text(self.text)} cannot be used: {why}. {_HINT}")


def _truth(value: Any) -> NDArray[np.bool_]:
    """Turn a column or a value into true and false; a text has no truth."""
    if isinstance(value, str):
        raise TypeError("a text is neither true nor false")
    return np.asarray(np.asarray(value) != 0)
