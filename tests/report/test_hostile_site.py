"""What a stranger's project may not do by its site: run a script, ask for a file from elsewhere, publish another file
of the machine, or write and remove files outside of its own folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread, Timer
from typing import Any

import pytest

from harness.escaping import web_address
from harness.paths import Project
from tests.conftest import PARAMS, REPO, SMALL_SPEC, run_cli
from tests.report.test_site import browser, browser_only  # noqa: F401
from tests.test_hostile_names import THEORY

SECRET = "token = 0123456789"
PIXEL = b"\x89PNG\r\n\x1a\n"
CITATIONS = "own:\n  title: T\n  authors: A. B\n  year: 2020\n  url: {}\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A judged project with one claim, in a folder beside others."""
    root = tmp_path / "project"
    (root / "specs/own").mkdir(parents=True)
    (root / "docs/images").mkdir(parents=True)
    (root / "docs/notes").mkdir()
    (root / "specs/own/plain.yaml").write_text(THEORY)
    (root / "params.yaml").write_text(PARAMS)
    (root / "docs/images/one.png").write_bytes(PIXEL)
    (root / "secret.txt").write_text(SECRET)
    (root / "secret.png").write_text(SECRET)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.txt").write_text(SECRET)
    (tmp_path / "outside/secret.png").write_text(SECRET)
    (tmp_path / "outside/keep.html").write_text("mine")
    assert run_cli(root, "judge", "-q").returncode == 0
    return root


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, links not followed."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def published(root: Path) -> list[str]:
    """Files of the site that hold what nobody wanted to publish."""
    site = root / "reports/full/site"
    return [name for name, content in contents(site).items() if SECRET.encode() in content]


BAD_ADDRESSES = (
    *(
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "//evil.example",
    ),
    *("java\nscript:alert(1)", " javascript:alert(1)", "https:", "http:javascript", "https://a b"),
)


@pytest.mark.parametrize("address", BAD_ADDRESSES)
def test_a_link_that_is_none_of_the_web_is_one_line(root: Path, address: str) -> None:
    (root / "specs/papers.yaml").write_text(CITATIONS.format(json.dumps(address)))
    for command in ("validate", "site"):
        ran = run_cli(root, command)
        assert ran.returncode == 2
        (line,) = ran.stderr.splitlines()
        assert re.search(r"papers\.yaml:5: own\.url: .*https://", line), line
    (root / "specs/papers.yaml").unlink()
    (root / "CITATION.cff").write_text(f"title: T\nrepository-code: {json.dumps(address)}\n")
    ran = run_cli(root, "site")
    assert ran.returncode == 2
    assert re.search(r"CITATION\.cff:2: repository-code: .*https://", ran.stderr)
    assert web_address(address) == ""


def test_links_of_the_web_stay(root: Path) -> None:
    (root / "specs/papers.yaml").write_text(CITATIONS.format("https://arxiv.org/abs/1"))
    (root / "CITATION.cff").write_text("title: T\nrepository-code: https://example.org/me\n")
    assert run_cli(root, "site").returncode == 0
    page = (root / "reports/full/site/claims/own-plain--c1.html").read_text()
    assert 'href="https://arxiv.org/abs/1"' in page
    assert 'href="https://example.org/me/issues/new?' in page


def test_the_documentation_links_the_web_and_itself_alone(root: Path) -> None:
    names = ("javascript:alert(1)%2f%2f", 'x" onclick="alert(1)', "plain")
    links = " ".join(f"[l](<{name}.md>)" for name in names)
    others = '[a](javascript:alert(1)) [b](file:///x "t") [c](x-evil:y "t") <ftp://e.example/> [d](http:javascript "t")'
    for name in names:
        (root / "docs" / f"{name}.md").write_text(f"# {name}\n\n{links} {others} [e](https://example.org)\n")
    assert run_cli(root, "site").returncode == 0
    pages = list((root / "reports/full/site/docs").glob("*.html"))
    assert len(pages) == 5
    for path in pages:
        text = path.read_text()
        for target in re.findall(r'href="([^"]*)"', text):
            assert re.match(r"(?:\.\./)*[\w%./-]+\.(?:html|css)(?:#|$)|#|data:,|https://example\.org", target), target
        assert not re.search(r"<[^>]* onclick=", text)
    assert 'href="https://example.org"' in pages[0].read_text() + pages[1].read_text()


