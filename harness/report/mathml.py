"""An inequality as MathML, from the one text that every kind of claim gives of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from harness.report.prose import LETTERS

OPERATORS = {"<=": "≤", ">=": "≥", "!=": "≠", "*": "·", "-": "−", "|": "|", "<": "<", ">": ">", "=": "=", "+": "+"}
_SAID = (
    "for every some in at of on with over where is the least most within and or corr mean game rises falls below "
    "above audits trainings other grid point not as to be by than"
)
WORDS = frozenset(_SAID.split())
"""Words that the texts of claims have beside names."""
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_.%]*(?:-[A-Za-z][A-Za-z0-9_]*)*)"
    r"|(?P<operator><=|>=|!=|[-+*/<>=|])"
    r"|(?P<bracket>[(){}\[\]])"
    r"|(?P<other>.))"
)


def mathml(text: str) -> str:
    """A `<math>` element, safe to put into a page: whatever is not known is shown as text.

    Args:
        text: what `ClaimKind.text` gives.
    """
    return f'<math display="block"><mrow>{"".join(_elements(text))}</mrow></math>'


def _elements(text: str) -> Iterator[str]:
    words: list[str] = []
    tokens = [m for m in _TOKEN.finditer(text) if m.group().strip()]
    bars = 0
    for index, token in enumerate(tokens):
        kind, value = str(token.lastgroup), token.group().strip()
        called = index + 1 < len(tokens) and tokens[index + 1].group() == "("
        if kind == "name" and value in WORDS and not called:
            words.append(value)
            continue
        if words:
            yield _text(words)
            words = []
        if kind == "number":
            yield _number(value)
        elif kind == "name":
            yield _name(value)
        elif value == "|":
            bars += 1
            yield f'<mo stretchy="false" form="{"prefix" if bars % 2 else "postfix"}">|</mo>'
        elif kind == "operator":
            yield f"<mo>{escape(OPERATORS.get(value, value))}</mo>"
        elif kind == "bracket":
            yield f'<mo stretchy="false">{value}</mo>'
        else:
            yield f"<mo>{escape(value)}</mo>" if value in ",;:" else f"<mtext>{escape(value)}</mtext>"
    if words:
        yield _text(words)


def _text(words: list[str]) -> str:
    return f"<mtext>&#160;{escape(' '.join(words))}&#160;</mtext>"


def _number(text: str) -> str:
    mantissa, _, power = text.partition("e")
    if not power:
        return f"<mn>{escape(text)}</mn>"
    tens = f"<msup><mn>10</mn><mn>{int(power)}</mn></msup>".replace("-", "−")
    return tens if mantissa == "1" else f"<mn>{escape(mantissa)}</mn><mo>·</mo>{tens}"


def _name(name: str) -> str:
    if name == "log_inverse_delta":
        return "<mi>ln</mi><mo>(</mo><mn>1</mn><mo>/</mo><mi>δ</mi><mo>)</mo>"
    if name in LETTERS:
        return f"<mi>{LETTERS[name]}</mi>"
    return f"<mi>{escape(name)}</mi>" if len(name) == 1 else f'<mi mathvariant="normal">{escape(name)}</mi>'
