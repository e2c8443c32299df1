"""The part of CloudWatch's metric math that our dashboards use: arithmetic, comparisons, FILL and IF.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html there: missing values are treated
as 0, and what would be divided by 0 is dropped. Where no metric of an expression has a value, neither has it.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

ValueOf: TypeAlias = Callable[[str], float | None]

_OPERATIONS: Final[Mapping[type[ast.AST], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda part, whole: part / whole,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
}
_FUNCTIONS: Final = frozenset({"FILL", "IF_"})
_IF: Final = re.compile(r"\bIF\s*\(")  # a word that Python does not take for a name


class UnknownMathError(ValueError):
    """The expression holds what is not known here."""


def reckon(expression: str, value_of: ValueOf) -> float | None:
    """What an expression comes to in one period.

    Args:
        expression: such as `100 * FILL(m1, 0) / m2`.
        value_of: a metric's value in the period by its id, None where it has none.

    Returns:
        None where none of its metrics has a value, and where something would be divided by 0.

    Raises:
        UnknownMathError: it cannot be reckoned here.
    """
    try:
        tree = ast.parse(_IF.sub("IF_(", expression), mode="eval")
        value = _value(tree.body, value_of)
        return value if any(value_of(name) is not None for name in _metrics(tree)) else None
    except SyntaxError:
        raise UnknownMathError(expression) from None
    except ZeroDivisionError:
        return None


def _metrics(tree: ast.Expression) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - _FUNCTIONS


def _value(node: ast.expr, value_of: ValueOf) -> float | None:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            return value_of(name)
        case ast.Call(func=ast.Name(id="FILL"), args=[metric, instead]):
            value = _value(metric, value_of)
            return _value(instead, value_of) if value is None else value
        case ast.Call(func=ast.Name(id="IF_"), args=[condition, then, otherwise]):
            return _value(then if _value(condition, value_of) else otherwise, value_of)
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATIONS:
            return _both(left, operation, right, value_of)
        case ast.Compare(left=left, ops=[operation], comparators=[right]) if type(operation) in _OPERATIONS:
            return _both(left, operation, right, value_of)
    raise UnknownMathError(ast.unparse(node))


def _both(left: ast.expr, operation: ast.AST, right: ast.expr, value_of: ValueOf) -> float:
    first, second = _value(left, value_of), _value(right, value_of)
    return float(_OPERATIONS[type(operation)](first or 0.0, second or 0.0))
