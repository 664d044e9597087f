"""The documentation as pages of the site: `docs/*.md`, and a reference made from what is registered.

Links between pages stay links; those to files of the repository are shown as their paths, since a site may be published
without it. Search works on a list of all sections that the first page carries, so it needs no server.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from harness.attacks import ATTACKS
from harness.auditing.auditor import AUDITORS
from harness.claims.expectation import CLAIM_KINDS
from harness.config import Registry
from harness.data.dataset import DATASETS
from harness.data.split import SPLITS
from harness.defences import DEFENCES
from harness.docstrings import field_descriptions
from harness.formulas import FORMULAS
from harness.metrics import METRICS
from harness.privacy.accountants import ACCOUNTANTS
from harness.training.engine import ENGINES
from harness.training.layer import LAYERS
from harness.training.model import MODELS

_ORDER = """
concepts glossary findings verdicts walk-adult walk-table walk-paper authoring language profiles recipes flagship site
theory statistics accounting auditing queries jayaraman2019 rahimian2021 engines speed scattering cluster ci layout
"""
ORDER = tuple(_ORDER.split())
"""Pages in the order in which somebody new reads them; others follow."""
_HEADING = re.compile(r"<h([1-4])>(.*?)</h\1>", re.DOTALL)
_LINK = re.compile(r'<a href="([^"]*)">(.*?)</a>', re.DOTALL)
_IMAGE = re.compile(r'<img src="([^"]*)" alt="([^"]*)" ?/?>')


@dataclass(frozen=True)
class Page:
    """One page of the manual."""

    name: str
    title: str
    html: str
    images: tuple[str, ...]
    """Files that it shows, as it names them."""


@dataclass(frozen=True)
class Entry:
    """One thing that a spec may name."""

    name: str
    text: str
    source: str
    fields: tuple[tuple[str, str], ...]


def anchor(text: str) -> str:
    """The name that a heading has in an address."""
    plain = unescape(re.sub(r"<[^>]*>", "", text)).strip().lower()
    return re.sub(r"[^\w -]", "", plain).replace(" ", "-")


def pages(folder: Path) -> list[Page]:
    """Every page of a folder of Markdown, those in `ORDER` first; none where there is no such folder."""
    paths = {path.stem: path for path in folder.glob("*.md")}
    names = [*(name for name in ORDER if name in paths), *sorted(paths.keys() - set(ORDER))]
    return [_page(name, paths[name].read_text(encoding="utf-8"), set(names)) for name in names]


def _page(name: str, text: str, known: set[str]) -> Page:
    html = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    images = tuple(match.group(1) for match in _IMAGE.finditer(html) if not match.group(1).startswith("http"))

    def link(match: re.Match[str]) -> str:
        target, said = match.groups()
        page, _, fragment = target.partition("#")
        if target.startswith(("http", "#")):
            return match.group()
        if page.endswith(".md") and page[:-3] in known:
            return f'<a href="{page[:-3]}.html{"#" + fragment if fragment else ""}">{said}</a>'
        return f"<span>{said}</span>" if "<code>" in said else f"<code>{said}</code>"

    html = _LINK.sub(link, html)
    html = _HEADING.sub(lambda m: f'<h{m.group(1)} id="{anchor(m.group(2))}">{m.group(2)}</h{m.group(1)}>', html)
    count = itertools.count(1)
    opening = '<div class="scroll" tabindex="0" role="region" aria-label="Table {}"><table>'
    html = re.sub("<table>", lambda _: opening.format(next(count)), html).replace("<th></th>", "<td></td>")
    html = html.replace("</table>", "</table></div>").replace("<pre>", '<pre tabindex="0">')
    heading = re.search(r"<h1[^>]*>(.*?)</h1>", html, re.DOTALL)
    title = unescape(re.sub(r"<[^>]*>", "", heading.group(1))) if heading else name
    return Page(name, title, html, images)


def sections(manual_pages: Sequence[Page]) -> Iterator[dict[str, str]]:
    """What search looks through: each section's page, anchor, title and words."""
    for page in manual_pages:
        pieces = re.split(r'<h[1-4] id="([^"]*)">(.*?)</h[1-4]>', page.html, flags=re.DOTALL)
        for place, title, body in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
            words = " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())
            plain = unescape(re.sub(r"<[^>]*>", "", title))
            yield {"page": page.name, "of": page.title, "at": place, "title": plain, "text": words}


def index_json(manual_pages: Sequence[Page]) -> str:
    """The same as JSON that may stand inside a page's script."""
    return json.dumps(list(sections(manual_pages)), ensure_ascii=False).replace("<", "\\u003c")


def reference() -> dict[str, list[Entry]]:
    """Everything that a spec may name, by its sort: name, what it is, where it stands, and its fields."""
    sorts: Mapping[str, Registry[Any]] = {
        "Attacks": ATTACKS,
        "Kinds of claims": CLAIM_KINDS,
        "Defences": DEFENCES,
        "Data sets": DATASETS,
        "Splits": SPLITS,
        "Models": MODELS,
        "Layers": LAYERS,
        "Engines": ENGINES,
        "Auditors": AUDITORS,
    }
    entries = {sort: [_entry(name, cls) for name, cls in registry] for sort, registry in sorts.items()}
    entries["Bounds and formulas"] = [
        Entry(name, f.text, "; ".join([f.source, *f.assumptions]), ()) for name, f in sorted(FORMULAS.items())
    ]
    entries["Accountants"] = [Entry(name, a.title, a.source, ()) for name, a in ACCOUNTANTS.items()]
    entries["Metrics"] = [Entry(name, m.text, f"of {m.of}", ()) for name, m in METRICS.items()]
    return entries


def _entry(name: str, cls: Any) -> Entry:
    text = " ".join((cls.__doc__ or "").split("\n\n")[0].split())
    rest = " ".join(" ".join((cls.__doc__ or "").split("\n\n")[1:]).split())
    described = field_descriptions(cls)
    fields = tuple((field, " ".join(described.get(field, "").split())) for field in cls.model_fields if field != "kind")
    return Entry(name, text or cls.summary, rest, fields)
