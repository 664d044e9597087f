"""Every figure of the flagship in a real browser: its labels, its files, its hover; and the glossary on hover."""

from __future__ import annotations

import html
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.paths import Project
from harness.pipeline.context import Context
from harness.progress import Progress
from harness.report.build import build_site
from harness.report.citations import read_citations
from harness.report.contents import slug
from harness.report.glossary import Term, define_terms, read_glossary
from harness.spec.load import load_specs
from harness.spec.profile import load_params
from tests.conftest import REPO, committed_specs
from tests.report.boxes import count_labels, label_faults
from tests.report.pages import read_page
from tests.report.test_site import browser, browser_only  # noqa: F401 (a fixture)

DEFINED = {"include": [["#definition"], ["a.term"]]}
"""What an accessibility check looks at once more of a page that it has looked at whole."""
UNDRAWN = "exposed_in_every_run"
"""Counts over all runs together, which have no mean over runs and stand in the printed tables."""


@pytest.fixture(scope="module")
def flagship(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the whole flagship, from the committed tables."""
    project = Project(REPO)
    params = load_params(project)
    name = str(params.flagship)
    context = Context(project, name, params.profiles[name], 2, Progress(quiet=True))
    root = tmp_path_factory.mktemp("flagship")
    build_site(context, list(map(context.resolve, load_specs(project, []))), root)
    return root


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:  # noqa: F811
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    yield context.new_page()
    context.close()


def pages_with_figures(root: Path) -> list[Path]:
    return [path for path in sorted(root.rglob("*.html")) if '<div class="canvas">' in path.read_text()]


@dataclass(frozen=True)
class Shown:
    """What a browser shows of the figures of a page."""

    faults: list[list[str]]
    labels: int
    ticks: list[str]


@pytest.fixture(scope="module")
def shown(flagship: Path, browser: Any) -> dict[str, Shown]:  # noqa: F811
    """Every page with figures, by its name, looked at once."""
    context, seen = browser.new_context(viewport={"width": 1400, "height": 900}), {}
    tab = context.new_page()
    for path in pages_with_figures(flagship):
        tab.goto(f"file://{path}")
        ticks = tab.locator(".canvas svg g[id*=tick] text").all_text_contents()
        seen[path.relative_to(flagship).as_posix()] = Shown(label_faults(tab), count_labels(tab), ticks)
    context.close()
    return seen


def test_claims_of_further_papers_stand_apart_from_the_counts_of_the_front(flagship: Path) -> None:
    """The front's sentence counts the claims of the project's five papers; further papers have squares of their own."""
    further = {key for key, one in read_citations(Project(REPO)).items() if one.further}
    known = pd.read_csv(flagship / "claims.csv", keep_default_na=False)
    theirs = known[known["origin"] == "paper"]
    assert further <= set(theirs["paper"])
    front = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", (flagship / "index.html").read_text())).split())
    of_five = int((~theirs["paper"].isin(further)).sum())
    assert f"Of {of_five} claims of 5 papers" in front
    assert f"Further papers: {len(theirs) - of_five} claims of theirs" in front
    of_ours = int(known["paper"].isin(further).sum()) - len(theirs) + of_five
    assert f"counted apart, with {of_ours} claims of this project’s own beside theirs." in front
    apart = (flagship / "index.html").read_text().partition('<details class="fold" id="further-papers">')
    ids = re.findall(r' id="([^"]+)"', "".join(apart))
    assert sorted(ids) == sorted(set(ids))
    for key in further:
        assert f"claims/{key}-" not in apart[0]
        squares = set(re.findall(rf'href="claims/({key}-[^"]+)\.html"', apart[2]))
        assert squares == {slug(one) for one in theirs[theirs["paper"] == key]["id"]}


@browser_only
def test_no_label_of_any_figure_lies_on_another_or_leaves_its_figure(
    flagship: Path, shown: dict[str, Shown], tab: Any
) -> None:
    assert {name: page.faults for name, page in shown.items() if page.faults} == {}
    assert sum(page.labels for page in shown.values()) > 3000
    for width in (1024, 390):
        tab.set_viewport_size({"width": width, "height": 900})
        tab.goto(f"file://{flagship}/papers/rahimian2021.html")
        assert label_faults(tab) == [], width


@browser_only
@pytest.mark.parametrize(
    ("move", "fault"),
    [
        ("labels[1].setAttribute('transform', labels[0].getAttribute('transform') || '');"
         "labels[1].setAttribute('x', labels[0].getAttribute('x')); labels[1].setAttribute('y', labels[0].getAttribute('y'))",
         "overlap"),
        ("labels[0].setAttribute('transform', 'translate(-300 0)')", "leaves the figure"),
    ],
)  # fmt: skip
def test_the_check_of_labels_sees_a_label_that_is_moved(flagship: Path, tab: Any, move: str, fault: str) -> None:
    tab.goto(f"file://{flagship}/papers/humphries2020.html")
    tab.evaluate(f"() => {{ const labels = document.querySelectorAll('.chart .canvas svg text'); {move} }}")
    faults = label_faults(tab)
    assert faults
    assert any(one[1] == fault for one in faults) or fault == "overlap"


@browser_only
def test_a_tick_is_no_number_that_nobody_can_read(flagship: Path, shown: dict[str, Shown], tab: Any) -> None:
    """The old bound is 10^43 at an epsilon of 100: the axis ends where something is seen, and a note says the rest."""
    for name, page in shown.items():
        assert [text for text in page.ticks if re.fullmatch(r"[−\d.,×10⁰¹²³⁴-⁹]{10,}", text)] == [], name
    tab.goto(f"file://{flagship}/claims/humphries2020-fig1--bound-ordering-yeom.html")
    assert "goes on, to 2.69×10⁴³" in tab.text_content(".chart .key")


@browser_only
def test_pointing_at_a_claim_lights_its_points_wherever_something_of_it_is_drawn(flagship: Path, tab: Any) -> None:
    lights = """() => [...document.querySelectorAll('.chip[data-of]')].map(chip => {
      const section = chip.closest('section'); chip.dispatchEvent(new Event('mouseenter'));
      const lit = section.querySelectorAll('.points use.its').length, all = section.querySelectorAll('.points use').length;
      chip.dispatchEvent(new Event('mouseleave'));
      return [chip.getAttribute('href').split('/').pop(), lit, all, section.querySelectorAll('.its').length]; })"""
    parts = {
        f"{one.spec.id}#{claim.id}": [o for part in one.spec.parts(claim) for o in part.operands()]
        for one in committed_specs()
        if one.spec.experiment is not None
        for claim in one.spec.claims
        if not claim.theory
    }
    by_page = {f"{name.replace('/', '-').replace('#', '--')}.html": operands for name, operands in parts.items()}
    counted = 0
    for path in sorted(flagship.glob("papers/*.html")):
        tab.goto(f"file://{path}")
        for href, lit, every, left in tab.evaluate(lights):
            metrics = {metric for operand in by_page[href] for metric in operand.metric}
            assert lit or all(metric.startswith(UNDRAWN) for metric in metrics), (href, metrics)
            assert lit <= every
            assert left == 0
            counted += lit > 0
    assert counted > 280


@browser_only
def test_a_paper_is_printed_on_twelve_pages_at_most_and_a_claim_on_three(flagship: Path, tab: Any) -> None:
    claims = ("humphries2020-fig6--logloss-cap", "thudi2022-theory--unlearning-capacity-as-printed")
    for path in [*flagship.glob("papers/*.html"), *(flagship / f"claims/{name}.html" for name in claims)]:
        tab.goto(f"file://{path}")
        tab.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        sheets = len(re.findall(rb"/Type\s*/Page\b", tab.pdf(format="A4")))
        assert 1 <= sheets <= (12 if path.parent.name == "papers" else 3), path.name


@browser_only
def test_every_figure_can_be_had_as_picture_and_as_numbers(flagship: Path, tab: Any, tmp_path: Path) -> None:
    figures = 0
    for path in pages_with_figures(flagship):
        for plot in re.findall(r'<figure class="chart[^"]*">.*?</figure>', path.read_text(), flags=re.DOTALL):
            svg, csv = re.findall(r'<a href="([^"]*figures/[^"]*)" download', plot)
            assert (path.parent / svg).read_text().count("<svg") == 1
            data = pd.read_csv(path.parent / csv)
            assert len(data)
            assert set(data["kind"]) <= {"measured", "one outcome", "printed", "formula", "line", "curve"}
            figures += 1
    assert figures > 150
    tab.goto(f"file://{flagship}/papers/rahimian2021.html")
    with tab.expect_download() as waiting:
        tab.locator(".chart .files button").first.click()
    waiting.value.save_as(tmp_path / waiting.value.suggested_filename)
    (saved,) = tmp_path.glob("*.png")
    assert saved.stem == Path(tab.locator(".chart .files a").first.get_attribute("href")).stem
    wide, high = struct.unpack(">II", saved.read_bytes()[16:24])
    assert saved.read_bytes().startswith(b"\x89PNG")
    assert wide > 800
    assert high > 200


@browser_only
def test_terms_are_defined_on_hover_and_on_focus_from_the_glossary(flagship: Path, tab: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    tab.goto(f"file://{flagship}/papers/rahimian2021.html")
    term = tab.locator("a.term", has_text="shadow model").first
    glossary = {name: term for term in read_glossary(REPO / "docs/glossary.md") for name in term.names}
    words = f"Shadow model: {glossary['shadow model'].meaning}"
    box = tab.locator("#definition")
    ways = (term.focus, lambda: tab.keyboard.press("Escape"), None), (term.hover, lambda: tab.mouse.move(0, 0), DEFINED)
    for show, hide, checked in ways:
        assert not box.is_visible()
        show()
        assert box.text_content() == words
        assert box.is_visible()
        assert axe.run(tab, checked).response["violations"] == []
        hide()
        box.wait_for(state="hidden")
    described = tab.evaluate(
        "t => document.getElementById(t.getAttribute('aria-describedby')).textContent", term.element_handle()
    )
    assert described == words
    assert (flagship / "docs/glossary.html").read_text().count(f'id="{glossary["shadow model"].place}"') == 1
    texts = tab.locator("a.term").all_text_contents()
    assert len({text.lower() for text in texts}) == len(texts), "each term once a page"


def test_terms_are_found_in_text_alone_and_once() -> None:
    terms = (Term(("AUC",), "Area <under> it.", "here"), Term(("member",), "One of them.", "here"))
    html = "<main><h1>AUC</h1><p>An <b>AUC</b> of members; AUC, auc, <a href='x'>member</a> member-like.</p></main>"
    marked = define_terms(html, terms, "../")
    assert marked.count('class="term"') == 2
    assert '<b><a class="term" href="../docs/glossary.html#here" aria-describedby="d0">AUC</a></b> of <a' in marked
    assert "aria-describedby=\"d1\">members</a>; AUC, auc, <a href='x'>member</a> member-like." in marked
    assert '<p id="d0">AUC: Area &lt;under&gt; it.</p>' in marked
    assert define_terms(html, (), "") == html


def test_everyday_words_of_the_glossary_get_no_definition() -> None:
    names = {name for term in read_glossary(REPO / "docs/glossary.md") for name in term.names}
    assert {"AUC", "Rényi DP", "RDP", "(ε, δ)-DP", "confidence sequence", "deviation"} <= names
    assert not names & {"level", "axis", "beside", "claim"}
    assert read_glossary(REPO / "docs/no-such-file.md") == ()


def test_what_is_compared_across_papers_names_the_data_of_each_row_and_what_a_number_is_of(flagship: Path) -> None:
    text = read_page(flagship / "compare.html")
    rows = re.findall(r"<tr><td><a[^>]*>(.*?)</a></td><td>(.*?)</td><td>(.*?)</td>", text)
    stands_in = {setup: data for where, data, setup in rows if where.startswith("Table 2") and "Purchase" in setup}
    assert stands_in
    assert all(data == "Purchase-100 (stand-in)" for data in stands_in.values())
    assert not [setup for _, _, setup in rows if re.fullmatch(r"[\d.e+−-]+", setup)]
    assert any("l2 penalty: 1e-05" in setup for _, _, setup in rows)
