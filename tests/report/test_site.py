"""The site in a real browser: what a reviewer does with it, and what a spec's text may not do to it."""

from __future__ import annotations

import csv
import html
import json
import re
import shutil
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import pandas as pd
import pytest

from harness.claims.words import Certainty
from harness.paths import Project
from harness.pipeline.context import Context
from harness.progress import Progress
from harness.report.build import build_site
from harness.report.contents import slug
from harness.spec.coverage import read_coverage
from harness.spec.load import load_specs
from harness.spec.profile import load_params
from harness.verdicts.counts import CERTAINTIES, DISPROVED
from tests.conftest import REPO, SMALL_SPEC, committed_specs, run_cli
from tests.report.pages import read_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SPECS = ["humphries2020", "thudi2022/theory", "tramer2025/lira", "tramer2025/theory"]
PAGES = [
    "index.html",
    "claims.html",
    "about.html",
    "compare.html",
    "theory.html",
    "papers/humphries2020.html",
    "claims/humphries2020-fig6--logloss-cap.html",
    "claims/thudi2022-theory--unlearning-capacity-as-printed.html",
    "docs/index.html",
    "docs/language.html",
]
browser_only = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of some of the flagship's specs, from the committed tables."""
    project = Project(REPO)
    params = load_params(project)
    name = str(params.flagship)
    context = Context(project, name, params.profiles[name], 1, Progress(quiet=True))
    root = tmp_path_factory.mktemp("site")
    build_site(context, list(map(context.resolve, load_specs(project, SPECS))), root)
    return root


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page whose console has to stay silent and which may ask for nothing but files."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page, said, asked = context.new_page(), list[str](), list[str]()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    yield page
    context.close()
    assert said == []
    assert {urlsplit(url).scheme for url in asked} <= {"file", "data"}


def visible(page: Any) -> int:
    return int(page.evaluate("[...document.querySelectorAll('#claims tbody tr')].filter(r => !r.hidden).length"))


@browser_only
def test_search_filters_and_order(site: Path, page: Any) -> None:
    page.goto(f"file://{site}/claims.html")
    every = visible(page)
    known = json.loads((REPO / "reports/sequential/verdicts.json").read_text())["verdicts"]
    mine = [v for v in known if v["spec"].startswith(tuple(SPECS))]
    assert every == len(mine)
    page.select_option("#by-verdict", "violated")
    assert visible(page) == sum(v["verdict"] == "violated" for v in mine)
    page.select_option("#by-paper", "thudi2022")
    wrong = [v for v in mine if v["verdict"] == "violated" and v["paper"] == "thudi2022"]
    assert visible(page) == len(wrong)
    assert page.text_content("#shown") == f"{len(wrong)} of {every}"
    page.fill("#q", "nothing has these words")
    assert visible(page) == 0
    assert page.is_visible("#none")
    page.fill("#q", "")
    page.select_option("#by-paper", "")
    page.select_option("#by-verdict", "")
    page.select_option("#by-kind", "measured")
    assert visible(page) == sum(v["claim"]["kind"] == "training" for v in mine)
    page.select_option("#by-group", "papers")
    on_papers_data = [
        v
        for v in mine
        if v["claim"]["origin"] == "paper" and v["rests_on"]["data"] in ("none", "paper", "smaller", "own")
    ]
    assert visible(page) == sum(v["claim"]["kind"] == "training" for v in on_papers_data)
    page.select_option("#by-group", "")
    page.select_option("#by-kind", "")
    page.select_option("#by-dataset", "COMPAS")
    assert visible(page) == sum(v["spec"] in ("humphries2020/blind", "humphries2020/fig4") for v in mine)
    page.select_option("#by-dataset", "")
    page.fill("#q", "tramer CIFAR-10")
    assert visible(page) == sum(v["spec"] == "tramer2025/lira" for v in mine)
    page.fill("#q", "")
    page.click("th button:has-text('Verdict')")
    assert page.get_attribute("th:has-text('Verdict')", "aria-sort") == "ascending"
    order = page.evaluate("[...document.querySelectorAll('#claims tbody tr')].map(r => r.dataset.verdict)")
    assert order == sorted(
        order, key=["violated", "differs", "inconclusive", "beside", "not run", "agrees", "reproduced"].index
    )
    page.click("th button:has-text('Verdict')")
    assert page.get_attribute("th:has-text('Verdict')", "aria-sort") == "descending"
    turned = page.evaluate("[...document.querySelectorAll('#claims tbody tr')].map(r => r.dataset.verdict)")
    assert turned == order[::-1]
    # What is chosen stands in the address, and is there again after a reload.
    page.select_option("#by-verdict", "inconclusive")
    here = page.url
    page.goto("about:blank")
    page.goto(here)
    assert page.input_value("#by-verdict") == "inconclusive"
    assert page.get_attribute("th:has-text('Verdict')", "aria-sort") == "descending"
    assert visible(page) == sum(v["verdict"] == "inconclusive" for v in mine)


