"""Escaping: what text of others passes before it is printed, or written into Markdown, CSV, XML or a link.

Text of specs, tables and file names may hold what the place it ends up in reads as an order: control characters of a
terminal, overrides of the direction of writing, markup, formulas of a spreadsheet, addresses that run a script.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import pandas as pd

DIRECTIONS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Marks, embeddings, overrides and isolates of the direction of writing: they reorder what stands around them."""
CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{DIRECTIONS}\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")
LINE_BREAKS = re.compile(r"[\n\t]")
FORMULA = re.compile(r"[=+\-@\t]")
"""What a spreadsheet takes for the beginning of a formula."""
WEB = ("http", "https")


def _write_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    return {9: "\\t", 10: "\\n", 13: "\\r"}.get(code, f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def visible_text(text: str) -> str:
    r"""The text with each control character written out, but for line breaks and tabs: as a terminal and XML may
    have it.

    >>> print(visible_text("\x1b[2Ja\u202eb"))
    \x1b[2Ja\u202eb
    """
    return CONTROL.sub(_write_out, text)


def visible_line(text: str) -> str:
    r"""The text on one line, with each control character, line break and tab written out.

    >>> print(visible_line("a\nharness: all is well"))
    a\nharness: all is well
    """
    return LINE_BREAKS.sub(_write_out, visible_text(text))


def visible_json(document: str) -> str:
    """A document of JSON whose characters that JSON allows and a terminal obeys are escaped: it says the same."""
    return CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", document)


def markdown_text(text: str) -> str:
    r"""The text as Markdown that shows it: no tag, link, image, emphasis, code, cell, heading or mention begins in it.

    >>> print(markdown_text("a|b <img src=x> `c` [d](e) @f"))
    a\|b &lt;img src=x> \`c\` [d]\(e) &#64;f
    """
    line = visible_line(" ".join(text.split()))
    line = re.sub(r"[\\`|*]", r"\\\g<0>", line)
    line = re.sub(r"\](?=[(\[:])", r"]\\", line)
    line = re.sub(r"^([#>+-]|\d+[.)])(?=\s|$)", r"\\\1", line)
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", line).replace("@", "&#64;")


def markdown_code(text: str) -> str:
    """The text as code on one line of Markdown, also in a cell of a table."""
    line = visible_line(text).replace("|", "\\|")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    pad = " " if line[:1] == "`" or line[-1:] == "`" else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def csv_cell(value: object) -> object:
    """A cell as a spreadsheet shows it: an apostrophe before text that it would compute. Numbers stay numbers.

    Control characters are written out: a carriage return would begin a row, and with it a cell.
    """
    if not isinstance(value, str):
        return value
    text = visible_text(value)
    if not FORMULA.match(text):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def table_csv(table: pd.DataFrame, float_format: str | None = None) -> str:
    """A table as CSV without an index, each of its cells and names of columns as `csv_cell` has it."""
    cells = table.copy()
    for name in cells.select_dtypes(exclude=["number", "bool"]).columns:
        cells[name] = cells[name].map(csv_cell, na_action="ignore")
    cells.columns = cells.columns.map(csv_cell)
    written: str = cells.to_csv(index=False, lineterminator="\n", float_format=float_format)
    return written


def web_address(text: str) -> str:
    """The text where it is an address that a page may link, http or https with a host; else none."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return ""
    is_web = parts.scheme in WEB and bool(parts.netloc) and not re.search(r"[\s\x00-\x1f]", text)
    return text if is_web else ""
