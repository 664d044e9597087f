"""One source of words: the page, `explain`, the summary, the CSV and the badge say the same of every claim."""

from __future__ import annotations

import csv
import dataclasses
import html
import io
import re
from functools import cache

import pytest

from harness.claims.verdict import Verdict, VerdictFile
from harness.commands.explain import print_explanation, verdicts_of_page
from harness.paths import Project
from harness.pipeline.context import Context, Run
from harness.progress import Progress
from harness.report import gather
from harness.report.build import site_of
from harness.report.claim_record import ClaimRecord, claim_records
from harness.report.contents import slug
from harness.report.exports import badge, claims_csv
from harness.report.found import ON_THE_LINE
from harness.report.prose import deciding_point
from harness.report.site import paper_pages
from harness.spec.load import load_specs
from harness.spec.model import Spec
from harness.spec.profile import choose, load_params
from harness.spec.selection import specs_to_decide
from harness.verdicts.counts import count
from tests.conftest import REPO, run_cli

PROFILES = ("sequential", "paper")
"""Those whose verdicts are committed."""
Judged = tuple[str, list[Verdict], dict[str, Spec], dict[str, ClaimRecord]]
"""A profile, its verdicts, its specs and the record of each claim."""


@cache
def runs_of(profile: str) -> tuple[Context, list[Run]]:
    """A profile of this checkout, and the specs that it decides."""
    name, chosen = choose(load_params(Project(REPO)), profile)
    context = Context(Project(REPO), name, chosen, 1, Progress(True))
    chosen_specs = specs_to_decide(chosen, load_specs(Project(REPO), [], alternatives=False))
    return context, list(map(context.resolve, chosen_specs))


def committed(profile: str) -> tuple[list[Verdict], dict[str, Spec]]:
    """The committed verdicts of a profile, and its specs."""
    _, runs = runs_of(profile)
    text = (REPO / "reports" / profile / "verdicts.json").read_text()
    return list(VerdictFile.model_validate_json(text).verdicts), {one.id: one.spec for one in runs}


def is_of_today(profile: str) -> bool:
    """Whether a run of a profile is there that the code of today judged, told by its claims of theory."""
    if not (REPO / "reports" / profile / "verdicts.json").is_file():
        return False
    codes = {v.id: v.provenance.code for v in committed("sequential")[0] if v.claim.kind != "training"}
    return all(v.provenance.code == codes.get(v.id, v.provenance.code) for v in committed(profile)[0])


@pytest.fixture(scope="module", params=[*PROFILES, "quick"])
def judged(request: pytest.FixtureRequest) -> Judged:
    """The committed verdicts; and one's own run of `quick`, where `make repro` left one."""
    if request.param not in PROFILES and not is_of_today(request.param):
        pytest.skip("no run of quick by the code of today: `make repro` makes one")
    verdicts, specs = committed(request.param)
    return request.param, verdicts, specs, claim_records(verdicts, specs)


def plain(text: str) -> str:
    """The text of HTML or Markdown, without tags and entities, blanks alike."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", text)).replace("\\|", "|").split())


def unwrapped(text: str) -> str:
    """Text as a terminal shows it, with its lines joined."""
    return " ".join(text.split())


def test_the_csv_says_what_the_records_say(judged: Judged) -> None:
    profile, verdicts, _, records = judged
    text = claims_csv(verdicts, records)
    assert (REPO / "reports" / profile / "claims.csv").read_text() == text
    rows = {row["id"]: row for row in csv.DictReader(io.StringIO(text))}
    assert rows.keys() == records.keys()
    for name, said in records.items():
        row = rows[name]
        assert (row["verdict"], row["certainty"], row["heading"]) == (said.verdict, said.certainty, said.heading)
        assert (row["found"], row["would_decide"]) == (said.finding, said.would_decide)
        for column in ("estimate", "line", "effect", "low", "high"):
            number = getattr(said, column)
            assert (row[column] == "") if number is None else (float(row[column]) == pytest.approx(number, rel=1e-12))


def test_theory_has_numbers_in_the_csv(judged: Judged) -> None:
    """Of every claim of theory that is refuted, and of most others; some proofs no two numbers illustrate."""
    _, verdicts, _, records = judged
    theory = [v for v in verdicts if v.claim.kind != "training"]
    assert all(records[v.id].estimate is not None for v in theory if v.verdict == "violated")
    assert all(records[v.id].line is not None for v in theory if v.verdict == "violated")
    assert sum(records[v.id].line is not None for v in theory) > 0.8 * len(theory)


def test_the_summary_says_what_the_records_say(judged: Judged) -> None:
    profile, verdicts, _, records = judged
    lines = [
        plain(line) for line in (REPO / "reports" / profile / "summary.md").read_text().splitlines() if line[:1] == "|"
    ]
    for v in verdicts:
        said = records[v.id]
        wanted = (
            said.sign,
            said.verdict,
            said.data,
            plain(said.heading),
            plain(said.finding),
            said.certainty_with_runs,
        )
        mine = [line for line in lines if all(plain(one) in line for one in wanted)]
        assert mine, said
        if said.would_decide:
            assert any(f"To decide it: {plain(said.would_decide)}." in line for line in mine)


def test_the_badge_counts_what_the_records_count(judged: Judged) -> None:
    profile, verdicts, _, _ = judged
    (first, *_) = count(verdicts)
    text = (REPO / "reports" / profile / "badge.svg").read_text()
    assert text == badge(verdicts)
    for word, n in first.by_word.items():
        assert word == "not run" or f"{n} {word.counted}" in text


@pytest.fixture(scope="module")
def pages(judged: Judged) -> dict[str, str]:
    """The page of every claim, by the claim's id, from the real templates; figures are left out, which say no words."""
    profile, verdicts, _, _ = judged
    context, runs = runs_of(profile)
    of_spec: dict[str, list[Verdict]] = {}
    for v in verdicts:
        of_spec.setdefault(v.spec, []).append(v)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gather, "read_measured", lambda *_: (None, ""))
        patch.setattr(gather, "counterexample", lambda *_: None)
        drawn = [gather.gather(one) for one in gather.judged_runs(runs)]
    sections = [dataclasses.replace(one, verdicts=tuple(of_spec[one.spec.id])) for one in drawn]
    site = site_of(context, runs, sections, {})
    written = {name: text for paper in site.papers for name, text in paper_pages(site, paper.key).items()}
    return {v.id: written[f"claims/{slug(v.id)}.html"] for v in verdicts}