@browser_only
def test_points_say_their_values_on_hover(site: Path, page: Any) -> None:
    page.goto(f"file://{site}/papers/humphries2020.html")
    mark = page.locator(".figure-section .points use").nth(2)
    said = mark.locator("title").text_content()
    assert re.search(r"ε = [\d.]+: −?[\d.]+", said)
    mark.dispatch_event("mouseenter")
    assert page.text_content("#tip") == said
    assert page.is_visible("#tip")
    mark.dispatch_event("mouseleave")
    assert not page.is_visible("#tip")


@browser_only
def test_a_claim_shows_which_points_it_is_about(site: Path, page: Any) -> None:
    """Figure 6's cap is on the loss attack at every epsilon, and on nothing else."""
    page.goto(f"file://{site}/papers/humphries2020.html")
    chip = page.locator('.chip[href$="humphries2020-fig6--logloss-cap.html"]')
    section = page.locator("#humphries2020-fig6")
    for enter, leave in (("mouseenter", "mouseleave"), ("focus", "blur")):
        chip.dispatch_event(enter)
        lit = section.locator(".points use.its title").all_text_contents()
        assert len(lit) >= 8
        assert all("loss attack" in text or "advantage" in text for text in lit)
        assert not any("shadow" in text for text in lit)
        others = section.locator(".points use:not(.its)")
        assert others.first.evaluate("mark => getComputedStyle(mark).opacity") == "0.2"
        chip.dispatch_event(leave)
        assert section.locator(".its").count() == 0
        assert others.first.evaluate("mark => getComputedStyle(mark).opacity") == "1"


@browser_only
def test_a_claim_lights_up_the_curves_that_show_it(site: Path, page: Any) -> None:
    """A claim on true-positive rates at a low false-positive rate: points of the ROC of its attack and arm alone."""
    page.goto(f"file://{site}/papers/tramer2025.html")
    section = page.locator("#tramer2025-lira")
    for claim, expected in (("lira-beats-global", "LiRA, false-positive rate"), ("few-vulnerable", "records, sorted")):
        chip = section.locator(f'.chip[href$="tramer2025-lira--{claim}.html"]')
        chip.dispatch_event("mouseenter")
        lit = section.locator(".points use.its title").all_text_contents()
        curve = [text for text in lit if "records, sorted" in text or "false-positive rate" in text]
        assert len(curve) > 5
        assert all(expected in text or "loss attack, false-positive" in text for text in curve)
        chip.dispatch_event("mouseleave")
        assert section.locator(".its").count() == 0


@browser_only
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_an_accessibility_check_finds(site: Path, browser: Any, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    context = browser.new_context(color_scheme=scheme)
    tab = context.new_page()
    for name in PAGES if scheme == "light" else PAGES[-2:]:
        tab.goto(f"file://{site}/{name}")
        result = axe.run(tab).response["violations"]
        assert [(v["id"], v["nodes"][0]["html"][:120]) for v in result] == [], name
    ink, paper = tab.evaluate("[getComputedStyle(document.documentElement)].flatMap(s => [s.color, s.backgroundColor])")
    brightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ink, paper)]
    assert (brightness[0] < brightness[1]) == (scheme == "light")
    context.close()


