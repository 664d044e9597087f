"""The documentation as pages of the site: `docs/*.md` and `docs/notes/*.md`.

Links between pages stay links; those to files of the repository are shown as their paths, since a site may be published
without it. Search works on a list of all sections that the first page carries, so it needs no server.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from harness.bounds import TEXT_BYTES, read_bytes, read_text
from harness.errors import HarnessError
from harness.escaping import web_address
from harness.links import check_inside, first_link
from harness.reading_bounds import check_place
from harness.report.vector_images import fault_of_svg

PARTS: Mapping[str, tuple[str, ...]] = {
    "Read": (
        "how-it-works",
        "findings",
        "verdicts",
        "concepts",
        "severity",
        "jayaraman2019",
        "rahimian2021",
        "thudi2022-tramer2025",
        "glossary",
    ),
    "Run": (
        "install",
        "walk-adult",
        "walk-table",
        "walk-results",
        "audit-model",
        "auditing",
        "survey",
        "real-data",
        "profiles",
        "recipes",
        "ci",
        "cluster",
        "trust",
    ),
    "Write": (
        "walk-paper",
        "walk-project",
        "authoring",
        "your-training",
        "language",
        "site",
        "extending",
    ),
    "Behind it": (
        "architecture",
        "statistics",
        "inference",
        "calibration",
        "flagship",
        "accounting",
        "engines",
        "theory",
        "queries",
        "attacks",
        "scattering",
        "identity",
        "what-may-enter",
        "speed",
    ),
    "History": (
        "changelog",
        "moved",
        "declared",
        "2026-11-26-speed",
        "2026-11-26-from-nothing",
        "2026-11-26-statistics",
        "2026-11-26-papers",
        "2026-11-28-substitutes",
        "review-2026-11-b",
        "review-2026-11-a",
    ),
}
"""Pages of the documentation by part: three doors, then what is behind them; others follow in the last."""
DOORS: Mapping[str, str] = {
    "Read": "what was checked, what came out, and what a verdict means",
    "Run": "check it yourself, or bring a table, a model or results of your own",
    "Write": "declare the claims of a paper, train with your own code, extend the harness",
}
"""The parts that a newcomer chooses among, each in a few words."""
MADE = ("index", "reference")
"""Pages that the site makes beside the documentation's own."""
_HEADING = re.compile(r"<h([1-4])>(.*?)</h\1>", re.DOTALL)
_LINK = re.compile(r'<a href="([^"]*)"[^>]*>(.*?)</a>', re.DOTALL)
_COMMENT = ("<!--", "-->")
"""How Markdown begins and ends what no page shows."""
_IMAGE = re.compile(r'<img src="([^"]*)" alt="([^"]*)" ?/?>')
IMAGES = frozenset({".gif", ".jpeg", ".jpg", ".png", ".svg", ".webp"})
"""Endings of files that a page may show."""


@dataclass(frozen=True)
class Page:
    """One page of the manual."""

    name: str
    title: str
    about: str
    """Its first sentence: what it is for, and who reads it."""
    html: str


def anchor(text: str) -> str:
    """The name that a heading has in an address."""
    plain = unescape(re.sub(r"<[^<>]*>", "", text)).strip().lower()
    return re.sub(r"[^\w -]", "", plain).replace(" ", "-")


def page_paths(folder: Path) -> dict[str, Path]:
    """The pages of a folder of Markdown and of its `notes`, by name, those in `PARTS` first; its README is an index.

    A page that is called as one that the site makes has a name of its own. Raises HarnessError for a page that a link
    brings from outside of the folder, since what is there would be published.
    """
    files = [path for path in (*folder.glob("*.md"), *folder.glob("notes/*.md")) if path.stem != "README"]
    for path in files:
        check_inside(path, folder)
        check_inside(path, folder.parent)
    paths = {f"{path.stem}-page" if path.stem in MADE else path.stem: path for path in files}
    listed = [name for names in PARTS.values() for name in names if name in paths]
    return {name: paths[name] for name in (*listed, *sorted(paths.keys() - set(listed)))}


def pages(folder: Path) -> list[Page]:
    """The pages of a folder in the order of `page_paths`; none where there is no such folder."""
    paths = page_paths(folder)
    known = {path.resolve(): name for name, path in paths.items()}
    return [_page(name, path, known, folder) for name, path in paths.items()]


def group_by_part(manual_pages: Sequence[Page]) -> dict[str, list[Page]]:
    """The pages by the part of the documentation that they belong to; a page that no part names is in the last."""
    *parts, last = PARTS
    named_pages = {part: [page for page in manual_pages if page.name in PARTS[part]] for part in parts}
    placed = {page.name for named in named_pages.values() for page in named}
    return {**named_pages, last: [page for page in manual_pages if page.name not in placed]}


