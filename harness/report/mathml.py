"""An inequality as MathML, from the tree that every kind of claim gives of itself."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from html import escape

from harness.claims.expression import (
    Absolute,
    Bracketed,
    DomainPart,
    Expression,
    Name,
    Numeral,
    Operation,
    Row,
    Words,
)
from harness.report.vocabulary import LETTERS

OPERATORS = {"<=": "≤", ">=": "≥", "!=": "≠", "*": "·", "-": "−", "+-": "±"}
"""Signs for what plain text has no sign for."""
SPACE = "<mtext>&#160;</mtext>"


def mathml(expression: Expression) -> str:
    """A `<math>` element, safe to put into a page."""
    joined = _group(_markup(expression)).replace("</mtext><mtext>", "")  # texts that adjoin are one
    return f'<math display="block">{joined}</math>'


def _markup(node: Expression) -> str:
    match node:
        case Numeral():
            return _numeral(node)
        case Name():
            return _name(node)
        case Words():
            return _text(node.words)
        case Operation():
            return _operation(node)
        case Bracketed():
            return _in_brackets(node.brackets[0], _markup(node.inside), node.brackets[1])
        case Absolute():
            return _in_brackets("|", _markup(node.absolute), "|")
        case Row():
            return (f"<mo>{node.separator}</mo>" if node.separator else SPACE).join(map(_markup, node.row))
        case DomainPart():
            return _text(node.domain) + SPACE + _comma_list(node.over)


def _operation(node: Operation) -> str:
    terms = [_group(_markup(term)) if isinstance(term, Operation) else _markup(term) for term in node.terms]
    if len(terms) == 1:
        return f'<mo form="prefix">{_sign(node.operator)}</mo>{terms[0]}'
    if node.operator == "^":
        return f"<msup><mrow>{terms[0]}</mrow><mrow>{terms[1]}</mrow></msup>"
    word = node.operator.isalpha()
    return (SPACE + _text(node.operator) + SPACE if word else f"<mo>{_sign(node.operator)}</mo>").join(terms)


def _sign(operator: str) -> str:
    return escape(OPERATORS.get(operator, operator))


def _numeral(node: Numeral) -> str:
    """A number with a power of ten where plain text has an exponent."""
    minus = '<mo form="prefix">−</mo>' if node.number < 0 else ""
    if node.percent or isinstance(node.number, int) or node.number == 0:
        return minus + _digits(node.text())
    shown = Decimal(node.text())
    power = shown.adjusted()
    if -5 < power < 6:
        return minus + _digits(node.text())
    tens = f"<msup><mn>10</mn><mn>{str(power).replace('-', '−')}</mn></msup>"
    mantissa = f"{shown.copy_abs().scaleb(-power).normalize():f}"
    return minus + (tens if mantissa == "1" else f"<mn>{mantissa}</mn><mo>·</mo>{tens}")


def _digits(number: str) -> str:
    return f"<mn>{number.removeprefix('-')}</mn>"


def _name(node: Name) -> str:
    name = _letter(node.name)
    if node.minus is not None:
        name = _in_brackets("(", f"{name}<mo>−</mo>{_letter(node.minus)}", ")")
    return name if node.of is None else name + _in_brackets("(", _comma_list(node.of), ")")


def _letter(name: str) -> str:
    if name == "log_inverse_delta":
        return "<mi>ln</mi><mo>(</mo><mn>1</mn><mo>/</mo><mi>δ</mi><mo>)</mo>"
    if name in LETTERS:
        return f"<mi>{LETTERS[name]}</mi>"
    return f"<mi>{escape(name)}</mi>" if len(name) == 1 else f'<mi mathvariant="normal">{escape(name)}</mi>'


def _comma_list(parts: Iterable[Expression]) -> str:
    return "<mo>,</mo>".join(map(_markup, parts))


def _text(words: str) -> str:
    return f"<mtext>{escape(words)}</mtext>"


def _group(markup: str) -> str:
    return f"<mrow>{markup}</mrow>"


def _in_brackets(left: str, inside: str, right: str) -> str:
    return _group(
        f'<mo stretchy="false" form="prefix">{left}</mo>{inside}<mo stretchy="false" form="postfix">{right}</mo>'
    )