def test_a_papers_page_lists_what_can_be_checked_in_it(site: Path) -> None:
    """Each place once: its claims with their verdicts, or why it has none; and how many there are of both."""
    coverage = read_coverage(Project(REPO))["humphries2020"].coverage
    text = (site / "papers/humphries2020.html").read_text()
    listed = text[text.index('<section aria-labelledby="checkable">') :]
    with_claims = sum(bool(place.claims) for place in coverage.places)
    none = len(coverage.places) - with_claims
    assert f"{len(coverage.places)} places: {with_claims} have a claim, {none} have none." in listed
    assert listed.count("<details>") == len(coverage.sections)
    assert listed.count("No claim. ") == none
    known = json.loads((REPO / "reports/sequential/verdicts.json").read_text())["verdicts"]
    judged = {v["id"] for v in known if v["spec"].startswith(tuple(SPECS))}
    linked = re.findall(r'href="\.\./claims/([^"]+)\.html"', listed)
    assert linked == [slug(claim) for place in coverage.places for claim in place.claims if claim in judged]
    assert 'href="#checkable"' in text


@browser_only
@pytest.mark.parametrize("width", [1280, 390])
def test_an_unfolded_list_of_places_is_not_wider_than_the_page(width: int, site: Path, page: Any) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    for paper in ("humphries2020", "thudi2022", "tramer2025"):
        page.goto(f"file://{site}/papers/{paper}.html")
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert page.is_visible(".places li")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, paper


