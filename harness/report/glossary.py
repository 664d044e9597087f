"""Terms of `docs/glossary.md` where they occur on a page: each gets its definition on hover and on focus."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

from harness.bounds import read_text
from harness.report.manual import anchor, without_links

_EVERYDAY = "<!-- Everyday words"
_HEADER = ("| term |", "| ---")
_WHOLE = "svg|math|a|code|h1|h2|h3|summary|button|script|figcaption|th|form|nav|caption|dt"
_PIECE = re.compile(rf"<ul class=\"legend\".*?</ul>|<({_WHOLE})\b[^>]*>.*?</\1>|<[^>]*>", re.DOTALL)
"""What holds no text to define: elements that are links or names themselves, and tags."""


@dataclass(frozen=True)
class Term:
    """An entry of the glossary."""

    names: tuple[str, ...]
    meaning: str
    """In plain text."""
    place: str
    """The anchor of its heading."""


def read_glossary(path: Path) -> tuple[Term, ...]:
    """The entries of a glossary but for those that it calls everyday words; none where there is no file."""
    if not path.is_file():
        return ()
    text = read_text(path)
    listed = (part.partition(":")[2].partition("-->")[0] for part in text.split(_EVERYDAY)[1:])
    everyday = {word.strip() for words in listed for word in " ".join(words.split()).split(",")}
    terms, place = [], ""
    for line in text.splitlines():
        if line.startswith("## "):
            place = anchor(line[3:])
        elif entry := _entry(line):
            names = (entry[0],) if entry[0].startswith("(") else tuple(entry[0].split(", "))
            names = tuple(name for name in names if name not in everyday)
            if names:
                terms.append(Term(names, _strip_marks(entry[1]), place))
    return tuple(terms)


def _entry(line: str) -> tuple[str, str] | None:
    """The names and the meaning of a row of a table of terms; None of another line."""
    if not (line.startswith("| ") and line.endswith(" |")) or line.startswith(_HEADER):
        return None
    names, _, meaning = line[2:-2].partition(" | ")
    return (names, meaning) if names and meaning else None


def _strip_marks(text: str) -> str:
    """Markdown of a line without its marks."""
    return re.sub(r"[`*]", "", without_links(text))


def define_terms(html: str, terms: Sequence[Term], up: str) -> str:
    """A page with the first occurrence of each term as a link to the glossary, described by its definition.

    Args:
        up: the way from the page to the root of the site.
    """
    start, end = html.find("<main"), html.find("</main>")
    if not terms or start < 0 or end < 0:
        return html
    pattern, by_name = _pattern(tuple(terms)), {name.lower(): i for i, term in enumerate(terms) for name in term.names}
    seen: dict[int, None] = {}

    def link(match: re.Match[str]) -> str:
        index = by_name[match[1].lower()]
        if index in seen or not _same_case(match[1], terms[index]):
            return match[0]
        seen[index] = None
        where = f'href="{up}docs/glossary.html#{terms[index].place}"'
        return f'<a class="term" {where} aria-describedby="d{index}">{match[0]}</a>'

    pieces, at, main = [html[:start]], 0, html[start:end]
    for piece in _PIECE.finditer(main):
        between = main[at : piece.start()]
        pieces += [pattern.sub(link, between) if between.strip() else between, piece[0]]
        at = piece.end()
    pieces.append(pattern.sub(link, main[at:]))
    listed = "".join(
        f'<p id="d{i}">{escape(f"{terms[i].names[0][:1].upper()}{terms[i].names[0][1:]}: {terms[i].meaning}")}</p>'
        for i in seen
    )
    return "".join(pieces) + (f"<div hidden>{listed}</div>" if listed else "") + html[end:]


@cache
def _pattern(terms: tuple[Term, ...]) -> re.Pattern[str]:
    """Names by their first letter, so that most places are passed by one comparison for each letter."""
    rests: dict[str, list[str]] = {}
    for name in sorted((escape(name) for term in terms for name in term.names), key=len, reverse=True):
        rests.setdefault(name[0].lower(), []).append(re.escape(name[1:]))
    any_name = "|".join(f"{re.escape(letter)}(?:{'|'.join(rest)})" for letter, rest in rests.items())
    return re.compile(rf"(?<![\w-])({any_name})s?(?![\w-])", re.IGNORECASE)


def _same_case(text: str, term: Term) -> bool:
    """Whether a word is written as the term is: at a sentence's start it may have a capital, an abbreviation is one."""
    return any(text == name or text[:1].lower() + text[1:] == name for name in term.names)