def test_the_page_says_what_the_record_says(judged: Judged, pages: dict[str, str]) -> None:
    _, verdicts, _, records = judged
    assert pages.keys() == records.keys()
    for v in verdicts:
        said, page = records[v.id], pages[v.id]
        (crumbs,) = re.findall(r'<p class="crumbs">(.*?)</p>', page, re.DOTALL)
        (heading,) = re.findall(r'<h1 class="statement">(.*?)</h1>', page, re.DOTALL)
        (answer,) = re.findall(r'<div class="answer [^"]*"><p>(.*?)</p>', page, re.DOTALL)
        assert plain(crumbs).startswith(f"{said.sign} {said.verdict} {said.certainty_with_runs}".strip()), v.id
        assert (plain(heading), plain(answer)) == (plain(said.heading), plain(said.finding))
        text = plain(page)
        assert said.data in text or v.rests_on.data == "none" or v.verdict == "not run"
        assert said.whose in text
        assert (f"What would decide it: {plain(said.would_decide)}." in text) == bool(said.would_decide)


def test_explain_says_what_the_record_says(judged: Judged, capsys: pytest.CaptureFixture[str]) -> None:
    """Of every claim of every sort: measured, open, compared, proved, simulated."""
    _, verdicts, specs, records = judged
    for v in verdicts:
        said = records[v.id]
        print_explanation(v, said, specs[v.spec])
        out = capsys.readouterr().out
        text = unwrapped(out)
        assert text.startswith(f"{said.sign} {said.verdict} ")
        for words in (said.heading, said.finding, said.certainty_with_runs, f"{said.whose}; on {said.data}."):
            assert unwrapped(words) in text, v.id
        assert (f"To decide it: {unwrapped(said.would_decide)}." in text) == bool(said.would_decide)


def test_explain_reads_what_the_profile_has(judged: Judged) -> None:
    """The command corrects and names claims among all of the profile, as its verdicts.json and its pages do."""
    profile, _, _, records = judged
    _, runs = runs_of(profile)
    read, specs = verdicts_of_page(runs[0])
    assert claim_records(read, specs) == records


@pytest.mark.integration
def test_explain_names_its_profile() -> None:
    verdicts, specs = committed("sequential")
    said = claim_records(verdicts, specs)["humphries2020/fig6#logloss-cap"]
    ran = run_cli(REPO, "explain", said.id, "--profile", "sequential")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[0] == "profile sequential"
    assert unwrapped(said.finding) in unwrapped(ran.stdout)


def test_an_open_claim_says_why_it_is_open(judged: Judged) -> None:
    """Too few runs, an interval on both sides of the line, and a value on the line are three sentences; none is said
    where it is not so."""
    profile, verdicts, _, records = judged
    seen: dict[str, int] = {}
    for v in verdicts:
        found, point = records[v.id].finding, deciding_point(v)
        assert "Too close to call" not in found
        if v.verdict != "inconclusive" or point is None or v.hangs_on or not v.because:
            continue
        clear = (point.low is not None and point.low > 0) or (point.high is not None and point.high < 0)
        if "too few runs" in found:
            seen["few"] = seen.get("few", 0) + 1
            assert v.reasons[v.because[0]].found == "few"
            assert re.search(rf"in {point.repeats} runs?,", found)
        elif found.startswith("On the line"):
            seen["line"] = seen.get("line", 0) + 1
            assert v.would_decide.startswith(ON_THE_LINE)
            assert not clear
        elif found.endswith("the interval lies on both sides of the line."):
            seen["both"] = seen.get("both", 0) + 1
            assert not clear
        elif found.startswith("Not clear enough"):
            seen["corrected"] = seen.get("corrected", 0) + 1
            assert clear
    is_any_open = any(v.verdict == "inconclusive" for v in verdicts)
    assert is_any_open == (profile in PROFILES)  # `quick` decides what it runs
    assert (
        not is_any_open or seen.get("both", 0) + seen.get("corrected", 0) + seen.get("line", 0) + seen.get("few", 0) > 0
    )


def test_certainty_is_said_in_few_phrases(judged: Judged) -> None:
    """A game that was played out is simulated, and no more measured than a proof is."""
    _, verdicts, _, records = judged
    for v in verdicts:
        phrase = records[v.id].certainty
        assert bool(phrase) == (v.certainty is not None)
        assert (phrase == "simulated") == (v.rests_on.basis == "simulated" and v.certainty is not None)
        assert not (phrase.startswith("measured") and v.claim.kind != "training")