def test_a_page_shows_images_of_the_documentation_and_no_others(root: Path) -> None:
    (root / "docs/images/far.png").symlink_to(root / "secret.png")
    (root / "docs/linked").symlink_to(root.parent / "outside")
    (root / "docs/notes.txt").write_text(SECRET)
    sources = (
        *(
            "https://evil.example/t.gif",
            "//evil.example/t.gif",
            "http:t.gif",
            "data:image/gif;base64,R0lGODlhAQABAAAAACw=",
        ),
        *("../secret.txt", "../secret.png", "../../outside/secret.png", "..%2fsecret.png", "/etc/passwd", "notes.txt"),
        *("images/far.png", "linked/secret.png", "images/../../secret.png", "file:///etc/passwd"),
    )
    text = "# T\n\n" + "\n".join(f"![alt of {n}](<{source}>)" for n, source in enumerate(sources))
    (root / "docs/evil.md").write_text(f"{text}\n\n![good](images/one.png)\n")
    (root / "docs/notes/note.md").write_text("# N\n\n![good](../images/one.png) ![bad](../../secret.png)\n")
    before = contents(root.parent / "outside")
    assert run_cli(root, "site").returncode == 0
    site = root / "reports/full/site"
    for name in ("evil", "note"):
        assert re.findall(r'<img src="([^"]*)"', (site / f"docs/{name}.html").read_text()) == ["images/one.png"]
    assert "alt of 3" in (site / "docs/evil.html").read_text()
    assert (site / "docs/images/one.png").read_bytes() == PIXEL
    assert published(root) == []
    assert {p.name for p in (root / "reports/full").iterdir()} == {"own", "site"}
    assert contents(root.parent / "outside") == before


def test_authors_answers_have_no_images(root: Path) -> None:
    answers = root / "specs/own/plain.answers.md"
    answers.write_text(
        "## c1\n\n![t](https://evil.example/track.gif) ![u](../secret.png) [l](javascript:alert(1)) *yes*\n"
    )
    assert run_cli(root, "site").returncode == 0
    page = (root / "reports/full/site/claims/own-plain--c1.html").read_text()
    assert "<em>yes</em>" in page
    assert "<img" not in page
    assert 'href="javascript' not in page
    answers.unlink()
    (root.parent / "outside/x.md").write_text(f"## c1\n\n{SECRET}\n")
    answers.symlink_to(root.parent / "outside/x.md")
    ran = run_cli(root, "site")
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "plain.answers.md: is a link" in ran.stderr


@pytest.mark.parametrize("name", ["docs/x.md", "docs/notes/x.md", "docs"])
def test_a_page_of_the_documentation_is_no_link_that_leads_out(root: Path, name: str) -> None:
    outside = root.parent / "outside"
    (outside / "x.md").write_text(f"# Mine\n\n{SECRET}\n")
    if name == "docs":
        shutil.rmtree(root / "docs")
    (root / name).symlink_to(outside if name == "docs" else outside / "x.md")
    ran = run_cli(root, "site")
    assert ran.returncode == 2
    assert re.fullmatch(rf"harness: .*{name}: is a link that leads out of .*\n", ran.stderr), ran.stderr
    assert not (root / "reports/full/site").exists() or published(root) == []


@pytest.mark.parametrize("linked", ["site", "site/claims", "site/docs/images", "."])
def test_a_site_is_not_written_through_a_link_and_removes_nothing_there(root: Path, linked: str) -> None:
    (root / "docs/plain.md").write_text("# P\n\n![one](images/one.png)\n")
    outside = root.parent / "outside"
    place = root / "reports/full" / linked
    if linked == ".":
        shutil.copytree(place, outside / "full")
        shutil.rmtree(place)
        place.symlink_to(outside / "full")
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(outside)
    before = contents(outside)
    for command in ("site", "report"):
        ran = run_cli(root, command)
        assert ran.returncode == 2
        (line,) = ran.stderr.splitlines()
        assert re.search(r"reports/full\S*: is a link", line), line
        assert contents(outside) == before