def title_of(text: str) -> str:
    """The heading of a page, without marks."""
    heading = re.search(r"(?m)^# (.*)$", text)
    return re.sub(r"[`*]", "", heading[1]) if heading else ""


def first_sentence(text: str) -> str:
    """The first sentence of a page, which says what it is for and who reads it, without marks and "This page is"."""
    after = re.split(r"(?m)^# .*$", strip_comments(text), maxsplit=1)[-1].strip()
    plain = without_links(after.split("\n\n")[0])
    sentence = re.split(r"(?<=\.) (?=[A-Z])", " ".join(re.sub(r"[`*]", "", plain).split()))[0]
    text = re.sub(r"^This (page|note) (is )?", "", sentence)
    return text[:1].upper() + text[1:]


def strip_comments(text: str) -> str:
    """Markdown without its comments; one that is a line of its own goes with the line. The time is linear in the text,
    also where comments are begun and never ended."""
    begin, end = _COMMENT
    kept, at = list[str](), 0
    while (start := text.find(begin, at)) >= 0 and (stop := text.find(end, start + len(begin))) >= 0:
        kept.append(text[at:start])
        at = stop + len(end)
        if text[start - 1 : start] in ("", "\n") and text[at : at + 1] == "\n":
            at += 1
    return "".join([*kept, text[at:]])


def without_links(text: str) -> str:
    """Markdown with the words of a link in place of the link. Lengths are bounded, and so is the time."""
    return re.sub(r"\[([^\]]{0,1000})\]\([^)]{0,1000}\)", r"\1", text)


def read_page(path: Path) -> str:
    """The Markdown of a page. Raises HarnessError for a file that is no text in UTF-8."""
    check_place(path)
    try:
        return read_text(path)
    except UnicodeDecodeError as error:
        raise HarnessError(f"{path}: no text in UTF-8 (byte {error.start}); save it as UTF-8") from None


def _page(name: str, path: Path, known: Mapping[Path, str], folder: Path) -> Page:
    text = strip_comments(read_page(path))
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    markdown.add_render_rule("image", _image_rule(path, folder))
    html = markdown.render(text)

    def link(match: re.Match[str]) -> str:
        target, label = match.groups()
        page, _, fragment = target.partition("#")
        if target.startswith("#") or web_address(unescape(target)):
            return f'<a href="{target}">{label}</a>'
        if other := known.get((path.parent / unquote(unescape(page))).resolve()):
            return f'<a href="{quote(other)}.html{"#" + fragment if fragment else ""}">{label}</a>'
        return f"<span>{label}</span>" if "<code>" in label else f"<code>{label}</code>"

    html = _LINK.sub(link, html)
    html = _HEADING.sub(lambda m: f'<h{m.group(1)} id="{anchor(m.group(2))}">{m.group(2)}</h{m.group(1)}>', html)
    count = itertools.count(1)
    scroll = '<div class="scroll" tabindex="0" role="region" aria-label="Table {}"><table>'
    html = re.sub("<table>", lambda _: scroll.format(next(count)), html).replace("<th></th>", "<td></td>")
    html = html.replace("</table>", "</table></div>").replace("<pre>", '<pre tabindex="0">')
    return Page(name, title_of(text) or name, first_sentence(text), html)


def _image_rule(page: Path, folder: Path) -> Callable[..., str]:
    """How an image of a page is rendered: one of the folder of the documentation is shown, any other is described."""

    def render(
        renderer: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, environment: EnvType
    ) -> str:
        token = tokens[at]
        alt = escape(renderer.renderInlineAsText(token.children, options, environment))
        source = unquote(str(token.attrGet("src") or ""))
        image = Path(os.path.normpath(page.parent / source))
        if urlsplit(source).scheme or not is_image(image, folder):
            return f"<code>{alt}</code>"
        return f'<img src="{quote(image.relative_to(folder).as_posix())}" alt="{alt}" />'

    return render


def read_image(file: Path) -> bytes:
    """An image of the documentation, as a site copies it. Raises HarnessError for one that runs or loads something."""
    content = read_bytes(file, TEXT_BYTES)
    if file.suffix.lower() == ".svg" and (fault := fault_of_svg(content)) is not None:
        raise HarnessError(
            f"{file}: {fault}: opened by itself it would run, or load, what no page of the site does; take that out, "
            "or make a .png of it"
        )
    return content


def is_image(file: Path, folder: Path) -> bool:
    """Whether a path, of a file that is there or not, is that of an image below a folder, not by way of a link."""
    try:
        return file.suffix.lower() in IMAGES and first_link(file, folder) is None
    except ValueError:
        return False


def images_of(html: str) -> list[str]:
    """Files that a page of the documentation shows, from its folder."""
    return [unquote(unescape(match.group(1))) for match in _IMAGE.finditer(html)]


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
