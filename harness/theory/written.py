"""Terms written as formulas are: `exp(epsilon) - 1`. The text is read into a term, and nothing of it is run as code."""

from __future__ import annotations

import ast
from typing import Any

from harness.theory.elementary import ELEMENTARY, count_fault

OPERATIONS = {ast.Add: "plus", ast.Sub: "minus", ast.Mult: "times", ast.Div: "ratio", ast.Pow: "power"}
OVER = {
    "sum": ("integers", "sum"),
    "max": ("interval", "largest"),
    "min": ("interval", "smallest"),
    "integral": ("interval", "integral"),
}
"""Functions over a bound variable: what names its values, and the key of the term that it becomes."""
MOST_CHARACTERS, MOST_NODES = 2000, 500
"""Of one formula."""


class TextFault(ValueError):
    """A formula that cannot be read, with what would be right."""


def read_term(text: str) -> Any:
    """The mapping that a formula in text stands for.

    Names are variables; a call is of an elementary function, of a definition of the spec or of a registered formula,
    whose hyphens are written as underscores. Raises TextFault.

    >>> read_term("1 - exp(-epsilon)")
    {'minus': [1.0, {'function': 'exp', 'of': [{'minus': [0.0, {'variable': 'epsilon'}]}]}]}
    >>> read_term("sum(p ** i for i in integers(0, 3))")["sum"]
    {'power': [{'variable': 'p'}, {'variable': 'i'}]}
    """
    if len(text) > MOST_CHARACTERS:
        raise TextFault(f"a formula has at most {MOST_CHARACTERS:,} characters; define a part of it by name")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise TextFault(f"{text!r} is no formula; write it as in exp(epsilon) - 1, 2 * a / b, x ** 2") from None
    if sum(1 for _ in ast.walk(tree)) > MOST_NODES:
        raise TextFault(f"a formula has at most {MOST_NODES} parts; define a part of it by name")
    return _term(tree)


def _term(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=bool()):
            raise _fault(node, "write a number")
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.Name(id=name):
            return {"variable": name}
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -float(value)
        case ast.UnaryOp(op=ast.USub(), operand=of):
            return {"minus": [0.0, _term(of)]}
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in OPERATIONS:
            return {OPERATIONS[type(operation)]: [_term(left), _term(right)]}
        case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp() as over], keywords=[]):
            return _over(name, over)
        case ast.Call(func=ast.Name(id=name)):
            return _call(name, node)
    raise _fault(node, "numbers, names, + - * / **, brackets and calls make a formula")


def _call(name: str, node: ast.Call) -> Any:
    if any(isinstance(one, ast.Starred) for one in node.args) or any(one.arg is None for one in node.keywords):
        raise _fault(node, "write each argument")
    arguments = [_term(one) for one in node.args]
    if name in ELEMENTARY:
        if node.keywords:
            raise _fault(node, f"{name} takes its arguments without names")
        if fault := count_fault(name, len(arguments)):
            raise _fault(node, fault)
        return {"function": name, "of": arguments}
    given = {one.arg: _term(one.value) for one in node.keywords}
    return {"formula": name.replace("_", "-"), "given": given, **({"of": arguments} if arguments else {})}


def _over(name: str, node: ast.GeneratorExp) -> Any:
    """`sum(TERM for i in integers(0, 10))`, `max(TERM for x in interval(0, 5))`."""
    if name not in OVER:
        raise _fault(node, f"{', '.join(OVER)} take a variable with `for`")
    values, key = OVER[name]
    known = {values: {}, **({"integers": {"integers": True}} if name in ("max", "min") else {})}
    match node.generators:
        case [
            ast.comprehension(
                target=ast.Name(id=index),
                iter=ast.Call(func=ast.Name(id=found), args=[low, high], keywords=[]),
                ifs=[],
                is_async=0,
            )
        ] if found in known:
            return {key: _term(node.elt), "along": index, "low": _term(low), "high": _term(high), **known[found]}
    raise _fault(node, f"write {' or '.join(f'{name}(TERM for x in {of}(LOW, HIGH))' for of in known)}")


def _fault(node: ast.expr, right: str) -> TextFault:
    return TextFault(f"{ast.unparse(node)!r} cannot stand in a formula: {right}")