def test_a_file_of_a_site_that_is_a_link_is_replaced_and_what_it_leads_to_stays(root: Path) -> None:
    assert run_cli(root, "site").returncode == 0
    page, kept = root / "reports/full/site/about.html", root.parent / "outside/keep.html"
    same = page.read_bytes()
    page.unlink()
    kept.write_bytes(same)
    page.symlink_to(kept)
    assert run_cli(root, "site").returncode == 0
    assert not page.is_symlink()
    assert (page.read_bytes(), kept.read_bytes()) == (same, same)


def test_only_files_that_an_earlier_site_wrote_are_removed(root: Path) -> None:
    site, outside = root / "reports/full/site", root.parent / "outside"
    (site / "claims").mkdir(parents=True)
    for name in ("keep.html", "claims/own-plain--old.html"):
        (site / name).write_text("somebody's")
    ran = run_cli(root, "site")
    assert ran.returncode == 0
    assert (
        "claims/own-plain--old.html and 1 more: pages that no site here is known to have written; they stay"
        in ran.stderr
    )
    assert (site / "keep.html").read_text() == "somebody's"
    (site / "linked").symlink_to(outside)
    listed = json.loads((site / "manifest.json").read_text())
    assert "claims/own-plain--c1.html" in listed
    forged = ["../../../secret.txt", str(outside / "keep.html"), "linked/keep.html", "", "..", ".", 3, "claims"]
    (site / "manifest.json").write_text(json.dumps([*listed, *forged, "claims/own-plain--old.html"]))
    assert run_cli(root, "site").returncode == 0
    assert not (site / "claims/own-plain--old.html").exists()  # which the manifest now said was the site's
    assert (root / "secret.txt").exists()
    assert contents(outside)["keep.html"] == b"mine"
    (site / "manifest.json").write_text("[")
    assert run_cli(root, "site").returncode == 0


def test_tables_that_are_links_are_not_published(make_project: Callable[..., Project]) -> None:
    project = make_project(SMALL_SPEC)
    folder = project.reports / "full/own/cancer"
    assert run_cli(project.root, "judge", "-q").returncode == 0
    (project.root / "secret.txt").write_text(SECRET)
    (folder / "advantage.csv").symlink_to(project.root / "secret.txt")
    assert run_cli(project.root, "site").returncode == 0
    assert published(project.root) == []


def test_a_bundle_packs_no_file_that_a_link_brings(root: Path) -> None:
    (root / "LICENSE").symlink_to(root.parent / "outside/secret.txt")
    ran = run_cli(root, "bundle", "own/plain#c1")
    assert ran.returncode == 2
    assert re.search(r"LICENSE: is a link that leads out of", ran.stderr)
    assert not list(root.glob("*.zip"))


POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="default-src \'none\';[^"]*">')


def test_every_page_has_a_policy_before_anything_that_is_loaded(root: Path) -> None:
    (root / "docs/plain.md").write_text("# P\n")
    assert run_cli(root, "site").returncode == 0
    pages = list((root / "reports/full/site").rglob("*.html"))
    assert len(pages) > 9
    for path in pages:
        text = path.read_text()
        policy = POLICY.search(text)
        assert policy, path
        assert not re.search(r"<(script|link|style|img)", text[: policy.start()])
        assert "script-src 'self'" in policy[0]


@pytest.fixture
def asked(browser: Any) -> Iterator[tuple[Any, list[str]]]:  # noqa: F811
    """A tab, and what it asks for or shows a dialog of."""
    context = browser.new_context()
    tab, events = context.new_page(), list[str]()
    tab.on("request", lambda request: events.append(request.url))
    tab.on("dialog", lambda dialog: (events.append("dialog"), dialog.dismiss()))
    tab.on("pageerror", lambda error: events.append(f"error {error}"))
    yield tab, events
    context.close()


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, list[str]]]:
    """A real server of somebody else, and what it was asked for."""
    asked_for: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked_for.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *given: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked_for
        server.shutdown()


