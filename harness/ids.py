"""Ids: what specs, profiles, claims and arms may be called.

Ids become parts of paths, addresses, shell words and cells of tables, so one pattern of plain characters holds for all
of them. It has no character that a shell, YAML, HTML, Markdown or a path reads as something else.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from harness.errors import HarnessError

NAME_PATTERN = r"^[a-z0-9][a-z0-9-]*$"
"""Of what a spec names in itself: claims, arms, attacks, axes."""
PART = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?")
"""Of an id of a spec between two slashes, and of a profile."""
RIGHT = "letters, digits, '-', '_' and '.' are right, a letter or digit first and no '-' or '.' last"
KEPT_NAMES = frozenset({"readings", "site"})
"""Folders that reports have beside those of specs."""
DIGEST_LENGTH = 6
JOINT = "~"
"""Stands in the names of pages where a hyphen could be taken for one of the id's own; no id has it."""


def check_id(name: str, where: str) -> None:
    """Raise HarnessError for an id of a spec under `specs/` that is outside of the pattern. `where` names its file."""
    for part in name.split("/"):
        if not PART.fullmatch(part):
            what = "'#' in its name; it parts a spec from its claim (SPEC#CLAIM)" if "#" in part else f"called {part!r}"
            raise HarnessError(f"{where}: {what}: rename it; {RIGHT}, as in {plain_name(part)}")
        if part in KEPT_NAMES:
            raise HarnessError(f"{where}: called {part!r}, as a folder of reports is: rename it, as in {part}-1")


def check_own_file(stem: str, where: str) -> None:
    """Raise HarnessError for the name of a file outside of `specs/` that a command line or a terminal cannot show."""
    if "#" in stem:
        raise HarnessError(f"{where}: '#' in its name; it parts a spec from its claim (SPEC#CLAIM): rename it")
    if not stem.isprintable():
        raise HarnessError(f"{where}: a character in its name cannot be printed: rename it, as in {plain_name(stem)}")


def plain_name(text: str) -> str:
    """The letters and digits of a text, with a hyphen in place of each run of other characters."""
    letters = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9_.]+", "-", letters).strip("-._") or "spec"


def id_of_own_file(stem: str) -> str:
    """The id of a spec outside of `specs/`: the file's name where that fits the pattern.

    Another name is written in plain characters, with some digits of its hash, so that two files keep two ids.

    >>> id_of_own_file("my-table"), id_of_own_file("sp ace é")
    ('my-table', 'sp-ace-e-21c6a0')
    """
    if PART.fullmatch(stem):
        return stem
    digest = hashlib.sha256(stem.encode("utf-8", "surrogateescape")).hexdigest()
    return f"{plain_name(stem)}-{digest[:DIGEST_LENGTH]}"


def page_stem(spec_id: str) -> str:
    """What the names of a spec's pages and figures begin with: no two ids under `specs/` that have a folder share it.

    >>> page_stem("humphries2020/fig6"), page_stem("own/a-b"), page_stem("own/a/b"), page_stem("a-b/c")
    ('humphries2020-fig6', 'own-a-b', 'own~a~b', 'a-b~c')
    """
    parts = [re.sub("-(?=-)", f"-{JOINT}", part) for part in spec_id.split("/")]
    return ("-" if len(parts) == 2 and "-" not in parts[0] else JOINT).join(parts)


def check_distinct_pages(ids: Iterable[tuple[str, Path]]) -> None:
    """Raise HarnessError, with both files, for two ids whose pages would be one; a file system may not tell capitals
    from small letters."""
    taken: dict[str, Path] = {}
    for name, path in ids:
        other = taken.setdefault(page_stem(name).casefold(), path)
        if other != path:
            raise HarnessError(f"{path}: its pages would have the names of those of {other}; rename one of them")
