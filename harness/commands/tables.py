"""How commands print: tables and text of which no word is ever cut.

A table has three layouts. Where standard output is no terminal, it is for programs and logs: a header and one line a
record, whole, with tabs between the fields. On a terminal it has aligned columns, wrapped at blanks, if every column
can have its longest word; on a narrower one each record is a block of lines `name: value`. Text is wrapped at blanks on
a terminal and nowhere else. A word that is wider than the terminal, such as the id of a claim, stays whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from harness.escaping import visible_text

HEADER_STYLE = "bold"
GAPS = (2, 1)
"""Blanks between columns; the fewer only where the columns do not fit otherwise."""
INDENT = "  "
"""Before each line of a block but its heading."""
NUMBER = re.compile(r"[-+]?[\d.,]+%?|")
"""What a column of numbers holds; such a column is aligned on the right."""


class WholeWordConsole(Console):
    """A console that wraps at blanks on a terminal and nowhere else, and colours only what it is told to.

    Text is printed as it is, without markup, and with its control characters written out: it may be a stranger's.
    """

    @property
    def is_terminal(self) -> bool:
        """Whether somebody looks on; FORCE_COLOR, which Rich asks too, makes no terminal of a log."""
        return bool(self.file.isatty())

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as Rich does, but for where lines break; with `soft_wrap` they do not."""
        texts = [Text(visible_text(one)) if isinstance(one, str) else one for one in objects]
        if self.is_terminal and not options.get("soft_wrap"):
            texts = [wrap_text(one, self.width) if isinstance(one, Text) else one for one in texts]
        super().print(*texts, **{**options, "soft_wrap": True})  # Rich itself cuts words, or wraps nothing


console = WholeWordConsole(highlight=False, emoji=False)


@dataclass(frozen=True)
class Cell:
    """A field of a record, and the style in which a terminal shows it."""

    text: str
    style: str = ""

    @property
    def words(self) -> list[str]:
        """What no layout cuts."""
        return visible_text(self.text).split()

    @property
    def line(self) -> str:
        """The text on one line, without tabs."""
        return " ".join(self.words)


@dataclass(frozen=True)
class Table:
    """Records with the same fields; the first field says what a record is about."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @classmethod
    def of(cls, columns: Sequence[str], rows: Iterable[Sequence[str | Cell]]) -> Table:
        """A table of plain and styled fields. Raises ValueError for a row of more or fewer fields than columns."""
        cells = tuple(tuple(one if isinstance(one, Cell) else Cell(one) for one in row) for row in rows)
        for row in cells:
            if len(row) != len(columns):
                raise ValueError(f"a row has {len(row)} fields, and there are {len(columns)} columns")
        return cls(tuple(columns), cells)

    @property
    def with_header(self) -> tuple[tuple[Cell, ...], ...]:
        """All rows, with the names of the columns as the first."""
        return (tuple(Cell(name, HEADER_STYLE) for name in self.columns), *self.rows)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str | Cell]]) -> None:
    """Print records in the layout that fits where standard output goes."""
    table = Table.of(columns, rows)
    if console.is_terminal:
        for line in lay_out(table, console.width):
            console.print(line, soft_wrap=True)
    else:
        print("\n".join(tab_separated(table)))


def print_text(text: str, style: str = "", after: str = "") -> None:
    """Print a line of text as it is, without markup, wrapped at blanks on a terminal; `after` follows in no style.

    Line breaks at its ends are blank lines; others are the text's own, and a blank stands in their place.
    """
    text, after = _on_one_line(text), _on_one_line(after)
    if console.is_terminal:
        console.print(Text.assemble((text, style), after))
    else:
        print(f"{text}{after}")  # by itself: Rich prints blanks in place of tabs


def _on_one_line(text: str) -> str:
    line = text.strip("\n")
    start, end = text[: len(text) - len(text.lstrip("\n"))], text[len(text.rstrip("\n")) :] if line else ""
    return start + visible_text(line.replace("\n", " ")) + end


def tab_separated(table: Table) -> list[str]:
    """The lines of a table for a program: a header, and one line a record."""
    return ["\t".join(cell.line for cell in row) for row in table.with_header]


def lay_out(table: Table, width: int) -> list[Text]:
    """The lines of a table on a terminal so wide."""
    for gap in GAPS:
        widths = _column_widths(table, width, gap)
        if widths is not None:
            return list(_column_lines(table, widths, gap))
    return list(_block_lines(table, width))


def wrap_words(words: Iterable[str], width: int) -> list[str]:
    """Lines of whole words, each line as wide as `width` allows; a word that is wider has a line of its own."""
    lines: list[str] = []
    for word in words:
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def wrap_text(text: Text, width: int) -> Text:
    """Text whose lines are broken at blanks where they are wider than `width`; the rest of a line is indented as it
    is, and that of an item of a list (`- `) as the item's text."""
    lines: list[Text] = []
    for line in text.split("\n", allow_blank=True):
        start = re.match(r" *(?:- )?", line.plain)
        indent = " " * (start.end() if start else 0)
        breaks, column = [], 0
        for word in re.finditer(r" *[^ ]+", line.plain.rstrip(" ")):
            column += cell_len(word[0])
            blanks = len(word[0]) - len(word[0].lstrip(" "))
            if column > width and word.start() >= len(indent):
                breaks.append(word.start() + blanks)
                column = len(indent) + cell_len(word[0]) - blanks
        first, *others = line.divide([at for at in breaks if at > len(indent)])
        lines += [first, *(Text(indent).append_text(other) for other in others)]
    for line in lines:
        line.rstrip()
    return Text("\n").join(lines)


