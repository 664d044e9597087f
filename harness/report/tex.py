"""Quotations without their TeX."""

from __future__ import annotations

import re

from harness.report.vocabulary import LETTERS

_TEX = {
    **{name: letter for name, letter in LETTERS.items() if name != "inf"},
    "varepsilon": "ε",
    "leq": "≤",
    "geq": "≥",
    "le": "≤",
    "ge": "≥",
    "cdot": "·",
    "cdots": "⋯",
    "times": "×",
    "approx": "≈",
    "infty": "∞",
    "rightarrow": "→",
    "in": "∈",
    "notin": "∉",
    "prod": "∏",
    "sum": "Σ",
    "left": "",
    "right": "",
    "big": "",
    **{name: name for name in ("ln", "log", "exp", "Pr", "max", "min")},
}
_TEX_NAME = re.compile(r"\\([A-Za-z]+)")
_TEX_FONT = re.compile(r"\\(?:text|mathrm|mathbf|mathbb|mathit|mathcal|operatorname)\s*\{([^{}]*)\}")
_TEX_RATIO = re.compile(r"\\frac\{([^{}]*)\}\{([^{}]*)\}")
_TEX_HAT = re.compile(r"\\hat\s*\{([^{}]*)\}")
_TEX_TILDE = re.compile(r"\\tilde\s*\{?(\w)\}?")
_TEX_ROOT = re.compile(r"\\sqrt\{([^{}]*)\}")


_GROUP = re.compile(r"(?<!\\)\{([^{}]*)\}")
"""What braces hold together that mean nothing else."""
_POWER = re.compile(r"\^\{([^{}]*)\}")
_LOWERED = re.compile(r"_\{([^{}]*)\}")
_SUPERSCRIPTS = str.maketrans("0123456789-+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺")


def _power_text(match: re.Match[str]) -> str:
    """An exponent: digits as such, a name or a number with one behind a caret, anything longer in brackets."""
    power = match.group(1).strip()
    if power == "*":
        return power
    if re.fullmatch(r"[-+]?\d+", power):
        return power.translate(_SUPERSCRIPTS)
    return f"^{power}" if re.fullmatch(r"[-+]?\w+", power) else f"^({power})"


def untex(text: str) -> str:
    """A quotation with its formulas as plain text, as far as that goes."""
    text = _TEX_NAME.sub(lambda m: _TEX.get(m.group(1), m.group(0)), text)
    text = _TEX_TILDE.sub("\\1\N{COMBINING TILDE}", text)
    text = _TEX_HAT.sub("\\1\N{COMBINING CIRCUMFLEX ACCENT}", _TEX_FONT.sub(r"\1", text))
    before = ""
    while before != text:  # from the inside out, where one stands in another
        before = text
        text = _LOWERED.sub(r"_\1", _POWER.sub(_power_text, text))
        text = _TEX_ROOT.sub(r"√\1", _TEX_RATIO.sub(_ratio_text, text))
    text = _GROUP.sub(r"\1", text)
    text = re.sub(r"(?<!\w)\*(\w+)\*(?!\w)", r"\1", text)
    return re.sub(r"\\([%{}])", r"\1", text).replace("\\,", " ").replace("$", "")


def _ratio_text(match: re.Match[str]) -> str:
    """A fraction on one line, with brackets around a sum."""
    parts = (part.strip() for part in match.groups())
    return "/".join(f"({part})" if re.search(r"(?<=.)[-+]", part) else part for part in parts)