@browser_only
@pytest.mark.parametrize("name", ["claims.html", "claims/own-plain--c1.html", "docs/index.html"])
def test_what_is_overlooked_neither_runs_nor_is_asked_for(
    root: Path, asked: tuple[Any, list[str]], elsewhere: tuple[str, list[str]], name: str
) -> None:
    """Markup that got into a page after all: the policy of the page stops it, and the page works as before."""
    (tab, events), (server, asked_for) = asked, elsewhere
    (root / "docs/plain.md").write_text("# P\n")
    assert run_cli(root, "site").returncode == 0
    page = root / "reports/full/site" / name
    evil = (
        f'<img src="{server}/image" onerror="alert(1)"><script>alert(2)</script><a id="l" href="javascript:alert(3)">x'
        f'</a><iframe src="{server}/frame"></iframe><style>@import "{server}/style";</style><script src="{server}/script">'
        f'</script><form id="f" action="{server}/form"><input name="q"></form>'
    )
    whole = page.read_text().replace("<h1", f"{evil}<h1", 1)
    assert evil in whole

    def visit(text: str) -> None:
        page.write_text(text)
        tab.goto(f"file://{page}")
        tab.click("#l")
        tab.wait_for_timeout(200)
        tab.evaluate("document.getElementById('f').submit()")
        tab.wait_for_timeout(200)

    visit(whole)
    assert asked_for == []
    assert "dialog" not in events
    if name == "claims.html":
        assert tab.is_visible("#filter")  # the site's own script runs
    visit(POLICY.sub("", whole))
    assert {path.partition("?")[0] for path in asked_for} >= {"/image", "/frame", "/style", "/script", "/form"}
    assert "dialog" in events


@browser_only
@pytest.mark.parametrize(
    "fragment", ["%E0//////", "%", "//////%E0", "//////99", "//////constructor", "a/b", "//////-1e9"]
)
def test_an_address_with_broken_filters_leaves_search_in_place(
    root: Path, asked: tuple[Any, list[str]], fragment: str
) -> None:
    tab, events = asked
    assert run_cli(root, "site").returncode == 0
    tab.goto(f"file://{root}/reports/full/site/claims.html#{fragment}")
    assert tab.is_visible("#filter")
    assert not [event for event in events if event.startswith("error")], events


def test_a_file_of_verdicts_speaks_of_its_own_spec_alone(root: Path) -> None:
    """One that names a claim of another spec does not take the place of that claim's page."""
    (root / "specs/own/other.yaml").write_text(THEORY.replace("The bound is tight.", "The other one."))
    assert run_cli(root, "judge", "-q").returncode == 0
    path = root / "reports/full/own/other/verdicts.json"
    path.write_text(path.read_text().replace("own/other#c1", "own/plain#c1"))
    ran = run_cli(root, "site")
    assert ran.returncode == 0, ran.stderr
    page = root / "reports/full/site/claims/own-plain--c1.html"
    assert "The bound is tight." in page.read_text()
    assert "The other one." not in page.read_text()


def test_a_new_spec_is_not_written_through_a_link(root: Path) -> None:
    outside = root.parent / "outside"
    shutil.rmtree(root / "specs/own")
    (root / "specs/own").symlink_to(outside)
    before = contents(outside)
    ran = run_cli(root, "new", "spec", "mine")
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "specs/own: is a link that leads out of" in ran.stderr
    assert contents(outside) == before


def test_the_folder_of_an_audit_is_no_link_unless_it_is_named(root: Path) -> None:
    (root / "mine.py").write_text("def predict(features):\n    return features\n")
    (root / "mine-predict-audit").symlink_to(root.parent / "outside")
    before = contents(root.parent / "outside")
    for name in ("in", "out"):
        (root / f"{name}.csv").write_text("x,y\n1,0\n2,1\n")
    words = "audit mine.py:predict --members in.csv --nonmembers out.csv --label y -q"
    ran = run_cli(root, *words.split())
    assert ran.returncode == 2
    assert "mine-predict-audit: is a link; name the folder that it leads to with --out" in ran.stderr
    assert contents(root.parent / "outside") == before


SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">{}</svg>'