@browser_only
def test_nothing_is_wider_than_a_phone(site: Path, page: Any) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    claims = sorted(site.glob("claims/*.html"))
    for path in [*sorted(set(site.rglob("*.html")) - set(claims)), *claims[::8]]:
        page.goto(f"file://{path}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path.name


@browser_only
def test_a_phone_shows_what_was_found_first_and_cuts_no_row_of_a_claim(site: Path, page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    seen = list[bool]()
    for path in sorted(site.glob("claims/*.html"))[::8]:
        page.goto(f"file://{path}")
        assert page.evaluate("document.querySelector('.answer').getBoundingClientRect().top") < 844, path.name
        mark = "document.querySelector('.deciding')"
        seen.append(bool(page.evaluate(f"!{mark} || {mark}.getBoundingClientRect().top < 844")))
        frames = "[...document.querySelectorAll('table.forest')].map(table => table.parentElement)"
        assert page.evaluate(f"{frames}.every(frame => frame.scrollWidth <= frame.clientWidth)"), path.name
    # But for sentences of many lines, the mark that decides is on the first screen, too.
    assert sum(seen) >= 0.9 * len(seen)


@browser_only
@pytest.mark.parametrize("name", ["index.html", "papers/humphries2020.html"])
def test_no_card_has_much_empty_space(site: Path, page: Any, name: str) -> None:
    page.goto(f"file://{site}/{name}")
    empty = """() => [...document.querySelectorAll('.card')].map(card =>
      card.getBoundingClientRect().bottom - card.lastElementChild.getBoundingClientRect().bottom)"""
    gaps = page.evaluate(empty)
    assert gaps
    assert max(gaps) <= 60, gaps


@browser_only
def test_a_link_to_a_figure_unfolds_it(site: Path, page: Any) -> None:
    page.goto(f"file://{site}/papers/humphries2020.html")
    folds = page.locator("details.fold")
    assert folds.count() == 7
    assert not page.is_visible(".fold .chart")
    page.click('nav.contents a[href="#humphries2020-fig3"]')
    assert page.is_visible("#humphries2020-fig3 .chart")
    assert page.locator("details.fold[open]").count() == 1


@browser_only
def test_the_documentation_is_searched_without_a_server(site: Path, page: Any) -> None:
    page.goto(f"file://{site}/docs/index.html")
    page.fill("#doc-q", "equivalence tost")
    assert page.locator("#doc-hits li").count() == 0
    page.fill("#doc-q", "shadow models")
    hits = page.locator("#doc-hits a")
    assert hits.count() > 3
    with page.expect_navigation():
        hits.first.click()
    assert "/docs/" in page.url
    assert "shadow models" in page.text_content("main").lower()
    page.goto(f"file://{site}/docs/reference.html")
    text = page.text_content("main")
    for name in ("logloss", "humphries", "rdp", "tpr_at_1pct_fpr", "compare", "adult"):
        assert name in text


@browser_only
def test_print_shows_what_is_folded_and_no_controls(site: Path, page: Any) -> None:
    page.goto(f"file://{site}/claims/humphries2020-fig6--logloss-cap.html")
    assert not page.is_visible("dl.small dt:has-text('provenance'), dt:has-text('seed')")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.is_visible("dt:has-text('seed')")
    assert not page.is_visible("header.top")
    assert len(page.pdf()) > 10_000
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 between Chromium's own margins
    cut = "[...document.querySelectorAll('table')].filter(t => t.getBoundingClientRect().right > innerWidth).length"
    assert page.evaluate(cut) == 0
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    assert not page.is_visible("dt:has-text('seed')")


@browser_only
def test_all_is_readable_without_scripts(site: Path, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(f"file://{site}/claims.html")
    assert not tab.is_visible("#filter")
    assert tab.locator("#claims tbody tr").count() > 60
    tab.goto(f"file://{site}/index.html")
    with tab.expect_navigation():
        tab.locator("article.card h3 a").first.click()
    assert tab.is_visible(".answer.violated")
    context.close()


def test_every_link_leads_somewhere_and_every_claim_has_a_page(site: Path) -> None:
    linked: set[Path] = set()
    for path in site.rglob("*.html"):
        text = path.read_text()
        ids = set(re.findall(r'\bid="([^"]*)"', text))
        for target in re.findall(r'\b(?:href|src)="([^"]*)"', text):
            if target.startswith(("http", "data:")):
                continue
            if target.startswith("#"):
                assert target[1:] in ids or re.match(r"#f[0-9a-f]{5}-", target), (path.name, target)
                continue
            there = Path(urlsplit(urljoin(f"file://{path}", target)).path)
            if there.is_relative_to(site):
                assert there.is_file(), (path.name, target)
                linked.add(there)
                fragment = urlsplit(target).fragment
                if there.name == "claims.html" and fragment.startswith("/"):  # filters of the table
                    continue
                assert not fragment or f'id="{fragment}"' in there.read_text(), (path.name, target)
    assert linked >= set(site.glob("claims/*.html"))
    claims = sum(len(one.spec.claims) for one in load_specs(Project(REPO), SPECS))
    assert len(list(site.glob("claims/*.html"))) == claims


def test_each_count_leads_to_its_claims_in_the_table(site: Path) -> None:
    rows = re.findall(
        r'<tr data-paper="(.*?)" data-verdict="(.*?)" data-kind=".*?" data-group="(.*?)"',
        read_page(site / "claims.html"),
    )
    counted = 0
    for path in (site / "about.html", *site.glob("papers/*.html")):
        for filters, n in re.findall(
            r'<a class="v [^>]*claims\.html#([^"]*)"><span[^>]*>.</span> (\d+) ', read_page(path)
        ):
            _, paper, verdict, _, _, group, _ = map(unquote, filters.split("/"))
            chosen = [row for row in rows if row[0] == (paper or row[0]) and row[1:] == (verdict, group)]
            assert len(chosen) == int(n), (path.name, filters)
            counted += path.name == "about.html" and not paper
    assert counted > 5


@browser_only
def test_a_count_opens_the_table_with_its_claims_alone(site: Path, page: Any) -> None:
    page.goto(f"file://{site}/about.html")
    count = page.locator("table.counts a.v").first
    n = re.findall(r"\d+", count.inner_text())[0]
    with page.expect_navigation():
        count.click()
    assert page.inner_text("#shown").startswith(f"{n} of ")
    assert visible(page) == int(n)


def test_the_front_is_light_and_has_few_findings_with_a_picture_each(site: Path) -> None:
    front = read_page(site / "index.html")
    assert len(front.encode()) < 300_000
    cards = re.findall(r'<article class="card">.*?</article>', front, flags=re.DOTALL)
    assert 3 <= len(cards) <= 6
    assert "Section 5.4" in cards[0]
    for card in cards:
        text = unescape(re.sub(r"<[^>]+>", "", re.sub(r"<svg.*?</svg>", "", card, flags=re.DOTALL)))
        assert "<svg" in card
        assert len(text.split()) < 140, text
    assert not re.search(r"\{[a-z]+\.[a-z]+\}", front)
    assert re.search(r"Further findings</summary><ul><li>.*?The new bound is tighter by almost 0\.2", front, re.DOTALL)


def test_the_front_begins_with_three_numbers_and_shows_every_claim_of_a_paper_once(site: Path) -> None:
    front = (site / "index.html").read_text()
    known = pd.read_csv(site / "claims.csv", keep_default_na=False)
    theirs = known[known["origin"] == "paper"]
    own = theirs[theirs["data"].isin(["none", "paper", "smaller", "own"])]
    (lead,) = re.findall(r'<p class="lead">.*?</p>', front, flags=re.DOTALL)
    numbers = [int(n) for n in re.findall(r"<strong>(\d+)</strong>", lead)]
    open_ = own["verdict"].isin(["inconclusive", "not run"]).sum()
    assert numbers == [len(theirs), *((own["verdict"] == w).sum() for w in ("reproduced", "violated")), open_]
    squares = re.findall(r'<a class="q ([a-z-]+) (\w+)"\s+href="claims/(.*?)\.html" title="(.*?)"', front)
    assert sorted(page for _, _, page, _ in squares) == sorted(slug(claim) for claim in theirs["id"])
    by_page = {slug(row["id"]): row for row in theirs.to_dict("records")}
    fillings = {"proved": "proof", "disproved": "proof", "counted or computed": "proof", "": "none"}
    fillings |= {"measured, corrected for all claims": "sure"}
    for word, filling, page, title in squares:
        row = by_page[page]
        assert word == row["verdict"].replace(" ", "-")
        assert filling == fillings.get(
            row["certainty"], "proof" if row["data"] == "none" and row["kind"] == "theory" else "alone"
        ) or (row["certainty"] == "simulated" and filling == "alone")
        assert unescape(title).endswith(unescape(row["heading"])), page


def test_the_page_about_the_site_counts_each_paper_s_own_claims(site: Path) -> None:
    text = (site / "about.html").read_text()
    rows = re.findall(r"<tr>\s*<th scope=\"row\">\s*<a href=\"papers/(.*?)\.html\">(.*?)</tr>", text, flags=re.DOTALL)
    known = pd.read_csv(site / "claims.csv", keep_default_na=False)
    settled = known["data"].isin(["none", "paper", "smaller", "own"]) & (known["origin"] == "paper")
    assert len(rows) == known["paper"].nunique()
    for paper, row in rows:
        mine = known[known["paper"] == paper]
        own = known[settled & (known["paper"] == paper)]
        for word in ("reproduced", "violated", "inconclusive"):
            n = (own["verdict"] == word).sum()
            assert (f"{n} {word}" in row) == bool(n), (paper, word)
        cells = [0 if cell == "–" else int(cell) for cell in re.findall(r'<td class="n">(.*?)</td>', row)]
        assert len(own) + sum(cells) == len(mine), paper


def test_the_front_lists_every_claim_of_a_paper_that_is_violated_on_its_data(site: Path) -> None:
    front = (site / "index.html").read_text()
    listed = re.search(r'<dl class="refuted">(.*?)</dl>', front, re.DOTALL).group(1)  # type: ignore[union-attr]
    known = pd.read_csv(site / "claims.csv", keep_default_na=False)
    own = known[(known["origin"] == "paper") & known["data"].isin(["none", "paper", "smaller", "own"])]
    violated = own[own["verdict"] == "violated"]["id"]
    pages = re.findall(r'href="claims/(.*?)\.html"', listed)
    assert sorted(pages) == sorted(slug(claim) for claim in violated)
    assert pages
    for error in re.findall(r"<dd>Claim: .*?</dd>", listed, re.DOTALL):
        assert re.search(r": (?:disproved|counted or computed|simulated|measured, [a-z ]+)(?= \(|;|</span>)", error), (
            error
        )


def test_the_page_about_the_site_says_how_sure_one_is_of_the_first_row(site: Path) -> None:
    """Of the papers' claims on their data that are decided, each is counted under one word."""
    text = read_page(site / "about.html")
    table = re.search(r'<table class="sure-of">.*?</table>', text, re.DOTALL).group()  # type: ignore[union-attr]
    shown = {
        words: tuple(0 if n == "–" else int(n) for n in counts)
        for words, *counts in re.findall(
            r'<th scope="row">(.*?)</th><td class="n">(.*?)</td><td class="n">(.*?)</td>', table
        )
    }
    known = pd.read_csv(site / "claims.csv", keep_default_na=False)
    mine = known[(known["origin"] == "paper") & known["data"].isin(["none", "paper", "smaller", "own"])]
    phrases = mine["certainty"].replace(DISPROVED, Certainty.PROVED.phrase)
    expected = {
        words: tuple(int(((phrases == phrase) & (mine["verdict"] == v)).sum()) for v in ("reproduced", "violated"))
        for phrase, words in CERTAINTIES.items()
    }
    assert shown == {words: counts for words, counts in expected.items() if any(counts)}


def test_claims_of_one_statement_have_headings_of_their_own(site: Path) -> None:
    headings = [re.search(r"<h1[^>]*>(.*?)</h1>", path.read_text()).group(1) for path in site.glob("claims/*.html")]  # type: ignore[union-attr]
    assert len(set(headings)) == len(headings)


def test_the_page_about_the_site_says_what_was_trained_on_what_and_how_to_cite(site: Path) -> None:
    text = read_page(site / "about.html")
    models = [int(n.replace(",", "")) for n in re.findall(r'</code></td><td class="n">([\d,]+)</td>', text)]
    assert (
        re.search(r"([\d,]+) target models \(shadow models are not counted\) in \d+ core-hours", text).group(1)
        == f"{sum(models):,}"
    )  # type: ignore[union-attr]
    assert "@software{" in text
    assert "Licence: MIT" in text
    for name in ("humphries2020/fig2", "COMPAS", "tensorflow"):
        assert name in text


def test_one_quantity_stands_beside_itself_over_papers(site: Path) -> None:
    """Advantages of two papers on one page, each mean that of the committed table."""
    text = read_page(site / "compare.html")
    part = text[text.index('id="advantage"') : text.index('id="auc"')]
    groups = dict(re.findall(r"<summary>(.*?): \d+ rows</summary>(.*?)</details>", part, re.DOTALL))
    assert {"Humphries et al. 2020", "Tramèr 2025"} <= set(groups)
    table_rows = groups["Humphries et al. 2020"].split("<tr>")
    rows = [[re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<td.*?</td>", row)] for row in table_rows]
    (row,) = (row for row in rows if row and "Figure 4" in row[0] and row[2:4] == ["cluster split", "loss attack"])
    table = pd.read_parquet(REPO / "reports/sequential/humphries2020/fig4/measurements.parquet")
    chosen = table[(table.arm == "cluster") & (table.attack == "logloss") & (table.metric == "advantage")]
    infinite = chosen[chosen.epsilon == float("inf")]["value"].mean()
    assert float(row[-1].split(" ±")[0]) == pytest.approx(infinite, abs=0.02)
    assert row[1] == "COMPAS"
    with (site / "figures/compare-advantage.csv").open() as file:
        drawn = list(csv.DictReader(file))
    mine = [r for r in drawn if r["x"] == "COMPAS, Humphries et al. 2020" and r["series"] == "without noise"]
    assert any(float(r["y"]) == pytest.approx(infinite, abs=0.02) for r in mine), mine
    assert "Figure 4, Section 4.3: cluster split, loss attack, without noise" in part


def test_an_answer_of_the_authors_stands_under_the_verdict(make_project: Callable[..., Project]) -> None:
    project = make_project()
    answers = project.specs / "own/cancer.answers.md"
    answers.write_text("# Answers\n\n## counts\n\nWe *agree*. <script>alert(1)</script>\n")
    assert run_cli(project.root, "judge").returncode == 0
    assert run_cli(project.root, "report").returncode == 0
    page = (project.reports / "full/site/claims/own-cancer--counts.html").read_text()
    assert "The authors’ answer" in page
    assert "<em>agree</em>" in page
    assert "<script>alert" not in page
    others = [p.read_text() for p in (project.reports / "full/site/claims").glob("*.html") if "counts" not in p.name]
    assert others
    assert not any("The authors’ answer" in other for other in others)
    answers.write_text("## no-such-claim\n\nText\n")
    ran = run_cli(project.root, "report")
    assert ran.returncode == 2
    assert re.search(r"cancer.answers.md:1: answers the claim 'no-such-claim'; known: .*counts", ran.stderr)
    assert len(ran.stderr.strip().splitlines()) == 1


MACHINE = {
    "a mapping or a list": r"\{'|\['|\[\]",
    "a backtick": r"`",
    "two full stops": r"(?<!\.)\.\.(?!\.)|[;,:]\.|(?<!al)\.[;:]| [,;](?= |$)",
    "a name of the code": r"\b[a-z]+(?:_[a-z0-9]+)+\b",
    "one of several": r"\b1 (?:runs|points|parts|models|entries|boxes|comparisons)\b",
    "a Greek letter in Latin ones": r"\b(?:epsilon|delta|eps)\b",
    "no number": r"\bnan\b",
}


def test_pages_of_claims_have_no_words_of_the_machine(site: Path) -> None:
    """All that is not folded, but for quotations, code and formulas."""
    for path in site.glob("claims/*.html"):
        text = path.read_text()
        main = text[text.index("<main") : text.index("<h2>Check it yourself")]
        main = re.sub(r"<(math|code|svg|dl|blockquote|details|a)\b.*?</\1>", "x", main, flags=re.DOTALL)
        for line in unescape(
            re.sub(r"</?(?:p|li|h\d|td|th|section|div|ul|table|tr|caption)\b[^>]*>", "\n", main)
        ).split("\n"):
            said = re.sub(r"<[^>]+>", "", line).strip()
            for what, pattern in MACHINE.items():
                assert not re.search(pattern, said), (path.name, what, said)


def test_text_of_a_spec_is_text(make_project: Callable[..., Project]) -> None:
    """Markup in a title, a statement or a reading is shown, never run; without measurements nothing has to be trained."""
    evil = "<script>alert(1)</script><b onclick=x>&amp;"
    text = re.sub(r"(?m)^title: .*$", f"title: '{evil}'", SMALL_SPEC).replace("where: here", f"where: '{evil}'")
    assert text.count(evil) >= 2
    project = make_project(text)
    assert run_cli(project.root, "judge").returncode == 0
    ran = run_cli(project.root, "report")
    assert ran.returncode == 0, ran.stderr
    pages = list((project.reports / "full/site").rglob("*.html"))
    assert len(pages) > 4
    for path in pages:
        assert "<script>alert" not in path.read_text(), path.name
        assert "<b onclick" not in path.read_text(), path.name
    assert any("&lt;script&gt;alert(1)" in path.read_text() for path in pages)


def test_pages_of_claims_that_are_gone_are_removed(make_project: Callable[..., Project]) -> None:
    project = make_project()
    assert run_cli(project.root, "judge").returncode == 0
    assert run_cli(project.root, "report").returncode == 0
    root = project.reports / "full/site"
    stale = root / "claims/own-cancer--counts.html"
    assert stale.is_file()
    path = project.specs / "own/cancer.yaml"
    path.write_text(path.read_text().partition("  - id: counts\n")[0])
    ran = run_cli(project.root, "site")
    assert ran.returncode == 0, ran.stderr
    assert "site: reports/full/site/index.html" in ran.stdout
    assert not stale.exists()
    assert (root / "claims/own-cancer--iid-held.html").is_file()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("is: violated", "is: wrong", r"findings.yaml:4: findings.0.rests.one.is: Input should be"),
        ("{one.value}", "{two.value}", r"findings.yaml:\d+: findings.0.text: \{two.…\} is none of its claims \(one\)"),
        ("title: T", "titel: T", r"findings.yaml:\d+: findings.0.title?"),
    ],
)
def test_faults_of_the_findings_name_their_line(
    make_project: Callable[..., Project], old: str, new: str, message: str
) -> None:
    project = make_project()
    text = (
        "findings:\n  - {id: a, title: T, paper: own, where: here, text: 'it is {one.value}', rests:\n"
        "      {one: {claim: 'own/cancer#counts',\n       is: violated}}}\n"
    )
    assert old in text
    (project.specs / "findings.yaml").write_text(text.replace(old, new))
    assert run_cli(project.root, "judge").returncode == 0
    ran = run_cli(project.root, "report")
    assert ran.returncode == 2
    assert re.search(message, ran.stderr), ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1


def test_a_finding_is_shown_only_while_its_claims_are_as_it_says(site: Path) -> None:
    """The committed findings hold under the committed verdicts, each of them."""
    from harness.claims.verdict import VerdictFile
    from harness.report.findings import findings_that_hold, read_findings
    from harness.verdicts.counts import group_of

    findings = read_findings(REPO / "specs/findings.yaml")
    text = (REPO / "reports/sequential/verdicts.json").read_text()
    verdicts = {v.id: v for v in VerdictFile.model_validate_json(text).verdicts}
    specs = {one.spec.id: one.spec for one in committed_specs()}
    kept, dropped = findings_that_hold(findings, verdicts, specs)
    assert dropped == []
    assert len(kept) == len(findings)
    violated = {v.id for v in verdicts.values() if group_of(v) == "papers" and v.verdict == "violated"}
    in_short = {v.id: one.short for one in kept if one.short for v in one.claims if v.verdict == "violated"}
    assert in_short.keys() == violated
    assert not re.search(r"[{}]", " ".join(in_short.values()))
    first = findings[0]
    claim = next(iter(first.rests.values())).claim
    turned = {**verdicts, claim: verdicts[claim].model_copy(update={"verdict": "reproduced"})}
    kept, dropped = findings_that_hold(findings, turned, specs)
    assert len(kept) == len(findings) - 1
    assert dropped == [f"{first.id}: {claim} is reproduced, not violated"]
    # Of a number that is within its tolerance nobody can say how sure: its interval is of the distance to the edge.
    (close,) = (finding for finding in findings if finding.id == "protection-without-promise")
    asks = close.model_copy(update={"text": "{kept.low}"})
    assert findings_that_hold([asks], verdicts, specs) == (
        [],
        ["protection-without-promise: rahimian2021/location30#table4-dp-sgd has no low"],
    )


def test_every_page_of_a_claim_says_what_the_csv_says(site: Path) -> None:
    """Heading, sentence, verdict, certainty and cost come from one record; whatever else the page has."""

    def plain(text: str) -> str:
        return " ".join(html.unescape(re.sub(r"<[^>]+>", "", text)).split())

    rows = pd.read_csv(site / "claims.csv", keep_default_na=False).to_dict("records")
    assert len(rows) > 100
    for row in rows:
        name = f"{row['id'].replace('/', '-').replace('#', '--')}.html"
        page = plain((site / "claims" / name).read_text())
        for column in ("heading", "found", "verdict", "certainty"):
            assert plain(row[column]) in page, (row["id"], column)
        assert (f"What would decide it: {plain(row['would_decide'])}." in page) == bool(row["would_decide"])