def _column_widths(table: Table, width: int, gap: int) -> list[int] | None:
    """Widths at which the columns fit, each at least its longest word; None where there are none.

    Columns that need little have what they need; the widest share what is left.
    """
    columns = list(zip(*table.with_header, strict=True))
    least = [max((cell_len(word) for cell in column for word in cell.words), default=0) for column in columns]
    whole = [max(cell_len(cell.line) for cell in column) for column in columns]
    room = width - gap * (len(columns) - 1)
    if sum(least) > room:
        return None

    def widths_below(limit: int) -> list[int]:
        return [max(low, min(high, limit)) for low, high in zip(least, whole, strict=True)]

    limit = next(limit for limit in range(max(whole), -1, -1) if sum(widths_below(limit)) <= room)
    widths = widths_below(limit)
    for index, high in enumerate(whole):
        widths[index] = min(high, widths[index] + room - sum(widths))
    return widths


def _column_lines(table: Table, widths: Sequence[int], gap: int) -> Iterator[Text]:
    columns = zip(*table.rows, strict=True) if table.rows else [()] * len(table.columns)
    numbers = [bool(column) and all(NUMBER.fullmatch(cell.line) for cell in column) for column in columns]
    for row in table.with_header:
        wrapped = [wrap_words(cell.words, width) for cell, width in zip(row, widths, strict=True)]
        for number in range(max(1, *map(len, wrapped))):
            line = Text()
            for cell, lines, width, right in zip(row, wrapped, widths, numbers, strict=True):
                shown = lines[number] if number < len(lines) else ""
                padding = " " * (width - cell_len(shown))
                line.append(padding if right else "").append(shown, cell.style)
                line.append(("" if right else padding) + " " * gap)
            line.rstrip()
            yield line


def _block_lines(table: Table, width: int) -> Iterator[Text]:
    for number, row in enumerate(table.rows):
        if number:
            yield Text()
        heading, *fields = row
        for line in wrap_words(heading.words, width):
            yield Text(line, heading.style or HEADER_STYLE)
        for name, cell in zip(table.columns[1:], fields, strict=True):
            unstyled = len(name) + 1  # the name and its colon, on the first line
            for line in wrap_words([*f"{name}:".split(), *cell.words], width - len(INDENT)) if cell.words else ():
                text = Text(INDENT + line)
                text.stylize(cell.style, len(INDENT) + unstyled)
                unstyled = 0
                yield text