@pytest.mark.parametrize(
    "inside",
    [
        "<script>alert(1)</script>",
        '<g onload="alert(1)"/>',
        '<a href="javascript:alert(1)"><text>x</text></a>',
        '<a xlink:href=" javascript:alert(1)"><text>x</text></a>',
        '<image href="https://evil.example/x.png"/>',
        '<image xlink:href="data:image/svg+xml;base64,PHN2Zy8+"/>',
        '<use href="other.svg#x"/>',
        '<rect style="fill: url(https://evil.example/x.svg#a)"/>',
        '<rect fill="url(//evil.example/x.svg#a)"/>',
        "<style>@import 'https://evil.example/x.css';</style>",
        "<style>g { background: u\\72l(https://evil.example/x.png) }</style>",
        '<foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><p>x</p></body></foreignObject>',
        '<p xmlns="http://www.w3.org/1999/xhtml">x</p>',
        '<a href="#x"><set attributeName="href" to="javascript:alert(1)"/></a>',
    ],
)
def test_an_image_that_would_run_or_load_something_by_itself_is_one_line(root: Path, inside: str) -> None:
    check_svg(root, SVG.format(inside).encode())


@pytest.mark.parametrize(
    "content",
    [
        b'<?xml-stylesheet href="https://evil.example/x.css"?>' + SVG.format("").encode(),
        b'<!DOCTYPE svg [<!ENTITY a "b">]>' + SVG.format("").encode(),
        b"<?xml version='1.0' encoding='utf-16'?>" + SVG.format("").encode(),
        SVG.format("<script/>").encode("utf-16-le"),
        b"<svg><script/></svg>",
        b"<html xmlns='http://www.w3.org/1999/xhtml'/>",
        b"no image",
        b"<svg",
    ],
)
def test_a_file_that_is_no_plain_svg_is_one_line(root: Path, content: bytes) -> None:
    check_svg(root, content)


def check_svg(root: Path, content: bytes) -> None:
    (root / "docs/images/x.svg").write_bytes(content)
    (root / "docs/page.md").write_text("# A page\n\n![x](images/x.svg)\n")
    ran = run_cli(root, "site")
    assert ran.returncode == 2
    assert re.fullmatch(
        r"harness: \S*docs/images/x.svg: (has|is no) .*; take that out, or make a .png of it\n", ran.stderr
    )
    assert not (root / "reports/full/site/docs/images/x.svg").exists()


def test_plain_images_are_copied_as_they_are(root: Path) -> None:
    plain = (REPO / "docs/images/accountants.svg").read_bytes()
    inside = (
        '<defs><linearGradient id="a"/></defs><rect fill="url(#a)" style="stroke: url( \'#a\')"/><use xlink:href="#a"/>'
        '<a href="https://example.org"><text aria-label="f(x) \\ y">x</text></a><image href="data:image/png;base64,AAAA"/>'
        "<style>rect { fill: url(#a) }</style><title>on load</title>"
    )
    own = b"<?xml version='1.0' encoding='UTF-8'?>\n<!DOCTYPE svg>\n" + SVG.format(inside).encode()
    (root / "docs/images/x.svg").write_bytes(own)
    (root / "docs/images/y.svg").write_bytes(plain)
    (root / "docs/page.md").write_text("# A page\n\n![x](images/x.svg) ![y](images/y.svg)\n")
    ran = run_cli(root, "site")
    assert ran.returncode == 0, ran.stderr
    assert (root / "reports/full/site/docs/images/x.svg").read_bytes() == own
    assert (root / "reports/full/site/docs/images/y.svg").read_bytes() == plain


@pytest.mark.parametrize("manifest", ["pipe", "nested", "large"])
def test_a_manifest_that_is_none_lists_nothing(root: Path, manifest: str) -> None:
    """It is read in a stranger's folder: a pipe would be waited for."""
    path = root / "reports/full/site/manifest.json"
    path.parent.mkdir(parents=True)
    alarm = Timer(15, lambda: os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK)))  # ends a wait
    if manifest == "pipe":
        os.mkfifo(path)
        alarm.start()
    else:
        path.write_text("[" * 100_000 if manifest == "nested" else json.dumps(["x" * 3_000_000]))
    begun = time.monotonic()
    ran = run_cli(root, "site", HARNESS_MAX_TEXT_BYTES="2000000")
    alarm.cancel()
    assert ran.returncode == 0, ran.stderr
    assert time.monotonic() - begun < 12
    assert "about.html" in json.loads(path.read_text())
