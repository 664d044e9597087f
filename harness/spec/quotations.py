"""Quotations of a paper, compared with a text of it that the user has: `harness validate --paper TEXT`.

Which of them stand in the text is noted in `specs/quotations.json`, by hashes: neither a text nor its path is kept. A
claim of a paper of which a quotation is not noted there is not counted as the paper's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from harness.bounds import read_text
from harness.claims.origin import Quote, normal_form
from harness.errors import HarnessError
from harness.files import json_text, write_text
from harness.hashing import fingerprint
from harness.paths import Project
from harness.spec.claim import Claim
from harness.spec.document import Document, Keys, locate
from harness.spec.model import Spec

FILE = "quotations.json"
SHOWN = 6
"""Words of a quotation that a message shows."""


def quotation_key(quote: Quote) -> str:
    """A hash of what has to be in the text."""
    return fingerprint(quote.pieces())[:16]


def read_compared(project: Project) -> Mapping[str, frozenset[str]]:
    """By paper, the keys of the quotations that were found in its text; empty where none was compared.

    Raises HarnessError for a file that is none of these.
    """
    path = project.specs / FILE
    try:
        return _read(path, path.stat().st_mtime_ns)
    except FileNotFoundError:
        return {}


@lru_cache(maxsize=4)
def _read(path: Path, stamp: int) -> Mapping[str, frozenset[str]]:
    """`stamp` tells a file from what it was before."""
    try:
        written = json.loads(read_text(path))
        return {str(paper): frozenset(map(str, keys)) for paper, keys in written.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        again = "`harness validate --paper TEXT` writes it anew, once it is deleted"
        raise HarnessError(f"{path}: not a record of quotations; {again}") from None


def mark_compared(project: Project, spec: Spec) -> Spec:
    """The spec, in which each quotation says whether it was compared with the paper's text."""
    known = read_compared(project).get(spec.paper, frozenset())
    if all(quotation_key(quote) in known for claim in spec.claims for quote in claim.quotes):
        return spec

    def mark(claim: Claim) -> Claim:
        marked = (q.model_copy(update={"compared": quotation_key(q) in known}) for q in claim.quotes)
        return claim.model_copy(update={"quotes": tuple(marked)})

    return spec.with_values(claims=tuple(map(mark, spec.claims)))


def quotations_of(spec: Spec) -> Iterator[tuple[Keys, Quote]]:
    """Every quotation of a spec, and where it stands in its document."""
    if spec.paper_run is not None and spec.paper_run.quote is not None:
        yield ("paper_run", "quote"), spec.paper_run.quote
    for number, claim in enumerate(spec.claims):
        for place, quote in enumerate(claim.quotes):
            yield ("claims", number, "quotes", place), quote


def read_texts(paths: Sequence[Path], papers: Sequence[str]) -> dict[str, str]:
    """The texts of papers by their keys, in normal form: from files `<paper>.txt`, or from folders of these; where all
    specs are of one paper, a file of any name is its text.

    Raises HarnessError for a file that cannot be read, and for one of which it is not known whose text it is.
    """
    texts: dict[str, str] = {}
    for path in paths:
        files = sorted(path.glob("*.txt")) if path.is_dir() else [path]
        for file in files:
            paper = papers[0] if len(papers) == 1 and not path.is_dir() else file.stem
            if paper not in papers and not path.is_dir():
                known = ", ".join(papers)
                raise HarnessError(
                    f"--paper {file}: a text is called as its paper is, one of {known}, such as {papers[0]}.txt"
                )
            try:
                texts[paper] = normal_form(read_text(file))
            except (OSError, UnicodeDecodeError) as error:
                why = getattr(error, "strerror", None) or "it is no text in UTF-8"
                raise HarnessError(f"--paper {file}: cannot be read: {why}; a text in UTF-8 is needed") from None
    if not set(texts) & set(papers):
        raise HarnessError(f"--paper {paths[0]}: no text in it of {', '.join(papers)}, such as {papers[0]}.txt")
    return texts


def compare_quotations(spec: Spec, document: Document, text: str) -> tuple[list[str], list[str]]:
    """Keys of the quotations that stand in a text in normal form, and a line on each that does not."""
    keys, faults = [], []
    for place, quote in quotations_of(spec):
        missing = first_missing(quote, text)
        if missing is None:
            keys.append(quotation_key(quote))
        else:
            name = ".".join(map(str, place))
            faults.append(f"{locate(document, place)}: {name}: {missing}")
    return keys, faults


def first_missing(quote: Quote, text: str) -> str | None:
    """What of a quotation is not in a text in normal form, or not after what comes before it; None where all is."""
    at = 0
    for piece in quote.pieces():
        start = text.find(piece, at)
        if start < 0:
            return _name_mismatch(quote, text)
        at = start + len(piece)
    return None


def _name_mismatch(quote: Quote, text: str) -> str:
    words = quote.text.split()
    there = next((n for n in range(len(words), 0, -1) if normal_form(" ".join(words[:n])) in text), 0)
    rest = " ".join(words[there : there + SHOWN]) + (" ..." if there + SHOWN < len(words) else "")
    where = "" if not there else f", after its first {there} words"
    return f"not in the paper's text{where}: “{rest}”; quote what is printed, with `...` for what is left out"


def note_compared(project: Project, compared: Mapping[str, Sequence[str]]) -> Path:
    """Write which quotations stand in the texts; what is noted already stays. Returns the file."""
    path = project.specs / FILE
    known = read_compared(project)
    papers = sorted({*known, *compared})
    keys = {paper: sorted({*known.get(paper, ()), *compared.get(paper, ())}) for paper in papers}
    write_text(path, json_text(keys) + "\n")
    return path
